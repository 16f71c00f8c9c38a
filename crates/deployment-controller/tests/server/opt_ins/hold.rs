//! Rollouts that stop part of the way.

use std::time::Duration;

use serde_json::json;
use testkit::builders::{Manifest as _, Templated as _, deployment};
use testkit::object::Stored;
use testkit::record::State;
use testkit::{Scene, names};
use workload_core::id::Kind;

use crate::{ours_only, web};

const KEY: &str = "opt-in.workload-controllers/deployment.hold-at";

pub(super) async fn hold_at(scene: &Scene, value: Option<&str>) {
    let annotations = json!({"metadata": {"annotations": {KEY: value}}});
    scene.merge(Kind::DEPLOYMENT, "web", annotations).await;
}

pub(super) fn holds(state: &State) -> bool {
    web(state).says("Progressing") == "Unknown DeploymentPaused"
}

// proves: field/FR-DP-07, deployment/D-84
#[test]
fn a_rollout_holds_until_it_may_go_on() {
    ours_only(async |scene| {
        let manifest = deployment("web").replicas(10).opt_in("deployment.hold-at", "3");
        scene.settle(manifest.deadline_seconds(2)).await;
        scene.set_image("web", "b").await;
        scene.until("it holds", holds).await;
        assert_eq!(scene.look(State::sizes), [7, 3]);
        scene
            .find("the event", |state| {
                state.events("web", "RolloutHeld").first().map(|_| ())
            })
            .await;
        // Longer than the deadline.
        scene
            .holds_for(Duration::from_secs(5), "it holds", |state| {
                state.sizes() == [7, 3] && holds(state)
            })
            .await;
        let updated = scene.look(|state| names(state.pods_of(state.replica_sets()[1])));
        hold_at(scene, Some("50%")).await;
        scene
            .until("half are updated", |state| state.sizes() == [5, 5] && holds(state))
            .await;
        hold_at(scene, None).await;
        scene.until_settled("web").await;
        assert_eq!(scene.look(State::sizes), [0, 10]);
        let stayed = |state: &State| updated.iter().all(|pod| state.get(Kind::POD, pod).is_some());
        assert!(scene.look(stayed), "no updated pod was replaced");
        scene.look(|state| {
            let said: Vec<_> = state
                .writes(Kind::DEPLOYMENT)
                .map(|write| write.object.says("Progressing"))
                .collect();
            assert!(said.contains(&"Unknown DeploymentResumed".to_owned()), "{said:?}");
        });
    });
}

// proves: field/FR-DP-07, deployment/D-74
#[test]
fn a_canary_that_does_not_get_ready_misses_the_deadline() {
    ours_only(async |scene| {
        let manifest = deployment("web").replicas(4).opt_in("deployment.hold-at", "1");
        scene.settle(manifest.deadline_seconds(2)).await;
        scene.kubelet().auto_for_image("a");
        scene.set_image("web", "b").await;
        let exceeded = |web: &Stored| web.says("Progressing") == "False ProgressDeadlineExceeded";
        scene
            .until("the deadline has passed", |state| exceeded(&web(state)))
            .await;
        assert_eq!(scene.look(|state| state.sizes()[1]), 1);
        scene.kubelet().auto();
        scene.until("it holds", holds).await;
        assert_eq!(scene.look(State::sizes), [3, 1]);
    });
}
