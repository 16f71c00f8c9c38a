//! Deployments on a cluster with nodes: pods start and end by themselves.

use serde_json::json;

use testkit::builders::{Deployment, Templated as _, deployment};
use testkit::record::State;
use testkit::{Kind, Scene};

use crate::fleet::DEPLOYMENTS;
use crate::scenario;

/// An image that does not need to exist on simulated nodes, and is on every real one.
pub(crate) const IMAGES: [&str; 2] = ["registry.k8s.io/pause:3.9", "registry.k8s.io/pause:3.10"];

pub(crate) fn web(replicas: u32) -> Deployment {
    deployment("web")
        .replicas(replicas)
        .image(IMAGES[0])
        .rolling("25%", "25%")
}

pub(crate) async fn rolled_out(scene: &Scene, web: Deployment) {
    scene.create(web).await;
    scene.until_settled("web").await;
}

#[test]
fn a_deployment_comes_up() {
    scenario(DEPLOYMENTS, async |scene| {
        rolled_out(scene, web(3)).await;
        assert_eq!(scene.look(|state| state.active_pods().len()), 3);
        assert!(scene.look(|state| state.pods().iter().all(|pod| pod.is_ready())));
    });
}

// proves: deployment/K-10
#[test]
fn a_rolling_update_stays_within_its_bounds() {
    scenario(DEPLOYMENTS, async |scene| {
        rolled_out(scene, web(10)).await;
        let start = scene.set_image("web", IMAGES[1]).await;
        scene.until_settled("web").await;
        scene.never_outside(start.version(), 13, 8);
        assert_eq!(scene.look(State::sizes), [0, 10]);
    });
}

// proves: deployment/K-3
#[test]
fn an_update_can_be_undone() {
    scenario(DEPLOYMENTS, async |scene| {
        rolled_out(scene, web(3)).await;
        scene.set_image("web", IMAGES[1]).await;
        scene.until_settled("web").await;
        scene.kubectl(&["rollout", "undo", "deployment/web"]).await.printed();
        scene
            .until("the old image", |state| {
                state.deployment("web").is_some_and(|web| web.image() == IMAGES[0])
            })
            .await;
        scene.until_settled("web").await;
        assert_eq!(scene.look(State::sizes), [3, 0]);
    });
}

#[test]
fn a_deployment_follows_its_size() {
    scenario(DEPLOYMENTS, async |scene| {
        rolled_out(scene, web(3)).await;
        for size in [10, 2, 0, 4] {
            scene.scale(Kind::DEPLOYMENT, "web", size).await;
            scene.until_settled("web").await;
            assert_eq!(
                scene.look(|state| state.active_pods().len()),
                usize::try_from(size).unwrap()
            );
        }
    });
}

#[test]
fn deleting_a_deployment_leaves_nothing() {
    scenario(DEPLOYMENTS, async |scene| {
        rolled_out(scene, web(3)).await;
        scene
            .delete_with(Kind::DEPLOYMENT, "web", &json!({"propagationPolicy": "Foreground"}))
            .await;
        scene
            .until("all is gone", |state| {
                state.deployment("web").is_none() && state.replica_sets().is_empty() && state.pods().is_empty()
            })
            .await;
    });
}
