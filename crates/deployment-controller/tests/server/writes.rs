//! The form of every write: its verb, what it may change, and what must still hold for it.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use testkit::Scene;
use testkit::builders::{Templated as _, deployment};
use testkit::proxy::{Asked, Exchange, Verb, Which};
use testkit::record::State;
use workload_core::id::Kind;

use crate::faults::behind_proxy;

/// Takes an object out of the selector of `web`, waits for `meanwhile`, and puts it back.
async fn let_go_and_take_back(scene: &Scene, kind: Kind, name: &str, meanwhile: impl FnMut(&State) -> bool) {
    let label = |value: &str| json!({"metadata": {"labels": {"app": value}}});
    scene.merge(kind, name, label("other")).await;
    scene.until("it is replaced", meanwhile).await;
    scene.until_settled("web").await;
    scene.merge(kind, name, label("web")).await;
    let owned = |state: &State| state.get(kind, name).is_none_or(|object| object.controller().is_some());
    scene.until("it is taken back", owned).await;
    scene.until_settled("web").await;
}

// proves: deployment/W-2, deployment/W-3, deployment/W-4, deployment/W-5, deployment/W-6, deployment/W-7, deployment/W-8,
// deployment/W-9, deployment/W-10, deployment/W-11, deployment/W-12
#[test]
fn every_write_has_its_form_and_its_precondition() {
    behind_proxy(async |scene, proxy| {
        scene
            .settle(deployment("web").replicas(3).rolling(1, 0).history_limit(1))
            .await;
        let set = scene.look(|state| state.replica_sets()[0].name().to_owned());
        let_go_and_take_back(scene, Kind::REPLICA_SET, &set, |state| state.sizes() == [3, 3]).await;
        let pod = scene.look(|state| state.active_pods()[0].name().to_owned());
        let_go_and_take_back(scene, Kind::POD, &pod, |state| state.active_pods().len() == 4).await;
        scene.set_image("web", "b").await;
        scene.until_settled("web").await;
        let request = json!({"metadata": {"annotations": {"deprecated.deployment.rollback.to": "0"}}});
        scene.merge(Kind::DEPLOYMENT, "web", request).await;
        scene
            .until("it is rolled back", |state| {
                state.deployment("web").unwrap().image() == "a"
            })
            .await;
        scene.until_settled("web").await;
        let found: BTreeSet<_> = proxy.seen(&Which::writes()).iter().map(rule).collect();
        let all = [
            "W-2", "W-3", "W-4", "W-5", "W-6", "W-7", "W-8", "W-9", "W-10", "W-11", "W-12",
        ];
        assert_eq!(found, BTreeSet::from(all));
    });
}

/// The rule that allows a write.
fn rule(write: &Exchange) -> &'static str {
    let Asked {
        verb,
        plural,
        subresource,
        ..
    } = &write.asked;
    let body = write.json();
    match (verb, &**plural, &**subresource) {
        (Verb::Patch, "replicasets", "") if is_claim(write) => "W-2",
        (Verb::Create, "replicasets", "") if is_named_by_its_hash(&body) => "W-3",
        (Verb::Patch, "replicasets", "")
            if is_guarded(write) && has_only(&body["spec"], &["minReadySeconds", "replicas"]) =>
        {
            "W-4"
        }
        (Verb::Delete, "replicasets", "") if demands(&body, &["resourceVersion", "uid"]) => "W-5",
        (Verb::Patch, "deployments", "status") if is_guarded(write) && has_only(&body, &["metadata", "status"]) => {
            "W-6"
        }
        (Verb::Patch, "deployments", "") if is_guarded(write) && has_only(&body["spec"], &["template"]) => "W-7",
        (Verb::Patch, "pods", "") if is_claim(write) => "W-8",
        (Verb::Create, "pods", "") if is_named_at_random(&body) => "W-9",
        (Verb::Delete, "pods", "") if demands(&body, &["uid"]) => "W-10",
        (Verb::Patch, "replicasets", "status") if is_guarded(write) && has_only(&body, &["metadata", "status"]) => {
            "W-11"
        }
        (Verb::Create | Verb::Patch, "events", "") => "W-12",
        _ => panic!("no rule allows {write} as {}: {body}", write.content_type),
    }
}

/// An adoption or release: nothing but the owners, of the object with that uid.
fn is_claim(write: &Exchange) -> bool {
    let body = write.json();
    write.content_type == "application/strategic-merge-patch+json"
        && has_only(&body, &["metadata"])
        && has_only(&body["metadata"], &["ownerReferences", "uid"])
        && body["metadata"]["uid"].is_string()
}

/// A change of the object with that uid in that version.
fn is_guarded(write: &Exchange) -> bool {
    let metadata = &write.json()["metadata"];
    write.content_type == "application/merge-patch+json"
        && has_only(metadata, &["annotations", "resourceVersion", "uid"])
        && metadata["uid"].is_string()
        && metadata["resourceVersion"].is_string()
}

fn demands(options: &Value, what: &[&str]) -> bool {
    let demanded = options["preconditions"].as_object().unwrap();
    demanded.keys().eq(what.iter().copied()) && demanded.values().all(Value::is_string)
}

fn is_named_by_its_hash(set: &Value) -> bool {
    let hash = set["metadata"]["labels"]["pod-template-hash"].as_str().unwrap();
    set["metadata"]["name"] == format!("web-{hash}") && set["metadata"]["generateName"].is_null()
}

fn is_named_at_random(pod: &Value) -> bool {
    let [base, name] = ["generateName", "name"].map(|field| pod["metadata"][field].as_str().unwrap());
    let random = name.strip_prefix(base).unwrap();
    random.len() == 5 && random.chars().all(|c| "bcdfghjklmnpqrstvwxz2456789".contains(c))
}

/// True for an object with no other fields than these.
fn has_only(object: &Value, fields: &[&str]) -> bool {
    object
        .as_object()
        .is_none_or(|object| object.keys().all(|field| fields.contains(&&**field)))
}
