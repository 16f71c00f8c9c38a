//! What we do when the server or its store goes away, and when it comes back as it was some time ago.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::future::join_all;
use serde_json::json;
use testkit::api::CONFIG_MAP;
use testkit::builders::{Templated as _, deployment};
use testkit::cluster::{Cluster, Part, alone};
use testkit::record::State;
use testkit::{Scene, on};
use workload_core::id::Kind;

use crate::PROGRAM;
use crate::takeover::OURS;

/// Pods of the Deployment that is hit while it comes up.
const PODS: u32 = 450;
/// A rate at which that takes some seconds.
const FLAGS: [&str; 3] = ["--leader-elect=false", "--qps=150", "--burst=20"];
/// How long nobody answers.
const SILENCE: Duration = Duration::from_secs(6);
/// More requests than that in the silence are a hot loop, which would send as many as its rate allows: 900. At most 50 creates
/// are under way when the silence begins; each is repeated some times, and beside them only lists and events are tried.
const PATIENT: u64 = 650;

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
        bring_on(cluster, scene, &FLAGS).await;
        scene.settle(deployment("settled").replicas(3)).await;
        let settled = scene.look(pods);
        let all = settled.len() + usize::try_from(PODS).unwrap();
        scene.kubelet().manual();
        scene.create(deployment("web").replicas(PODS)).await;
        scene.until("the first pods", |state| state.pods().len() > 10).await;
        cluster.stop(part).await;

        let before = requests(scene).await;
        scene
            .holds_for(SILENCE, "pods are missing", |state| state.pods().len() < all)
            .await;
        let sent = requests(scene).await - before;
        assert!(sent < PATIENT, "{sent} requests to a server that does not answer");
        cluster.start(part).await;

        let up = |state: &State| {
            let web = state.deployment("web").unwrap();
            state.pods().len() == all && web.count("updatedReplicas") == i64::from(PODS)
        };
        scene.until("all pods are there, and counted", up).await;
        // The events of so many pods take their time, one after the other.
        scene
            .eventually("requests come to rest", async || {
                let before = requests(scene).await;
                scene.quiet_for(Duration::from_secs(1)).await;
                requests(scene).await - before < 5
            })
            .await;
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
            bring_on(cluster, scene, &["--leader-elect=false"]).await;
            scene.settle(deployment("web").replicas(4)).await;
            let at_first = scene.look(pods);
            cluster.snapshot().await;
            go_on_for_a_while(scene).await;
            cluster.restore().await;

            scene
                .until("all is as it was", |state| {
                    pods(state) == at_first && state.sizes() == [4] && state.all(Kind::DEPLOYMENT).len() == 1
                })
                .await;
            let told = async || {
                scene
                    .controller()
                    .unwrap()
                    .log_about("as after a restore from a backup")
            };
            scene
                .eventually("it is noticed", async || told().await.lines().count() == 3)
                .await;
            let before = requests(scene).await;
            scene.quiet_for(Duration::from_secs(4)).await;
            let late = requests(scene).await - before;
            assert!(late < 20, "{late} requests, more than some late lists and events");
            assert_eq!(scene.look(pods), at_first, "no pod was made or deleted");

            scene.kubelet().auto();
            scene.scale(Kind::DEPLOYMENT, "web", 5).await;
            scene.set_image("web", "d").await;
            scene.until_rolled_out("web").await;
            assert_eq!(scene.look(State::sizes), [0, 5]);
            assert_eq!(told().await.lines().count(), 3, "each kind is told once");
        })
        .await;
    });
}

/// What the restore makes undone: another size, a rollout, a second Deployment, a rollout that is under way. The server counts
/// on too, so that it is clearly behind afterwards.
async fn go_on_for_a_while(scene: &Scene) {
    scene.create(deployment("forgotten").replicas(2)).await;
    scene.scale(Kind::DEPLOYMENT, "web", 7).await;
    scene.set_image("web", "b").await;
    scene.until_settled("web").await;
    let map = |at: u32| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("map-{at}")}});
    let made = join_all((0..300).map(|at| async move { scene.api().create(CONFIG_MAP, &map(at)).await })).await;
    assert!(made.iter().all(Result::is_ok));
    scene.kubelet().manual();
    scene.set_image("web", "c").await;
    scene
        .until("a third set of web", |state| state.replica_sets().len() == 4)
        .await;
}

/// We reconcile the scene, and nobody else does.
async fn bring_on(cluster: &Cluster, scene: &mut Scene, flags: &[&str]) {
    cluster.upstream_without(&OURS).await;
    let controller = scene.start(&PROGRAM, flags).await;
    scene.put_controller(controller);
}

fn pods(state: &State) -> BTreeSet<String> {
    state.pods().iter().map(|pod| pod.uid().to_owned()).collect()
}

/// Requests that the controller has sent so far.
async fn requests(scene: &Scene) -> u64 {
    let metrics = scene.controller().unwrap().metrics().await;
    metrics.count("rest_client_requests_total", &[])
}
