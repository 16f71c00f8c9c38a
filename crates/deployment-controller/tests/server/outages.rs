//! What we do when the server or its store goes away, and when it comes back as it was some time ago.

use std::collections::BTreeSet;
use std::time::Duration;

use testkit::builders::{Templated as _, deployment};
use testkit::cluster::{Cluster, Part, alone};
use testkit::record::State;
use testkit::reign::PATIENT_FLAGS;
use testkit::{Scene, on};
use workload_core::id::Kind;

use crate::PROGRAM;

/// Pods of the Deployment that is hit while it comes up.
const PODS: u32 = 450;

// proves: deployment/C-24, deployment/I-3
#[test]
fn every_pod_is_made_once_though_the_server_crashes_meanwhile() {
    alone(async |cluster| interrupted(cluster, Part::ApiServer).await);
}

// proves: deployment/C-24
#[test]
fn every_pod_is_made_once_though_the_store_crashes_meanwhile() {
    alone(async |cluster| interrupted(cluster, Part::Etcd).await);
}

async fn interrupted(cluster: &Cluster, part: Part) {
    on(cluster.server(), async |scene| {
        cluster.give_to(scene, &PROGRAM, &PATIENT_FLAGS).await;
        scene.settle(deployment("settled").replicas(3)).await;
        let settled = scene.look(pods);
        let all = settled.len() + usize::try_from(PODS).unwrap();
        scene.kubelet().manual();
        scene.create(deployment("web").replicas(PODS)).await;
        scene.until("the first pods", |state| state.pods().len() > 10).await;
        let lacks = |state: &State| state.pods().len() < all;
        scene.without(cluster, part, lacks).await;

        let up = |state: &State| {
            let web = state.deployment("web").unwrap();
            state.pods().len() == all && web.count("updatedReplicas") == i64::from(PODS)
        };
        scene.until("all pods are there, and counted", up).await;
        scene.until_requests_rest().await;
        assert!(scene.look(|state| state.pods().len() == all && state.active_pods().len() == all));
        assert!(scene.look(pods).is_superset(&settled));

        scene.kubelet().auto();
        scene.set_image("settled", "b").await;
        scene.until_rolled_out("settled").await;
    })
    .await;
}

// proves: deployment/C-33, deployment/I-3
#[test]
fn a_server_that_comes_back_from_a_backup_is_followed_from_there() {
    alone(async |cluster| {
        on(cluster.server(), async |scene| {
            cluster.give_to(scene, &PROGRAM, &["--leader-elect=false"]).await;
            scene.settle(deployment("web").replicas(4)).await;
            scene.until_quiet_for(Duration::from_secs(2)).await;
            let at_first = scene.look(pods);
            let is_as_before = |state: &State| {
                pods(state) == at_first && state.sizes() == [4] && state.all(Kind::DEPLOYMENT).len() == 1
            };
            scene
                .undo(cluster, 3, async || go_on_for_a_while(scene).await, is_as_before)
                .await;
            assert_eq!(scene.look(pods), at_first, "no pod was made or deleted");

            scene.kubelet().auto();
            scene.scale(Kind::DEPLOYMENT, "web", 5).await;
            scene.set_image("web", "d").await;
            scene.until_rolled_out("web").await;
            assert_eq!(scene.look(State::sizes), [0, 5]);
            assert_eq!(scene.noticed_restores(), 3, "each kind is told once");
        })
        .await;
    });
}

/// What the restore makes undone: another size, a rollout, a second Deployment, a rollout that is under way. The server counts
/// on before the last of it, so that it is clearly behind all that was seen.
async fn go_on_for_a_while(scene: &Scene) {
    scene.create(deployment("forgotten").replicas(2)).await;
    scene.scale(Kind::DEPLOYMENT, "web", 7).await;
    scene.set_image("web", "b").await;
    scene.until_settled("web").await;
    scene.outgrow().await;
    scene.kubelet().manual();
    scene.set_image("web", "c").await;
    scene
        .until("the third set of web has a pod, and its owners say so", |state| {
            let web = state.deployment("web");
            web.is_some_and(|web| web.is_observed() && web.count("updatedReplicas") > 0)
        })
        .await;
}

fn pods(state: &State) -> BTreeSet<String> {
    state.pods().iter().map(|pod| pod.uid().to_owned()).collect()
}
