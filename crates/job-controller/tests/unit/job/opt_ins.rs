//! What users ask for beyond upstream's behaviour.

use job_controller::job::opt_ins::{OnPodFailure, OptIns, RuleNames, Seconds};
use rstest::rstest;
use serde_json::{Value, json};
use workload_core::outcome::FailureClass;
use workload_core::workload::Observation;

use super::cluster::Cluster;
use super::{fixed, indexed, on_42};

fn rejected(cluster: &Cluster) -> Vec<String> {
    let Observation::Ready(seen) = cluster.observation() else {
        panic!("nothing to act on")
    };
    seen.job
        .opt_ins
        .rejected
        .iter()
        .map(|each| format!("{}: {}", each.name, each.why))
        .collect()
}

#[test]
fn nothing_is_asked_for_unless_it_is_written() {
    assert_eq!(
        OptIns::read(&workload_core::labels::Labels::default()),
        OptIns::default()
    );
    assert_eq!(
        rejected(&fixed(1, 1).opt_in("deployment.hold-at", "nonsense for others")),
        [""; 0]
    );
}

#[rstest]
#[case(
    "job.rule-names",
    "[]",
    "job.rule-names: not a JSON object from rule numbers to names"
)]
#[case(
    "job.ignored-failures-no-backoff",
    "yes",
    "job.ignored-failures-no-backoff: neither \"true\" nor \"false\""
)]
#[case("job.bad-image-after", "10", "job.bad-image-after: not a duration such as 30s or 5m")]
#[case("job.start-deadline", "0s", "job.start-deadline: not above zero")]
#[case("job.ttl-failed", "-1", "job.ttl-failed: not a number of seconds")]
#[case("job.ttl-complete", "1m", "job.ttl-complete: not a number of seconds")]
#[case("job.on-pod-failure", "Restart", "job.on-pod-failure: not RestartAll")]
#[case(
    "job.on-pod-failure",
    "RestartAll",
    "job.on-pod-failure: only pods of completion mode Indexed belong together"
)]
#[case("job.no-such", "1", "unknown: there is no opt-in job.no-such")]
fn a_value_that_cannot_be_read_leaves_the_default(#[case] name: &str, #[case] value: &str, #[case] why: &str) {
    let mut cluster = fixed(1, 1).opt_in(name, value);
    assert_eq!(rejected(&cluster), [why]);
    assert_eq!(cluster.settle(), ["create p000; status"]);
}

#[test]
fn indexes_with_limits_of_their_own_do_not_restart_together() {
    let cluster = indexed(2, 2, json!({"backoffLimitPerIndex": 1})).opt_in("job.on-pod-failure", "RestartAll");
    assert_eq!(
        rejected(&cluster),
        ["job.on-pod-failure: indexes that may fail one by one do not restart together"]
    );
    let Observation::Ready(seen) = cluster.observation() else {
        panic!("nothing to act on")
    };
    assert_eq!(seen.job.opt_ins.on_pod_failure, OnPodFailure::ReplaceIt);
}

#[test]
fn seconds_are_a_plain_number() {
    assert_eq!("0".parse(), Ok(Seconds(0)));
    assert_eq!("86400".parse(), Ok(Seconds(86_400)));
    assert!(
        ["", "+5", "2147483648", "1.5"]
            .iter()
            .all(|text| text.parse::<Seconds>().is_err())
    );
}

// proves: job/J-241, job/J-244
#[rstest]
#[case(r#"{"0":"ExitCode42"}"#, true)]
#[case(r#"{"0":"a_:,9","1":"B"}"#, true)]
#[case(r#"{"3":"3"}"#, true)]
#[case(r#"{"0":"1"}"#, false)]
#[case(r#"{"0":"a","1":"a"}"#, false)]
#[case(r#"{"0":"a:"}"#, false)]
#[case(r#"{"0":"a-b"}"#, false)]
#[case(r#"{"0":""}"#, false)]
#[case(r#"{"00":"a"}"#, false)]
#[case(r#"{"x":"a"}"#, false)]
#[case(r#"{"0":5}"#, false)]
#[case(r#"["a"]"#, false)]
fn names_of_rules_have_to_fit_into_a_reason(#[case] text: &str, #[case] fits: bool) {
    assert_eq!(text.parse::<RuleNames>().is_ok(), fits);
}

// proves: job/J-244
#[test]
fn the_longest_name_makes_a_reason_of_128_characters() {
    let names = |length: usize| format!(r#"{{"0":"{}"}}"#, "a".repeat(length)).parse::<RuleNames>();
    assert_eq!(
        names(111).unwrap().get(0).map(str::len),
        Some(128 - "PodFailurePolicy_".len())
    );
    assert!(names(112).is_err());
}

// proves: field/FR-JB-09
#[test]
fn ignored_failures_lengthen_no_wait_where_asked() {
    let spec = json!({"completions": 1, "podFailurePolicy": on_42("Ignore")});
    let mut cluster = Cluster::of(spec).opt_in("job.ignored-failures-no-backoff", "true");
    cluster.settle();
    cluster.end("p000", 42);
    assert_eq!(cluster.turn().text(), "release p000; create p001");
    cluster.end("p001", 1);
    assert_eq!(cluster.turn().again_in(), Some(10), "others do");
}

// proves: field/FR-JB-09
#[test]
fn ignored_failures_lengthen_no_wait_of_an_index_where_asked() {
    let spec = json!({"backoffLimitPerIndex": 1, "podFailurePolicy": on_42("Ignore")});
    let mut cluster = indexed(1, 1, spec).opt_in("job.ignored-failures-no-backoff", "true");
    cluster.settle();
    cluster.end("i0.0", 42);
    cluster.settle();
    assert_eq!(cluster.active(), "i0.1");
    let annotations = &cluster.find("i0.1").unwrap()["metadata"]["annotations"];
    assert_eq!(annotations["batch.kubernetes.io/job-index-ignored-failure-count"], "1");
}

fn hinder(cluster: &mut Cluster, pod: &str) {
    cluster.change_pod(pod, |pod| {
        pod["spec"]["nodeName"] = "n".into();
        pod["status"] = json!({"phase": "Pending", "startTime": "2026-01-02T12:00:00Z",
            "containerStatuses": [{"name": "main", "state": {"waiting": {"reason": "ImagePullBackOff"}}}]});
    });
}

// proves: job/L-2, field/FR-JB-07
#[test]
fn a_pod_without_its_image_counts_as_failed_where_asked() {
    let mut cluster = fixed(2, 2).opt_in("job.bad-image-after", "5m");
    cluster.settle();
    hinder(&mut cluster, "p000");
    cluster.run("p001");
    assert_eq!(cluster.turn().again_in(), Some(300));
    cluster.after(300);
    let turn = cluster.turn();
    assert_eq!(turn.text(), "kill p000; status");
    assert!(
        turn.notes[0]
            .message
            .ends_with("which has waited for too long: ImagePullBackOff"),
        "{:?}",
        turn.notes
    );
    let turn = cluster.turn();
    assert_eq!((cluster.counts()[4], turn.again_in()), (1, Some(10)));
    cluster.kubelet();
    cluster.after(10);
    cluster.settle();
    assert_eq!(cluster.active(), "p001 p002");
}

// proves: job/L-2
#[test]
fn a_pod_that_has_changed_since_is_not_given_up() {
    let mut cluster = fixed(1, 1).opt_in("job.bad-image-after", "5m");
    cluster.settle();
    hinder(&mut cluster, "p000");
    cluster.after(300);
    cluster.run("p000");
    cluster.lag = (0, 1);
    let turn = cluster.turn();
    assert_eq!((turn.text().as_str(), cluster.active().as_str()), ("kill p000", "p000"));
    assert!(
        turn.outcome
            .failure()
            .is_some_and(|failure| failure.class == FailureClass::Conflict)
    );
}

#[test]
fn a_pod_without_its_image_waits_for_ever_unless_asked() {
    let mut cluster = fixed(1, 1);
    cluster.settle();
    hinder(&mut cluster, "p000");
    cluster.after(86_400);
    assert_eq!(cluster.turn().text(), "");
}

fn to_start_within(seconds: u64) -> Cluster {
    let mut cluster = fixed(1, 1).opt_in("job.start-deadline", &format!("{seconds}s"));
    assert_eq!(cluster.turn().again_in(), Some(seconds));
    cluster
}

#[test]
fn a_job_fails_if_no_pod_starts_within_its_start_deadline() {
    let mut cluster = to_start_within(60);
    cluster.after(60);
    cluster.settle();
    assert_eq!(
        cluster.conditions(),
        "FailureTarget/DeadlineExceeded, Failed/DeadlineExceeded"
    );
    assert_eq!(
        cluster.message("Failed"),
        "no pod of the Job has started to run within its start deadline"
    );
}

#[test]
fn a_job_one_of_whose_pods_has_run_has_started() {
    let mut cluster = to_start_within(60);
    cluster.run("p000");
    assert_eq!(cluster.turn().again_in(), None);
    cluster.after(60);
    cluster.settle();
    cluster.end("p000", 1);
    cluster.settle();
    cluster.delete_pod("p000");
    cluster.after(600);
    cluster.settle();
    assert_eq!((cluster.conditions().as_str(), cluster.active().as_str()), ("", "p001"));
}

#[test]
fn pods_that_failed_without_running_are_no_start() {
    let mut cluster = to_start_within(60);
    cluster.change_pod("p000", |pod| {
        pod["status"] = json!({"phase": "Failed", "reason": "Evicted"});
    });
    cluster.settle();
    cluster.after(60);
    cluster.settle();
    assert_eq!(
        cluster.conditions(),
        "FailureTarget/DeadlineExceeded, Failed/DeadlineExceeded"
    );
}

#[test]
fn setting_an_opt_in_replaces_no_pod() {
    let mut cluster = indexed(2, 2, json!({}));
    cluster.settle();
    cluster.end("i0.0", 1);
    cluster.settle();
    cluster.after(10);
    cluster.settle();
    for pod in ["i0.1", "i1.0"] {
        cluster.run(pod);
    }
    cluster.settle();
    let all: [(&str, Value); 4] = [
        ("job.on-pod-failure", "RestartAll".into()),
        ("job.bad-image-after", "1s".into()),
        ("job.start-deadline", "1s".into()),
        ("job.ignored-failures-no-backoff", "true".into()),
    ];
    for (name, value) in all {
        cluster = cluster.opt_in(name, value.as_str().unwrap());
        assert_eq!(cluster.settle(), [""; 0], "{name}");
    }
}
