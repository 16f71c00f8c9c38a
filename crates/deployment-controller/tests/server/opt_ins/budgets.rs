//! Opt-in disruption-budgets: a rollout waits for what budgets allow.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use testkit::Scene;
use testkit::api::POD_DISRUPTION_BUDGET;
use testkit::builders::{Deployment, Manifest as _, Templated as _, deployment};
use testkit::object::Stored;
use testkit::record::State;
use workload_core::id::Kind;

use crate::{PROGRAM, ours_only, web};

const KEY: &str = "opt-in.workload-controllers/deployment.disruption-budgets";

fn respecting(replicas: u32) -> Deployment {
    deployment("web").replicas(replicas).annotation(KEY, "Respect")
}

/// A budget of this name for the pods of `web`, once it counts them.
pub(super) async fn budget(scene: &Scene, name: &str, mut spec: Value) {
    spec["selector"] = json!({"matchLabels": {"app": "web"}});
    let budget = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": spec,
    });
    scene.api().create(POD_DISRUPTION_BUDGET, &budget).await.unwrap();
    let pods = scene.look(|state| state.active_pods().len());
    let counts = async || {
        let stored = scene.api().get(POD_DISRUPTION_BUDGET, name).await.unwrap();
        stored["status"]["expectedPods"] == pods && stored["status"]["observedGeneration"] == 1
    };
    scene.eventually("the budget counts", counts).await;
}

async fn lift(scene: &Scene, name: &str) {
    let deleted = scene.api().delete(POD_DISRUPTION_BUDGET, name, &Value::Null).await;
    deleted.unwrap();
}

/// Waits until the oldest ReplicaSet says that a budget keeps its pods, in these words.
async fn until_kept(scene: &Scene, words: &str) {
    let kept = |state: &State| {
        let events = state.events(state.replica_sets()[0].name(), "DisruptionBudget");
        events.iter().any(|event| event.text("/message").contains(words))
    };
    scene.until(words, kept).await;
}

fn old_pods(state: &State) -> Vec<&Stored> {
    let mut pods = state.active_pods();
    pods.retain(|pod| pod.image() == "a");
    pods
}

/// Nothing was ever reported as a failure, and nothing is held up any more.
async fn nothing_failed(scene: &Scene) {
    scene.look(|state| {
        let failing = |kind| {
            state
                .writes(kind)
                .any(|write| !write.object.says("ReplicaFailure").is_empty())
        };
        assert!(!failing(Kind::REPLICA_SET) && !failing(Kind::DEPLOYMENT));
        for set in state.replica_sets() {
            assert_eq!(state.events(set.name(), "FailedDelete").len(), 0);
        }
    });
    let metrics = scene.controller().unwrap().metrics().await;
    assert_eq!(metrics.count("held_up_objects", &[("cause", "DisruptionBudget")]), 0);
}

// proves: deployment/L-4, deployment/T-11
#[test]
fn a_rollout_waits_for_a_budget_that_allows_nothing_until_it_is_lifted() {
    ours_only(async |scene| {
        scene.settle(respecting(4).rolling(1, 1).deadline_seconds(5)).await;
        // One that is measured by the Deployment's size would allow as many as new pods get ready.
        budget(scene, "none", json!({"minAvailable": 100})).await;
        scene.set_image("web", "b").await;
        until_kept(scene, "The disruption budget none").await;
        let missed = "False ProgressDeadlineExceeded";
        scene
            .until(missed, |state| web(state).says("Progressing") == missed)
            .await;
        assert_eq!(scene.look(|state| old_pods(state).len()), 4);
        let pods = scene.look(|state| state.active_pods().len());
        assert!(pods <= 4 + 1 + 1, "{pods} pods are more than surge and one step allow");
        let metrics = scene.controller().unwrap().metrics().await;
        for kind in ["Deployment", "ReplicaSet"] {
            let labels = [("kind", kind), ("cause", "DisruptionBudget")];
            assert_eq!(metrics.count("held_up_objects", &labels), 1, "{kind}");
        }
        let refusals = metrics.count("rest_client_requests_total", &[("code", "429")]);
        assert!((1..20).contains(&refusals), "{refusals} evictions were asked for");
        lift(scene, "none").await;
        scene.until_settled("web").await;
        nothing_failed(scene).await;
    });
}

// proves: deployment/L-4
#[test]
fn where_a_budget_spares_one_pod_a_rollout_takes_one_at_a_time() {
    ours_only(async |scene| {
        // The Deployment itself would let three go.
        scene.settle(respecting(4).rolling(0, 3)).await;
        budget(scene, "one", json!({"maxUnavailable": 1})).await;
        let since = scene.set_image("web", "b").await.version();
        scene.until_settled("web").await;
        let fewest = scene.look(|state| fewest_ready(state, since));
        assert!(fewest >= 3, "only {fewest} pods were ready");
        nothing_failed(scene).await;
    });
}

/// The smallest number of pods that were ready and not asked to go, from that version on.
pub(super) fn fewest_ready(state: &State, since: u64) -> usize {
    let (mut serving, mut fewest) = (BTreeMap::new(), usize::MAX);
    for write in state.in_order() {
        let pod = &write.object;
        if pod.kind() == Kind::POD.kind {
            serving.insert(pod.uid(), pod.is_active() && pod.is_ready());
        }
        if pod.version() >= since {
            fewest = fewest.min(serving.values().filter(|serves| **serves).count());
        }
    }
    fewest
}

// proves: deployment/L-4
#[test]
fn a_broken_version_behind_a_budget_can_be_replaced() {
    ours_only(async |scene| {
        scene.create(respecting(2).rolling(0, 1)).await;
        let pods = scene
            .find("two pods", |state| {
                Some(testkit::names(state.pods())).filter(|pods| pods.len() == 2)
            })
            .await;
        for pod in &pods {
            scene.kubelet().bind(pod, "node").await;
            scene.kubelet().unready(pod).await;
        }
        budget(scene, "one", json!({"minAvailable": 1})).await;
        scene.set_image("web", "b").await;
        until_kept(scene, "The disruption budget one").await;
        scene.kubelet().auto_for_image("b");
        scene.until_settled("web").await;
        nothing_failed(scene).await;
    });
}

// proves: deployment/L-4
#[test]
fn two_budgets_for_one_pod_hold_a_rollout_until_one_goes() {
    ours_only(async |scene| {
        scene.settle(respecting(2).rolling(1, 0)).await;
        budget(scene, "one", json!({"maxUnavailable": 1})).await;
        budget(scene, "another", json!({"maxUnavailable": 1})).await;
        scene.set_image("web", "b").await;
        until_kept(scene, "more than one PodDisruptionBudget").await;
        lift(scene, "another").await;
        scene.until_settled("web").await;
        nothing_failed(scene).await;
    });
}

// proves: deployment/L-4
#[test]
fn going_back_while_a_budget_keeps_pods_takes_none_of_them() {
    ours_only(async |scene| {
        scene.settle(respecting(4).rolling(1, 1)).await;
        let before = scene.look(|state| uids(&old_pods(state)));
        budget(scene, "none", json!({"minAvailable": 100})).await;
        scene.set_image("web", "b").await;
        until_kept(scene, "The disruption budget none").await;
        scene.set_image("web", "a").await;
        let back = |state: &State| {
            state.replica_sets()[0].number("/status/replicas") == 4 && state.replica_sets()[0].size() == 4
        };
        scene.until("all pods are wanted again", back).await;
        assert_eq!(scene.look(|state| uids(&old_pods(state))), before);
        lift(scene, "none").await;
        scene.until_settled("web").await;
        assert_eq!(scene.look(|state| uids(&old_pods(state))), before);
        nothing_failed(scene).await;
    });
}

fn uids(pods: &[&Stored]) -> BTreeSet<String> {
    pods.iter().map(|pod| pod.uid().to_owned()).collect()
}

// proves: deployment/L-4
#[test]
fn recreate_waits_for_budgets_too_and_deletes_at_once_when_nobody_asks_any_more() {
    ours_only(async |scene| {
        scene.settle(respecting(3).recreate()).await;
        budget(scene, "two", json!({"minAvailable": 2})).await;
        scene.set_image("web", "b").await;
        until_kept(scene, "The disruption budget two").await;
        scene.until("two are left", |state| old_pods(state).len() == 2).await;
        assert_eq!(scene.look(|state| state.active_pods().len()), 2);
        let forget = json!({"metadata": {"annotations": {KEY: null}}});
        scene.merge(Kind::DEPLOYMENT, "web", forget).await;
        scene.until_settled("web").await;
        assert_eq!(scene.look(|state| old_pods(state).len()), 0);
        nothing_failed(scene).await;
    });
}

// proves: deployment/L-4, deployment/C-72
#[test]
fn whoever_wants_fewer_pods_gets_fewer_whatever_budgets_say() {
    ours_only(async |scene| {
        scene.settle(respecting(3)).await;
        budget(scene, "none", json!({"maxUnavailable": 0})).await;
        for size in [1, 0] {
            scene.scale(Kind::DEPLOYMENT, "web", size).await;
            scene.until_settled("web").await;
        }
        let metrics = scene.controller().unwrap().metrics().await;
        assert_eq!(metrics.count("write_attempts_total", &[("verb", "evict")]), 0);
    });
}

// proves: deployment/L-4
#[test]
fn without_the_replica_set_loop_nothing_is_promised() {
    testkit::scenario_with(&PROGRAM, &["--controllers=deployment"], async |scene| {
        scene.create(respecting(1)).await;
        let told = |state: &State| {
            let events = state.events("web", "InvalidOptIn");
            let words = "disruption-budgets: \"Respect\" has no effect: it needs the ReplicaSet loop";
            events.iter().any(|event| event.text("/message").contains(words))
        };
        scene.until("the event", told).await;
    });
}
