//! The controllers' own life, and the end of what they work on.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::api::NAMESPACE;
use testkit::builders::{Manifest as _, Templated as _, deployment};
use testkit::object::Stored;
use testkit::record::{Change, State, Version};
use testkit::{Scene, names};
use workload_core::id::Kind;

use crate::{PROGRAM, ours_only, scenario, web};

/// Kills the controllers and starts them again.
async fn restart(scene: &mut Scene) {
    scene.take_controller().unwrap().kill();
    let again = scene.start(&PROGRAM, &["--leader-elect=false"]).await;
    scene.put_controller(again);
}

// proves: deployment/I-1, deployment/W-25
#[test]
fn a_settled_namespace_sees_no_write_neither_at_rest_nor_after_a_restart() {
    ours_only(async |scene| {
        rolled_over(scene).await;
        let writes = async |scene: &Scene| {
            scene
                .controller()
                .unwrap()
                .metrics()
                .await
                .count("write_attempts_total", &[])
        };
        assert!(writes(scene).await > 0);
        restart(scene).await;
        scene.quiet_for(Duration::from_secs(3)).await;
        assert_eq!(writes(scene).await, 0);
    });
}

// proves: deployment/I-2, deployment/I-3
#[test]
fn a_rollout_survives_a_controller_that_is_killed_again_and_again() {
    ours_only(async |scene| {
        scene.settle(deployment("web").replicas(10).rolling(3, 2)).await;
        let start = scene.set_image("web", "b").await;
        for ready in [1, 4, 7] {
            scene
                .until("some progress", |state| {
                    state.deployment("web").unwrap().count("updatedReplicas") >= ready
                })
                .await;
            restart(scene).await;
        }
        scene.until_settled("web").await;
        assert_eq!(scene.look(State::sizes), [0, 10]);
        scene.never_outside(start.version(), 13, 8);
        let made = scene.look(|state| {
            state
                .writes(Kind::POD)
                .filter(|write| write.change == Change::Added)
                .count()
        });
        assert_eq!(made, 20);
    });
}

// proves: deployment/C-24
#[test]
fn nothing_is_made_in_a_namespace_that_is_going_and_hardly_tried() {
    scenario(async |scene| {
        // The server asks about a namespace's pods again only after their time to end.
        let manifest = deployment("web")
            .replicas(3)
            .set("/spec/template/spec/terminationGracePeriodSeconds", 1);
        scene.settle(manifest).await;
        scene.kubelet().keep_terminating();
        let namespace = scene.namespace().to_owned();
        let gone = scene
            .server()
            .api()
            .delete(NAMESPACE, &namespace, &Value::Null)
            .await
            .unwrap();
        let since: u64 = gone["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
        scene
            .until("the pods are terminating", |state| {
                state.pods().iter().all(|pod| pod.is_terminating())
            })
            .await;
        scene.kubelet().auto();
        scene.until("the pods are gone", |state| state.pods().is_empty()).await;
        let made = |write: &&Version| write.change == Change::Added && write.object.version() > since;
        assert_eq!(scene.look(|state| state.writes(Kind::POD).filter(made).count()), 0);
        if let Some(controller) = scene.controller() {
            let ending = [("result", "namespace_ending")];
            let tries = async || controller.metrics().await.count("write_attempts_total", &ending);
            scene.eventually("a try", async || tries().await > 0).await;
            assert!(tries().await < 20, "{} tries to make three pods", tries().await);
        }
    });
}

// proves: deployment/D-80, deployment/C-11
#[test]
fn a_deployment_on_its_way_out_makes_and_adopts_nothing() {
    scenario(async |scene| {
        scene.settle(deployment("web").replicas(2).finalizer("test/hold")).await;
        scene
            .delete_with(Kind::DEPLOYMENT, "web", &json!({"propagationPolicy": "Orphan"}))
            .await;
        scene
            .until("its set is an orphan", |state| {
                state.replica_sets()[0].controller().is_none()
            })
            .await;
        scene.set_image("web", "b").await;
        scene.scale(Kind::DEPLOYMENT, "web", 5).await;
        scene
            .until("it is observed", |state| state.deployment("web").unwrap().is_observed())
            .await;
        assert_eq!(scene.look(State::sizes), [2]);
        assert!(scene.look(|state| state.replica_sets()[0].controller().is_none()));
        scene
            .merge(Kind::DEPLOYMENT, "web", json!({"metadata": {"finalizers": null}}))
            .await;
    });
}

// proves: deployment/RS-10, deployment/D-71
#[test]
fn a_lost_pod_is_replaced_at_once_and_the_rollout_stays_finished() {
    scenario(async |scene| {
        scene.settle(deployment("web").replicas(3)).await;
        let pods = scene.look(|state| names(state.pods()));
        scene
            .delete_with(Kind::POD, &pods[0], &json!({"gracePeriodSeconds": 0}))
            .await;
        scene
            .until("it is replaced", |state| {
                state.pods().len() == 3 && state.get(Kind::POD, &pods[0]).is_none()
            })
            .await;
        scene.until_settled("web").await;
        scene.look(|state| {
            let finished = |write: &&Version| write.object.says("Progressing") == "True NewReplicaSetAvailable";
            assert!(
                state
                    .writes(Kind::DEPLOYMENT)
                    .skip_while(|write| !finished(write))
                    .all(|write| finished(&write))
            );
        });
    });
}

/// A Deployment with two revisions, the second of which is rolled out.
async fn rolled_over(scene: &Scene) {
    scene.settle(deployment("web").replicas(3)).await;
    scene.set_image("web", "b").await;
    scene.until_settled("web").await;
}

// proves: deployment/I-9, deployment/I-13
#[test]
fn a_rollout_leaves_all_that_upstream_needs_to_go_on_and_nothing_else() {
    scenario(async |scene| {
        rolled_over(scene).await;
        scene.look(|state| {
            let annotated = |object: &Stored| -> Vec<String> {
                object
                    .at("/metadata/annotations")
                    .as_object()
                    .into_iter()
                    .flatten()
                    .map(|(key, _)| key.clone())
                    .collect()
            };
            let key = |name: &str| format!("deployment.kubernetes.io/{name}");
            assert_eq!(annotated(&web(state)), [key("revision")]);
            for set in state.replica_sets() {
                assert_eq!(
                    annotated(set),
                    [key("desired-replicas"), key("max-replicas"), key("revision")]
                );
                assert_eq!(set.controller().unwrap()["blockOwnerDeletion"], true);
                assert_eq!(set.number("/status/observedGeneration"), set.generation());
                assert_eq!(set.at("/status/terminatingReplicas"), &json!(0));
            }
            let pods = state.pods();
            assert!(
                pods.iter()
                    .all(|pod| annotated(pod).is_empty() && pod.controller().unwrap()["blockOwnerDeletion"] == true)
            );
            let finalizers = |object: &&Stored| !object.at("/metadata/finalizers").is_null();
            assert_eq!(
                pods.into_iter().chain(state.replica_sets()).filter(finalizers).count(),
                0
            );
        });
    });
}

// proves: deployment/I-11
#[test]
fn writes_are_recorded_as_updates_under_the_name_that_was_asked_for() {
    testkit::scenario_with(&PROGRAM, &["--field-manager=kube-controller-manager"], async |scene| {
        rolled_over(scene).await;
        let writers = scene.look(|state| {
            let objects = [state.all(Kind::DEPLOYMENT), state.replica_sets(), state.pods()].concat();
            let fields = objects.iter().flat_map(|object| {
                object
                    .at("/metadata/managedFields")
                    .as_array()
                    .cloned()
                    .unwrap_or_default()
            });
            fields
                .map(|entry| format!("{} {}", entry["operation"], entry["manager"]))
                .collect::<BTreeSet<_>>()
        });
        assert_eq!(
            writers,
            BTreeSet::from([r#""Update" "kube-controller-manager""#, r#""Update" "test""#].map(str::to_owned))
        );
    });
}

// proves: deployment/W-20, deployment/W-21, deployment/W-22, field/FR-XC-04
#[test]
fn the_rights_that_the_chart_gives_are_enough() {
    ours_only(async |scene| {
        rolled_over(scene).await;
        scene
            .delete_with(Kind::DEPLOYMENT, "web", &json!({"propagationPolicy": "Orphan"}))
            .await;
        let orphans = |state: &State| {
            state.deployment("web").is_none() && state.replica_sets().iter().all(|set| set.controller().is_none())
        };
        scene.until("the sets are orphans", orphans).await;
        rolled_over(scene).await;
        let metrics = scene.controller().unwrap().metrics().await;
        assert!(metrics.count("rest_client_requests_total", &[("code", "200")]) > 0);
        assert_eq!(metrics.count("rest_client_requests_total", &[("code", "403")]), 0);
    });
}
