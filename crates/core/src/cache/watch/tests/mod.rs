//! Tests of caches: the machine step by step, its laws against a model server, and the task over HTTP.

mod laws;
mod many;
mod steps;
mod task;

use serde_json::{Value, json};

/// A line of a watch.
fn event(verb: &str, object: &Value) -> String {
    json!({"type": verb, "object": object}).to_string()
}

/// A bookmark.
fn bookmark(version: u64) -> String {
    event(
        "BOOKMARK",
        &json!({"kind": "Thing", "metadata": {"resourceVersion": version.to_string()}}),
    )
}

/// The bookmark that ends the initial events, in the shape of kube-apiserver 1.37.
fn initial_end(version: u64) -> String {
    let annotations = json!({"k8s.io/initial-events-end": "true"});
    let metadata = json!({"resourceVersion": version.to_string(), "annotations": annotations});
    event(
        "BOOKMARK",
        &json!({"kind": "Thing", "apiVersion": "example.com/v1", "metadata": metadata}),
    )
}

/// A `Status` object.
fn status(code: u16, reason: &str) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": reason})
}

/// A page of a list.
fn page(version: u64, token: &str, items: &[Value]) -> String {
    json!({"metadata": {"resourceVersion": version.to_string(), "continue": token}, "items": items}).to_string()
}
