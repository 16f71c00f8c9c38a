//! ReplicaSets: which pods are theirs, how many there are, and what they report.

use std::time::Duration;

use serde_json::json;
use testkit::builders::{Manifest as _, Templated as _, deployment, replica_set};
use testkit::object::Stored;
use testkit::record::{Change, State};
use testkit::{Scene, names};
use workload_core::id::Kind;
use workload_core::time::{Clock as _, SystemClock, plus};

use crate::{lone_set, scenario};

/// A ReplicaSet `web` with all its pods ready.
pub(crate) async fn ready_set(scene: &Scene, size: u32) -> Vec<String> {
    scene.kubelet().auto();
    scene.create(replica_set("web").replicas(size)).await;
    until_ready(scene, size).await;
    scene.look(|state| names(state.pods()))
}

pub(crate) async fn until_ready(scene: &Scene, count: u32) {
    scene
        .until("all are ready", |state| {
            lone_set(state).count("readyReplicas") == i64::from(count)
        })
        .await;
}

// proves: deployment/C-70, deployment/C-71, deployment/C-13
#[test]
fn a_pod_is_made_exactly_as_the_template_says() {
    scenario(async |scene| {
        let metadata = json!({
            "name": "ignored", "namespace": "ignored", "labels": {"app": "web", "more": "1"},
            "annotations": {"note": "1"}, "finalizers": ["test/hold"],
        });
        let manifest = replica_set("web")
            .set("/spec/template/metadata", metadata)
            .set("/spec/template/spec/nodeSelector", json!({"disk": "fast"}));
        let owner = scene.create(manifest).await;
        let made = scene
            .find("a pod", |state| Some(state.pods().first().copied()?.clone()))
            .await;
        assert_eq!(made.at("/metadata/labels"), &json!({"app": "web", "more": "1"}));
        assert_eq!(made.at("/metadata/annotations"), &json!({"note": "1"}));
        assert_eq!(made.at("/metadata/finalizers"), &json!(["test/hold"]));
        assert_eq!(made.text("/metadata/generateName"), "web-");
        let random = made.name().strip_prefix("web-").unwrap();
        assert!(
            random.len() == 5 && random.chars().all(|c| "bcdfghjklmnpqrstvwxz2456789".contains(c)),
            "{random}"
        );
        let reference = json!([{
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": owner.uid(),
            "controller": true, "blockOwnerDeletion": true,
        }]);
        assert_eq!(made.at("/metadata/ownerReferences"), &reference);
        assert_eq!(made.at("/spec/nodeSelector"), &json!({"disk": "fast"}));
        assert_eq!(made.at("/spec/containers/0/image"), "a");
    });
}

// proves: deployment/RS-10
#[test]
fn a_set_gets_exactly_the_pods_it_wants() {
    scenario(async |scene| {
        ready_set(scene, 40).await;
        scene.scale(Kind::REPLICA_SET, "web", 0).await;
        scene
            .until("none is left", |state| {
                state.pods().is_empty() && lone_set(state).count("replicas") == 0
            })
            .await;
        let times = |change| scene.look(|state| state.writes(Kind::POD).filter(|write| write.change == change).count());
        assert_eq!((times(Change::Added), times(Change::Deleted)), (40, 40));
    });
}

// proves: deployment/A-6, deployment/RS-6, deployment/D-80
#[test]
fn a_plain_delete_takes_sets_and_pods_along_and_nothing_is_made_anew() {
    scenario(async |scene| {
        scene.settle(deployment("web").replicas(3)).await;
        scene.delete(Kind::DEPLOYMENT, "web").await;
        scene
            .until("all is gone", |state| {
                state.replica_sets().is_empty() && state.pods().is_empty()
            })
            .await;
        assert_eq!(
            scene.look(|state| state
                .writes(Kind::POD)
                .filter(|write| write.change == Change::Added)
                .count()),
            3
        );
    });
}

// proves: deployment/RS-6, deployment/RS-20
#[test]
fn a_set_being_deleted_makes_no_pods_but_keeps_its_status_right() {
    scenario(async |scene| {
        let manifest = replica_set("web").replicas(2).finalizer("test/hold");
        scene.kubelet().auto();
        scene.create(manifest).await;
        until_ready(scene, 2).await;
        scene
            .delete_with(Kind::REPLICA_SET, "web", &json!({"propagationPolicy": "Orphan"}))
            .await;
        let known = |state: &State| lone_set(state).is_terminating() && lone_set(state).is_observed();
        scene
            .until("the controllers know that it is on its way out", known)
            .await;
        let pods = scene.look(|state| names(state.pods()));
        scene.delete(Kind::POD, &pods[0]).await;
        let followed = |state: &State| lone_set(state).count("replicas") <= 1 && state.active_pods().len() <= 1;
        scene.until("the status follows", followed).await;
        scene
            .holds_for(Duration::from_secs(1), "nothing is made", |state| {
                state.active_pods().len() <= 1
            })
            .await;
        scene
            .merge(Kind::REPLICA_SET, "web", json!({"metadata": {"finalizers": null}}))
            .await;
    });
}

// proves: deployment/T-21, deployment/RS-4, deployment/RS-5, deployment/RS-10, deployment/RS-20, deployment/RS-21
#[test]
fn failed_and_terminating_pods_are_replaced_and_left_alone() {
    scenario(async |scene| {
        let pods = ready_set(scene, 2).await;
        scene.kubelet().fail(&pods[0], 1).await;
        scene.kubelet().hold(&pods[1]).await;
        scene.kubelet().keep_terminating();
        scene.delete(Kind::POD, &pods[1]).await;
        scene
            .until("two replacements", |state| {
                let set = lone_set(state);
                state.pods().len() == 4 && set.count("readyReplicas") == 2 && set.count("terminatingReplicas") == 1
            })
            .await;
        assert_eq!(scene.look(lone_set).count("replicas"), 2);
        scene.scale(Kind::REPLICA_SET, "web", 0).await;
        scene
            .until("only those two are left alone", |state| state.active_pods().is_empty())
            .await;
        let failed = scene.look(|state| state.get(Kind::POD, &pods[0]).cloned());
        assert!(failed.is_some_and(|pod| !pod.is_terminating()));
        scene.kubelet().release(&pods[1]).await;
    });
}

// proves: deployment/RS-12
#[test]
fn a_changed_template_is_for_pods_to_come() {
    scenario(async |scene| {
        let pods = ready_set(scene, 2).await;
        let containers = json!([{"name": "main", "image": "b"}]);
        scene
            .merge(
                Kind::REPLICA_SET,
                "web",
                json!({"spec": {"template": {"spec": {"containers": containers}}}}),
            )
            .await;
        scene
            .until("it is observed", |state| lone_set(state).is_observed())
            .await;
        assert_eq!(scene.look(|state| names(state.active_pods())), pods);
        scene.scale(Kind::REPLICA_SET, "web", 3).await;
        until_ready(scene, 3).await;
        let images = scene.look(|state| {
            state
                .pods()
                .iter()
                .map(|pod| pod.image().to_owned())
                .collect::<Vec<_>>()
        });
        assert_eq!(images, ["a", "a", "b"]);
    });
}

// proves: deployment/RS-20, deployment/RS-23
#[test]
fn the_status_counts_labelled_ready_and_available_pods_and_keeps_foreign_conditions() {
    scenario(async |scene| {
        let manifest = replica_set("web").replicas(3).pod_label("more", "1");
        scene.create(manifest).await;
        scene
            .until("three pods", |state| lone_set(state).count("fullyLabeledReplicas") == 3)
            .await;
        let foreign = json!({"type": "Foreign", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z"});
        scene
            .merge(
                Kind::REPLICA_SET,
                "web/status",
                json!({"status": {"conditions": [foreign]}}),
            )
            .await;
        let pods = scene.look(|state| names(state.pods()));
        scene
            .merge(Kind::POD, &pods[0], json!({"metadata": {"labels": {"more": null}}}))
            .await;
        scene.kubelet().ready(&pods[1]).await;
        let counts = |set: &Stored| {
            ["replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas"].map(|field| set.count(field))
        };
        scene
            .until("the counts", |state| counts(&lone_set(state)) == [3, 2, 1, 1])
            .await;
        scene.kubelet().unready(&pods[1]).await;
        scene
            .until("the counts", |state| counts(&lone_set(state)) == [3, 2, 0, 0])
            .await;
        assert_eq!(scene.look(lone_set).says("Foreign"), "True");
        assert_eq!(scene.look(lone_set).at("/status/terminatingReplicas"), &json!(0));
    });
}

// proves: deployment/T-19, deployment/RS-20, deployment/RS-30, deployment/RS-31
#[test]
fn each_pod_becomes_available_when_its_own_minimum_ready_time_is_over() {
    scenario(async |scene| {
        const SECONDS: u32 = 10;
        scene
            .create(replica_set("web").replicas(4).min_ready_seconds(SECONDS))
            .await;
        scene
            .until("four pods", |state| lone_set(state).count("replicas") == 4)
            .await;
        let pods = scene.look(|state| names(state.pods()));
        let start = SystemClock.now();
        let minutes_ago = plus(start, Duration::ZERO).checked_sub(Duration::from_mins(2)).unwrap();
        let seconds_ago = start.checked_sub(Duration::from_secs(5)).unwrap();
        for (pod, since) in [(&pods[3], minutes_ago), (&pods[2], seconds_ago), (&pods[1], start)] {
            scene.kubelet().ready_since(pod, since, 0).await;
        }
        for (available, earliest) in [
            (1, start),
            (2, plus(start, Duration::from_secs(4))),
            (3, plus(start, Duration::from_secs(9))),
        ] {
            scene
                .until("one more is available", |state| {
                    lone_set(state).count("availableReplicas") >= available
                })
                .await;
            // Stamps have whole seconds, hence one less than is left of the ten.
            let now = SystemClock.now();
            assert!(now >= earliest, "{available} available at {now}, before {earliest}");
        }
        let mut counted = scene.look(|state| {
            let writes = state.writes(Kind::REPLICA_SET);
            writes
                .map(|write| write.object.count("availableReplicas"))
                .collect::<Vec<_>>()
        });
        counted.dedup();
        assert_eq!(counted, [0, 1, 2, 3]);
        assert_eq!(scene.look(lone_set).count("readyReplicas"), 3);
    });
}

// proves: deployment/C-73
#[test]
fn every_pod_made_or_deleted_is_told() {
    scenario(async |scene| {
        let pods = ready_set(scene, 2).await;
        scene.scale(Kind::REPLICA_SET, "web", 0).await;
        for pod in pods {
            for (reason, verb) in [("SuccessfulCreate", "Created"), ("SuccessfulDelete", "Deleted")] {
                let text = format!("{verb} pod: {pod}");
                let told = |state: &State| {
                    state
                        .events("web", reason)
                        .into_iter()
                        .find(|event| event.text("/message") == text)
                        .cloned()
                };
                let event = scene.find(&text, told).await;
                assert_eq!(
                    (event.text("/type"), event.text("/source/component")),
                    ("Normal", "replicaset-controller")
                );
                assert_eq!(event.text("/reportingComponent"), "replicaset-controller");
                assert_eq!(event.text("/involvedObject/uid"), scene.look(lone_set).uid());
            }
        }
    });
}

// proves: deployment/RS-4, deployment/L-7, field/FR-DP-01
#[test]
fn pods_that_a_node_rejects_are_replaced_at_once_by_default() {
    scenario(async |scene| {
        scene.create(replica_set("web")).await;
        for rejected in 0..6 {
            let pod = scene
                .find("a new pod", |state| {
                    Some(state.active_pods().first()?.name().to_owned())
                })
                .await;
            scene.kubelet().bind(&pod, "node").await;
            scene.kubelet().reject(&pod, "OutOfcpu").await;
            scene.until("it stays", |state| state.pods().len() > rejected).await;
        }
        scene
            .until("all stay, and one is new", |state| state.pods().len() == 7)
            .await;
    });
}
