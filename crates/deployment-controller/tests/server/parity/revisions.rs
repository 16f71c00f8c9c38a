//! Revisions, history and annotations.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::Scene;
use testkit::builders::{Deployment, Manifest as _, Templated as _, deployment};
use testkit::record::State;
use workload_core::id::Kind;

use super::{make, parity, roll};

/// `web` with image `a`, then each of these; all are rolled out.
async fn revisions(scene: &Scene, web: Deployment, images: &[&str]) {
    make(scene, web).await;
    for image in images {
        roll(scene, image).await;
        scene.serve_pods().await;
    }
}

async fn annotate(scene: &Scene, annotations: Value) {
    let patch = json!({"metadata": {"annotations": annotations}});
    scene.merge(Kind::DEPLOYMENT, "web", patch).await;
    scene.serve_pods().await;
}

// proves: deployment/D-8, deployment/D-10, deployment/D-12
#[test]
fn an_earlier_template_comes_back_under_a_new_revision() {
    parity(async |scene| {
        revisions(scene, deployment("web"), &["b", "c", "a", "b", "a"]).await;
    });
}

// proves: deployment/D-55, deployment/W-5
#[test]
fn history_is_cut_to_its_limit() {
    parity(async |scene| {
        make(scene, deployment("web").history_limit(1)).await;
        for image in ["b", "c", "d"] {
            roll(scene, image).await;
            scene.serve_pods().await;
            scene
                .until("one old set is left", |state| state.replica_sets().len() == 2)
                .await;
        }
        scene
            .merge(Kind::DEPLOYMENT, "web", json!({"spec": {"revisionHistoryLimit": 0}}))
            .await;
        scene
            .until("no old set is left", |state| state.replica_sets().len() == 1)
            .await;
        scene.until_at_rest().await;
    });
}

// proves: deployment/D-9, deployment/D-11, deployment/A-2
#[test]
fn annotations_are_edited_and_removed() {
    parity(async |scene| {
        revisions(scene, deployment("web"), &["b"]).await;
        for (note, cause) in [("1", json!("first")), ("2", json!("second"))] {
            annotate(scene, json!({"note": note, "kubernetes.io/change-cause": cause})).await;
        }
        annotate(scene, json!({"note": null})).await;
    });
}

// proves: deployment/D-50, deployment/D-51, deployment/D-52, deployment/D-53, deployment/W-7
#[test]
fn the_rollback_annotation_is_carried_out() {
    parity(async |scene| {
        revisions(scene, deployment("web"), &["b"]).await;
        for revision in ["0", "2", "7", "4"] {
            annotate(scene, json!({"deprecated.deployment.rollback.to": revision})).await;
            scene
                .until("it is taken away", |state| {
                    let web = state.deployment("web").unwrap();
                    web.annotation("deprecated.deployment.rollback.to").is_none()
                })
                .await;
            scene.serve_pods().await;
        }
    });
}

// proves: deployment/D-11
#[test]
fn a_minimum_ready_time_reaches_the_new_set_only() {
    parity(async |scene| {
        revisions(scene, deployment("web"), &["b"]).await;
        // The pods are ready for longer than that, or they would be unavailable for the rest of the second.
        scene.until_quiet_for(Duration::from_secs(2)).await;
        let patch = json!({"spec": {"minReadySeconds": 1}});
        scene.merge(Kind::DEPLOYMENT, "web", patch).await;
        let reached = |state: &State| state.replica_sets()[1].number("/spec/minReadySeconds") == 1;
        scene.until("it has it", reached).await;
        scene.until_at_rest().await;
    });
}

// proves: deployment/D-14, deployment/T-12
#[test]
fn a_template_changed_under_its_hash_is_a_collision() {
    parity(async |scene| {
        make(scene, deployment("web").replicas(2)).await;
        let set = scene.look(|state| state.replica_sets()[0].name().to_owned());
        let containers = json!([{"name": "main", "image": "tampered"}]);
        let patch = json!({"spec": {"template": {"spec": {"containers": containers}}}});
        scene.merge(Kind::REPLICA_SET, &set, patch).await;
        scene
            .until("a second set", |state| state.replica_sets().len() == 2)
            .await;
        scene.serve_pods().await;
    });
}

// proves: deployment/D-9, deployment/D-13, deployment/I-11
#[test]
fn a_deployment_with_all_kinds_of_metadata_is_made() {
    parity(async |scene| {
        let web = deployment("web")
            .label("of", "deployment")
            .annotation("note", "1")
            .annotation("kubectl.kubernetes.io/last-applied-configuration", "{}")
            .annotation("deployment.kubernetes.io/revision", "7")
            .set("/spec/template/metadata/annotations/of", "template")
            .set("/spec/template/metadata/finalizers", json!(["test/kept"]))
            .set(
                "/spec/selector/matchExpressions",
                json!([{"key": "app", "operator": "Exists"}]),
            )
            .set("/spec/template/spec/containers/0/resources/requests/cpu", "0.5")
            .replicas(2);
        make(scene, web).await;
    });
}
