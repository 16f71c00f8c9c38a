//! Which changes of Jobs are tried.

use proptest::prelude::*;
use serde_json::{Value, json};

/// Changes of the main part.
pub(crate) fn fields() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-1..4_i32).prop_map(|size| json!({"spec": {"parallelism": size}})),
        Just(json!({"spec": {"completions": 1, "parallelism": 1}})),
        Just(json!({"spec": {"completions": 2}})),
        any::<bool>().prop_map(|suspend| json!({"spec": {"suspend": suspend}})),
        Just(json!({"spec": {"backoffLimit": -1}})),
        Just(json!({"spec": {"backoffLimit": 3, "activeDeadlineSeconds": 30}})),
        Just(json!({"spec": {"activeDeadlineSeconds": null}})),
        Just(json!({"spec": {"ttlSecondsAfterFinished": 0}})),
        Just(json!({"spec": {"completionMode": "Indexed"}})),
        Just(json!({"metadata": {"labels": null}})),
        Just(json!({"metadata": {"labels": {"note": "1"}, "annotations": {"note": "1"}}})),
    ]
}

/// A status as the controller writes it, and as it never does.
pub(crate) fn status() -> impl Strategy<Value = Value> {
    let counts = (0..3_i64, proptest::option::of(0..3_i64), proptest::option::of(0..2_i64));
    let ends = (0..3_i64, 0..3_i64, uncounted(), indexes());
    (counts, ends, times(), conditions()).prop_map(|(counts, ends, times, conditions)| {
        let ((active, ready, terminating), (succeeded, failed, uncounted, (done, given_up))) = (counts, ends);
        let mut status = json!({
            "active": active, "ready": ready, "terminating": terminating, "succeeded": succeeded, "failed": failed,
            "uncountedTerminatedPods": uncounted, "completedIndexes": done, "failedIndexes": given_up,
        });
        let (start, end) = times;
        (status["startTime"], status["completionTime"]) = (start, end);
        if let Some(conditions) = conditions {
            status["conditions"] = conditions;
        }
        json!({ "status": status })
    })
}

fn uncounted() -> impl Strategy<Value = Value> {
    prop_oneof![
        2 => Just(Value::Null),
        3 => Just(json!({"succeeded": null, "failed": null})),
        1 => Just(json!({"succeeded": ["1"], "failed": ["2"]})),
        1 => Just(json!({"succeeded": ["1", "1"], "failed": null})),
    ]
}

fn indexes() -> impl Strategy<Value = (Value, Value)> {
    prop_oneof![
        3 => Just((json!(""), Value::Null)),
        1 => Just((json!("0"), Value::Null)),
        1 => Just((json!("0,1"), json!(""))),
        1 => Just((json!("0"), json!("1"))),
        1 => Just((json!("0"), json!("0"))),
    ]
}

fn times() -> impl Strategy<Value = (Value, Value)> {
    let time = |minute: u32| json!(format!("2026-01-02T03:{minute:02}:05Z"));
    prop_oneof![
        1 => Just((Value::Null, Value::Null)),
        3 => Just((time(4), Value::Null)),
        1 => Just((time(5), Value::Null)),
        2 => Just((time(4), time(6))),
        1 => Just((time(4), time(3))),
    ]
}

fn conditions() -> impl Strategy<Value = Option<Value>> {
    let all = ["Suspended", "FailureTarget", "Failed", "SuccessCriteriaMet", "Complete"];
    let condition = |kind: &str| {
        json!({
            "type": kind, "status": "True", "reason": "r", "message": "m",
            "lastProbeTime": "2026-01-02T03:04:05Z", "lastTransitionTime": "2026-01-02T03:04:05Z",
        })
    };
    let some = proptest::sample::subsequence(all.to_vec(), 0..3);
    let some = some.prop_map(move |kinds| Some(kinds.into_iter().map(condition).collect::<Value>()));
    prop_oneof![2 => Just(None), 1 => some]
}
