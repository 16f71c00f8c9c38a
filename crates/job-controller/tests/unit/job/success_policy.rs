//! When work is done before all of it is (J-148, J-149, S-33, S-34).

use job_controller::job::indexes::Indexes;
use job_controller::job::policy::success;
use job_controller::job::spec::Indexed;
use rstest::rstest;
use serde_json::{Value, json};
use workload_core::outcome::{FailureClass, Verb};

use super::{indexed, on_42};

// proves: job/S-33, job/J-149, job/J-31, job/J-45
#[test]
fn the_leader_is_enough() {
    let policy = json!({"rules": [{"succeededIndexes": "0"}]});
    let mut cluster = indexed(5, 5, json!({"successPolicy": policy}));
    cluster.settle();
    for index in 0..5 {
        cluster.run(&format!("i{index}.0"));
    }
    cluster.end("i0.0", 0);
    let turn = cluster.turn();
    assert_eq!(
        turn.text(),
        "kill i1.0 i2.0 i3.0 i4.0; status; release i0.0 i1.0 i2.0 i3.0 i4.0"
    );
    assert_eq!(
        (cluster.status_of("completedIndexes"), cluster.counts()),
        (&json!("0"), [0, 0, 4, 1, 0])
    );
    assert_eq!(cluster.conditions(), "SuccessCriteriaMet/SuccessPolicy");
    assert_eq!(cluster.message("SuccessCriteriaMet"), "Matched rules at index 0");
    cluster.kubelet();
    cluster.settle();
    assert_eq!(
        cluster.conditions(),
        "SuccessCriteriaMet/SuccessPolicy, Complete/SuccessPolicy"
    );
    assert_eq!((cluster.counts(), cluster.tracked().as_str()), ([0, 0, 0, 1, 0], ""));
}

// proves: job/S-34, job/J-31
#[test]
fn failure_beats_success_in_one_turn() {
    let policy = json!({"rules": [{"succeededIndexes": "0"}]});
    let mut cluster = indexed(2, 2, json!({"successPolicy": policy, "backoffLimit": 0}));
    cluster.settle();
    cluster.end("i0.0", 0);
    cluster.end("i1.0", 1);
    cluster.settle();
    assert_eq!(
        cluster.conditions(),
        "FailureTarget/BackoffLimitExceeded, Failed/BackoffLimitExceeded"
    );
}

// proves: job/S-34, job/J-31, job/J-149
#[test]
fn success_that_was_stated_is_not_taken_back() {
    let policy = json!({"rules": [{"succeededIndexes": "0"}]});
    let mut cluster = indexed(
        2,
        2,
        json!({"successPolicy": policy, "podFailurePolicy": on_42("FailJob")}),
    );
    cluster.settle();
    cluster.run("i1.0");
    cluster.end("i0.0", 0);
    cluster.turn();
    cluster.end("i1.0", 42);
    cluster.settle();
    assert_eq!(
        cluster.conditions(),
        "SuccessCriteriaMet/SuccessPolicy, Complete/SuccessPolicy"
    );
    assert_eq!(cluster.counts()[4], 0);
}

// proves: job/J-149
#[test]
fn a_killed_pod_whose_finalizer_stays_counts_as_failed_where_pods_are_given_up_at_once() {
    let policy = json!({"rules": [{"succeededIndexes": "0"}]});
    let mut cluster = indexed(2, 2, json!({"successPolicy": policy}));
    cluster.settle();
    cluster.run("i1.0");
    cluster.end("i0.0", 0);
    cluster.faults = vec![(Verb::Patch, "i1", FailureClass::Transient)];
    cluster.turn();
    cluster.faults.clear();
    cluster.turn();
    assert_eq!((cluster.counts()[4], cluster.is_finished()), (1, false));
}

// proves: job/J-31, job/J-33, job/J-149
#[rstest]
#[case::by_the_limit(json!({"backoffLimit": 1}))]
#[case::by_failed_indexes(json!({"backoffLimitPerIndex": 0}))]
fn success_that_the_kill_of_the_others_could_turn_into_failure_is_stated_first(#[case] limit: Value) {
    let mut spec = json!({"successPolicy": {"rules": [{"succeededIndexes": "0"}]}});
    spec.as_object_mut().unwrap().extend(limit.as_object().unwrap().clone());
    let mut cluster = indexed(3, 3, spec);
    cluster.settle();
    cluster.run("i1.0");
    cluster.run("i2.0");
    cluster.end("i0.0", 0);
    assert_eq!(cluster.turn().text(), "status");
    // The process dies, and one pod cannot be killed at first.
    cluster.restart();
    cluster.faults = vec![(Verb::Delete, "i2", FailureClass::Transient)];
    cluster.turn();
    assert_eq!((cluster.active().as_str(), cluster.counts()[2]), ("i2.0", 1));
    cluster.faults.clear();
    cluster.settle();
    cluster.kubelet();
    cluster.settle();
    assert_eq!(
        cluster.conditions(),
        "SuccessCriteriaMet/SuccessPolicy, Complete/SuccessPolicy"
    );
}

// proves: job/J-148
#[rstest]
#[case::all_listed(json!([{"succeededIndexes": "1,3"}]), "1,3", Some(0))]
#[case::not_all_listed(json!([{"succeededIndexes": "1,3"}]), "1,2", None)]
#[case::enough_of_the_listed(json!([{"succeededIndexes": "1-4", "succeededCount": 2}]), "0,2,3", Some(0))]
#[case::not_enough_of_the_listed(json!([{"succeededIndexes": "1-4", "succeededCount": 3}]), "0,2,3", None)]
#[case::enough(json!([{"succeededCount": 3}]), "0,2,3", Some(0))]
#[case::in_order(json!([{"succeededCount": 4}, {"succeededIndexes": "0"}, {"succeededCount": 1}]), "0,2,3", Some(1))]
#[case::out_of_range(json!([{"succeededIndexes": "7-9"}, {"succeededCount": 1}]), "0", Some(1))]
#[case::cut_off(json!([{"succeededIndexes": "4-9"}]), "4", Some(0))]
#[case::nothing_done(json!([{"succeededCount": 0}]), "", None)]
fn rules_are_tried_in_order(#[case] rules: Value, #[case] done: &str, #[case] expected: Option<usize>) {
    let work = Indexed {
        completions: 5,
        success_rules: success::rules(&json!({"rules": rules})),
        ..Indexed::default()
    };
    assert_eq!(success::first_met(&work, &Indexes::parse(done, 5)), expected);
}
