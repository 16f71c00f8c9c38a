//! What the server does with Jobs alone: defaults, the selector that it makes, and what it refuses.

mod spec;
mod status;

use serde_json::{Value, json};

use super::create::is_empty;

pub(super) use self::spec::{created, updated};
pub(super) use self::status::written;

/// Labels by which a Job finds its pods, and those of former versions: with its uid, with its name (job J-25).
const UIDS: [&str; 2] = ["controller-uid", SELECTED];
const NAMES: [&str; 2] = ["job-name", "batch.kubernetes.io/job-name"];
const SELECTED: &str = "batch.kubernetes.io/controller-uid";

/// Fills in the defaults of a Job, but for those of its template (job J-4).
pub(super) fn complete(object: &mut Value) {
    let labels = object["spec"]["template"]["metadata"]["labels"].clone();
    if is_empty(&object["metadata"]["labels"]) && !is_empty(&labels) {
        object["metadata"]["labels"] = labels;
    }
    let spec = &mut object["spec"];
    if spec["completions"].is_null() && spec["parallelism"].is_null() {
        fill_all(spec, [("completions", json!(1)), ("parallelism", json!(1))]);
    }
    let limit = if spec["backoffLimitPerIndex"].is_null() {
        6
    } else {
        i32::MAX
    };
    let replacement = if spec["podFailurePolicy"].is_null() {
        "TerminatingOrFailed"
    } else {
        "Failed"
    };
    fill_all(
        spec,
        [
            ("parallelism", json!(1)),
            ("backoffLimit", json!(limit)),
            ("completionMode", json!("NonIndexed")),
            ("suspend", json!(false)),
            ("manualSelector", json!(false)),
            ("podReplacementPolicy", json!(replacement)),
        ],
    );
    for rule in list(spec, "/podFailurePolicy/rules") {
        for pattern in list(rule, "/onPodConditions") {
            fill_all(pattern, [("status", json!("True"))]);
        }
    }
}

fn list<'v>(value: &'v mut Value, pointer: &str) -> impl Iterator<Item = &'v mut Value> + use<'v> {
    value
        .pointer_mut(pointer)
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
}

fn fill_all<const N: usize>(object: &mut Value, defaults: [(&str, Value); N]) {
    for (field, value) in defaults {
        if object[field].is_null() {
            object[field] = value;
        }
    }
}

/// The selector of a new Job, and the labels of its pods, unless its user selects himself (job J-25).
pub(super) fn select(object: &mut Value) {
    if object["spec"]["manualSelector"] == true {
        return;
    }
    let (name, uid) = (object["metadata"]["name"].clone(), object["metadata"]["uid"].clone());
    let labels = &mut object["spec"]["template"]["metadata"]["labels"];
    for (keys, value) in [(UIDS, &uid), (NAMES, &name)] {
        for key in keys {
            fill_all(labels, [(key, value.clone())]);
        }
    }
    fill_all(&mut object["spec"]["selector"]["matchLabels"], [(SELECTED, uid)]);
}

/// Leaves out what the types of the server leave out of a status.
pub(super) fn tidy(object: &mut Value) {
    if object["status"].is_null() {
        object["status"] = json!({});
    }
    let Some(status) = object["status"].as_object_mut() else {
        return;
    };
    let counts = ["active", "succeeded", "failed"];
    status.retain(|field, value| {
        let is_left_out = match field.as_str() {
            "uncountedTerminatedPods" | "failedIndexes" => value.is_null(),
            field => is_empty(value) || (counts.contains(&field) && *value == 0),
        };
        !is_left_out
    });
    if let Some(uncounted) = status.get_mut("uncountedTerminatedPods").and_then(Value::as_object_mut) {
        uncounted.retain(|_, pods| !is_empty(pods));
    }
}
