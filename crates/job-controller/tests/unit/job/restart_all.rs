//! Opt-in `job.on-pod-failure`: a pod that fails restarts the whole group (L-10).

use rstest::rstest;
use serde_json::json;
use workload_core::outcome::{FailureClass, Verb};

use super::cluster::Cluster;
use super::indexed;

fn group() -> Cluster {
    let mut cluster = indexed(4, 4, json!({"backoffLimit": 2})).opt_in("job.on-pod-failure", "RestartAll");
    cluster.settle();
    for index in 0..4 {
        cluster.run(&format!("i{index}.0"));
    }
    cluster.settle();
    cluster
}

// proves: job/L-10
#[test]
fn a_failure_restarts_the_group_and_counts_once() {
    let mut cluster = group();
    cluster.end("i0.0", 0);
    cluster.settle();
    for pod in ["i1.0", "i2.0"] {
        cluster.end(pod, 1);
    }
    let turn = cluster.turn();
    assert_eq!(turn.text(), "release i2.0; drop i3.0; status");
    assert_eq!((cluster.tracked().as_str(), cluster.counts()[4]), ("i1.0", 0));
    assert_eq!(cluster.turn().text(), "status; release i1.0; status");
    assert_eq!(cluster.counts(), [0, 0, 1, 1, 1]);
    cluster.kubelet();
    assert_eq!(cluster.turn().again_in(), Some(10));
    cluster.after(10);
    cluster.settle();
    assert_eq!((cluster.active().as_str(), cluster.counts()[4]), ("i1.1 i2.1 i3.1", 1));
}

// proves: job/L-10
#[rstest]
#[case::before_the_others_go(0)]
#[case::before_any_is_let_go_of(1)]
fn a_crash_in_the_middle_of_a_restart_loses_nothing(#[case] stage: usize) {
    let mut cluster = group();
    for pod in ["i1.0", "i2.0"] {
        cluster.end(pod, 1);
    }
    cluster.crash_before = Some(stage);
    cluster.turn();
    cluster.settle();
    cluster.kubelet();
    cluster.settle();
    assert_eq!((cluster.counts(), cluster.tracked().as_str()), ([0, 0, 0, 0, 1], ""));
}

// proves: job/L-10
#[test]
fn a_pod_that_cannot_be_removed_keeps_the_failure_open() {
    let mut cluster = group();
    cluster.end("i1.0", 1);
    cluster.faults = vec![(Verb::Delete, "i3", FailureClass::Rejected)];
    cluster.turn();
    cluster.turn();
    assert_eq!(
        (
            cluster.active().as_str(),
            cluster.tracked().as_str(),
            cluster.counts()[4]
        ),
        ("i3.0", "i1.0", 0)
    );
    cluster.faults.clear();
    cluster.settle();
    assert_eq!((cluster.active().as_str(), cluster.counts()[4]), ("", 1));
}

// proves: job/L-10
#[test]
fn rounds_are_limited_like_pods() {
    let mut cluster = group();
    for round in 0..3 {
        for index in 0..4 {
            cluster.end(&format!("i{index}.{round}"), 1);
        }
        cluster.settle();
        assert_eq!(cluster.counts()[4], round + 1);
        cluster.after(100);
        cluster.settle();
    }
    assert_eq!(
        cluster.conditions(),
        "FailureTarget/BackoffLimitExceeded, Failed/BackoffLimitExceeded"
    );
}
