//! Changes of size.

use serde_json::json;
use testkit::builders::{Templated as _, deployment, replica_set};
use testkit::record::State;
use testkit::{Scene, names};
use workload_core::id::Kind;

use super::{change_spec, make, parity, parity_at_own_pace, roll};

// proves: deployment/D-21, deployment/D-24, deployment/W-4
#[test]
fn a_deployment_grows() {
    parity(async |scene| {
        make(scene, deployment("web").replicas(2)).await;
        change_spec(scene, json!({"replicas": 5})).await;
        scene.serve_pods().await;
    });
}

// proves: deployment/D-21, deployment/D-24, deployment/W-10
#[test]
fn a_deployment_shrinks_to_less_and_to_nothing() {
    parity(async |scene| {
        make(scene, deployment("web").replicas(4)).await;
        for size in [2, 0, 1] {
            change_spec(scene, json!({"replicas": size})).await;
        }
        scene.serve_pods().await;
    });
}

/// A rollout in which no pod of the new set gets ready.
async fn half_way(scene: &Scene) {
    make(scene, deployment("web").replicas(5).rolling(2, 1)).await;
    roll(scene, "b").await;
    assert_eq!(scene.look(State::sizes), [4, 3]);
}

// proves: deployment/D-20, deployment/D-22, deployment/T-2
#[test]
fn a_rollout_under_way_is_scaled_in_proportion() {
    parity(async |scene| {
        half_way(scene).await;
        for size in [10, 3] {
            change_spec(scene, json!({"replicas": size})).await;
        }
    });
}

// proves: deployment/T-8, deployment/D-20, deployment/D-31
#[test]
fn a_rollout_under_way_is_scaled_to_nothing_and_back() {
    parity(async |scene| {
        half_way(scene).await;
        change_spec(scene, json!({"replicas": 0})).await;
        change_spec(scene, json!({"replicas": 3})).await;
        scene.serve_pods().await;
    });
}

// proves: deployment/D-20, deployment/D-22, field/FR-DP-12
#[test]
fn size_and_template_change_at_once() {
    parity(async |scene| {
        make(scene, deployment("web").replicas(2)).await;
        let template = json!({"spec": {"containers": [{"name": "main", "image": "b"}]}});
        change_spec(scene, json!({"replicas": 4, "template": template})).await;
        scene.serve_pods().await;
    });
}

// proves: deployment/RS-10, deployment/RS-20, deployment/W-9, deployment/W-10, deployment/W-11
#[test]
fn a_replica_set_of_its_own_grows_and_shrinks() {
    parity(async |scene| {
        make(scene, replica_set("web").replicas(3)).await;
        for size in [5, 1, 2] {
            scene.scale(Kind::REPLICA_SET, "web", size).await;
            scene.end_pods().await;
        }
        scene.serve_pods().await;
    });
}

// proves: deployment/T-24, deployment/D-31, deployment/D-33
#[test]
fn sizes_that_somebody_gave_to_the_sets_of_a_deployment_are_taken_back() {
    parity_at_own_pace(async |scene| {
        make(scene, deployment("web").rolling(1, 0)).await;
        roll(scene, "b").await;
        scene.serve_pods().await;
        let sets = scene.look(|state| names(state.replica_sets()));
        for (set, size) in [(&sets[1], 3), (&sets[0], 2)] {
            let resized = scene.scale(Kind::REPLICA_SET, set, size).await;
            let back = |state: &State| {
                let set = state.get(Kind::REPLICA_SET, set).unwrap();
                set.generation() > resized.generation() && state.sizes() == [0, 1]
            };
            scene.until("it is back", back).await;
            scene.serve_pods().await;
        }
    });
}
