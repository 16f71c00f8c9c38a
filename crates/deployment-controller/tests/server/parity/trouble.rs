//! Refusals, failed pods and lost pods.

use serde_json::json;
use testkit::builders::{Templated as _, deployment, replica_set};
use testkit::names;
use testkit::object::Stored;
use testkit::record::State;
use workload_core::id::Kind;

use super::{make, parity, parity_at_own_pace};
use crate::quota::{change, limit};

fn failing(object: &Stored) -> bool {
    object.says("ReplicaFailure") == "True FailedCreate"
}

// proves: deployment/RS-22, deployment/D-75, deployment/C-73, deployment/T-17
#[test]
fn a_quota_refuses_pods_and_is_lifted() {
    parity_at_own_pace(async |scene| {
        limit(scene, json!({"pods": "2"})).await;
        scene.create(deployment("web").replicas(4)).await;
        let reported = |state: &State| {
            let sets = state.replica_sets();
            state.deployment("web").is_some_and(failing)
                && sets.iter().all(|set| failing(set) && set.count("replicas") == 2)
        };
        scene.until("both say so", reported).await;
        change(scene, json!({"pods": "9"})).await;
        scene.until("four pods", |state| state.pods().len() == 4).await;
        let silent = |state: &State| {
            let sets = state.replica_sets();
            !state.deployment("web").is_some_and(failing) && !sets.into_iter().any(failing)
        };
        scene.until("nobody says so", silent).await;
        scene.serve_pods().await;
    });
}

// proves: deployment/D-15, deployment/C-74, deployment/D-77
#[test]
fn a_quota_refuses_a_set_and_is_lifted() {
    parity_at_own_pace(async |scene| {
        limit(scene, json!({"count/replicasets.apps": 0})).await;
        scene.create(deployment("web")).await;
        let refused = |state: &State| {
            let web = state.deployment("web");
            web.is_some_and(|web| web.says("Progressing") == "False ReplicaSetCreateError")
        };
        scene.until("it is refused", refused).await;
        change(scene, json!({"count/replicasets.apps": 5})).await;
        scene.kubelet().auto();
        scene.until_settled("web").await;
    });
}

// proves: deployment/RS-4, deployment/RS-10, deployment/T-21
#[test]
fn pods_that_fail_end_or_are_refused_are_replaced_and_stay() {
    parity(async |scene| {
        make(scene, replica_set("web").replicas(3)).await;
        let pods = scene.look(|state| names(state.pods()));
        scene.kubelet().fail(&pods[0], 1).await;
        scene.serve_pods().await;
        scene.kubelet().succeed(&pods[1]).await;
        scene.serve_pods().await;
        scene.kubelet().reject(&pods[2], "OutOfcpu").await;
        scene.serve_pods().await;
        scene.scale(Kind::REPLICA_SET, "web", 0).await;
        scene.until_at_rest().await;
    });
}

// proves: deployment/RS-10, deployment/D-71, deployment/L-5
#[test]
fn a_lost_pod_of_a_finished_rollout_is_replaced() {
    parity(async |scene| {
        make(scene, deployment("web").replicas(3)).await;
        let pod = scene.look(|state| names(state.pods())).remove(0);
        scene.delete(Kind::POD, &pod).await;
        scene.serve_pods().await;
    });
}

// proves: deployment/D-61, deployment/D-71
#[test]
fn pods_of_a_finished_rollout_get_unready_and_ready_again() {
    parity(async |scene| {
        make(scene, deployment("web").replicas(4)).await;
        for pod in scene.look(|state| names(state.pods())).iter().take(2) {
            scene.kubelet().unready(pod).await;
            scene.until_at_rest().await;
        }
        scene.serve_pods().await;
    });
}

// proves: deployment/RS-5, deployment/RS-10, deployment/D-62
#[test]
fn a_held_pod_counts_as_terminating_and_is_replaced_at_once() {
    parity(async |scene| {
        make(scene, deployment("web").replicas(2)).await;
        let pod = scene.look(|state| names(state.pods())).remove(0);
        scene.kubelet().hold(&pod).await;
        scene.delete(Kind::POD, &pod).await;
        scene.serve_pods().await;
        scene.kubelet().end_held(&pod).await;
        scene.until_at_rest().await;
    });
}

// proves: deployment/D-80, deployment/RS-6
#[test]
fn a_deployment_is_deleted_in_the_foreground() {
    parity_at_own_pace(async |scene| {
        scene.settle(deployment("web").replicas(2)).await;
        let foreground = json!({"propagationPolicy": "Foreground"});
        scene.delete_with(Kind::DEPLOYMENT, "web", &foreground).await;
        let nothing = |state: &State| {
            state.deployment("web").is_none() && state.replica_sets().is_empty() && state.pods().is_empty()
        };
        scene.until("nothing is left", nothing).await;
    });
}
