//! What a deed comes to on one server.

use serde_json::{Value, json};
use testkit::simulation::server::{DeleteOptions, Part};
use workload_core::id::Kind;

use super::deed::{Deed, HOLD, Others, Seen, Target, event, lease};
use super::side::{Act, Answer, Side, request};

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
/// What a strategic patch takes away of a list.
const FREED: &str = "$deleteFromPrimitiveList/finalizers";
const FOREIGN: &str = "6e6a3b5c-0000-4000-8000-000000000000";

/// What a deed comes to on one server.
pub(crate) async fn perform(side: &mut impl Side, deed: &Deed) -> Answer {
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
            let metadata = adoption(side, owner).await;
            claim(side, target, *seen, metadata).await
        }
        Deed::Release(target, seen, owner) => {
            let metadata = release(side, owner).await;
            claim(side, target, *seen, metadata).await
        }
        Deed::LetGo(target, seen) => claim(side, target, *seen, json!({FREED: [HOLD]})).await,
        Deed::Remove(target, seen, versioned) => {
            let mut options = conditions(side, target, *seen, *versioned).await;
            if target.kind == Kind::JOB {
                options["propagationPolicy"] = "Foreground".into();
            }
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

/// A Job's pods get a finalizer with their owner, and lose it with him.
async fn adoption(side: &impl Side, owner: &Target) -> Value {
    let mut metadata = json!({"ownerReferences": [reference(side, owner).await]});
    if owner.kind == Kind::JOB {
        metadata["finalizers"] = json!([HOLD]);
    }
    metadata
}

async fn release(side: &impl Side, owner: &Target) -> Value {
    let uid = uid(side, owner, Seen::Now).await;
    let mut metadata = json!({"ownerReferences": [{"$patch": "delete", "uid": uid}]});
    if owner.kind == Kind::JOB {
        metadata[FREED] = json!([HOLD]);
    }
    metadata
}

async fn claim(side: &mut impl Side, target: &Target, seen: Seen, mut metadata: Value) -> Answer {
    metadata["uid"] = uid(side, target, seen).await.into();
    write(side, target, "", STRATEGIC, &json!({ "metadata": metadata })).await
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
