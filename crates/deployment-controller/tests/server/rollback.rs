//! The deprecated annotation that asks for a rollback.

use serde_json::json;
use testkit::Scene;
use testkit::builders::{Manifest as _, Templated as _, deployment};
use workload_core::id::Kind;

use crate::{scenario, web};

const ROLLBACK: &str = "deprecated.deployment.rollback.to";

/// A Deployment whose image went from `a` to `b`, and its annotation from `first` to `second`.
async fn two_revisions(scene: &Scene) {
    scene
        .settle(deployment("web").replicas(2).annotation("note", "first"))
        .await;
    let template = json!({"spec": {"containers": [{"name": "main", "image": "b"}]}});
    let update = json!({"metadata": {"annotations": {"note": "second"}}, "spec": {"template": template}});
    scene.merge(Kind::DEPLOYMENT, "web", update).await;
    scene.until_settled("web").await;
}

/// Asks for a rollback to this revision and waits until the controller has taken the request off.
async fn ask_for(scene: &Scene, to: &str) {
    let request = json!({"metadata": {"annotations": {ROLLBACK: to}}});
    scene.merge(Kind::DEPLOYMENT, "web", request).await;
    scene
        .until("the annotation is gone", |state| {
            web(state).annotation(ROLLBACK).is_none()
        })
        .await;
}

// proves: deployment/D-50, deployment/D-51, deployment/D-52, deployment/D-53
#[test]
fn the_rollback_annotation_brings_an_old_template_and_its_annotations_back() {
    scenario(async |scene| {
        for (to, image, revision, note) in [("1", "a", "3", "first"), ("0", "b", "4", "second")] {
            if to == "1" {
                two_revisions(scene).await;
            }
            ask_for(scene, to).await;
            scene
                .until("the revision", |state| web(state).revision() == Some(revision))
                .await;
            scene.until_settled("web").await;
            let web = scene.look(web);
            assert_eq!((web.image(), web.annotation("note")), (image, Some(note)));
        }
        assert_eq!(scene.look(|state| state.replica_sets().len()), 2);
        scene
            .until("both events", |state| {
                !state.events("web", "DeploymentRollback").is_empty()
            })
            .await;
    });
}

// proves: deployment/D-50, deployment/D-51, deployment/D-52, deployment/D-53, deployment/C-74
#[test]
fn a_rollback_that_cannot_be_done_is_told_and_its_annotation_removed() {
    scenario(async |scene| {
        two_revisions(scene).await;
        for (to, reason) in [
            ("7", "DeploymentRollbackRevisionNotFound"),
            ("2", "DeploymentRollbackTemplateUnchanged"),
        ] {
            ask_for(scene, to).await;
            let event = scene
                .find(reason, |state| {
                    Some(state.events("web", reason).first().copied()?.clone())
                })
                .await;
            assert_eq!(
                (event.text("/type"), event.text("/source/component")),
                ("Warning", "deployment-controller")
            );
            assert_eq!(scene.look(web).image(), "b");
        }
    });
}
