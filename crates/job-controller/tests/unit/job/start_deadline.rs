//! Opt-in `job.start-deadline` fails a Job only if it is certain that no pod has run.

use serde_json::json;
use workload_core::opt_in::PREFIX;

use super::cluster::Cluster;
use super::{fixed, indexed};

const FAILED: &str = "FailureTarget/DeadlineExceeded, Failed/DeadlineExceeded";

/// One pod at a time, whose disruptions do not count.
fn on_spot_nodes() -> Cluster {
    let policy = json!({"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]});
    Cluster::of(json!({"completions": 1, "podFailurePolicy": policy})).opt_in("job.start-deadline", "10m")
}

fn disrupt(cluster: &mut Cluster, pod: &str) {
    cluster.end(pod, 137);
    cluster.change_pod(pod, |pod| {
        let conditions = pod["status"]["conditions"].as_array_mut().unwrap();
        conditions.push(json!({"type": "DisruptionTarget", "status": "True"}));
    });
    cluster.settle();
    cluster.delete_pod(pod);
    assert!(cluster.find(pod).is_none());
    cluster.settle();
}

fn evict_before_it_runs(cluster: &mut Cluster, pod: &str) {
    cluster.change_pod(pod, |pod| {
        pod["status"] = json!({"phase": "Failed", "reason": "Evicted"});
    });
}

fn pass(cluster: &mut Cluster) {
    cluster.after(600);
    cluster.settle();
    cluster.kubelet();
    cluster.settle();
}

#[test]
fn a_pod_whose_failure_was_ignored_has_run() {
    let mut cluster = on_spot_nodes();
    cluster.settle();
    cluster.run("p000");
    cluster.settle();
    disrupt(&mut cluster, "p000");
    pass(&mut cluster);
    assert_eq!((cluster.conditions().as_str(), cluster.active().as_str()), ("", "p001"));
}

#[test]
fn a_pod_that_ran_and_was_taken_away_has_run() {
    let mut cluster = Cluster::of(json!({"completions": 1})).opt_in("job.start-deadline", "10m");
    cluster.settle();
    cluster.run("p000");
    cluster.settle();
    cluster.change_pod("p000", |pod| pod["metadata"]["labels"] = json!({}));
    cluster.settle();
    pass(&mut cluster);
    assert_eq!(
        (cluster.conditions().as_str(), cluster.active().as_str()),
        ("", "p000 p001")
    );
}

#[test]
fn a_pod_that_ran_between_two_turns_has_run() {
    let mut cluster = on_spot_nodes();
    cluster.settle();
    disrupt(&mut cluster, "p000");
    pass(&mut cluster);
    assert_eq!((cluster.conditions().as_str(), cluster.active().as_str()), ("", "p001"));
}

#[test]
fn a_job_whose_failures_would_be_ignored_fails_if_none_ran() {
    let mut cluster = on_spot_nodes();
    cluster.settle();
    pass(&mut cluster);
    assert_eq!(cluster.conditions(), FAILED);
}

#[test]
fn a_process_that_came_later_does_not_know() {
    let mut cluster = on_spot_nodes();
    cluster.settle();
    cluster.restart();
    pass(&mut cluster);
    assert_eq!((cluster.conditions().as_str(), cluster.active().as_str()), ("", "p000"));
}

#[test]
fn a_process_that_came_later_knows_if_every_end_is_counted() {
    let mut cluster = fixed(1, 1).opt_in("job.start-deadline", "10m");
    cluster.settle();
    cluster.restart();
    pass(&mut cluster);
    assert_eq!(cluster.conditions(), FAILED);
}

#[rstest::rstest]
#[case::seen_running(true)]
#[case::removed_unseen(false)]
fn a_pod_that_was_superfluous_for_a_while_may_have_run(#[case] seen: bool) {
    let mut cluster = fixed(1, 1).opt_in("job.start-deadline", "10m");
    cluster.settle();
    if seen {
        cluster.run("p000");
        cluster.settle();
    }
    cluster.edit(json!({"spec": {"parallelism": 0}}));
    cluster.settle();
    cluster.kubelet();
    cluster.settle();
    assert!(cluster.pods.is_empty());
    cluster.edit(json!({"spec": {"parallelism": 1}}));
    cluster.settle();
    pass(&mut cluster);
    assert_eq!((cluster.conditions().as_str(), cluster.active().as_str()), ("", "p001"));
}

#[test]
fn the_clock_of_a_job_that_is_resumed_begins_anew() {
    let mut cluster = Cluster::of(json!({"completions": 1, "suspend": true})).opt_in("job.start-deadline", "10m");
    cluster.settle();
    cluster.after(3600);
    cluster.edit(json!({"spec": {"suspend": false}}));
    cluster.settle();
    cluster.after(599);
    cluster.settle();
    assert_eq!(cluster.conditions(), "not Suspended/JobResumed");
    cluster.after(1);
    cluster.settle();
    assert_eq!(cluster.conditions(), format!("not Suspended/JobResumed, {FAILED}"));
}

#[test]
fn a_round_in_which_one_pod_never_ran_has_run() {
    let mut cluster = indexed(2, 2, json!({}))
        .opt_in("job.start-deadline", "10m")
        .opt_in("job.on-pod-failure", "RestartAll");
    cluster.settle();
    cluster.run("i1.0");
    evict_before_it_runs(&mut cluster, "i0.0");
    cluster.settle();
    cluster.kubelet();
    cluster.settle();
    pass(&mut cluster);
    assert_eq!((cluster.conditions().as_str(), cluster.counts()[4]), ("", 1));
}

#[test]
fn an_ignored_failure_that_never_ran_hides_no_other() {
    let mut cluster = on_spot_nodes();
    cluster.edit(json!({"spec": {"parallelism": 2, "completions": 2}}));
    cluster.edit(json!({"metadata": {"annotations": {format!("{PREFIX}job.ignored-failures-no-backoff"): "true"}}}));
    cluster.settle();
    cluster.run("p000");
    cluster.settle();
    cluster.end("p000", 1);
    cluster.change_pod("p001", |pod| {
        pod["status"] = json!({"phase": "Failed", "conditions": [{"type": "DisruptionTarget", "status": "True"}]});
    });
    cluster.settle();
    cluster.delete_pod("p000");
    pass(&mut cluster);
    assert_eq!(cluster.conditions(), "");
}
