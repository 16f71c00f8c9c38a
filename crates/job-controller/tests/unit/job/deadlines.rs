//! How long a Job may run (J-130, J-131, J-13, J-106, S-29).

use serde_json::json;
use workload_core::outcome::{FailureClass, Verb};
use workload_core::plan::Wake;

use super::cluster::Cluster;

fn within(seconds: u64) -> Cluster {
    let mut cluster = Cluster::of(json!({"completions": 1, "activeDeadlineSeconds": seconds}));
    assert_eq!(cluster.turn().again_in(), Some(seconds));
    cluster
}

// proves: job/S-29, job/J-130, job/J-131, job/J-13
#[test]
fn a_job_that_runs_for_too_long_fails_without_any_event() {
    let mut cluster = within(10);
    cluster.run("p000");
    cluster.after(9);
    assert_eq!(cluster.turn().again_in(), Some(1));
    cluster.after(1);
    cluster.settle();
    assert_eq!(
        (cluster.conditions().as_str(), cluster.counts()),
        ("FailureTarget/DeadlineExceeded", [0, 0, 1, 0, 1])
    );
    cluster.kubelet();
    cluster.settle();
    assert_eq!(
        cluster.conditions(),
        "FailureTarget/DeadlineExceeded, Failed/DeadlineExceeded"
    );
}

// proves: job/J-31, job/J-33, job/J-131
#[test]
fn the_deadline_is_the_reason_though_the_kill_exceeds_the_limit_of_failures() {
    let mut cluster = Cluster::of(json!({"completions": 1, "activeDeadlineSeconds": 10, "backoffLimit": 0}));
    cluster.settle();
    cluster.run("p000");
    cluster.after(10);
    assert_eq!(cluster.turn().text(), "status");
    assert_eq!(cluster.conditions(), "FailureTarget/DeadlineExceeded");
    cluster.settle();
    cluster.kubelet();
    cluster.settle();
    assert_eq!(
        cluster.conditions(),
        "FailureTarget/DeadlineExceeded, Failed/DeadlineExceeded"
    );
    assert_eq!(cluster.counts()[4], 1);
}

// proves: job/S-29, job/J-131
#[test]
fn a_job_that_never_had_a_pod_fails_with_none() {
    let mut cluster = Cluster::of(json!({"completions": 1, "activeDeadlineSeconds": 10}));
    cluster.quota = Some(0);
    cluster.turn();
    cluster.after(10);
    cluster.settle();
    assert_eq!((cluster.counts(), cluster.is_finished()), ([0; 5], true));
}

// proves: job/J-31
#[test]
fn the_deadline_beats_a_success_that_is_seen_too_late() {
    let mut cluster = within(10);
    cluster.after(10);
    cluster.end("p000", 0);
    cluster.settle();
    assert_eq!(
        cluster.conditions(),
        "FailureTarget/DeadlineExceeded, Failed/DeadlineExceeded"
    );
    assert_eq!(cluster.counts()[3..], [1, 0]);
}

// proves: job/J-130
#[test]
fn a_deadline_of_nothing_passes_at_once() {
    let mut cluster = Cluster::of(json!({"completions": 1, "activeDeadlineSeconds": 0}));
    cluster.settle();
    assert_eq!(
        cluster.conditions(),
        "FailureTarget/DeadlineExceeded, Failed/DeadlineExceeded"
    );
    assert!(cluster.pods.is_empty() && cluster.made.is_empty());
    assert_eq!(cluster.counts(), [0; 5]);
}

// proves: job/J-106, job/J-130, job/J-131
#[test]
fn a_job_that_is_resumed_with_a_deadline_of_nothing_makes_no_pod() {
    let mut cluster = Cluster::of(json!({"completions": 1, "suspend": true, "activeDeadlineSeconds": 0}));
    cluster.settle();
    assert_eq!(cluster.conditions(), "Suspended/JobSuspended");
    cluster.edit(json!({"spec": {"suspend": false}}));
    cluster.settle();
    assert!(cluster.is_finished() && cluster.made.is_empty());
    assert_eq!(cluster.counts(), [0; 5]);
}

// proves: job/J-13, job/J-130
#[test]
fn the_longest_deadline_that_the_server_takes_never_passes() {
    let mut cluster = Cluster::of(json!({"completions": 1, "activeDeadlineSeconds": i64::MAX}));
    let bound = 10_000 * 366 * 24 * 3600;
    let first = cluster.turn();
    assert!(first.again_in().is_some_and(|wait| wait < bound), "{:?}", first.wake);
    cluster.run("p000");
    cluster.after(3600);
    let second = cluster.turn();
    assert!(second.again_in().is_some_and(|wait| wait < bound), "{:?}", second.wake);
    assert_eq!((cluster.conditions().as_str(), cluster.active().as_str()), ("", "p000"));
}

// proves: job/J-33, job/J-191
#[test]
fn a_pod_that_cannot_be_killed_stays_alone() {
    let mut cluster = Cluster::of(json!({"parallelism": 3, "completions": 3, "activeDeadlineSeconds": 60}));
    cluster.settle();
    for pod in ["p000", "p001"] {
        cluster.run(pod);
    }
    cluster.settle();
    cluster.end("p002", 1);
    cluster.after(60);
    cluster.faults = vec![(Verb::Delete, "p001", FailureClass::Rejected)];
    assert_eq!(cluster.turn().text(), "kill p000 p001; status");
    let second = cluster.turn();
    assert_eq!(second.text(), "status; release p000 p002; kill p001; status");
    assert_eq!(
        (cluster.tracked().as_str(), cluster.counts()),
        ("p001", [1, 1, 1, 0, 2])
    );
    cluster.kubelet();
    assert_eq!(cluster.turn().text(), "kill p001; status");
    for _ in 0..3 {
        let turn = cluster.turn();
        assert_eq!((turn.text().as_str(), turn.wake), ("kill p001", Wake::OnChange));
        assert_eq!((cluster.conditions().as_str(), cluster.counts()), ("", [1, 1, 0, 0, 2]));
    }
    cluster.faults.clear();
    cluster.settle();
    cluster.kubelet();
    cluster.settle();
    assert_eq!(
        (cluster.conditions().as_str(), cluster.counts()),
        (
            "FailureTarget/DeadlineExceeded, Failed/DeadlineExceeded",
            [0, 0, 0, 0, 3]
        )
    );
}

// proves: job/J-13
#[test]
fn a_changed_deadline_counts_from_the_start() {
    let mut cluster = within(10);
    cluster.after(5);
    cluster.edit(json!({"spec": {"activeDeadlineSeconds": 8}}));
    assert_eq!(cluster.turn().again_in(), Some(3));
    cluster.edit(json!({"spec": {"activeDeadlineSeconds": 2}}));
    cluster.settle();
    assert_eq!(
        cluster.conditions(),
        "FailureTarget/DeadlineExceeded, Failed/DeadlineExceeded"
    );
}

// proves: job/J-106
#[test]
fn the_deadline_stands_still_while_suspended_and_begins_anew() {
    let mut cluster = within(10);
    cluster.after(5);
    cluster.edit(json!({"spec": {"suspend": true}}));
    cluster.settle();
    cluster.after(100);
    cluster.settle();
    cluster.edit(json!({"spec": {"suspend": false}}));
    assert_eq!(cluster.turn().again_in(), Some(10));
    cluster.after(9);
    cluster.settle();
    assert_eq!(cluster.conditions(), "not Suspended/JobResumed");
    // A start time that upstream has left standing, as its gate off does.
    cluster.edit(json!({"spec": {"suspend": true}}));
    cluster.settle();
    cluster.edit(json!({"spec": {"suspend": false}, "status": {"startTime": "2026-01-02T12:00:00Z"}}));
    cluster.settle();
    assert_eq!(cluster.conditions(), "not Suspended/JobResumed");
}
