//! The rules of the in-memory server, one by one.

mod collector;
mod deletions;
mod evictions;
mod jobs;
mod lists;
mod refusals;
mod shapes;
mod watches;
mod writes;

use bytes::Bytes;
use http::Request;
use serde_json::{Value, json};
use workload_core::id::{Kind, ObjectKey};
use workload_core::plan::Address;
use workload_core::time::Timestamp;

use super::{ApiServer, DeleteOptions, Reply};
use crate::builders::{Manifest as _, deployment, pod, replica_set};
use crate::object::Stored;

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

const PODS: &str = "/api/v1/namespaces/shop/pods";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/shop/deployments";
const JOBS: &str = "/apis/batch/v1/namespaces/shop/jobs";
const SETS: &str = "/apis/apps/v1/namespaces/shop/replicasets";

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

fn server() -> ApiServer {
    ApiServer::new(1, &[])
}

fn place(kind: Kind, name: &str) -> Address {
    let key = ObjectKey::new("shop", name);
    Address { kind, key }
}

fn request(method: &str, uri: &str, content_type: &str, body: &Value) -> Request<Bytes> {
    let body = if body.is_null() {
        Bytes::new()
    } else {
        Bytes::from(body.to_string())
    };
    let request = Request::builder().method(method).uri(uri);
    request.header("content-type", content_type).body(body).unwrap()
}

/// Code and body of the answer to a request.
fn ask(server: &mut ApiServer, method: &str, uri: &str, content_type: &str, body: &Value) -> (u16, Value) {
    match server.call(&request(method, uri, content_type, body), at(0)) {
        Reply::Answer(answer) => (answer.status().as_u16(), serde_json::from_slice(answer.body()).unwrap()),
        Reply::Watch(watch) => panic!("{watch:?}"),
    }
}

fn get(server: &mut ApiServer, uri: &str) -> (u16, Value) {
    ask(server, "GET", uri, "", &Value::Null)
}

fn create(server: &mut ApiServer, uri: &str, body: &Value) -> (u16, Value) {
    ask(server, "POST", &format!("{uri}?fieldManager=x"), JSON, body)
}

fn merge(server: &mut ApiServer, uri: &str, body: &Value) -> (u16, Value) {
    ask(server, "PATCH", &format!("{uri}?fieldManager=x"), MERGE, body)
}

/// A body with these preconditions beside what it changes.
fn guarded(object: &Stored, mut body: Value) -> Value {
    body["metadata"]["uid"] = object.uid().into();
    body["metadata"]["resourceVersion"] = object.text("/metadata/resourceVersion").into();
    body
}

fn web(server: &mut ApiServer) -> Stored {
    let web = deployment("web").json();
    server.create(Kind::DEPLOYMENT, "shop", web, at(0)).unwrap()
}

fn set(server: &mut ApiServer, owner: Option<&Stored>) -> Stored {
    let set = replica_set("web-1");
    let set = match owner {
        Some(owner) => set.owned_by(owner.json()).json(),
        None => set.json(),
    };
    server.create(Kind::REPLICA_SET, "shop", set, at(0)).unwrap()
}

/// A pod with label `app: web`; bound to a node and ready if `runs`.
fn new_pod(server: &mut ApiServer, name: &str, owner: Option<&Stored>, runs: bool) -> Stored {
    let manifest = pod(name).label("app", "web");
    let manifest = match owner {
        Some(owner) => manifest.owned_by(owner.json()).json(),
        None => manifest.json(),
    };
    let made = server.create(Kind::POD, "shop", manifest, at(0)).unwrap();
    if !runs {
        return made;
    }
    server.bind(&ObjectKey::new("shop", name), "n", at(0)).unwrap();
    let status = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
    let at_pod = place(Kind::POD, name);
    server.merge(&at_pod, super::Part::Status, status, at(0)).unwrap()
}

fn delete(server: &mut ApiServer, kind: Kind, name: &str, options: &DeleteOptions) -> Stored {
    server.delete(&place(kind, name), options, at(10)).unwrap()
}

/// All frames of a watch so far, in short: `ADDED web 5`.
fn told(server: &ApiServer, watch: &mut super::Subscription, up_to: u64) -> Vec<String> {
    let frames = server.events(watch, up_to);
    frames.iter().map(|frame| short(frame)).collect()
}

fn short(frame: &[u8]) -> String {
    let frame: Value = serde_json::from_slice(frame).unwrap();
    let metadata = &frame["object"]["metadata"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    format!(
        "{} {} {}",
        text(&frame["type"]),
        text(&metadata["name"]),
        text(&metadata["resourceVersion"])
    )
}
