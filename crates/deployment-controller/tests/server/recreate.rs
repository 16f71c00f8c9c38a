//! The strategy Recreate.

use std::time::Duration;

use testkit::builders::{Manifest as _, Templated as _, deployment};
use testkit::object::Stored;
use testkit::record::State;
use testkit::{Scene, names};
use workload_core::id::Kind;

use crate::scenario;

/// Seconds that the pods of these Deployments have for their end.
const GRACE: i64 = 300;

/// Scales the old set of a Recreate Deployment of `size` to nothing while its pods stay terminating; returns their names.
async fn held_back(scene: &Scene, size: u32) -> Vec<String> {
    let manifest = deployment("web").replicas(size).recreate();
    scene
        .settle(manifest.set("/spec/template/spec/terminationGracePeriodSeconds", GRACE))
        .await;
    scene.kubelet().keep_terminating();
    let pods = scene.look(|state| names(state.pods()));
    scene.set_image("web", "b").await;
    let waits = |state: &State| {
        let web = state.deployment("web").unwrap();
        web.count("replicas") == 0 && web.count("terminatingReplicas") == i64::from(size)
    };
    scene.until("all old pods are terminating", waits).await;
    let grace = |pod: &&Stored| pod.number("/metadata/deletionGracePeriodSeconds") == GRACE;
    assert!(
        scene.look(|state| state.pods().iter().all(grace)),
        "pods have the time that their template gives them"
    );
    pods
}

// proves: deployment/T-9, deployment/C-72, deployment/D-40, deployment/D-41, deployment/D-42, deployment/D-43, deployment/D-1,
// field/FR-DP-09
#[test]
fn recreate_makes_nothing_before_the_last_old_pod_is_gone() {
    scenario(async |scene| {
        let pods = held_back(scene, 3).await;
        let second = Duration::from_secs(1);
        for pod in &pods[..2] {
            scene.kubelet().end(pod).await;
        }
        scene
            .holds_for(second, "there is no new set", |state| state.sizes() == [0])
            .await;
        scene.kubelet().end(&pods[2]).await;
        scene
            .until("the new set has all", |state| state.sizes() == [0, 3])
            .await;
        assert_eq!(scene.look(State::sizes_given), [(1, 3), (1, 0), (2, 3)]);

        scene.until_rolled_out("web").await;
        for size in [4, 2] {
            scene.scale(Kind::DEPLOYMENT, "web", size).await;
            scene.until_rolled_out("web").await;
        }
        scene
            .until("2 are terminating", |state| {
                state.deployment("web").unwrap().count("terminatingReplicas") == 2
            })
            .await;
        assert_eq!(scene.look(State::sizes), [0, 2]);
    });
}

// proves: deployment/D-41, field/FR-DP-09
#[test]
fn recreate_does_not_wait_for_a_finished_pod() {
    scenario(async |scene| {
        scene.settle(deployment("web").replicas(2).recreate()).await;
        let pods = scene.look(|state| names(state.pods()));
        scene.kubelet().keep_terminating();
        scene.kubelet().fail(&pods[0], 1).await;
        let replaced = |state: &State| {
            let active = state.active_pods();
            active.len() == 2 && active.iter().all(|pod| pod.is_ready())
        };
        scene.until("a replacement", replaced).await;
        let rest = scene.look(|state| names(state.active_pods()));
        scene.set_image("web", "b").await;
        scene
            .until("the rest is terminating", |state| {
                state.deployment("web").unwrap().count("terminatingReplicas") == 2
            })
            .await;
        for pod in &rest {
            scene.kubelet().end(pod).await;
        }
        // Long before the progress deadline of ten minutes.
        scene
            .find_within(Duration::from_mins(1), "the new set", |state| {
                (state.sizes() == [0, 2]).then_some(())
            })
            .await;
        assert!(scene.look(|state| state.get(Kind::POD, &pods[0]).is_some()));
    });
}

// proves: deployment/D-41
#[test]
fn recreate_goes_on_once_the_last_terminating_pod_has_failed() {
    scenario(async |scene| {
        let pods = held_back(scene, 1).await;
        scene
            .holds_for(Duration::from_secs(1), "there is no new set", |state| {
                state.sizes() == [0]
            })
            .await;
        scene.kubelet().fail(&pods[0], 137).await;
        scene.until("the new set", |state| state.sizes() == [0, 1]).await;
    });
}
