//! What must be the same at the end of every history of a story: all but times, uids, versions and the names of pods.

use std::collections::BTreeMap;

use serde_json::Value;
use testkit::Kind;
use testkit::object::Stored;
use testkit::record::State;

/// The Deployments, ReplicaSets and pods of a state.
pub(crate) fn of(state: &State) -> String {
    let mut text = String::new();
    let mut write = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    for kind in [Kind::DEPLOYMENT, Kind::REPLICA_SET] {
        let mut all = state.all(kind);
        all.sort_by_key(|object| object.name().to_owned());
        for object in all {
            write(one(object));
            conditions(object).into_iter().for_each(&mut write);
        }
    }
    let mut pods: BTreeMap<String, u32> = BTreeMap::new();
    for pod in state.active_pods() {
        *pods.entry(self::pod(pod)).or_default() += 1;
    }
    for (pod, count) in pods {
        write(format!("{count} {pod}"));
    }
    text
}

/// As [`of`], where it is open which ReplicaSets without pods are left: without these, and without what tells of them.
pub(crate) fn of_what_runs(state: &State) -> String {
    let mut lines = Vec::new();
    for object in state.all(Kind::DEPLOYMENT) {
        let counts = ["replicas", "updatedReplicas", "availableReplicas"].map(|field| object.count(field));
        lines.push(format!("{} size {}, {counts:?}", object.name(), object.size()));
        lines.extend(conditions(object));
    }
    let mut pods: Vec<String> = state.active_pods().into_iter().map(template).collect();
    pods.sort();
    lines.extend(pods);
    let sizes = state.sizes().into_iter().filter(|size| *size > 0);
    lines.push(format!("ReplicaSets of {:?}", sizes.collect::<Vec<_>>()));
    lines.join("\n")
}

fn one(object: &Stored) -> String {
    let mut status = object.at("/status").clone();
    if let Some(fields) = status.as_object_mut() {
        fields.remove("conditions");
        fields.remove("observedGeneration");
    }
    let observed = if object.is_observed() {
        "observed"
    } else {
        "not observed"
    };
    format!(
        "{} {} {observed}, size {}, owners {}, annotations {}, labels {}, status {status}",
        object.kind(),
        object.name(),
        object.size(),
        owner(object),
        object.at("/metadata/annotations"),
        object.at("/metadata/labels"),
    )
}

fn conditions(object: &Stored) -> Vec<String> {
    let all = object.at("/status/conditions").as_array();
    let mut lines: Vec<String> = all.into_iter().flatten().map(condition).collect();
    lines.sort();
    lines
}

fn condition(condition: &Value) -> String {
    let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    format!("  {} {} {}", text("type"), text("status"), text("reason"))
}

fn owner(object: &Stored) -> String {
    let controller = object.controller();
    let name = controller.and_then(|owner| owner["name"].as_str());
    name.unwrap_or("none").to_owned()
}

fn pod(pod: &Stored) -> String {
    format!("pods of {}: {}", owner(pod), template(pod))
}

fn template(pod: &Stored) -> String {
    let ready = if pod.is_ready() { "ready" } else { "not ready" };
    format!("with image {}, {ready}", pod.image())
}
