//! The Deployment controller over a small pretended cluster, its turns as short texts.

mod budgets;
mod claims;
mod cleanup;
mod cluster;
mod explain;
mod failures;
mod hold;
mod laws;
mod never_grow_old;
mod order;
mod pods;
mod progress;
mod recreate;
mod replacement;
mod revisions;
mod rollback;
mod rolling;
mod rollouts;
mod scale;
mod status;
mod text;
mod watches;
mod writes;

use testkit::builders::{Manifest, ReplicaSet, Templated, replica_set};
use workload_core::time::Timestamp;

/// When worlds begin.
fn noon() -> Timestamp {
    at("2026-01-02T12:00:00Z")
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

const REVISION: &str = "deployment.kubernetes.io/revision";
const HISTORY: &str = "deployment.kubernetes.io/revision-history";
const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
const MAX: &str = "deployment.kubernetes.io/max-replicas";

/// A ReplicaSet of Deployment `web` with this image. Image `a` is the oldest and has revision 1, `b` comes next, and so on.
fn set(image: &str, size: u32, available: u32) -> ReplicaSet {
    let age = image.bytes().next().unwrap() - b'a';
    replica_set(&format!("web-{image}"))
        .set("/spec/selector/matchLabels/app", "web")
        .pod_label("app", "web")
        .label("app", "web")
        .image(image)
        .replicas(size)
        .created(at(&format!("2026-01-01T12:00:{age:02}Z")))
        .annotation(REVISION, &(age + 1).to_string())
        .set("/status/replicas", size)
        .set("/status/readyReplicas", available)
        .set("/status/availableReplicas", available)
}

/// The value of an annotation.
fn annotation<'a>(object: &'a serde_json::Value, key: &str) -> Option<&'a str> {
    object["metadata"]["annotations"][key].as_str()
}
