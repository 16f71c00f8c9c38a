//! Records, releases and counts when something goes wrong in between (J-41…J-50, J-154, J-190…J-192, S-40, S-41, S-46).

use serde_json::json;
use workload_core::outcome::{FailureClass, Verb};
use workload_core::workload::{Children, Workload as _};

use super::cluster::{Cluster, TRACKING, Trouble};
use super::{fixed, indexed};

// proves: job/J-150
#[test]
fn a_job_does_not_end_while_a_pod_keeps_its_finalizer() {
    let mut cluster = indexed(1, 1, json!({}));
    cluster.settle();
    cluster.end("i0.0", 0);
    cluster.faults = vec![(Verb::Patch, "i0", FailureClass::Rejected)];
    cluster.turn();
    assert_eq!(
        (cluster.status_of("completedIndexes"), cluster.is_finished()),
        (&json!("0"), false)
    );
    cluster.faults.clear();
    cluster.turn();
    assert!(cluster.is_finished());
}

// proves: job/J-33
#[test]
fn a_stored_verdict_waits_too_until_earlier_writes_are_seen() {
    let mut cluster = Cluster::of(json!({"completions": 1, "backoffLimit": 0}));
    cluster.settle();
    cluster.end("p000", 1);
    cluster.faults = vec![(Verb::Patch, "p", FailureClass::Transient)];
    cluster.turn();
    cluster.faults.clear();
    cluster.children = Some(Children::Unsettled);
    assert_eq!(cluster.turn().text(), "release p000; status");
    assert_eq!((cluster.counts()[4], cluster.is_finished()), (1, false));
    cluster.children = None;
    cluster.turn();
    assert!(cluster.is_finished());
}

// proves: job/S-46, job/J-41, job/J-233
#[test]
fn no_finalizer_is_removed_if_the_record_was_not_stored() {
    let mut cluster = fixed(1, 1);
    cluster.settle();
    cluster.end("p000", 0);
    cluster.faults = vec![(Verb::Status, "work", FailureClass::Conflict)];
    let turn = cluster.turn();
    assert_eq!((turn.text().as_str(), cluster.tracked().as_str()), ("status", "p000"));
    assert!(turn.outcome.failure().is_some() && turn.notes.is_empty());
    cluster.faults.clear();
    cluster.settle();
    assert_eq!((cluster.counts(), cluster.is_finished()), ([0, 0, 0, 1, 0], true));
}

// proves: job/J-43, job/J-44, job/J-150
#[test]
fn a_finalizer_that_cannot_be_removed_delays_only_its_own_pod_and_the_end() {
    let mut cluster = fixed(2, 2);
    cluster.settle();
    for pod in ["p000", "p001"] {
        cluster.end(pod, 0);
    }
    cluster.faults = vec![(Verb::Patch, "p000", FailureClass::Rejected)];
    cluster.turn();
    assert_eq!(
        (cluster.counts(), cluster.tracked().as_str()),
        ([0, 0, 0, 1, 0], "p000")
    );
    assert_eq!(cluster.conditions(), "SuccessCriteriaMet/CompletionsReached");
    cluster.faults.clear();
    assert_eq!(cluster.turn().text(), "release p000; status");
    assert_eq!((cluster.counts(), cluster.is_finished()), ([0, 0, 0, 2, 0], true));
}

// proves: job/J-43
#[test]
fn a_pod_whose_finalizer_stays_keeps_no_other_from_being_made() {
    let mut cluster = fixed(1, 2);
    cluster.settle();
    cluster.end("p000", 0);
    cluster.faults = vec![(Verb::Patch, "p000", FailureClass::Rejected)];
    cluster.turn();
    assert_eq!(cluster.active(), "p001");
}

// proves: job/J-46
#[rstest::rstest]
#[case::before_the_release(1)]
#[case::after_the_release(2)]
fn a_crash_between_record_and_count_is_repaired(#[case] stage: usize) {
    let mut cluster = fixed(2, 3);
    cluster.settle();
    cluster.end("p000", 0);
    cluster.crash_before = Some(stage);
    cluster.turn();
    assert_eq!(
        cluster.status_of("uncountedTerminatedPods"),
        &json!({"succeeded": ["uid-of-p000"]})
    );
    cluster.settle();
    assert_eq!(cluster.counts()[3..], [1, 0]);
    assert_eq!(cluster.status_of("uncountedTerminatedPods"), &json!({}));
}

// proves: job/J-50
#[test]
fn a_finalizer_that_was_removed_is_not_removed_again_while_the_cache_shows_it() {
    let mut cluster = fixed(2, 3);
    cluster.settle();
    cluster.end("p000", 1);
    let shown = cluster.find("p000").unwrap().clone();
    cluster.turn();
    assert_eq!(cluster.counts()[3..], [0, 1]);
    // A cache that has not shown our own write for so long that the gate lets go of the turn.
    cluster.put_pod(shown);
    cluster.children = Some(Children::Unsettled);
    assert_eq!((cluster.turn().text().as_str(), cluster.counts()[4]), ("", 1));
    cluster.after(3600);
    assert_eq!((cluster.turn().text().as_str(), cluster.counts()[4]), ("", 1));
}

// proves: job/J-50
#[test]
fn what_was_let_go_of_in_a_lost_history_is_let_go_of_again() {
    let mut cluster = fixed(2, 3);
    cluster.settle();
    cluster.run("p000");
    let before = cluster.find("p000").unwrap().clone();
    cluster.end("p000", 1);
    cluster.turn();
    assert_eq!((cluster.tracked().as_str(), cluster.counts()[4]), ("p001", 1));
    // The server is restored from a backup in which the pod runs.
    cluster.put_pod(before);
    cluster.controller_of_all().start_over();
    cluster.end("p000", 0);
    cluster.turn();
    assert_eq!((cluster.tracked().contains("p000"), cluster.counts()[3]), (false, 1));
}

// proves: job/J-37, job/J-47
#[test]
fn a_pod_listed_as_failed_stays_failed() {
    let mut cluster = fixed(1, 1);
    cluster.settle();
    cluster.run("p000");
    cluster.delete_pod("p000");
    cluster.faults = vec![(Verb::Patch, "p000", FailureClass::Transient)];
    cluster.turn();
    assert_eq!(
        cluster.status_of("uncountedTerminatedPods"),
        &json!({"failed": ["uid-of-p000"]})
    );
    cluster.faults.clear();
    cluster.end("p000", 0);
    cluster.turn();
    assert_eq!(cluster.counts()[3..], [0, 1]);
}

// proves: job/J-34, job/J-191
#[test]
fn while_earlier_writes_are_unseen_pods_are_counted_but_neither_made_nor_judged() {
    let mut cluster = Cluster::of(json!({"parallelism": 2, "completions": 2, "backoffLimit": 0}));
    cluster.settle();
    cluster.end("p000", 1);
    cluster.children = Some(Children::Unsettled);
    let turn = cluster.turn();
    assert_eq!(turn.text(), "status; release p000; status");
    assert_eq!((cluster.counts(), cluster.conditions().as_str()), ([1, 0, 0, 0, 1], ""));
    cluster.children = None;
    cluster.turn();
    assert_eq!(cluster.conditions(), "FailureTarget/BackoffLimitExceeded");
}

// proves: job/J-192
#[test]
fn while_a_pod_cannot_be_decoded_none_is_made_nothing_ends_and_it_is_not_counted() {
    let mut cluster = fixed(2, 3);
    cluster.settle();
    for pod in ["p000", "p001"] {
        cluster.end(pod, 0);
    }
    cluster.faults = vec![(Verb::Patch, "p", FailureClass::Transient)];
    cluster.turn();
    cluster.faults.clear();
    cluster.unread = vec!["p001"];
    let turn = cluster.turn();
    assert_eq!(
        (turn.text().as_str(), turn.again_in()),
        ("release p000; status", Some(60))
    );
    assert_eq!(cluster.counts()[3..], [1, 0]);
    assert_eq!(
        cluster.status_of("uncountedTerminatedPods"),
        &json!({"succeeded": ["uid-of-p001"]})
    );
    cluster.end("p002", 0);
    cluster.settle();
    assert!(!cluster.is_finished());
    cluster.unread.clear();
    cluster.settle();
    assert_eq!((cluster.counts(), cluster.is_finished()), ([0, 0, 0, 3, 0], true));
}

// proves: job/J-192, field/FR-JB-01
#[test]
fn a_pod_that_cannot_be_decoded_is_not_replaced() {
    let mut cluster = fixed(2, 2);
    cluster.settle();
    cluster.unread = vec!["p001"];
    let turn = cluster.turn();
    assert_eq!((turn.again_in(), cluster.pods.len()), (Some(60), 2));
    cluster.end("p000", 1);
    cluster.edit(json!({"spec": {"backoffLimit": 0}}));
    cluster.turn();
    assert_eq!((cluster.counts()[4], cluster.conditions().as_str()), (1, ""));
    cluster.unread.clear();
    cluster.turn();
    assert_eq!(cluster.conditions(), "FailureTarget/BackoffLimitExceeded");
}

// proves: job/J-190, job/J-192, job/S-40
#[test]
fn a_late_watch_of_jobs_makes_no_second_pod() {
    let mut cluster = fixed(1, 1);
    cluster.settle();
    cluster.end("p000", 0);
    cluster.turn();
    assert!(cluster.is_finished());
    cluster.lag = (5, 0);
    assert_eq!(
        (cluster.turn().text().as_str(), cluster.pods.len()),
        ("", 1),
        "no turn before our own write is seen"
    );
}

// proves: job/J-154
#[test]
fn a_cache_without_the_end_but_with_the_verdict_makes_no_pod() {
    let mut cluster = fixed(1, 2);
    cluster.settle();
    cluster.end("p000", 0);
    cluster.turn();
    cluster.end("p001", 0);
    cluster.trouble = Some((2, Trouble::Lost));
    cluster.turn();
    assert!(cluster.is_finished(), "{}", cluster.conditions());
    cluster.lag = (1, 0);
    let turn = cluster.turn();
    assert_eq!((turn.text().as_str(), cluster.pods.len()), ("status", 2));
    assert!(
        turn.outcome
            .failure()
            .is_some_and(|failure| failure.class == FailureClass::Conflict)
    );
}

// proves: job/S-38, job/J-38, job/J-45, job/J-171
#[test]
fn a_job_that_is_being_deleted_lets_go_of_its_pods() {
    let mut cluster = fixed(3, 3);
    cluster.settle();
    cluster.run("p000");
    cluster.end("p001", 0);
    cluster.edit(
        json!({"metadata": {"deletionTimestamp": "2026-01-02T12:00:00Z", "finalizers": ["orphan"]},
                        "spec": {"parallelism": 1, "activeDeadlineSeconds": 0, "suspend": true}}),
    );
    cluster.settle();
    assert_eq!(
        (cluster.tracked().as_str(), cluster.active().as_str()),
        ("", "p000 p002")
    );
    assert_eq!((cluster.counts(), cluster.conditions().as_str()), ([2, 1, 0, 1, 0], ""));
}

// proves: job/J-155, job/J-156
#[test]
fn a_finished_job_is_left_alone() {
    let mut cluster = fixed(1, 1);
    cluster.settle();
    cluster.end("p000", 0);
    cluster.settle();
    cluster.edit(json!({"spec": {"parallelism": 7}}));
    assert_eq!(cluster.settle(), [""; 0]);
    assert_eq!(cluster.pods.len(), 1);
    cluster.change_pod("p000", |pod| pod["metadata"]["finalizers"] = json!([TRACKING]));
    assert_eq!(cluster.settle(), [""; 0]);
}

// proves: job/J-153
#[test]
fn more_successes_than_were_wanted_are_told() {
    let mut cluster = fixed(2, 2);
    cluster.settle();
    for pod in ["p000", "p001"] {
        cluster.end(pod, 0);
    }
    cluster.edit(json!({"spec": {"completions": 1}}));
    assert_eq!(cluster.turn().said(), ["TooManySucceededPods", "Completed"]);
}

// proves: job/S-41, job/J-62, job/J-63, job/J-66
#[test]
fn a_quota_stops_the_batch_after_the_one_that_meets_it() {
    let mut cluster = fixed(5, 5);
    cluster.quota = Some(2);
    let turn = cluster.turn();
    assert_eq!(turn.text(), "create p000, p001, (p002); status");
    assert_eq!(turn.said(), ["SuccessfulCreate", "SuccessfulCreate", "FailedCreate"]);
    assert_eq!(cluster.counts()[0], 2);
    let again = cluster.turn();
    assert_eq!(
        (again.text().as_str(), again.said()),
        ("create (p002)", vec!["FailedCreate"])
    );
}

// proves: job/J-41, job/J-62
#[test]
fn a_full_quota_keeps_no_pod_from_being_counted() {
    let mut cluster = fixed(2, 4);
    cluster.settle();
    cluster.quota = Some(2);
    cluster.end("p000", 0);
    cluster.turn();
    assert_eq!(
        (cluster.counts(), cluster.tracked().as_str()),
        ([1, 0, 0, 1, 0], "p001")
    );
}

// proves: job/J-64
#[test]
fn a_namespace_on_its_way_out_is_no_failure() {
    let mut cluster = fixed(1, 1);
    cluster.faults = vec![(Verb::Create, "p", FailureClass::NamespaceEnding)];
    let turn = cluster.turn();
    assert_eq!((turn.said(), cluster.counts()[0]), (vec![], 0));
}
