//! What turns come to in numbers (J-6, J-10, J-211…J-213, L-12).

use std::collections::BTreeMap;
use std::time::Duration;

use job_controller::job::Jobs;
use job_controller::job::decide::Bounds;
use job_controller::job::policy::failure::Action;
use job_controller::job::tally::{CreationReason, Finished, Limit, Mode, Tally, TurnAction, TurnResult};
use serde_json::json;
use workload_core::expectations::HOLD;
use workload_core::outcome::{FailureClass, Verb};
use workload_core::workload::{RetryLimit, Workload};

use super::cluster::Cluster;
use super::{fixed, indexed, on_42};

fn tally(cluster: &mut Cluster) -> Tally {
    cluster.turn().tally.unwrap()
}

// proves: job/J-6, job/J-10
#[test]
fn bounds_and_waits_are_upstreams() {
    let Bounds { uncounted, burst } = Bounds::default();
    assert_eq!((uncounted, burst, HOLD), (500, 500, Duration::from_mins(5)));
    let [first, longest] = [1, 60].map(Duration::from_secs);
    assert_eq!(Jobs::RETRIES, RetryLimit::Paced { first, longest });
    assert_eq!((Jobs::QUEUE, Jobs::COMPONENT), ("job", "job-controller"));
}

// proves: job/J-211, job/J-212, job/J-213, job/L-12
#[test]
fn a_job_is_counted_from_its_first_pod_to_its_end() {
    let mut cluster = fixed(2, 2);
    cluster.faults = vec![(Verb::Create, "p001", FailureClass::Rejected)];
    let first = tally(&mut cluster);
    assert_eq!(
        (first.created, first.not_created, first.reason),
        (1, 1, CreationReason::New)
    );
    assert_eq!(
        (first.mode, first.action, first.result),
        (Mode::NonIndexed, TurnAction::PodsCreated, TurnResult::Error)
    );
    cluster.faults.clear();
    cluster.settle();
    cluster.end("p000", 1);
    let failed = tally(&mut cluster);
    assert_eq!(
        (failed.pods_failed, failed.action, failed.result),
        (1, TurnAction::Tracking, TurnResult::Success)
    );
    cluster.after(10);
    let again = tally(&mut cluster);
    assert_eq!(
        (again.created, again.reason),
        (1, CreationReason::RecreateTerminatingOrFailed)
    );
    assert_eq!(tally(&mut cluster).action, TurnAction::Reconciling);
    for pod in ["p001", "p002"] {
        cluster.end(pod, 0);
    }
    let last = tally(&mut cluster);
    assert_eq!(
        (last.pods_succeeded, last.pods_failed, last.action),
        (2, 0, TurnAction::Reconciling)
    );
    let (result, reason) = ("succeeded", "CompletionsReached");
    assert_eq!(last.finished, Some(Finished { result, reason }));
}

// proves: job/J-213
#[test]
fn an_end_that_was_not_stored_is_not_counted() {
    let mut cluster = fixed(1, 1);
    cluster.settle();
    cluster.end("p000", 0);
    cluster.trouble = Some((2, super::cluster::Trouble::Refused(FailureClass::Conflict)));
    let turn = cluster.turn();
    assert_eq!((turn.tally.unwrap().finished, turn.notes.len()), (None, 0));
    let turn = cluster.turn();
    assert!(turn.tally.unwrap().finished.is_some());
}

// proves: job/J-211
#[test]
fn indexes_and_rules_are_counted() {
    let spec = json!({"backoffLimitPerIndex": 0, "podFailurePolicy": on_42("FailIndex")});
    let mut cluster = indexed(3, 3, spec);
    cluster.settle();
    cluster.end("i0.0", 42);
    cluster.end("i1.0", 0);
    let turn = tally(&mut cluster);
    assert_eq!(
        (turn.mode, turn.limit, turn.handled),
        (Mode::Indexed, Limit::PerIndex, BTreeMap::from([(Action::FailIndex, 1)]))
    );
    assert_eq!(
        (
            turn.indexes_succeeded,
            turn.indexes_failed,
            turn.pods_succeeded,
            turn.pods_failed
        ),
        (1, 1, 1, 1)
    );
}

// proves: job/J-211
#[test]
fn removals_are_counted_as_such() {
    let mut cluster = fixed(3, 9);
    cluster.settle();
    cluster.edit(json!({"spec": {"parallelism": 1}}));
    assert_eq!(tally(&mut cluster).action, TurnAction::PodsDeleted);
}

// proves: job/J-212
#[test]
fn a_replacement_that_has_waited_is_told_apart() {
    let mut cluster = Cluster::of(json!({"completions": 1, "podReplacementPolicy": "Failed"}));
    assert_eq!(tally(&mut cluster).reason, CreationReason::New);
    cluster.end("p000", 1);
    cluster.settle();
    cluster.after(10);
    assert_eq!(tally(&mut cluster).reason, CreationReason::RecreateFailed);
}
