//! Who owns what.

use std::time::Duration;

use serde_json::json;
use testkit::builders::{Manifest as _, Templated as _, deployment, pod, replica_set};
use testkit::names;
use testkit::record::State;
use workload_core::id::Kind;

use super::{make, parity, parity_at_own_pace, roll};
use crate::adopted::old_set;

// proves: deployment/C-11, deployment/C-13, deployment/C-62, deployment/I-6, deployment/I-10, deployment/W-2
#[test]
fn a_deployment_adopts_a_set_of_its_template_and_one_of_another() {
    parity(async |scene| {
        for (hash, image) in [("v1", "a"), ("v2", "b")] {
            scene.create(old_set("web", hash, 1, 2, 3).image(image)).await;
        }
        scene.serve_pods().await;
        make(scene, deployment("web").image("a").replicas(2)).await;
    });
}

// proves: deployment/C-11, deployment/C-16, deployment/RS-11, deployment/W-8, deployment/W-9
#[test]
fn a_set_adopts_bare_pods_and_makes_what_is_missing() {
    parity(async |scene| {
        for name in ["one", "two"] {
            scene.create(pod(name).label("app", "web")).await;
        }
        scene.create(pod("finished").label("app", "web")).await;
        scene.kubelet().succeed("finished").await;
        // Whoever hears of the set before it hears of the pod's end adopts it.
        scene.until_quiet_for(Duration::from_secs(1)).await;
        make(scene, replica_set("web").replicas(3)).await;
    });
}

// proves: deployment/C-11, deployment/RS-11, deployment/W-8, deployment/W-10
#[test]
fn a_set_adopts_more_pods_than_it_wants() {
    parity(async |scene| {
        for name in ["one", "two", "three"] {
            scene.create(pod(name).label("app", "web")).await;
        }
        for name in ["one", "two"] {
            scene.kubelet().ready(name).await;
        }
        // Whoever hears of the set before it hears of the pods makes others first.
        scene.quiet_for(Duration::from_secs(1)).await;
        scene.create(replica_set("web").replicas(2)).await;
        scene.end_pods().await;
    });
}

// proves: deployment/T-14, deployment/C-11, deployment/W-2
#[test]
fn a_deployment_deleted_with_its_sets_orphaned_is_made_again() {
    // At its own pace: a Deployment in deletion may or may not be seen once more while it loses its sets.
    parity_at_own_pace(async |scene| {
        let web = deployment("web").replicas(2);
        make(scene, web.clone()).await;
        roll(scene, "b").await;
        scene.serve_pods().await;
        let orphan = json!({"propagationPolicy": "Orphan"});
        scene.delete_with(Kind::DEPLOYMENT, "web", &orphan).await;
        scene
            .until("the sets are orphans", |state| {
                state.deployment("web").is_none() && state.replica_sets().iter().all(|set| set.controller().is_none())
            })
            .await;
        // Whoever hears of the Deployment before it hears of the orphans makes another set.
        scene.until_quiet_for(Duration::from_secs(1)).await;
        make(scene, web.image("b")).await;
    });
}

// proves: deployment/C-11, deployment/W-8
#[test]
fn a_set_deleted_with_its_pods_orphaned_is_made_again() {
    parity(async |scene| {
        let web = replica_set("web").replicas(2);
        make(scene, web.clone()).await;
        let orphan = json!({"propagationPolicy": "Orphan"});
        scene.delete_with(Kind::REPLICA_SET, "web", &orphan).await;
        scene
            .until("the pods are orphans", |state| {
                state.replica_sets().is_empty() && state.pods().iter().all(|pod| pod.controller().is_none())
            })
            .await;
        // Whoever hears of the set before it hears of the orphans makes others.
        scene.until_quiet_for(Duration::from_secs(1)).await;
        make(scene, web).await;
    });
}

// proves: deployment/T-13, deployment/C-14, deployment/C-17, deployment/D-14, deployment/W-2
#[test]
fn a_set_is_relabelled_away_and_back() {
    parity(async |scene| {
        make(scene, deployment("web").replicas(2)).await;
        let set = scene.look(|state| state.replica_sets()[0].name().to_owned());
        // Of two sets of the same second the name decides which is the older one.
        scene.quiet_for(Duration::from_secs(1)).await;
        for (app, sizes) in [("other", [2, 2]), ("web", [2, 0])] {
            let label = json!({"metadata": {"labels": {"app": app}}});
            scene.merge(Kind::REPLICA_SET, &set, label).await;
            scene.until("the sizes", |state| state.sizes() == sizes).await;
            scene.serve_pods().await;
        }
    });
}

// proves: deployment/C-14, deployment/C-18, deployment/W-8
#[test]
fn a_pod_is_relabelled_away_and_removed() {
    parity(async |scene| {
        make(scene, replica_set("web").replicas(2)).await;
        let pod = scene.look(|state| names(state.pods())).remove(0);
        let label = json!({"metadata": {"labels": {"app": "other"}}});
        scene.merge(Kind::POD, &pod, label).await;
        scene.until("it is replaced", |state| state.pods().len() == 3).await;
        scene.serve_pods().await;
        scene.delete(Kind::POD, &pod).await;
        scene.kubelet().end(&pod).await;
    });
}

// proves: deployment/D-86
#[test]
fn two_deployments_share_a_selector() {
    parity_at_own_pace(async |scene| {
        scene.settle(deployment("web").replicas(2)).await;
        let twin = deployment("twin")
            .set("/spec/selector/matchLabels/app", "web")
            .set("/spec/template/metadata/labels/app", "web");
        scene.settle(twin.image("b").replicas(1)).await;
        scene.set_image("web", "c").await;
        scene.until_settled("web").await;
        let both = |state: &State| state.deployment("twin").unwrap().is_rolled_out();
        scene.until("the twin is left alone", both).await;
    });
}
