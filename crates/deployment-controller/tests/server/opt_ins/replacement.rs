//! Pods that are replaced only when they have gone.

use serde_json::json;
use testkit::Scene;
use testkit::builders::{Deployment, Manifest as _, Templated as _, deployment};
use testkit::record::{Change, State};
use workload_core::id::Kind;

use crate::{ours_only, quota};

fn web(replicas: u32, surge: u32, unavailable: u32) -> Deployment {
    deployment("web")
        .replicas(replicas)
        .rolling(surge, unavailable)
        .set("/spec/template/spec/terminationGracePeriodSeconds", 300)
        .opt_in("deployment.pod-replacement", "TerminationComplete")
}

/// Rolls image `b` out and ends terminating pods, one after the other, until all `replicas` old ones are gone.
async fn roll_held(scene: &Scene, replicas: u32) {
    scene.kubelet().keep_terminating();
    scene.set_image("web", "b").await;
    for _ in 0..replicas {
        let leaving = |state: &State| {
            let pods = state.pods();
            pods.iter()
                .find(|pod| pod.is_terminating())
                .map(|pod| pod.name().to_owned())
        };
        let pod = scene.find("a pod that terminates", leaving).await;
        scene.kubelet().end(&pod).await;
    }
    scene.until_settled("web").await;
}

/// Most pods at any moment of the record.
fn peak(scene: &Scene) -> i32 {
    scene.look(|state| {
        let (mut there, mut peak) = (0, 0);
        for write in state.writes(Kind::POD) {
            match write.change {
                Change::Added => there += 1,
                Change::Deleted => there -= 1,
                Change::Modified => {}
            }
            peak = peak.max(there);
        }
        peak
    })
}

// proves: deployment/L-2, field/FR-DP-02
#[test]
fn live_and_terminating_pods_stay_within_replicas_and_surge_at_every_version() {
    ours_only(async |scene| {
        scene.settle(web(5, 1, 0)).await;
        roll_held(scene, 5).await;
        assert_eq!(peak(scene), 6);
    });
}

// proves: deployment/L-2, field/FR-DP-02
#[test]
fn a_rollout_without_surge_gets_through_a_full_quota() {
    ours_only(async |scene| {
        scene.settle(web(4, 0, 2)).await;
        quota::limit(scene, json!({"pods": "4"})).await;
        roll_held(scene, 4).await;
        assert_eq!(peak(scene), 4);
        let refused = scene.look(|state| {
            let sets = state.replica_sets();
            sets.iter()
                .map(|set| state.events(set.name(), "FailedCreate").len())
                .sum::<usize>()
        });
        assert_eq!(refused, 0);
    });
}

// proves: deployment/L-2, deployment/RS-10
#[test]
fn a_pod_is_replaced_when_it_has_gone_and_at_once_after_the_opt_in_went() {
    ours_only(async |scene| {
        scene.settle(web(2, 1, 0)).await;
        scene.kubelet().keep_terminating();
        let pod = scene.look(|state| state.pods()[0].name().to_owned());
        scene.delete(Kind::POD, &pod).await;
        let waits = |state: &State| state.deployment("web").unwrap().count("terminatingReplicas") == 1;
        scene.until("one is terminating", waits).await;
        assert_eq!(scene.look(|state| state.pods().len()), 2);
        let none =
            json!({"metadata": {"annotations": {"opt-in.workload-controllers/deployment.pod-replacement": null}}});
        scene.merge(Kind::DEPLOYMENT, "web", none).await;
        scene
            .until("its replacement", |state| state.active_pods().len() == 2)
            .await;
        assert_eq!(peak(scene), 3);
    });
}
