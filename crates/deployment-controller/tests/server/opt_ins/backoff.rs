//! Opt-in failed-pod-backoff: pods that fail at once are not replaced without pause.

use testkit::Scene;
use testkit::builders::{Deployment, Manifest as _, deployment};
use testkit::object::Stored;
use testkit::record::{Change, State};
use workload_core::id::Kind;
use workload_core::time::Timestamp;

use crate::{PROGRAM, ours_only, scenario};

const KEY: &str = "opt-in.workload-controllers/deployment.failed-pod-backoff";

fn backing_off(value: &str) -> Deployment {
    deployment("web").annotation(KEY, value)
}

/// Refuses pods as a full node does, until so many have been made.
async fn refuse(scene: &Scene, count: usize) {
    let mut refused = 0;
    while refused < count {
        let pod = scene
            .find("another pod", |state| {
                state.active_pods().first().map(|pod| pod.name().to_owned())
            })
            .await;
        scene.kubelet().bind(&pod, "full").await;
        scene.kubelet().reject(&pod, "OutOfcpu").await;
        refused += 1;
    }
}

fn seconds(object: &Stored, pointer: &str) -> i64 {
    let at: Timestamp = object.text(pointer).parse().unwrap();
    at.as_second()
}

/// How long after the failure of each pod the next one was made, in seconds.
fn waits(state: &State) -> Vec<i64> {
    let pods = state.pods();
    let wait =
        |pair: &[&Stored]| seconds(pair[1], "/metadata/creationTimestamp") - seconds(pair[0], "/status/startTime");
    pods.windows(2).map(wait).collect()
}

fn made(state: &State) -> usize {
    let creates = state.writes(Kind::POD).filter(|write| write.change == Change::Added);
    creates.count()
}

// proves: deployment/L-7, field/FR-DP-01
#[test]
fn a_pod_that_nodes_refuse_is_tried_less_and_less_often_until_one_gets_ready() {
    ours_only(async |scene| {
        scene.create(backing_off("1s,8s")).await;
        refuse(scene, 5).await;
        let last = scene
            .find("the last one", |state| {
                state.active_pods().first().map(|pod| pod.name().to_owned())
            })
            .await;
        let waits = scene.look(waits);
        let expected = [1, 2, 4, 8, 8];
        assert!(
            waits.len() == expected.len() && waits.iter().zip(expected).all(|(wait, least)| *wait >= least),
            "{waits:?}"
        );
        let set = scene.look(|state| state.replica_sets()[0].name().to_owned());
        scene
            .until("the event", |state| !state.events(&set, "FailedPodBackoff").is_empty())
            .await;
        scene.kubelet().ready(&last).await;
        scene.until_rolled_out("web").await;
        scene.scale(Kind::DEPLOYMENT, "web", 4).await;
        scene.until("all at once", |state| state.active_pods().len() == 4).await;
        let metrics = scene.controller().unwrap().metrics().await;
        assert_eq!(metrics.count("held_up_objects", &[("cause", "FailedPodBackoff")]), 0);
    });
}

// proves: deployment/L-7
#[test]
fn a_restart_forgets_no_failure_and_removing_the_opt_in_ends_the_wait() {
    ours_only(async |scene| {
        scene.create(backing_off("1h")).await;
        refuse(scene, 1).await;
        let set = scene.look(|state| state.replica_sets()[0].name().to_owned());
        scene
            .until("the event", |state| !state.events(&set, "FailedPodBackoff").is_empty())
            .await;
        scene.take_controller().unwrap().stop().await;
        let again = scene.start(&PROGRAM, &["--leader-elect=false"]).await;
        scene.put_controller(again);
        scene.scale(Kind::DEPLOYMENT, "web", 2).await;
        scene
            .until("the set is reconciled", |state| {
                let set = state.replica_sets()[0];
                set.size() == 2 && set.is_observed()
            })
            .await;
        assert_eq!(scene.look(made), 1, "scaling up does not end the wait");
        let forget = serde_json::json!({"metadata": {"annotations": {KEY: null}}});
        scene.merge(Kind::DEPLOYMENT, "web", forget).await;
        scene.until("both", |state| state.active_pods().len() == 2).await;
    });
}

// proves: field/FR-DP-01
#[test]
fn without_the_opt_in_pods_are_replaced_as_fast_as_they_fail() {
    scenario(async |scene| {
        scene.create(deployment("web")).await;
        refuse(scene, 20).await;
        scene.until("the next", |state| made(state) == 21).await;
    });
}
