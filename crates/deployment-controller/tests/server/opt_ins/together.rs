//! All opt-ins of one Deployment.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;

use serde_json::{Map, Value, json};
use testkit::Scene;
use testkit::builders::{Deployment, Manifest as _, Templated as _, deployment};
use testkit::record::{Change, State};
use workload_core::id::Kind;
use workload_core::opt_in::PREFIX;

use super::budgets::{budget, fewest_ready};
use super::hold::{hold_at, holds};
use crate::ours_only;

const ALL: [(&str, &str); 5] = [
    ("deployment.pod-replacement", "TerminationComplete"),
    ("deployment.disruption-budgets", "Respect"),
    ("deployment.never-grow-old", "true"),
    ("deployment.hold-at", "4"),
    ("deployment.failed-pod-backoff", "1s,4s"),
];

fn asking_for_all(web: Deployment) -> Deployment {
    ALL.iter().fold(web, |web, (name, value)| web.opt_in(name, value))
}

/// `web`, whose pods have the time to end that a test needs.
fn slow() -> Deployment {
    deployment("web").set("/spec/template/spec/terminationGracePeriodSeconds", 300)
}

/// Sets all opt-ins of `web`, or removes them, and waits until that is over.
async fn set_all(scene: &Scene, set: bool) {
    let value = |value: &str| if set { value.into() } else { Value::Null };
    let annotations: Map<_, _> = ALL
        .iter()
        .map(|(name, text)| (format!("{PREFIX}{name}"), value(text)))
        .collect();
    scene
        .merge(
            Kind::DEPLOYMENT,
            "web",
            json!({"metadata": {"annotations": annotations}}),
        )
        .await;
    scene
        .until("the change is seen", |state| {
            state.deployment("web").unwrap().is_observed()
        })
        .await;
    scene.until_quiet_for(Duration::from_secs(2)).await;
}

#[test]
fn a_change_of_opt_ins_never_by_itself_touches_a_pod() {
    ours_only(async |scene| {
        scene.settle(deployment("web").replicas(3)).await;
        scene.set_image("web", "b").await;
        scene.until_settled("web").await;
        let written = |state: &State| (state.writes(Kind::POD).count(), state.sizes_given());
        let before = scene.look(written);
        for set in [true, false] {
            set_all(scene, set).await;
            assert_eq!(scene.look(written), before, "all of them set: {set}");
        }
    });
}

// proves: field/FR-DP-01, field/FR-DP-02, field/FR-DP-07, field/FR-DP-12, deployment/L-4
#[test]
fn a_rollout_with_all_of_them_keeps_every_bound_and_ends() {
    ours_only(async |scene| {
        scene.settle(asking_for_all(slow().replicas(6).rolling(2, 1))).await;
        budget(scene, "one", json!({"maxUnavailable": 1})).await;
        scene.kubelet().auto_for_image("a");
        let container = json!([{"name": "main", "image": "b"}]);
        let both = json!({"spec": {"replicas": 8, "template": {"spec": {"containers": container}}}});
        let start = scene.merge(Kind::DEPLOYMENT, "web", both).await.version();
        refuse_one(scene).await;
        scene.kubelet().auto();
        scene.kubelet().keep_terminating();
        let rollout = async {
            scene
                .until("it holds", |state| holds(state) && state.sizes() == [4, 4])
                .await;
            hold_at(scene, None).await;
            scene.until_settled("web").await;
        };
        tokio::select! {
            () = rollout => {}
            never = end_one_by_one(scene) => match never {},
        }
        assert_eq!(scene.look(State::sizes), [0, 8]);
        let metrics = scene.controller().unwrap().metrics().await;
        let removed = |verb| metrics.count("write_attempts_total", &[("kind", "Pod"), ("verb", verb)]);
        assert!(
            removed("evict") >= 6 && removed("delete") == 0,
            "old pods go by eviction"
        );
        scene.never_outside(start, 10, 6);
        scene.look(|state| {
            assert!(fewest_ready(state, start) >= 6, "a budget or a bound was broken");
            assert!(most_unfinished(state, start) <= 10, "more than replicas and surge");
            let of_old: Vec<_> = state.sizes_given().into_iter().filter(|(set, _)| *set == 1).collect();
            assert!(of_old.is_sorted_by(|a, b| a.1 >= b.1), "old sets grew: {of_old:?}");
            for set in state.replica_sets() {
                assert_eq!(state.events(set.name(), "FailedDelete").len(), 0);
            }
        });
    });
}

/// Ends terminating pods one by one, each when nobody does anything any more.
async fn end_one_by_one(scene: &Scene) -> Infallible {
    loop {
        let leaving = |state: &State| {
            let pods = state.pods();
            pods.iter()
                .find(|pod| pod.is_terminating())
                .map(|pod| pod.name().to_owned())
        };
        let pod = scene.find("a pod that terminates", leaving).await;
        scene.until_quiet_for(Duration::from_millis(300)).await;
        scene.kubelet().end(&pod).await;
    }
}

/// A node refuses the first new pod; the next one waits, as the opt-in says.
async fn refuse_one(scene: &Scene) {
    let new = |state: &State| {
        let pods = state.active_pods();
        pods.iter()
            .find(|pod| pod.image() == "b")
            .map(|pod| pod.name().to_owned())
    };
    let pod = scene.find("a new pod", new).await;
    scene.kubelet().bind(&pod, "full").await;
    scene.kubelet().reject(&pod, "OutOfcpu").await;
    let told = |state: &State| {
        !state
            .events(state.replica_sets()[1].name(), "FailedPodBackoff")
            .is_empty()
    };
    scene.until("the back-off is told", told).await;
}

/// The most pods that were there and had not ended, at any version from that one on.
fn most_unfinished(state: &State, since: u64) -> usize {
    let (mut there, mut most) = (BTreeMap::new(), 0);
    for write in state.in_order() {
        let pod = &write.object;
        if pod.kind() == Kind::POD.kind {
            let ended = matches!(pod.text("/status/phase"), "Failed" | "Succeeded");
            there.insert(pod.uid(), write.change != Change::Deleted && !ended);
        }
        if pod.version() >= since {
            most = most.max(there.values().filter(|unfinished| **unfinished).count());
        }
    }
    most
}
