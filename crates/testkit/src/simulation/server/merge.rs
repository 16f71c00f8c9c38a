//! The two forms of patches.

use serde_json::{Map, Value};

/// JSON merge patch (RFC 7396).
pub(super) fn merge(target: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Map::new().into();
    }
    let Some(fields) = target.as_object_mut() else { return };
    for (field, value) in patch {
        if value.is_null() {
            fields.remove(field);
        } else {
            merge(fields.entry(field.clone()).or_insert(Value::Null), value);
        }
    }
}

/// Finalizers that a strategic patch takes away.
const TAKEN: &str = "$deleteFromPrimitiveList/finalizers";

/// Strategic merge patch, as far as controllers use it: owner references are merged by their uids, finalizers one by one, all
/// else as above.
pub(super) fn strategic(target: &mut Value, patch: &Value) {
    let mut plain = patch.clone();
    let mut take = |field: &str| {
        plain["metadata"]
            .as_object_mut()
            .and_then(|metadata| metadata.remove(field))
    };
    let (owners, added, taken) = (take("ownerReferences"), take("finalizers"), take(TAKEN));
    merge(target, &plain);
    finalizers(&mut target["metadata"], added, taken);
    let Some(Value::Array(owners)) = owners else { return };
    let stored = &mut target["metadata"]["ownerReferences"];
    let mut known = stored.as_array_mut().map(std::mem::take).unwrap_or_default();
    let mut added = Vec::new();
    for owner in owners {
        let uid = owner["uid"].clone();
        let at = known.iter().position(|reference| reference["uid"] == uid);
        match (owner["$patch"] == "delete", at) {
            (true, Some(at)) => drop(known.remove(at)),
            (true, None) => {}
            (false, Some(at)) => merge(&mut known[at], &owner),
            (false, None) => added.push(owner),
        }
    }
    // Items that a strategic patch adds come first.
    added.append(&mut known);
    *stored = added.into();
}

fn finalizers(metadata: &mut Value, added: Option<Value>, taken: Option<Value>) {
    let items = |list: Option<Value>| match list {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    };
    let (added, taken) = (items(added), items(taken));
    if added.is_empty() && taken.is_empty() {
        return;
    }
    let stored = items(Some(metadata["finalizers"].take()));
    let mut all: Vec<Value> = Vec::new();
    for finalizer in stored.into_iter().filter(|stored| !taken.contains(stored)).chain(added) {
        if !all.contains(&finalizer) {
            all.push(finalizer);
        }
    }
    metadata["finalizers"] = all.into();
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_merge_patch_sets_replaces_and_removes() {
        let mut target = json!({"a": {"b": 1, "c": [1, 2]}, "d": "x"});
        merge(
            &mut target,
            &json!({"a": {"b": null, "c": [3], "e": {"f": null, "g": 1}}, "d": {"h": 1}}),
        );
        assert_eq!(target, json!({"a": {"c": [3], "e": {"g": 1}}, "d": {"h": 1}}));
    }

    #[test]
    fn a_strategic_patch_merges_finalizers_one_by_one() {
        let mut target = json!({"metadata": {"finalizers": ["a", "b"]}});
        let mut patch = |metadata: Value| {
            strategic(&mut target, &json!({ "metadata": metadata }));
            target["metadata"]["finalizers"].clone()
        };
        assert_eq!(patch(json!({"finalizers": ["b", "c"]})), json!(["a", "b", "c"]));
        assert_eq!(patch(json!({TAKEN: ["a", "d"]})), json!(["b", "c"]));
        assert_eq!(patch(json!({TAKEN: ["b", "c"]})), json!([]));
    }

    #[test]
    fn a_strategic_patch_merges_owners_by_uid() {
        let mut target =
            json!({"metadata": {"ownerReferences": [{"uid": "1", "name": "a"}, {"uid": "2", "name": "b"}]}});
        let mut patch = |owner: Value| {
            strategic(&mut target, &json!({"metadata": {"ownerReferences": [owner]}}));
            target["metadata"]["ownerReferences"].clone()
        };
        let added = patch(json!({"uid": "3", "name": "c"}));
        assert_eq!(added.as_array().unwrap().len(), 3);
        assert_eq!(added[0], json!({"uid": "3", "name": "c"}));
        let changed = patch(json!({"uid": "1", "controller": true}));
        assert_eq!(changed[1], json!({"uid": "1", "name": "a", "controller": true}));
        let removed = patch(json!({"uid": "2", "$patch": "delete"}));
        assert_eq!(removed.as_array().unwrap().len(), 2);
        assert_eq!(patch(json!({"uid": "2", "$patch": "delete"})), removed);
    }
}
