//! How long a Job whose pods fail waits (J-110…J-115, S-2, S-27, S-28, S-39).

use std::sync::Arc;

use job_controller::job::policy::backoff::Record;
use rstest::rstest;
use serde_json::json;
use workload_core::time::{self, Timestamp};

use super::cluster::{Cluster, noon};
use super::fixed;

fn at(second: u64) -> Timestamp {
    time::plus(noon(), std::time::Duration::from_secs(second))
}

/// Seconds to wait at `now`, after these ends, on top of a record.
fn wait(record: Record, now: u64) -> u64 {
    record.remaining(at(now)).map_or(0, |rest| rest.as_secs())
}

// proves: job/J-113
#[test]
fn waits_double_from_ten_seconds_to_ten_minutes() {
    let waits = [0, 1, 2, 3, 4, 5, 6, 7, 8, 100].map(|failures| {
        let last = Some(at(0));
        wait(Record { failures, last }, 0)
    });
    assert_eq!(waits, [0, 10, 20, 40, 80, 160, 320, 600, 600, 600]);
    let failed_once = Record::default().after(&[at(5)], &[]);
    assert_eq!(
        [0, 5, 14, 15, 99].map(|now| wait(failed_once, now)),
        [15, 10, 1, 0, 0],
        "a clock that is ahead waits longer"
    );
}

// proves: job/J-111, job/S-28
#[rstest]
#[case::a_success_between(&[1, 2, 4, 5], &[3], 2, 5)]
#[case::no_success(&[1, 2], &[], 3, 2)]
#[case::a_success_at_the_end(&[1, 2], &[3], 0, 0)]
#[case::a_success_at_the_very_time_wins(&[3], &[3], 0, 0)]
#[case::several_successes(&[4, 9], &[3, 8], 1, 9)]
fn failures_count_since_the_last_success(
    #[case] failed: &[u64],
    #[case] succeeded: &[u64],
    #[case] failures: u32,
    #[case] last: u64,
) {
    let times = |seconds: &[u64]| seconds.iter().map(|second| at(*second)).collect::<Vec<_>>();
    let before = Record::default().after(&[at(0)], &[]);
    let record = before.after(&times(failed), &times(succeeded));
    let last = (failures > 0).then(|| at(last));
    assert_eq!(record, Record { failures, last });
}

// proves: job/S-2, job/J-115, job/J-120, job/J-14, job/J-31
#[test]
fn four_retries_wait_ten_to_eighty_seconds_and_the_fifth_failure_ends_the_job() {
    let mut cluster = Cluster::of(json!({"completions": 1, "backoffLimit": 4}));
    cluster.settle();
    let mut waits = Vec::new();
    for pod in 0..5 {
        cluster.end(&format!("p{pod:03}"), 1);
        let turn = cluster.turn();
        waits.extend(turn.again_in());
        if let Some(wait) = turn.again_in() {
            cluster.after(wait - 1);
            assert_eq!(cluster.turn().again_in(), Some(1));
            cluster.after(1);
            cluster.settle();
        }
    }
    assert_eq!(waits, [10, 20, 40, 80]);
    assert_eq!((cluster.counts(), cluster.pods.len()), ([0, 0, 0, 0, 5], 5));
    assert_eq!(
        cluster.conditions(),
        "FailureTarget/BackoffLimitExceeded, Failed/BackoffLimitExceeded"
    );
}

// proves: job/S-27, job/J-114, job/J-63
#[test]
fn three_failures_at_once_count_as_three() {
    let mut cluster = fixed(4, 4);
    cluster.settle();
    for pod in ["p000", "p001", "p002"] {
        cluster.end(pod, 1);
    }
    let turn = cluster.turn();
    assert_eq!((turn.again_in(), cluster.counts()), (Some(40), [1, 0, 0, 0, 3]));
    assert_eq!(
        cluster.turn().again_in(),
        Some(40),
        "they are remembered, and counted once"
    );
}

// proves: job/J-112
#[test]
fn a_record_that_was_not_stored_is_not_remembered_twice() {
    let mut cluster = fixed(2, 2);
    cluster.settle();
    cluster.end("p000", 1);
    cluster.faults = vec![(
        workload_core::outcome::Verb::Status,
        "work",
        workload_core::outcome::FailureClass::Conflict,
    )];
    cluster.turn();
    assert!(cluster.memory.is_empty());
    cluster.faults.clear();
    assert_eq!(cluster.turn().again_in(), Some(10));
    assert_eq!(cluster.turn().again_in(), Some(10));
}

// proves: job/J-111
#[test]
fn an_ignored_failure_that_cannot_be_let_go_of_counts_once() {
    let spec = json!({"completions": 1, "podFailurePolicy": super::on_42("Ignore")});
    let mut cluster = Cluster::of(spec);
    cluster.settle();
    cluster.end("p000", 42);
    cluster.faults = vec![(
        workload_core::outcome::Verb::Patch,
        "p",
        workload_core::outcome::FailureClass::Transient,
    )];
    assert_eq!(cluster.turn().again_in(), Some(10));
    assert_eq!(cluster.turn().again_in(), Some(10));
    cluster.faults.clear();
    assert_eq!(
        [cluster.turn(), cluster.turn()].map(|turn| turn.again_in()),
        [Some(10), Some(10)]
    );
}

// proves: job/J-112
#[test]
fn a_restart_forgets_the_failures() {
    let mut cluster = fixed(1, 1);
    cluster.settle();
    cluster.end("p000", 1);
    assert_eq!(cluster.turn().again_in(), Some(10));
    cluster.restart();
    assert_eq!(cluster.turn().text(), "create p001; status");
}

// proves: job/J-112, job/S-39, job/J-175
#[test]
fn a_job_of_the_same_name_inherits_nothing() {
    let mut cluster = fixed(1, 1);
    cluster.settle();
    cluster.end("p000", 1);
    cluster.turn();
    assert_eq!(cluster.memory.len(), 1);
    let mut next = fixed(1, 1);
    next.edit(json!({"metadata": {"uid": "uid-of-another"}}));
    next.memory = Arc::clone(&cluster.memory);
    assert_eq!(next.turn().text(), "create p000; status");
    assert!(cluster.memory.is_empty());
}

// proves: job/J-112
#[test]
fn a_finished_job_is_forgotten() {
    let mut cluster = fixed(1, 1);
    cluster.settle();
    cluster.end("p000", 1);
    cluster.turn();
    cluster.after(10);
    cluster.settle();
    cluster.end("p001", 0);
    cluster.settle();
    cluster.turn();
    assert!(cluster.is_finished() && cluster.memory.is_empty());
}

// proves: job/S-32, job/J-158, job/J-159, job/J-37
#[test]
fn a_pod_that_is_asked_to_go_is_replaced_at_once_or_when_it_has_gone() {
    for (policy, during, after) in [
        ("TerminatingOrFailed", [2, 0, 2, 0, 2], [2, 0, 0, 0, 2]),
        ("Failed", [0, 0, 2, 0, 0], [2, 0, 0, 0, 2]),
    ] {
        let mut cluster = Cluster::of(json!({"parallelism": 2, "completions": 2, "podReplacementPolicy": policy}));
        cluster.settle();
        for pod in ["p000", "p001"] {
            cluster.run(pod);
            cluster.change_pod(pod, |pod| {
                pod["metadata"]["finalizers"]
                    .as_array_mut()
                    .unwrap()
                    .push("example.com/x".into());
            });
        }
        cluster.settle();
        for pod in ["p000", "p001"] {
            cluster.delete_pod(pod);
        }
        cluster.settle();
        cluster.after(60);
        cluster.settle();
        assert_eq!(cluster.counts(), during, "{policy}");
        cluster.kubelet();
        cluster.settle();
        cluster.after(60);
        cluster.settle();
        assert_eq!(cluster.counts(), after, "{policy}");
    }
}

// proves: job/J-61
#[test]
fn pods_on_their_way_out_are_waited_for_by_number() {
    let mut cluster = Cluster::of(json!({"parallelism": 3, "completions": 9, "podReplacementPolicy": "Failed"}));
    cluster.settle();
    cluster.run("p000");
    cluster.delete_pod("p000");
    cluster.end("p001", 0);
    cluster.turn();
    assert_eq!(cluster.active(), "p002 p003");
}
