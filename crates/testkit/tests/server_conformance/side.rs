//! The two servers, each as something that takes requests.

use bytes::Bytes;
use http::Request;
use serde_json::{Value, json};
use testkit::api::Api;
use testkit::simulation::server::{ApiServer, DeleteOptions, Part, Reply, Status};
use workload_core::id::{Kind, ObjectKey};
use workload_core::plan::Address;
use workload_core::time::{Clock as _, SystemClock, Timestamp};

use super::deed::{KINDS, Target};
use super::mask::Uids;

/// Code and body of an answer.
pub(crate) type Answer = (u16, Value);

/// What the user of a scenario, a scheduler or a kubelet does.
#[derive(Debug)]
pub(crate) enum Act<'a> {
    Merge(&'a Target, Part, Value),
    Delete(&'a Target, DeleteOptions),
    Bind(&'a Target),
}

/// A server.
pub(crate) trait Side {
    /// The names of its uids.
    fn uids(&mut self) -> &mut Uids;

    /// The namespace in which everything happens.
    fn namespace(&self) -> &str;

    /// Sends a request of a controller; a watch is read to its present end.
    async fn exchange(&mut self, request: Request<Bytes>) -> (u16, Bytes);

    /// Does what no controller does.
    async fn act(&mut self, act: Act<'_>) -> Answer;

    /// All objects of all kinds.
    async fn everything(&self) -> Vec<Value>;

    /// The path of a kind.
    fn collection(&self, kind: Kind) -> String {
        path(self.namespace(), kind, "", "")
    }

    /// The path of an object.
    fn address(&self, target: &Target) -> String {
        path(self.namespace(), target.kind, &target.name, "")
    }

    /// The object as it is stored.
    async fn object(&self, target: &Target) -> Option<Value>;
}

/// The in-memory server.
pub(crate) struct Memory {
    pub(crate) server: ApiServer,
    pub(crate) namespace: String,
    pub(crate) now: Timestamp,
    pub(crate) uids: Uids,
}

impl Memory {
    /// The time at which it does what comes next.
    pub(crate) fn tick(&mut self) {
        self.now = SystemClock.now();
    }

    /// Lets the controllers of kube-controller-manager do what they have to; true if that was anything.
    pub(crate) fn settle(&mut self) -> bool {
        let before = self.server.version();
        while self.server.collect(self.now).is_some() || self.server.count_budgets(self.now) > 0 {}
        self.server.version() > before
    }

    fn place(&self, target: &Target) -> Address {
        Address {
            kind: target.kind,
            key: ObjectKey::new(&*self.namespace, &*target.name),
        }
    }
}

impl Side for Memory {
    fn uids(&mut self) -> &mut Uids {
        &mut self.uids
    }

    fn namespace(&self) -> &str {
        &self.namespace
    }

    async fn exchange(&mut self, request: Request<Bytes>) -> (u16, Bytes) {
        let answered = match self.server.call(&request, self.now) {
            Reply::Answer(answer) => (answer.status().as_u16(), answer.into_body()),
            Reply::Watch(mut watch) => {
                let frames = self.server.events(&mut watch, u64::MAX);
                (200, frames.concat().into())
            }
        };
        assert_eq!(self.server.unknown(), [""; 0]);
        answered
    }

    async fn act(&mut self, act: Act<'_>) -> Answer {
        let now = self.now;
        let (code, done) = match act {
            Act::Merge(target, part, body) => (200, self.server.merge(&self.place(target), part, body, now)),
            Act::Delete(target, options) => (200, self.server.delete(&self.place(target), &options, now)),
            Act::Bind(target) => (201, self.server.bind(&self.place(target).key, "node", now)),
        };
        done.map_or_else(|status| refused(&status), |stored| (code, stored.json().clone()))
    }

    async fn everything(&self) -> Vec<Value> {
        let all = KINDS.into_iter().flat_map(|kind| self.server.list(kind));
        let here = all.filter(|object| object.text("/metadata/namespace") == self.namespace);
        here.map(|object| object.json().clone()).collect()
    }

    async fn object(&self, target: &Target) -> Option<Value> {
        let found = self.server.get(target.kind, &self.namespace, &target.name)?;
        Some(found.json().clone())
    }
}

fn refused(status: &Status) -> Answer {
    (status.code, status.body())
}

/// The real one.
pub(crate) struct Real {
    pub(crate) api: Api,
    pub(crate) namespace: String,
    pub(crate) uids: Uids,
}

impl Real {
    async fn send(&mut self, method: &str, target: &Target, part: &str, content_type: &str, body: &Value) -> Answer {
        let name = if method == "POST" && part.is_empty() {
            ""
        } else {
            &target.name
        };
        let request = request(
            method,
            &path(&self.namespace, target.kind, name, part),
            content_type,
            body,
        );
        let (code, body) = self.exchange(request).await;
        (code, serde_json::from_slice(&body).unwrap_or_default())
    }
}

impl Real {
    async fn all(&self, kind: Kind) -> Vec<Value> {
        let (code, body) = self
            .api
            .exchange(request("GET", &self.collection(kind), "", &Value::Null))
            .await;
        assert_eq!(code, 200);
        let mut list: Value = serde_json::from_slice(&body).unwrap();
        let mut items = list["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
        for item in &mut items {
            item["kind"] = kind.kind.into();
            item["apiVersion"] = kind.api_version().into();
        }
        items
    }
}

impl Side for Real {
    fn uids(&mut self) -> &mut Uids {
        &mut self.uids
    }

    fn namespace(&self) -> &str {
        &self.namespace
    }

    async fn exchange(&mut self, request: Request<Bytes>) -> (u16, Bytes) {
        self.api.exchange(request).await
    }

    async fn act(&mut self, act: Act<'_>) -> Answer {
        const JSON: &str = "application/json";
        match act {
            Act::Merge(target, part, body) => {
                let part = if part == Part::Status { "/status" } else { "" };
                self.send("PATCH", target, part, "application/merge-patch+json", &body)
                    .await
            }
            Act::Delete(target, options) => self.send("DELETE", target, "", JSON, &options.json()).await,
            Act::Bind(target) => {
                let body = json!({
                    "apiVersion": "v1", "kind": "Binding", "metadata": {"name": target.name},
                    "target": {"apiVersion": "v1", "kind": "Node", "name": "node"},
                });
                self.send("POST", target, "/binding", JSON, &body).await
            }
        }
    }

    async fn everything(&self) -> Vec<Value> {
        futures::future::join_all(KINDS.map(|kind| self.all(kind)))
            .await
            .concat()
    }

    async fn object(&self, target: &Target) -> Option<Value> {
        let (code, body) = self
            .api
            .exchange(request("GET", &self.address(target), "", &Value::Null))
            .await;
        (code == 200).then(|| serde_json::from_slice(&body).unwrap())
    }
}

fn path(namespace: &str, kind: Kind, name: &str, part: &str) -> String {
    let root = if kind.group.is_empty() { "api" } else { "apis" };
    let slash = if name.is_empty() { "" } else { "/" };
    let version = kind.api_version();
    format!(
        "/{root}/{version}/namespaces/{namespace}/{}{slash}{name}{part}",
        kind.plural
    )
}

pub(crate) fn request(method: &str, uri: &str, content_type: &str, body: &Value) -> Request<Bytes> {
    let body = if body.is_null() {
        Bytes::new()
    } else {
        Bytes::from(body.to_string())
    };
    let mut request = Request::builder()
        .method(method)
        .uri(uri)
        .header("accept", "application/json");
    if !content_type.is_empty() {
        request = request.header("content-type", content_type);
    }
    request.body(body).unwrap()
}

/// False for the events of kube-controller-manager, which the in-memory server does not make.
pub(crate) fn takes_part(object: &Value) -> bool {
    object["reportingComponent"] != "controllermanager"
}

/// Everything that a server stores, masked.
pub(crate) async fn state(side: &mut impl Side) -> Vec<Value> {
    let mut state = side.everything().await;
    state.retain(takes_part);
    for object in &state {
        side.uids().learn(object);
    }
    state.iter().map(|object| side.uids().mask(object)).collect()
}
