//! Which pods go when a ReplicaSet shrinks.

use std::time::Duration;

use serde_json::json;
use testkit::builders::{Templated as _, replica_set};
use testkit::{Scene, names};
use workload_core::id::Kind;
use workload_core::time::{Clock as _, SystemClock, Timestamp};

use crate::scenario;

fn ago(time: Duration) -> Timestamp {
    SystemClock.now().checked_sub(time).unwrap()
}

/// The pods of a new ReplicaSet, in the order of their uids.
async fn pods(scene: &Scene, set: &str, count: u32) -> Vec<String> {
    scene.create(replica_set(set).replicas(count)).await;
    let made = |state: &testkit::record::State| {
        let mut pods = state.pods_of(state.get(Kind::REPLICA_SET, set)?);
        pods.sort_by(|a, b| a.uid().cmp(b.uid()));
        (pods.len() == usize::try_from(count).ok()?).then(|| names(pods))
    };
    scene.find("its pods", made).await
}

/// Shrinks the ReplicaSet to one pod and says which is left.
async fn survivor(scene: &Scene, set: &str) -> String {
    scene.scale(Kind::REPLICA_SET, set, 1).await;
    let left = |state: &testkit::record::State| {
        let pods = state.pods_of(state.get(Kind::REPLICA_SET, set)?);
        let active: Vec<_> = pods.into_iter().filter(|pod| pod.is_active()).collect();
        (active.len() == 1).then(|| active[0].name().to_owned())
    };
    scene.find("one is left", left).await
}

/// How a pod is, in a case of a table.
#[derive(Clone, Copy)]
enum Is {
    Unscheduled,
    Bound,
    Unready,
    ReadyFor(Duration, u32),
    Costs(&'static str),
}

async fn bring(scene: &Scene, pod: &str, is: Is, now: Timestamp) {
    let kubelet = scene.kubelet();
    match is {
        Is::Unscheduled => {}
        Is::Bound => kubelet.bind(pod, "node").await,
        Is::Unready => {
            kubelet.bind(pod, "node").await;
            kubelet.unready(pod).await;
        }
        Is::ReadyFor(time, restarts) => kubelet.ready_since(pod, now.checked_sub(time).unwrap(), restarts).await,
        Is::Costs(cost) => {
            let annotation = json!({"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": cost}}});
            scene.merge(Kind::POD, pod, annotation).await;
            kubelet.ready_since(pod, now, 0).await;
        }
    }
}

// proves: deployment/T-20, deployment/C-50, deployment/C-51, deployment/C-52, deployment/C-53, field/FR-DP-03
#[test]
fn the_pod_that_is_worth_least_goes_first() {
    scenario(async |scene| {
        const MINUTE: Duration = Duration::from_mins(1);
        let now = ago(Duration::ZERO);
        // The first pod has the smaller uid; the number says which one goes.
        let cases = [
            ("unscheduled", Is::Bound, Is::Unscheduled, 1),
            ("pending", Is::Unready, Is::Bound, 1),
            ("unready", Is::ReadyFor(MINUTE, 0), Is::Unready, 1),
            ("cheaper", Is::Costs("1000"), Is::Costs("100"), 1),
            ("negative-cost", Is::Costs("0"), Is::Costs("-1"), 1),
            ("restarted", Is::ReadyFor(MINUTE, 0), Is::ReadyFor(MINUTE, 5), 1),
            ("younger", Is::ReadyFor(60 * MINUTE, 0), Is::ReadyFor(5 * MINUTE, 0), 1),
            (
                "smaller-uid",
                Is::ReadyFor(60 * MINUTE, 0),
                Is::ReadyFor(40 * MINUTE, 5),
                0,
            ),
        ];
        for (name, first, second, gone) in cases {
            let pods = pods(scene, name, 2).await;
            bring(scene, &pods[0], first, now).await;
            bring(scene, &pods[1], second, now).await;
            let ready = pods
                .iter()
                .filter(|pod| scene.look(|state| state.get(Kind::POD, pod).unwrap().is_ready()))
                .count();
            let counted = i64::try_from(ready).unwrap();
            scene
                .until("the set knows", |state| {
                    state.get(Kind::REPLICA_SET, name).unwrap().count("readyReplicas") == counted
                })
                .await;
            // What it reports does not tell whether it knows of pods that are not ready.
            scene.until_quiet_for(Duration::from_secs(1)).await;
            assert_eq!(survivor(scene, name).await, pods[1 - gone], "{name}");
        }
    });
}

// proves: deployment/C-50, deployment/C-51
#[test]
fn pods_that_share_a_node_go_first_where_a_deployment_owns_the_sets() {
    scenario(async |scene| {
        let web = testkit::builders::deployment("web").replicas(3);
        scene.create(web).await;
        let pods = scene
            .find("three pods", |state| {
                Some(names(state.pods())).filter(|pods| pods.len() == 3)
            })
            .await;
        let since = ago(Duration::from_mins(10));
        for (pod, node) in pods.iter().zip(["crowded", "lonely", "crowded"]) {
            scene.kubelet().bind(pod, node).await;
            scene.kubelet().ready_since(pod, since, 0).await;
        }
        scene
            .until("three are ready", |state| {
                state.replica_sets()[0].count("readyReplicas") == 3
            })
            .await;
        scene.scale(Kind::DEPLOYMENT, "web", 2).await;
        scene
            .until("two are left", |state| state.active_pods().len() == 2)
            .await;
        assert!(scene.look(|state| state.get(Kind::POD, &pods[1]).unwrap().is_active()));
    });
}
