//! Both servers, and the deeds that are done to both.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::api::{Api, NAMESPACE, POD_DISRUPTION_BUDGET, SERVICE_ACCOUNT};
use testkit::server::Server;
use testkit::simulation::server::{ApiServer, DeleteOptions, Part};
use workload_core::id::Kind;
use workload_core::time::{Clock as _, SystemClock};

use super::deed::{Deed, KINDS, Others, Seen, Target, event, lease};
use super::mask::Uids;
use super::side::{Act, Answer, Memory, Real, Side, request, state, takes_part};

/// How long the controllers of kube-controller-manager may take.
const WITHIN: Duration = Duration::from_secs(10);
/// How often they are looked at.
const POLL: Duration = Duration::from_millis(10);

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const FOREIGN: &str = "6e6a3b5c-0000-4000-8000-000000000000";

/// The two servers.
pub(crate) struct Pair {
    memory: Memory,
    real: Real,
    since: [String; 2],
}

impl Pair {
    /// A namespace of this name on both.
    pub(crate) async fn open(server: &'static Server, namespace: String) -> Self {
        let manifest = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        server.api().create(NAMESPACE, &manifest).await.unwrap();
        let api = server.api().namespace(&namespace);
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
        let made = api.create(SERVICE_ACCOUNT, &account).await;
        assert!(
            made.is_ok() || made.as_ref().is_err_and(|error| error.code == 409),
            "{made:?}"
        );
        let (version, _) = api.list_metadata(Kind::POD).await.unwrap();
        let mut memory = Memory {
            server: ApiServer::new(1, &[]),
            namespace: namespace.clone(),
            now: SystemClock.now(),
            uids: Uids::default(),
        };
        // A watch from version 0 would be another thing.
        let first = json!({"metadata": {"name": "first"}, "spec": {}});
        memory
            .server
            .create(lease().kind, "elsewhere", first, memory.now)
            .unwrap();
        let since = [memory.server.version().to_string(), version.to_string()];
        let uids = Uids::default();
        Self {
            memory,
            real: Real { api, namespace, uids },
            since,
        }
    }

    /// The namespace on both.
    pub(crate) fn namespace(&self) -> &str {
        self.memory.namespace()
    }

    /// The namespace on the real one, for what the in-memory server has another form of.
    pub(crate) fn api(&self) -> Api {
        self.real.api.clone()
    }

    /// The in-memory server.
    pub(crate) fn server(&mut self) -> &mut ApiServer {
        &mut self.memory.server
    }

    /// Does something to the in-memory server alone.
    pub(crate) async fn by_hand(&mut self, deed: &Deed) {
        self.memory.tick();
        perform(&mut self.memory, deed).await;
    }

    /// Removes what is on the real one.
    pub(crate) async fn close(self, server: &'static Server) {
        let _ = server.api().delete(NAMESPACE, &self.real.namespace, &Value::Null).await;
        for kind in [Kind::DEPLOYMENT, Kind::REPLICA_SET, Kind::POD] {
            for object in self.memory.server.list(kind) {
                let free = json!({"metadata": {"finalizers": null}});
                let _ = self.real.api.merge(kind, object.name(), &free).await;
            }
        }
        let _ = self.real.api.delete_all_now(Kind::POD).await;
    }

    /// Does the same to both; the answers, and what is stored then, must be equal.
    pub(crate) async fn play(&mut self, deed: &Deed) -> Result<(), String> {
        self.memory.tick();
        let ours = perform(&mut self.memory, deed).await;
        let theirs = perform(&mut self.real, deed).await;
        self.memory.uids.learn(&ours.1);
        self.real.uids.learn(&theirs.1);
        let before = [state(&mut self.memory).await, state(&mut self.real).await];
        let masked = [
            (ours.0, self.memory.uids.mask(&ours.1)),
            (theirs.0, self.real.uids.mask(&theirs.1)),
        ];
        if !answers_agree(deed, &masked) {
            return Err(format!(
                "answers differ: {}",
                differences(&masked[0].1, &masked[1].1, masked.clone().map(|answer| answer.0))
            ));
        }
        if self.memory.settle() || before[0] != before[1] {
            self.settled().await?;
        }
        Ok(())
    }

    /// Waits until both store the same.
    async fn settled(&mut self) -> Result<(), String> {
        let ours = state(&mut self.memory).await;
        let wait = async {
            while state(&mut self.real).await != ours {
                tokio::time::sleep(POLL).await;
            }
        };
        if tokio::time::timeout(WITHIN, wait).await.is_ok() {
            return Ok(());
        }
        let theirs = state(&mut self.real).await;
        Err(format!(
            "states differ: {}",
            differences(&ours.into(), &theirs.into(), [0, 0])
        ))
    }

    /// What has happened to each object must be equal. How often kube-controller-manager counts a budget is its own affair.
    pub(crate) async fn compare_histories(&mut self) -> Result<(), String> {
        let kinds = || KINDS.into_iter().filter(|kind| *kind != POD_DISRUPTION_BUDGET);
        let asked = |side: &str, since: &str| {
            let query = format!("watch=true&allowWatchBookmarks=true&timeoutSeconds=1&resourceVersion={since}");
            request("GET", &format!("{side}?{query}"), "", &Value::Null)
        };
        let theirs = kinds().map(|kind| {
            let request = asked(&self.real.collection(kind), &self.since[1]);
            self.real.api.exchange(request)
        });
        let theirs = futures::future::join_all(theirs).await;
        for (kind, (code, body)) in kinds().zip(theirs) {
            assert_eq!(code, 200);
            let request = asked(&self.memory.collection(kind), &self.since[0]);
            let (_, ours) = self.memory.exchange(request).await;
            let (ours, theirs) = (
                history(&mut self.memory.uids, &ours),
                history(&mut self.real.uids, &body),
            );
            if ours != theirs {
                return Err(format!(
                    "histories of {kind} differ: {}",
                    differences(&ours, &theirs, [0, 0])
                ));
            }
        }
        Ok(())
    }

    /// Streams that begin with the whole state must say the same, and mark its end alike.
    pub(crate) async fn compare_streams(&mut self) -> Result<(), String> {
        let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&watch=true&allowWatchBookmarks=true&timeoutSeconds=1";
        for kind in [Kind::POD, Kind::DEPLOYMENT] {
            let uri = format!("{}?{query}", self.memory.collection(kind));
            let (_, ours) = self.memory.exchange(request("GET", &uri, "", &Value::Null)).await;
            let (_, theirs) = self.real.exchange(request("GET", &uri, "", &Value::Null)).await;
            let (ours, theirs) = (begin(&self.memory.uids, &ours), begin(&self.real.uids, &theirs));
            if ours != theirs {
                return Err(format!(
                    "streams of {kind} differ: {}",
                    differences(&ours, &theirs, [0, 0])
                ));
            }
        }
        Ok(())
    }
}

/// The frames of a stream up to the end of the state; of bookmarks what a reader looks at.
fn begin(uids: &Uids, body: &[u8]) -> Value {
    let mut frames = Vec::new();
    for line in body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let frame: Value = serde_json::from_slice(line).unwrap();
        if frame["type"] == "BOOKMARK" {
            let metadata = &frame["object"]["metadata"];
            assert!(metadata["resourceVersion"].is_string());
            frames.push(
                json!({"type": "BOOKMARK", "kind": frame["object"]["kind"], "annotations": metadata["annotations"]}),
            );
            break;
        }
        frames.push(uids.mask(&frame));
    }
    frames.into()
}

/// Waits until something holds on the real server.
pub(crate) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let wait = async {
        while !holds().await {
            tokio::time::sleep(POLL).await;
        }
    };
    let held = tokio::time::timeout(WITHIN, wait).await;
    assert!(held.is_ok(), "not within {WITHIN:?}: {what}");
}

/// The frames of a watch, by object.
fn history(uids: &mut Uids, body: &[u8]) -> Value {
    let mut history = json!({});
    for line in body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let frame: Value = serde_json::from_slice(line).unwrap();
        if frame["type"] == "BOOKMARK" || !takes_part(&frame["object"]) {
            continue;
        }
        uids.learn(&frame["object"]);
        let masked = uids.mask(&frame);
        let name = masked["object"]["metadata"]["name"].as_str().unwrap().to_owned();
        match history[&name].as_array_mut() {
            Some(frames) => frames.push(masked),
            None => history[&name] = json!([masked]),
        }
    }
    history
}

/// What a deed comes to on one server.
async fn perform(side: &mut impl Side, deed: &Deed) -> Answer {
    match deed {
        Deed::Create(target, object, owner) => {
            let mut object = object.clone();
            if let Some(owner) = owner {
                object["metadata"]["ownerReferences"] = json!([reference(side, owner).await]);
            }
            let uri = format!("{}?fieldManager=test", side.collection(target.kind));
            exchange(side, "POST", &uri, JSON, &object).await
        }
        Deed::Change(target, seen, part, body) => {
            let mut body = body.clone();
            guard(side, target, *seen, &mut body["metadata"]).await;
            write(side, target, part, MERGE, &body).await
        }
        Deed::Adopt(target, seen, owner) => {
            let mut body = json!({"metadata": {"ownerReferences": [reference(side, owner).await]}});
            body["metadata"]["uid"] = uid(side, target, *seen).await.into();
            write(side, target, "", STRATEGIC, &body).await
        }
        Deed::Release(target, seen, owner) => {
            let owner = uid(side, owner, Seen::Now).await;
            let mut body = json!({"metadata": {"ownerReferences": [{"$patch": "delete", "uid": owner}]}});
            body["metadata"]["uid"] = uid(side, target, *seen).await.into();
            write(side, target, "", STRATEGIC, &body).await
        }
        Deed::Remove(target, seen, versioned) => {
            let options = conditions(side, target, *seen, *versioned).await;
            let uri = side.address(target);
            exchange(side, "DELETE", &uri, JSON, &options).await
        }
        Deed::Evict(target, seen) => {
            // The real server repeats an eviction for ten seconds that conflicts and names no version.
            let options = conditions(side, target, *seen, *seen != Seen::Now).await;
            let body = json!({
                "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": target.name}, "deleteOptions": options,
            });
            let uri = format!("{}/eviction", side.address(target));
            exchange(side, "POST", &uri, JSON, &body).await
        }
        Deed::Lead(seen, holder) => lead(side, *seen, holder).await,
        Deed::Count(count) => recount(side, *count).await,
        Deed::Read(target) => {
            let uri = side.address(target);
            exchange(side, "GET", &uri, "", &Value::Null).await
        }
        Deed::List(kind, limit) => pages(side, *kind, *limit).await,
        Deed::Others(others) => by_others(side, others).await,
    }
}

/// What a deed of somebody who is no controller comes to.
async fn by_others(side: &mut impl Side, others: &Others) -> Answer {
    let act = match others {
        Others::Edit(target, body) => Act::Merge(target, Part::Main, body.clone()),
        Others::Report(target, status) => Act::Merge(target, Part::Status, json!({ "status": status })),
        Others::Delete(target, propagation, grace) => Act::Delete(
            target,
            DeleteOptions {
                grace: *grace,
                propagation: *propagation,
                ..DeleteOptions::default()
            },
        ),
        Others::Bind(target) => Act::Bind(target),
    };
    side.act(act).await
}

async fn exchange(side: &mut impl Side, method: &str, uri: &str, content_type: &str, body: &Value) -> Answer {
    let (code, body) = side.exchange(request(method, uri, content_type, body)).await;
    (code, serde_json::from_slice(&body).unwrap_or_default())
}

async fn write(side: &mut impl Side, target: &Target, part: &str, content_type: &str, body: &Value) -> Answer {
    let uri = format!("{}{part}?fieldManager=test", side.address(target));
    exchange(side, "PATCH", &uri, content_type, body).await
}

async fn uid(side: &impl Side, target: &Target, seen: Seen) -> String {
    let object = side.object(target).await.filter(|_| seen != Seen::Foreign);
    let uid = object.and_then(|object| Some(object["metadata"]["uid"].as_str()?.to_owned()));
    uid.unwrap_or_else(|| FOREIGN.to_owned())
}

/// The version that the writer has seen: the first one of all is older than any object.
async fn version(side: &impl Side, target: &Target, seen: Seen) -> String {
    let object = side.object(target).await.filter(|_| seen != Seen::Stale);
    let version = object.and_then(|object| Some(object["metadata"]["resourceVersion"].as_str()?.to_owned()));
    version.unwrap_or_else(|| "1".to_owned())
}

async fn guard(side: &impl Side, target: &Target, seen: Seen, metadata: &mut Value) {
    metadata["uid"] = uid(side, target, seen).await.into();
    metadata["resourceVersion"] = version(side, target, seen).await.into();
}

async fn conditions(side: &impl Side, target: &Target, seen: Seen, versioned: bool) -> Value {
    let options = DeleteOptions {
        uid: Some(uid(side, target, seen).await),
        version: None,
        ..DeleteOptions::default()
    };
    let versioned = versioned || seen == Seen::Stale;
    let version = if versioned {
        Some(version(side, target, seen).await)
    } else {
        None
    };
    DeleteOptions { version, ..options }.json()
}

async fn reference(side: &impl Side, owner: &Target) -> Value {
    json!({
        "apiVersion": owner.kind.api_version(), "kind": owner.kind.kind, "name": owner.name,
        "uid": uid(side, owner, Seen::Now).await, "controller": true, "blockOwnerDeletion": true,
    })
}

async fn lead(side: &mut impl Side, seen: Seen, holder: &str) -> Answer {
    let lock = lease();
    let spec = json!({
        "holderIdentity": holder, "leaseDurationSeconds": 15, "leaseTransitions": 1,
        "acquireTime": "2026-01-02T03:04:05.000000Z", "renewTime": "2026-01-02T03:04:05.000000Z",
    });
    if side.object(&lock).await.is_none() {
        let object = json!({
            "apiVersion": lock.kind.api_version(), "kind": lock.kind.kind, "metadata": {"name": lock.name}, "spec": spec,
        });
        let uri = format!("{}?&fieldManager=test", side.collection(lock.kind));
        return exchange(side, "POST", &uri, JSON, &object).await;
    }
    let version = version(side, &lock, seen).await;
    let body = json!({"metadata": {"resourceVersion": version}, "spec": spec});
    write(side, &lock, "", MERGE, &body).await
}

async fn recount(side: &mut impl Side, count: i64) -> Answer {
    let event = event();
    if side.object(&event).await.is_some() {
        let body = json!({"count": count, "lastTimestamp": "2026-01-02T03:04:06Z", "message": "again"});
        return write(side, &event, "", MERGE, &body).await;
    }
    let collection = side.collection(event.kind);
    let namespace = collection.split('/').nth(4).unwrap().to_owned();
    let object = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": event.name, "namespace": namespace},
        "involvedObject": {
            "apiVersion": "apps/v1", "kind": "Deployment", "namespace": namespace, "name": "a", "uid": FOREIGN,
            "resourceVersion": "1",
        },
        "type": "Normal", "reason": "ScalingReplicaSet", "message": "m", "count": 1,
        "source": {"component": "deployment-controller"}, "reportingComponent": "deployment-controller",
        "reportingInstance": "", "firstTimestamp": "2026-01-02T03:04:05Z", "lastTimestamp": "2026-01-02T03:04:05Z",
    });
    let uri = format!("{collection}?fieldManager=test");
    exchange(side, "POST", &uri, JSON, &object).await
}

/// All pages of a list.
async fn pages(side: &mut impl Side, kind: Kind, limit: usize) -> Answer {
    let mut pages = Vec::new();
    let mut token = None;
    loop {
        let more = token.map(|token| format!("&continue={token}")).unwrap_or_default();
        let uri = format!("{}?limit={limit}{more}", side.collection(kind));
        let (code, page) = exchange(side, "GET", &uri, "", &Value::Null).await;
        assert_eq!(code, 200, "{page}");
        token = page["metadata"]["continue"].as_str().map(str::to_owned);
        pages.push(page);
        if token.is_none() {
            return (200, pages.into());
        }
    }
}

/// Whether two answers say the same. The direct hand answers a write with the object, whatever the real server answers.
fn answers_agree(deed: &Deed, [ours, theirs]: &[Answer; 2]) -> bool {
    let by_hand = matches!(deed, Deed::Others(Others::Bind(_) | Others::Delete(..)));
    let succeeded = |answer: &Answer| answer.0 < 300;
    if by_hand && succeeded(ours) && succeeded(theirs) {
        return true;
    }
    ours == theirs
}

/// Where two values differ, the first places.
fn differences(ours: &Value, theirs: &Value, codes: [u16; 2]) -> String {
    let mut found = Vec::new();
    compare("", ours, theirs, &mut found);
    if codes[0] != codes[1] {
        found.insert(0, format!("code: {} here, {} there", codes[0], codes[1]));
    }
    found.truncate(12);
    found.join("\n  ")
}

fn compare(place: &str, ours: &Value, theirs: &Value, found: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            let fields: std::collections::BTreeSet<_> = a.keys().chain(b.keys()).collect();
            for field in fields {
                compare(&format!("{place}/{field}"), &ours[field], &theirs[field], found);
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            for at in 0..a.len().max(b.len()) {
                let item = |of: &[Value]| of.get(at).cloned().unwrap_or_default();
                compare(&format!("{place}/{at}"), &item(a), &item(b), found);
            }
        }
        _ if ours != theirs => found.push(format!("{place}: {ours} here, {theirs} there")),
        _ => {}
    }
}
