//! Who owns what: adoption, release, orphans.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::api::CONFIG_MAP;
use testkit::builders::{Manifest as _, Pod, Templated as _, deployment, pod, replica_set};
use testkit::names;
use testkit::object::Stored;
use testkit::record::State;
use workload_core::id::Kind;

use crate::replica_sets::{ready_set, until_ready};
use crate::{lone_set, scenario, web};

/// A pod that the ReplicaSet `web` selects.
fn bare_pod(name: &str) -> Pod {
    pod(name).label("app", "web")
}

// proves: deployment/T-14, deployment/C-11, deployment/I-6
#[test]
fn a_deployment_deleted_with_its_sets_orphaned_can_be_made_again_without_a_new_pod() {
    scenario(async |scene| {
        let manifest = deployment("web").replicas(3);
        scene.settle(manifest.clone()).await;
        let [set, pods] = scene.look(|state| {
            [
                vec![state.replica_sets()[0].uid().to_owned()],
                state.pods().iter().map(|pod| pod.uid().to_owned()).collect(),
            ]
        });
        scene
            .delete_with(Kind::DEPLOYMENT, "web", &json!({"propagationPolicy": "Orphan"}))
            .await;
        scene
            .until("the set is an orphan", |state| {
                state.deployment("web").is_none() && state.replica_sets()[0].controller().is_none()
            })
            .await;
        // Whoever hears of the Deployment before it hears of the orphan makes another set.
        scene.until_quiet_for(Duration::from_secs(1)).await;
        scene.settle(manifest).await;
        let uids = |objects: Vec<&Stored>| objects.iter().map(|object| object.uid().to_owned()).collect::<Vec<_>>();
        assert_eq!(scene.look(|state| uids(state.replica_sets())), set);
        assert_eq!(scene.look(|state| uids(state.pods())), pods);
        assert!(scene.look(|state| state.replica_sets()[0].is_controlled_by(&web(state))));
    });
}

// proves: deployment/T-13, deployment/C-11, deployment/C-14, deployment/C-17, deployment/D-6, deployment/D-14
#[test]
fn a_set_relabelled_out_of_the_selector_is_replaced_and_taken_back_when_it_returns() {
    scenario(async |scene| {
        scene.settle(deployment("web").replicas(2)).await;
        let set = scene.look(|state| state.replica_sets()[0].name().to_owned());
        let label = |value: &str| json!({"metadata": {"labels": {"app": value}}});
        // Of two sets of the same second the name decides which is the older one.
        scene.quiet_for(Duration::from_secs(1)).await;
        scene.merge(Kind::REPLICA_SET, &set, label("other")).await;
        scene.until("a twin", |state| state.sizes() == [2, 2]).await;
        scene.until_settled("web").await;
        assert!(scene.look(|state| state.replica_sets()[0].controller().is_none()));
        assert_eq!(scene.look(web).count("collisionCount"), 1);

        scene.merge(Kind::REPLICA_SET, &set, label("web")).await;
        scene.until("the twin is empty", |state| state.sizes() == [2, 0]).await;
        scene.until_settled("web").await;
        assert!(scene.look(|state| state.replica_sets()[0].is_controlled_by(&web(state))));
        assert_eq!(scene.look(|state| state.pods().len()), 2);
    });
}

// proves: deployment/D-86
#[test]
fn two_deployments_with_one_selector_keep_their_own_sets() {
    scenario(async |scene| {
        let twin = || {
            deployment("twin")
                .set("/spec/selector/matchLabels/app", "web")
                .set("/spec/template/metadata/labels/app", "web")
        };
        scene.settle(deployment("web").replicas(2)).await;
        scene.settle(twin().replicas(3)).await;
        assert_eq!(scene.look(State::sizes), [2, 3]);
        assert_eq!(scene.look(|state| state.pods().len()), 5);
        scene.look(|state| {
            assert!(state.replica_sets()[0].is_controlled_by(state.deployment("web").unwrap()));
            assert!(state.replica_sets()[1].is_controlled_by(state.deployment("twin").unwrap()));
        });
    });
}

// proves: deployment/T-22, deployment/RS-11, deployment/C-11, deployment/C-16
#[test]
fn matching_pods_are_adopted_before_they_are_counted_but_no_pod_of_another_owner() {
    scenario(async |scene| {
        let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}});
        let other = scene.api().create(CONFIG_MAP, &config).await.unwrap();
        for name in ["one", "two", "three"] {
            scene.create(bare_pod(name)).await;
        }
        let owned = scene.create(bare_pod("owned").owned_by(&other)).await;
        let finished = scene.create(bare_pod("finished")).await;
        scene.kubelet().succeed(finished.name()).await;
        // Whoever hears of the set before it hears of the pod's end adopts it.
        scene.until_quiet_for(Duration::from_secs(1)).await;
        scene.create(replica_set("web").replicas(2)).await;
        let settled = |state: &State| lone_set(state).count("replicas") == 2 && state.pods().len() == 4;
        scene.until("one of three is gone", settled).await;
        scene.look(|state| {
            let adoptions = state
                .writes(Kind::POD)
                .filter(|write| write.before.is_some() && write.changed("/metadata/ownerReferences"));
            assert_eq!(adoptions.count(), 3);
            assert_eq!(state.get(Kind::POD, "owned").unwrap(), &owned);
            assert!(state.get(Kind::POD, "finished").unwrap().controller().is_none());
            assert_eq!(state.pods_of(&lone_set(state)).len(), 2);
        });
    });
}

// proves: deployment/C-13
#[test]
fn an_owner_without_control_gets_it_by_adoption_and_other_owners_stay() {
    scenario(async |scene| {
        let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}});
        let other = scene.api().create(CONFIG_MAP, &config).await.unwrap();
        let set = scene.create(replica_set("web").replicas(0)).await;
        let plain = |object: &Value| {
            json!({
                "apiVersion": object["apiVersion"], "kind": object["kind"],
                "name": object["metadata"]["name"], "uid": object["metadata"]["uid"],
            })
        };
        let of_set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": set.at("/metadata")});
        scene
            .create(bare_pod("one").owner(plain(&other)).owner(plain(&of_set)))
            .await;
        // Adopted, and surplus then.
        let adopted = |state: &State| {
            let mut writes = state.writes(Kind::POD).filter(|write| write.before.is_some());
            let adoption = writes.find(|write| write.changed("/metadata/ownerReferences"))?;
            adoption.object.at("/metadata/ownerReferences").as_array().cloned()
        };
        let mut owners = scene.find("the adoption", adopted).await;
        owners.sort_by_key(|owner| owner["kind"].to_string());
        let mut ours = plain(&of_set);
        ours["controller"] = json!(true);
        ours["blockOwnerDeletion"] = json!(true);
        assert_eq!(owners, [plain(&other), ours]);
    });
}

// proves: deployment/C-11, deployment/C-14, deployment/C-18
#[test]
fn a_pod_relabelled_out_of_the_selector_is_released_and_replaced() {
    scenario(async |scene| {
        let pods = ready_set(scene, 2).await;
        scene
            .merge(Kind::POD, &pods[0], json!({"metadata": {"labels": {"app": "other"}}}))
            .await;
        scene.until("it is replaced", |state| state.pods().len() == 3).await;
        until_ready(scene, 2).await;
        assert!(scene.look(|state| state.get(Kind::POD, &pods[0]).unwrap().controller().is_none()));
        scene
            .merge(Kind::POD, &pods[0], json!({"metadata": {"labels": {"app": "web"}}}))
            .await;
        scene
            .until("one is surplus", |state| state.active_pods().len() == 2)
            .await;
    });
}

// proves: deployment/C-11, deployment/C-17
#[test]
fn pods_orphaned_by_their_set_are_adopted_by_its_successor() {
    scenario(async |scene| {
        let pods = ready_set(scene, 3).await;
        scene
            .delete_with(Kind::REPLICA_SET, "web", &json!({"propagationPolicy": "Orphan"}))
            .await;
        let orphans = |state: &State| {
            state.replica_sets().is_empty() && state.pods().iter().all(|pod| pod.controller().is_none())
        };
        scene.until("the pods are orphans", orphans).await;
        // Whoever hears of the set before it hears of the orphans makes others.
        scene.until_quiet_for(Duration::from_secs(1)).await;
        scene.create(replica_set("web").replicas(3)).await;
        until_ready(scene, 3).await;
        assert_eq!(scene.look(|state| names(state.pods_of(&lone_set(state)))), pods);
    });
}

// proves: deployment/C-19, deployment/C-65, deployment/D-6, deployment/I-6
#[test]
fn a_set_owned_without_blocking_and_without_a_hash_is_used_as_it_is() {
    scenario(async |scene| {
        let owner = scene.create(deployment("web").replicas(2).paused()).await;
        let reference = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": owner.uid(), "controller": true});
        let made = scene
            .create(
                replica_set("plain")
                    .set("/spec/selector/matchLabels/app", "web")
                    .set("/spec/template/metadata/labels/app", "web")
                    .label("app", "web")
                    .owner(reference),
            )
            .await;
        scene.kubelet().auto();
        scene
            .merge(Kind::DEPLOYMENT, "web", json!({"spec": {"paused": false}}))
            .await;
        scene.until_settled("web").await;
        let used = scene.look(|state| state.replica_sets().into_iter().cloned().collect::<Vec<_>>());
        assert_eq!((used.len(), used[0].size(), used[0].revision()), (1, 2, Some("1")));
        for part in [
            "/metadata/ownerReferences",
            "/metadata/labels",
            "/spec/selector",
            "/spec/template",
        ] {
            assert_eq!(used[0].at(part), made.at(part), "{part}");
        }
    });
}
