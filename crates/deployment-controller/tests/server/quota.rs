//! Creates that the server refuses: quotas make them fail.

use serde_json::{Value, json};
use testkit::Scene;
use testkit::api::RESOURCE_QUOTA;
use testkit::builders::{Templated as _, deployment};
use testkit::object::Stored;
use testkit::record::{Change, State};
use workload_core::id::Kind;

use crate::{scenario, web};

/// Lets the namespace have so much, such as `{"pods": 10}`, and waits until the server enforces it.
pub(crate) async fn limit(scene: &Scene, hard: Value) {
    let quota =
        json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "limit"}, "spec": {"hard": hard}});
    scene.create(quota).await;
    let enforced = async || scene.api().get(RESOURCE_QUOTA, "limit").await.unwrap()["status"]["hard"].is_object();
    scene.eventually("the quota is enforced", enforced).await;
}

/// Changes the limit. It counts from the next request on.
pub(crate) async fn change(scene: &Scene, hard: Value) {
    scene
        .merge(RESOURCE_QUOTA, "limit", json!({"spec": {"hard": hard}}))
        .await;
}

// proves: deployment/T-17, deployment/C-40, deployment/C-24, deployment/C-73, deployment/RS-22, deployment/D-75
#[test]
fn a_full_quota_is_reported_and_met_with_few_tries() {
    scenario(async |scene| {
        limit(scene, json!({"pods": "10"})).await;
        scene.create(deployment("web").replicas(100)).await;
        let failing = |object: &Stored| object.says("ReplicaFailure") == "True FailedCreate";
        let reported = |state: &State| {
            failing(&web(state))
                && state
                    .replica_sets()
                    .iter()
                    .all(|set| failing(set) && set.count("replicas") == 10)
        };
        scene.until("both say so", reported).await;
        let name = scene.look(|state| state.replica_sets()[0].name().to_owned());
        let event = scene
            .find("the event", |state| {
                Some(state.events(&name, "FailedCreate").first().copied()?.clone())
            })
            .await;
        assert_eq!(
            (event.text("/type"), event.text("/source/component")),
            ("Warning", "replicaset-controller")
        );
        assert!(event.text("/message").starts_with("Error creating: "), "{event}");
        if let Some(controller) = scene.controller() {
            let tries = controller
                .metrics()
                .await
                .count("write_attempts_total", &[("kind", "Pod"), ("result", "rejected")]);
            // Five of the batch of eight that met the limit, then one at a time.
            assert!((5..40).contains(&tries), "{tries} of 90 missing pods were tried");
        }

        change(scene, json!({"pods": "20"})).await;
        scene.until("ten more", |state| state.pods().len() == 20).await;
        scene.scale(Kind::DEPLOYMENT, "web", 20).await;
        let silent = |object: &Stored| object.says("ReplicaFailure").is_empty();
        scene
            .until("nobody says so any more", |state| {
                silent(&web(state)) && silent(state.replica_sets()[0])
            })
            .await;
        assert_eq!(
            scene.look(|state| state
                .writes(Kind::POD)
                .filter(|write| write.change == Change::Added)
                .count()),
            20
        );
    });
}

// proves: deployment/D-15, deployment/D-77, deployment/C-74
#[test]
fn a_replica_set_that_cannot_be_made_is_reported_and_tried_again() {
    scenario(async |scene| {
        limit(scene, json!({"count/replicasets.apps": 0})).await;
        scene.create(deployment("web")).await;
        let refused = "False ReplicaSetCreateError";
        scene
            .until(refused, |state| {
                state.deployment("web").unwrap().says("Progressing") == refused
            })
            .await;
        scene
            .until("the event", |state| {
                !state.events("web", "ReplicaSetCreateError").is_empty()
            })
            .await;
        change(scene, json!({"count/replicasets.apps": 5})).await;
        scene.kubelet().auto();
        scene.until_settled("web").await;
        assert_eq!(
            scene.look(|state| state.deployment("web").unwrap().says("Progressing")),
            "True NewReplicaSetAvailable"
        );
    });
}
