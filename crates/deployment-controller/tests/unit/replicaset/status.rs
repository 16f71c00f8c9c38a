//! What is reported after a turn (deployment RS-20…RS-23, RS-30, RS-31, C-73).

use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use testkit::builders::{Manifest as _, Pod, Templated as _};
use workload_core::id::{Kind, ObjectKey, ResourceVersion, Uid};
use workload_core::outcome::{Attempt, Failure, FailureClass, Outcome, Receipt, Verb};
use workload_core::plan::{Note, Severity, Wake};
use workload_core::workload::Conclusion;

use super::{World, at, changed, noon, orphan, owned, ready, status, web};

fn attempt(verb: Verb, name: &str, result: Result<Receipt, Failure>) -> Attempt {
    Attempt {
        verb,
        kind: Kind::POD,
        key: ObjectKey::new("default", name),
        result,
    }
}

fn failed(verb: Verb, class: FailureClass, message: &str) -> Attempt {
    attempt(verb, "web-abcde", Err(Failure::new(class, message)))
}

fn report(world: &World, attempts: Vec<Attempt>) -> Conclusion {
    world.turn().report(&Outcome { attempts })
}

// proves: deployment/RS-20, deployment/T-19
#[test]
fn pods_are_counted_as_active_labelled_ready_and_available() {
    let set = web(4).min_ready_seconds(5).pod_label("tier", "front").generation(7);
    let pods = [
        owned("unready").label("tier", "front"),
        ready("just-now", "2026-01-02T12:00:00Z").label("tier", "front"),
        ready("for-two-seconds", "2026-01-02T11:59:58Z"),
        ready("for-four-seconds", "2026-01-02T11:59:56Z"),
        ready("finished", "2026-01-02T11:00:00Z").phase("Succeeded"),
    ];
    let report = World::of(set, pods).at("2026-01-02T12:00:00.3Z").report();
    let expected = json!({
        "replicas": 4, "fullyLabeledReplicas": 2, "readyReplicas": 3, "terminatingReplicas": 0, "observedGeneration": 7,
    });
    assert_eq!(changed(&report), expected);
    assert_eq!(report.wake, Wake::After(Duration::from_millis(700)));
}

// proves: deployment/RS-20
#[rstest]
#[case::no_time_demanded(0, ready("a", "2026-01-02T12:00:00Z"), 1)]
#[case::no_time_demanded_nor_given(0, since_nobody_knows_when(), 1)]
#[case::to_the_second(10, ready("a", "2026-01-02T11:59:50Z"), 1)]
#[case::a_second_short(10, ready("a", "2026-01-02T11:59:51Z"), 0)]
#[case::time_demanded_but_not_given(10, since_nobody_knows_when(), 0)]
#[case::not_ready(10, owned("a").unready_since(at("2026-01-02T11:00:00Z")), 0)]
fn a_pod_is_available_after_it_was_ready_for_long_enough(
    #[case] seconds: u32,
    #[case] pod: Pod,
    #[case] available: u32,
) {
    let set = web(1).min_ready_seconds(seconds).set("/status/availableReplicas", 9);
    assert_eq!(changed(&World::of(set, [pod]).report())["availableReplicas"], available);
}

fn since_nobody_knows_when() -> Pod {
    owned("a").set("/status/conditions", json!([{"type": "Ready", "status": "True"}]))
}

// proves: deployment/RS-30, deployment/RS-31
#[rstest]
#[case::all_available(10, &["2026-01-02T11:00:00Z"], Wake::OnChange)]
#[case::the_next_to_become_available(10, &["2026-01-02T11:59:53Z", "2026-01-02T11:59:51Z", "2026-01-02T11:00:00Z"], Wake::After(Duration::from_secs(1)))]
#[case::ready_in_the_future_by_the_nodes_clock(10, &["2026-01-02T12:00:05Z"], Wake::After(Duration::from_secs(15)))]
#[case::no_time_demanded(0, &["2026-01-02T12:00:05Z"], Wake::OnChange)]
fn the_set_wakes_when_its_next_pod_becomes_available(#[case] seconds: u32, #[case] since: &[&str], #[case] wake: Wake) {
    let pods = since.iter().map(|since| ready(since, since));
    let count = u32::try_from(since.len()).unwrap();
    assert_eq!(
        World::of(web(count).min_ready_seconds(seconds), pods).report().wake,
        wake
    );
}

// proves: deployment/RS-30
#[test]
fn pods_that_do_not_say_since_when_they_are_ready_are_looked_at_again_after_the_whole_time() {
    let world = World::of(web(1).min_ready_seconds(10), [since_nobody_knows_when()]);
    assert_eq!(world.report().wake, Wake::After(Duration::from_secs(10)));
}

// proves: deployment/RS-20
#[test]
fn counts_are_those_from_before_the_writes() {
    let created = attempt(Verb::Create, "web-abcde", Ok(stored()));
    assert_eq!(
        changed(&report(&World::of(web(2), [owned("a")]), vec![created]))["replicas"],
        1
    );
}

fn stored() -> Receipt {
    Receipt::Stored {
        uid: Uid::new("u"),
        version: ResourceVersion::new("2"),
    }
}

// proves: deployment/RS-21, deployment/RS-23, deployment/W-25
#[rstest]
#[case::settled(status(1, 1, 1, 0), Value::Null)]
#[case::terminating_never_counted(without("terminatingReplicas"), json!({"terminatingReplicas": 0}))]
#[case::older_generation(with("observedGeneration", 0), json!({"observedGeneration": 1}))]
#[case::other_count(with("replicas", 2), json!({"replicas": 1}))]
#[case::foreign_condition(with("conditions", [json!({"type": "Paid", "status": "True", "extra": 1})]), Value::Null)]
fn only_what_differs_is_written(#[case] stored: Value, #[case] expected: Value) {
    let set = web(1).set("/status", stored);
    assert_eq!(
        changed(&World::of(set, [ready("a", "2026-01-02T11:00:00Z")]).report()),
        expected
    );
}

fn with(field: &str, value: impl Into<Value>) -> Value {
    let mut status = status(1, 1, 1, 0);
    status[field] = value.into();
    status
}

fn without(field: &str) -> Value {
    let mut status = status(1, 1, 1, 0);
    status.as_object_mut().unwrap().remove(field);
    status
}

fn conditions(reason: &str, message: &str, since: &str) -> Value {
    let foreign = json!({"type": "Paid", "status": "True", "extra": 1});
    let ours = json!({"type": "ReplicaFailure", "status": "True", "reason": reason, "message": message, "lastTransitionTime": since});
    json!([foreign, ours])
}

/// The conditions written by a turn of a set that wants one pod more (or one less) than it has.
fn check_condition(before: Value, replicas: u32, attempts: Vec<Attempt>, after: &Value) {
    let set = web(replicas).set("/status/conditions", before);
    let report = report(&World::of(set, [owned("a")]), attempts);
    assert_eq!(changed(&report)["conditions"], *after);
}

// proves: deployment/RS-22, deployment/RS-23
#[test]
fn the_first_failure_is_kept_as_a_condition_until_nothing_fails() {
    let foreign = || json!([{"type": "Paid", "status": "True", "extra": 1}]);
    let refused = |verb| vec![failed(verb, FailureClass::Rejected, "exceeded quota")];
    let now = "2026-01-02T12:00:00Z";
    let unchanged = Value::Null;

    let created = conditions("FailedCreate", "exceeded quota", now);
    check_condition(foreign(), 2, refused(Verb::Create), &created);
    let deleted = conditions("FailedDelete", "exceeded quota", now);
    check_condition(foreign(), 0, refused(Verb::Delete), &deleted);

    let older = || conditions("FailedCreate", "older", "2026-01-02T11:00:00Z");
    check_condition(older(), 2, refused(Verb::Create), &unchanged);
    check_condition(older(), 0, refused(Verb::Delete), &unchanged);
    check_condition(older(), 2, vec![attempt(Verb::Create, "b", Ok(stored()))], &foreign());
    check_condition(older(), 1, vec![], &foreign());
}

// proves: deployment/RS-22, deployment/L-6
#[test]
fn a_turn_that_may_not_scale_takes_the_condition_away() {
    let set = web(2).set(
        "/status/conditions",
        conditions("FailedCreate", "older", "2026-01-02T11:00:00Z"),
    );
    let report = World::of(set, [owned("a")]).unsettled().report();
    assert_eq!(changed(&report)["conditions"].as_array().unwrap().len(), 1);
}

// proves: deployment/C-42
#[test]
fn of_several_failures_the_first_becomes_the_condition_and_each_an_event() {
    let refused = ["first", "second", "third"].map(|why| failed(Verb::Create, FailureClass::Rejected, why));
    let report = report(&World::of(web(4), [owned("a")]), refused.into());
    let condition = &changed(&report)["conditions"][0];
    assert_eq!(
        (&condition["reason"], &condition["message"]),
        (&json!("FailedCreate"), &json!("first"))
    );
    let messages: Vec<_> = report.notes.iter().map(|note| &*note.message).collect();
    assert_eq!(
        messages,
        [
            "Error creating: first",
            "Error creating: second",
            "Error creating: third"
        ]
    );
}

// proves: deployment/C-24, deployment/C-73
#[rstest]
#[case::namespace_ending(Verb::Create, FailureClass::NamespaceEnding)]
#[case::pod_gone(Verb::Delete, FailureClass::Missing)]
#[case::pod_replaced(Verb::Delete, FailureClass::Replaced)]
#[case::not_sent(Verb::Create, FailureClass::Fenced)]
fn what_needs_no_attention_is_neither_condition_nor_event(#[case] verb: Verb, #[case] class: FailureClass) {
    let report = report(&World::of(web(2), [owned("a")]), vec![failed(verb, class, "no")]);
    assert_eq!(changed(&report)["conditions"], Value::Null);
    assert_eq!(report.notes, []);
}

// proves: deployment/C-73, deployment/T-17
#[test]
fn each_failed_call_is_an_event() {
    let created = || attempt(Verb::Create, "web-bcdfg", Ok(stored()));
    let refused = || failed(Verb::Create, FailureClass::Rejected, "exceeded quota");
    let attempts = vec![created(), refused(), refused()];
    let warning = |reason: &'static str, message: &str| Note {
        severity: Severity::Warning,
        reason: reason.into(),
        message: message.to_owned(),
    };
    let create = warning("FailedCreate", "Error creating: exceeded quota");
    assert_eq!(report(&World::of(web(3), []), attempts).notes, [create.clone(), create]);
    let attempts = vec![failed(Verb::Delete, FailureClass::Transient, "no quorum")];
    let delete = warning("FailedDelete", "Error deleting: no quorum");
    assert_eq!(report(&World::of(web(0), [owned("a")]), attempts).notes, [delete]);
}

// proves: deployment/C-73
#[test]
fn each_created_or_deleted_pod_is_an_event() {
    let note = |world: &World| {
        let turn = world.turn();
        match &turn.plan.stages[..] {
            [workload_core::plan::Stage::Create(creates)] => creates[0].note.clone(),
            [workload_core::plan::Stage::Delete(deletes)] => deletes[0].note.clone(),
            other => panic!("{other:?}"),
        }
    };
    let created = Note::normal("SuccessfulCreate", "Created pod: {name}");
    assert_eq!(note(&World::of(web(1), [])), Some(created));
    let deleted = Note::normal("SuccessfulDelete", "Deleted pod: a");
    assert_eq!(note(&World::of(web(0), [owned("a")])), Some(deleted));
}

// proves: deployment/C-13
#[test]
fn a_pod_that_vanished_while_it_was_adopted_is_not_counted_and_soon_replaced() {
    let world = World::of(web(2), [owned("a"), orphan("b")]);
    let gone = vec![attempt(Verb::Adopt, "b", Ok(Receipt::Gone))];
    let report = report(&world, gone);
    assert_eq!(changed(&report)["replicas"], 1);
    assert_eq!(report.wake, Wake::After(Duration::from_secs(1)));
    let adopted = vec![attempt(Verb::Adopt, "b", Ok(stored()))];
    let report = super::status::report(&world, adopted);
    assert_eq!(
        (&changed(&report)["replicas"], report.wake),
        (&json!(2), Wake::OnChange)
    );
}

// proves: deployment/RS-6
#[test]
fn a_set_that_is_being_deleted_reports_its_pods() {
    let world = World::of(web(5).terminating(noon()), [ready("a", "2026-01-02T11:00:00Z")]);
    let report = world.report();
    assert_eq!(changed(&report)["readyReplicas"], 1);
    assert_eq!(report.status.unwrap().may_lack, ["terminatingReplicas"]);
}
