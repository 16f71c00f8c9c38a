//! How a template reaches all pods.

use serde_json::{Value, json};
use testkit::builders::{Templated as _, deployment};
use testkit::names;
use testkit::record::{Change, State};
use workload_core::id::Kind;

use super::{change_spec, make, parity, parity_at_own_pace, roll};

#[test]
fn a_deployment_is_made() {
    parity(async |scene| {
        make(scene, deployment("web").replicas(4)).await;
    });
}

/// A rolling update of `size` pods within these bounds. Every pod is made and removed once, whoever rolls.
fn rolling_update(size: u32, surge: impl Into<Value>, unavailable: impl Into<Value>) {
    rolling_update_in_steps(size, surge, unavailable, None);
}

/// As [`rolling_update`], with the sizes that ReplicaSets are given on the way where bounds and pods that get ready one by
/// one determine them.
fn rolling_update_in_steps(
    size: u32,
    surge: impl Into<Value>,
    unavailable: impl Into<Value>,
    sizes: Option<&[(usize, i64)]>,
) {
    let web = deployment("web").replicas(size).rolling(surge, unavailable);
    let pods = usize::try_from(size).unwrap();
    parity(async |scene| {
        make(scene, web.clone()).await;
        roll(scene, "b").await;
        scene.serve_pods().await;
        scene.look(|state| {
            let times = |kind, change| state.writes(kind).filter(|write| write.change == change).count();
            let of_pods = [Change::Added, Change::Deleted].map(|change| times(Kind::POD, change));
            assert_eq!(of_pods, [2 * pods, pods], "pods made and removed");
            assert_eq!(times(Kind::REPLICA_SET, Change::Added), 2);
            if let Some(sizes) = sizes {
                assert_eq!(state.sizes_given(), sizes);
            }
        });
    });
}

// proves: deployment/D-31, deployment/D-35, deployment/W-23, deployment/W-24
#[test]
fn a_rolling_update_with_one_pod_more() {
    let sizes = [(1, 3), (2, 1), (1, 2), (2, 2), (1, 1), (2, 3), (1, 0)];
    rolling_update_in_steps(3, 1, 0, Some(&sizes));
}

// proves: deployment/D-31, deployment/D-35, deployment/W-23, deployment/W-24
#[test]
fn a_rolling_update_with_one_pod_less() {
    let sizes = [(1, 3), (2, 0), (1, 2), (2, 1), (1, 1), (2, 2), (1, 0), (2, 3)];
    rolling_update_in_steps(3, 0, 1, Some(&sizes));
}

// proves: deployment/D-31, deployment/D-33, deployment/D-35
#[test]
fn a_rolling_update_with_more_and_with_fewer_pods() {
    rolling_update(5, 2, 1);
}

// proves: deployment/D-30
#[test]
fn a_rolling_update_with_percentages() {
    rolling_update(6, "40%", "50%");
}

// proves: deployment/D-40, deployment/D-41, deployment/D-42
#[test]
fn recreate_waits_for_a_held_pod() {
    parity(async |scene| {
        make(scene, deployment("web").replicas(2).recreate()).await;
        let pods = scene.look(|state| names(state.pods()));
        scene.kubelet().hold(&pods[0]).await;
        roll(scene, "b").await;
        assert_eq!(scene.look(|state| names(state.pods())), pods[..1]);
        scene.kubelet().end_held(&pods[0]).await;
        scene.until("the new set", |state| state.sizes() == [0, 2]).await;
        scene.serve_pods().await;
    });
}

// proves: deployment/D-34, deployment/T-4
#[test]
fn a_third_template_replaces_a_rollout_that_is_under_way() {
    parity(async |scene| {
        make(scene, deployment("web").replicas(6).rolling(2, 1)).await;
        roll(scene, "b").await;
        let pod = scene
            .look(|state| names(state.pods_of(state.replica_sets()[1])))
            .remove(0);
        scene.kubelet().ready(&pod).await;
        scene.end_pods().await;
        roll(scene, "c").await;
        scene.serve_pods().await;
    });
}

// proves: deployment/RS-20, deployment/RS-30, deployment/D-60
#[test]
fn a_rollout_waits_for_the_minimum_ready_time() {
    parity_at_own_pace(async |scene| {
        let web = deployment("web").replicas(2).rolling(0, 1).min_ready_seconds(2);
        scene.settle(web).await;
        scene.set_image("web", "b").await;
        scene.until_settled("web").await;
    });
}

// proves: deployment/D-73, deployment/D-74, deployment/D-77
#[test]
fn a_rollout_that_exceeds_its_deadline_says_so_and_recovers() {
    parity(async |scene| {
        scene.create(deployment("web").deadline_seconds(4)).await;
        scene.until_at_rest().await;
        let exceeded =
            |state: &State| state.deployment("web").unwrap().says("Progressing") == "False ProgressDeadlineExceeded";
        scene.until("the deadline is exceeded", exceeded).await;
        scene.serve_pods().await;
        roll(scene, "b").await;
        scene.until("the deadline is exceeded again", exceeded).await;
        roll(scene, "a").await;
        scene.serve_pods().await;
    });
}

// proves: deployment/D-21, deployment/D-84, deployment/D-85
#[test]
fn a_paused_deployment_is_scaled_and_resumed() {
    parity(async |scene| {
        make(scene, deployment("web").replicas(3)).await;
        change_spec(scene, json!({"paused": true})).await;
        roll(scene, "b").await;
        change_spec(scene, json!({"replicas": 5})).await;
        scene.serve_pods().await;
        change_spec(scene, json!({"paused": false})).await;
        scene.serve_pods().await;
    });
}
