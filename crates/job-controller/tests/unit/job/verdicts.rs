//! The order of reasons, and what a verdict does (J-31…J-33, J-45…J-48, J-121, J-202, S-26, S-35).

use rstest::rstest;
use serde_json::json;

use super::cluster::Cluster;
use super::{fixed, indexed};

// proves: job/J-31
#[test]
fn failure_beats_success() {
    let mut cluster = Cluster::of(json!({"parallelism": 10, "completions": 9, "backoffLimit": 0}));
    cluster.edit(json!({"spec": {"completions": 10}}));
    cluster.settle();
    for pod in 0..9 {
        cluster.end(&format!("p{pod:03}"), 0);
    }
    cluster.end("p009", 1);
    cluster.settle();
    assert_eq!(cluster.counts(), [0, 0, 0, 9, 1]);
    assert_eq!(
        cluster.conditions(),
        "FailureTarget/BackoffLimitExceeded, Failed/BackoffLimitExceeded"
    );
}

// proves: job/J-32
#[test]
fn a_false_condition_of_a_verdict_is_ignored() {
    let mut cluster = fixed(1, 1);
    cluster.edit(json!({"status": {"conditions": [{"type": "FailureTarget", "status": "False", "reason": "Hand"}]}}));
    cluster.settle();
    assert_eq!(cluster.active(), "p000");
}

// proves: job/S-35, job/J-47, job/J-48
#[test]
fn a_hundred_pods_are_killed_at_once_and_counted_in_parts() {
    let mut cluster = indexed(100, 100, json!({"backoffLimit": 0}));
    cluster.bounds.uncounted = 50;
    cluster.settle();
    for index in 0..100 {
        cluster.run(&format!("i{index}.0"));
    }
    cluster.end("i7.0", 1);
    let first = cluster.turn();
    assert_eq!(first.text(), "kill 99 pods; status; release 50 pods; status");
    assert_eq!((cluster.active().as_str(), cluster.counts()[4]), ("", 50));
    cluster.settle();
    assert_eq!((cluster.tracked().as_str(), cluster.counts()[4]), ("", 100));
    assert!(!cluster.is_finished());
    cluster.kubelet();
    cluster.settle();
    assert_eq!(
        cluster.conditions(),
        "FailureTarget/BackoffLimitExceeded, Failed/BackoffLimitExceeded"
    );
}

// proves: job/S-26, job/J-121
#[rstest]
#[case::too_many(2, &[1, 1], true)]
#[case::not_too_many(3, &[1, 1], false)]
#[case::none_allowed(0, &[1, 0], true)]
#[case::none_allowed_and_none_seen(0, &[0, 0], false)]
fn restarts_in_place_count(#[case] limit: u32, #[case] restarts: &[u32], #[case] fails: bool) {
    let spec = json!({"parallelism": 2, "completions": 2, "backoffLimit": limit, "template": {"spec": {"restartPolicy": "OnFailure"}}});
    let mut cluster = Cluster::of(spec);
    cluster.settle();
    for (number, restarts) in restarts.iter().enumerate() {
        let name = format!("p{number:03}");
        cluster.run(&name);
        cluster.change_pod(&name, |pod| {
            pod["status"]["containerStatuses"][0]["restartCount"] = (*restarts).into();
        });
    }
    cluster.settle();
    if fails {
        assert_eq!(
            (cluster.conditions().as_str(), cluster.counts()[4]),
            ("FailureTarget/BackoffLimitExceeded", 2)
        );
    } else {
        assert_eq!((cluster.conditions().as_str(), cluster.counts()[4]), ("", 0));
    }
}

// proves: job/J-121
#[test]
fn restarts_of_pods_that_have_ended_are_forgotten_and_those_of_init_containers_count() {
    let spec = json!({"parallelism": 2, "completions": 2, "backoffLimit": 3, "template": {"spec": {"restartPolicy": "OnFailure"}}});
    let mut cluster = Cluster::of(spec);
    cluster.settle();
    cluster.end("p000", 0);
    cluster.change_pod("p000", |pod| {
        pod["status"]["containerStatuses"][0]["restartCount"] = 9.into();
    });
    cluster.run("p001");
    cluster.change_pod("p001", |pod| {
        pod["status"]["initContainerStatuses"] = json!([{"name": "i", "restartCount": 2}]);
    });
    cluster.settle();
    assert_eq!(cluster.conditions(), "");
    cluster.change_pod("p001", |pod| {
        pod["status"]["containerStatuses"][0]["restartCount"] = 1.into();
    });
    cluster.settle();
    assert_eq!(cluster.conditions(), "FailureTarget/BackoffLimitExceeded");
}

// proves: job/J-30, job/J-210
#[test]
fn an_unknown_completion_mode_is_told_and_left_alone() {
    let mut cluster = Cluster::of(json!({"completions": 1, "completionMode": "Sorted"}));
    let turn = cluster.turn();
    assert_eq!((turn.said(), turn.text().as_str()), (vec!["UnknownCompletionMode"], ""));
}

// proves: job/J-33
#[test]
fn a_verdict_waits_until_deletes_are_seen() {
    let mut cluster = Cluster::of(json!({"parallelism": 2, "completions": 2, "backoffLimit": 0}));
    cluster.settle();
    cluster.run("p001");
    cluster.end("p000", 1);
    cluster.turn();
    assert_eq!(cluster.conditions(), "FailureTarget/BackoffLimitExceeded");
    cluster.lag = (0, 2);
    let turn = cluster.turn();
    assert_eq!((turn.text().as_str(), cluster.is_finished()), ("", false));
}

// proves: job/J-38
#[test]
fn a_verdict_kills_no_pod_of_a_job_that_is_being_deleted() {
    let mut cluster = Cluster::of(json!({"parallelism": 2, "completions": 2, "backoffLimit": 0}));
    cluster.settle();
    cluster.run("p001");
    cluster.edit(json!({"metadata": {"deletionTimestamp": "2026-01-02T12:00:00Z"},
        "status": {"conditions": [{"type": "FailureTarget", "status": "True", "reason": "DeadlineExceeded", "message": "m"}]}}));
    cluster.settle();
    assert_eq!(
        (cluster.active().as_str(), cluster.tracked().as_str()),
        ("p000 p001", "")
    );
}
