//! Pause and resume.

use std::time::Duration;

use serde_json::json;
use testkit::Scene;
use testkit::builders::{Manifest as _, deployment};
use testkit::record::State;
use workload_core::id::Kind;

use crate::rolling::stuck_rollout;
use crate::scenario;

/// Everything that the Deployment's Progressing condition has said, each change once.
fn progress(state: &State) -> Vec<String> {
    let mut said: Vec<String> = state
        .writes(Kind::DEPLOYMENT)
        .map(|write| write.object.says("Progressing"))
        .collect();
    said.dedup();
    said
}

async fn pause(scene: &Scene, paused: bool) {
    scene
        .merge(Kind::DEPLOYMENT, "web", json!({"spec": {"paused": paused}}))
        .await;
}

// proves: deployment/T-10, deployment/D-21, deployment/D-84, deployment/D-85, deployment/D-25
#[test]
fn a_paused_deployment_scales_what_it_has_and_starts_nothing_new() {
    scenario(async |scene| {
        scene.settle(deployment("web")).await;
        pause(scene, true).await;
        scene.set_image("web", "b").await;
        scene.scale(Kind::DEPLOYMENT, "web", 10).await;
        scene
            .until("ten old pods", |state| {
                let web = state.deployment("web").unwrap();
                web.is_observed() && web.count("availableReplicas") == 10
            })
            .await;
        assert_eq!(scene.look(State::sizes), [10]);
        assert_eq!(
            scene.look(|state| state.deployment("web").unwrap().says("Progressing")),
            "Unknown DeploymentPaused"
        );
        assert_eq!(
            scene.look(|state| state.deployment("web").unwrap().count("updatedReplicas")),
            0
        );

        pause(scene, false).await;
        scene.until_settled("web").await;
        assert_eq!(scene.look(State::sizes), [0, 10]);
    });
}

// proves: deployment/D-84, deployment/D-77
#[test]
fn a_rollout_resumed_without_anything_to_do_says_that_it_was_resumed() {
    scenario(async |scene| {
        stuck_rollout(scene, deployment("web")).await;
        for (paused, says) in [(true, "Unknown DeploymentPaused"), (false, "Unknown DeploymentResumed")] {
            pause(scene, paused).await;
            let told = |state: &State| state.deployment("web").unwrap().says("Progressing") == says;
            scene.until(says, told).await;
            scene
                .until("it is observed", |state| state.deployment("web").unwrap().is_observed())
                .await;
            assert!(scene.look(told));
        }
    });
}

// proves: deployment/D-21, deployment/D-85
#[test]
fn a_deployment_born_paused_makes_no_replica_set() {
    scenario(async |scene| {
        scene.create(deployment("web").paused()).await;
        scene
            .until("it is observed", |state| state.deployment("web").unwrap().is_observed())
            .await;
        scene
            .holds_for(Duration::from_secs(1), "there is no set", |state| {
                state.replica_sets().is_empty()
            })
            .await;
        scene.kubelet().auto();
        pause(scene, false).await;
        scene.until_settled("web").await;
    });
}

// proves: deployment/D-84, deployment/L-8
#[test]
fn pausing_after_the_deadline_was_exceeded_is_not_reported() {
    scenario(async |scene| {
        scene.create(deployment("web").deadline_seconds(1)).await;
        let exceeded = "False ProgressDeadlineExceeded";
        // Without its pod the Deployment would still make progress.
        let stuck = |state: &State| {
            let web = state.deployment("web").unwrap();
            web.count("updatedReplicas") == 1 && web.says("Progressing") == exceeded
        };
        scene.until(exceeded, stuck).await;
        pause(scene, true).await;
        scene
            .until("the pause is observed", |state| {
                state.deployment("web").unwrap().is_observed()
            })
            .await;
        assert_eq!(
            scene.look(|state| state.deployment("web").unwrap().says("Progressing")),
            exceeded
        );
    });
}

// proves: deployment/D-70, deployment/D-12
#[test]
fn without_a_deadline_nothing_is_said_about_progress() {
    scenario(async |scene| {
        scene.kubelet().auto();
        scene
            .create(deployment("web").set("/spec/progressDeadlineSeconds", i32::MAX))
            .await;
        scene
            .until("it is rolled out", |state| {
                state.deployment("web").unwrap().is_rolled_out()
            })
            .await;
        pause(scene, true).await;
        scene
            .until("the pause is observed", |state| {
                state.deployment("web").unwrap().is_observed()
            })
            .await;
        assert_eq!(scene.look(progress), [""]);
    });
}
