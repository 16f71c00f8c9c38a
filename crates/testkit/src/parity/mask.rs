//! What may differ between two objects that are equal: nothing but what is masked here.

use serde_json::{Map, Value};

use super::names::Names;

/// Written by the server for itself, or saying who wrote.
const LEFT_OUT: [&str; 2] = ["resourceVersion", "managedFields"];
/// The label by which the sets of a Deployment are told apart.
const HASH: &str = "pod-template-hash";

/// An object without its version and field managers, with its times, hashes, uids, random names and condition messages
/// replaced.
pub(super) fn mask(names: &Names, object: &Value) -> Value {
    let mut masked = value(names, object);
    let conditions = masked.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten() {
        if let Some(message) = condition.get_mut("message") {
            *message = "MESSAGE".into();
        }
    }
    masked
}

fn value(names: &Names, of: &Value) -> Value {
    match of {
        Value::Object(fields) => fields
            .iter()
            .filter(|(key, _)| !LEFT_OUT.contains(&key.as_str()))
            .map(|(key, field)| (key.clone(), self::field(names, key, field)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(|item| value(names, item)).collect(),
        Value::String(text) if is_time(text) => "TIME".into(),
        Value::String(text) => names.text(text).into(),
        Value::Null | Value::Bool(_) | Value::Number(_) => of.clone(),
    }
}

fn field(names: &Names, key: &str, of: &Value) -> Value {
    match of {
        Value::String(hash) if key == HASH => names.hash(hash).into(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            value(names, of)
        }
    }
}

/// True for a time as the API writes it.
pub(super) fn is_time(text: &str) -> bool {
    const SHAPE: &str = "0000-00-00T00:00:00";
    text.len() > SHAPE.len()
        && SHAPE
            .chars()
            .zip(text.chars())
            .all(|(shape, c)| if shape == '0' { c.is_ascii_digit() } else { c == shape })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parity::samples::Samples;
    use serde_json::json;

    fn masked(object: &Value) -> Value {
        let mut state = Samples::default();
        state.set("web-65bb57b6b5", "65bb57b6b5", "u1");
        mask(&Names::of(&state.state, "test-1"), object)
    }

    #[test]
    fn versions_managers_times_and_condition_messages_do_not_count() {
        let object = json!({
            "metadata": {"resourceVersion": "7", "managedFields": [], "creationTimestamp": "2026-01-02T03:04:05Z"},
            "status": {"conditions": [{"type": "Ready", "message": "well", "lastTransitionTime": "2026-01-02T03:04:05Z"}]},
        });
        let expected = json!({
            "metadata": {"creationTimestamp": "TIME"},
            "status": {"conditions": [{"type": "Ready", "message": "MESSAGE", "lastTransitionTime": "TIME"}]},
        });
        assert_eq!(masked(&object), expected);
    }

    #[test]
    fn hashes_and_names_count_by_what_they_stand_for() {
        let object = json!({
            "metadata": {
                "name": "web-65bb57b6b5-x2k4l",
                "labels": {"pod-template-hash": "65bb57b6b5", "app": "web"},
                "ownerReferences": [{"name": "web-65bb57b6b5", "uid": "u1"}],
            },
        });
        let expected = json!({
            "metadata": {
                "name": "web-HASH1-POD",
                "labels": {"pod-template-hash": "HASH1", "app": "web"},
                "ownerReferences": [{"name": "web-HASH1", "uid": "uid of ReplicaSet web-HASH1"}],
            },
        });
        assert_eq!(masked(&object), expected);
    }

    #[test]
    fn everything_else_counts() {
        let object = json!({
            "metadata": {"generation": 2, "annotations": {"deployment.kubernetes.io/revision": "1"}, "finalizers": ["x"]},
            "spec": {"message": "mine", "replicas": 0, "paused": false, "none": null},
            "status": {"reason": "Evicted", "message": "full", "conditions": [{"type": "A", "status": "True", "reason": "B"}]},
        });
        assert_eq!(masked(&object), object);
    }
}
