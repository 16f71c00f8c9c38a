//! What turns write and report, in few words.

use serde_json::Value;

use super::cluster::image;

/// What a patch does to a ReplicaSet, such as `scale a 10 -> 8`, then other fields. The annotations that go with every size
/// are only told when they come alone.
pub(super) fn changes(set: &Value, patch: &Value) -> String {
    let image = image(set);
    let mut changes = Vec::new();
    let resized = patch.pointer("/spec/replicas");
    if let Some(size) = resized {
        changes.push(format!("scale {image} {} -> {size}", set["spec"]["replicas"]));
    }
    if let Some(seconds) = patch.pointer("/spec/minReadySeconds") {
        changes.push(format!("min-ready of {image} {seconds}"));
    }
    let annotations = patch.pointer("/metadata/annotations").and_then(Value::as_object);
    for (key, value) in annotations.into_iter().flatten() {
        let short = key.rsplit_once('/').map_or(key.as_str(), |(_, name)| name);
        let of_size = ["desired-replicas", "max-replicas"].contains(&short);
        if !(of_size && resized.is_some()) {
            changes.push(format!("{short} of {image} {}", value.as_str().unwrap_or("removed")));
        }
    }
    changes.join("; ")
}

/// What a turn has told about the rollout: changes of `Progressing`, of the revision and of the collision count.
pub(super) fn reported(before: &Value, after: &Value) -> Vec<String> {
    let progressing = |deployment: &Value| {
        let conditions = deployment["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let found = conditions
            .into_iter()
            .find(|condition| condition["type"] == "Progressing");
        found.map(|condition| {
            let word = |field: &str| condition[field].as_str().unwrap().to_owned();
            format!("Progressing {} {}", word("status"), word("reason"))
        })
    };
    let revision = |deployment: &Value| {
        let revision = deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"].as_str();
        revision.map(|revision| format!("revision {revision}"))
    };
    let collisions = |deployment: &Value| {
        let count = deployment["status"]["collisionCount"].as_i64();
        count.map(|count| format!("collisions {count}"))
    };
    let new = |told: &dyn Fn(&Value) -> Option<String>| told(after).filter(|now| Some(now) != told(before).as_ref());
    [new(&progressing), new(&revision), new(&collisions)]
        .into_iter()
        .flatten()
        .collect()
}
