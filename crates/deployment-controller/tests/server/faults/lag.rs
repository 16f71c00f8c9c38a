//! Caches that lag behind the controller's own writes.

use std::time::Duration;

use serde_json::json;
use testkit::Scene;
use testkit::builders::{Templated as _, deployment, replica_set};
use testkit::proxy::{Fault, Which};
use testkit::record::State;
use workload_core::id::Kind;
use workload_core::time::{Clock as _, SystemClock};

use super::{behind_proxy, calm, controller, made_and_deleted, set_settles};

async fn skips(scene: &Scene, resource: &str) -> u64 {
    let labels = [("group", ""), ("resource", resource)];
    let metrics = controller(scene).metrics().await;
    metrics.count("replicaset_controller_stale_sync_skips_total", &labels)
}

// proves: deployment/T-18, deployment/C-32, deployment/C-34, field/FR-XC-01
#[test]
fn while_the_watch_of_pods_stands_still_after_acknowledged_creates_no_pod_is_made_or_deleted() {
    behind_proxy(async |scene, proxy| {
        scene.kubelet().auto();
        scene.create(replica_set("web").replicas(0)).await;
        scene
            .until("it is known", |state| {
                state.get(Kind::REPLICA_SET, "web").unwrap().is_observed()
            })
            .await;
        let frozen = proxy.strike(Which::watches().of(Kind::POD), Fault::Freeze);
        scene.scale(Kind::REPLICA_SET, "web", 10).await;
        scene.until("ten are made", |state| state.pods().len() == 10).await;
        let began = SystemClock.instant();
        for size in [20, 5, 15] {
            let before = skips(scene, "pods").await;
            scene.scale(Kind::REPLICA_SET, "web", size).await;
            scene
                .eventually("turns are skipped", async || skips(scene, "pods").await > before)
                .await;
        }
        let none_more = "no pod is made or deleted";
        let ten = |state: &State| state.pods().len() == 10;
        scene.holds_for(Duration::from_secs(4), none_more, ten).await;
        calm(proxy, began, &Which::writes().of(Kind::POD), 0);
        frozen.lift();
        set_settles(scene, 15).await;
        assert_eq!(made_and_deleted(scene, Kind::POD), (15, 0));
    });
}

// proves: deployment/C-20, deployment/C-25, field/FR-XC-01
#[test]
fn while_the_watch_of_pods_stands_still_after_deletes_no_pod_is_deleted_twice_or_replaced() {
    behind_proxy(async |scene, proxy| {
        scene.kubelet().auto();
        scene.create(replica_set("web").replicas(8)).await;
        set_settles(scene, 8).await;
        let frozen = proxy.strike(Which::watches().of(Kind::POD), Fault::Freeze);
        let began = SystemClock.instant();
        scene.scale(Kind::REPLICA_SET, "web", 5).await;
        scene.until("three are gone", |state| state.pods().len() == 5).await;
        scene.scale(Kind::REPLICA_SET, "web", 2).await;
        scene
            .holds_for(Duration::from_secs(4), "none more goes", |state| {
                state.pods().len() == 5
            })
            .await;
        calm(proxy, began, &Which::deletes().of(Kind::POD), 3);
        calm(proxy, began, &Which::creates().of(Kind::POD), 0);
        frozen.lift();
        set_settles(scene, 2).await;
        scene.quiet_for(Duration::from_secs(2)).await;
        assert_eq!(made_and_deleted(scene, Kind::POD), (8, 6));
    });
}

// proves: deployment/C-30, field/FR-XC-01
#[test]
fn while_the_watch_of_replica_sets_stands_still_after_a_create_no_twin_is_made() {
    behind_proxy(async |scene, proxy| {
        scene.settle(deployment("web").replicas(3).rolling(1, 0)).await;
        let frozen = proxy.strike(Which::watches().of(Kind::REPLICA_SET), Fault::Freeze);
        scene.set_image("web", "b").await;
        scene
            .until("the new set is made", |state| state.replica_sets().len() == 2)
            .await;
        let began = SystemClock.instant();
        let labels = [("group", "apps"), ("resource", "replicasets")];
        let skips = async || {
            let metrics = controller(scene).metrics().await;
            metrics.count("deployment_controller_stale_sync_skips_total", &labels)
        };
        for number in ["1", "2", "3"] {
            let before = skips().await;
            let edit = json!({"metadata": {"annotations": {"edited": number}}, "spec": {"minReadySeconds": 0}});
            scene.merge(Kind::DEPLOYMENT, "web", edit).await;
            scene
                .eventually("turns are skipped", async || skips().await > before)
                .await;
        }
        let two = |state: &State| state.replica_sets().len() == 2 && state.sizes() == [3, 1];
        scene
            .holds_for(Duration::from_secs(4), "no set is made or resized", two)
            .await;
        calm(proxy, began, &Which::writes().of(Kind::REPLICA_SET), 0);
        frozen.lift();
        scene.until_settled("web").await;
        assert_eq!(made_and_deleted(scene, Kind::REPLICA_SET), (2, 0));
        assert_eq!(made_and_deleted(scene, Kind::POD), (6, 3));
        assert_eq!(
            scene.look(|state| state.deployment("web").unwrap().count("collisionCount")),
            0
        );
    });
}
