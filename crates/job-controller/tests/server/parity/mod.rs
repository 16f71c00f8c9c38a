//! The same script played by us and by kube-controller-manager, and what came of it compared.

mod clients;
mod deletion;
mod ends;
mod failures;
mod pods;
mod sizes;

use std::time::Duration;

use serde_json::{Value, json};
use testkit::builders::Job;
use testkit::parity::Pace;
use testkit::record::State;
use testkit::{Kind, Scene, names};

use crate::{PROGRAM, TRACKING, counts, end, has_ended, pod_of_index};

/// Longer than anybody gathers changes.
const REST: Duration = Duration::from_secs(2);

#[allow(clippy::needless_pass_by_value, reason = "a script is written in place")]
fn parity(script: impl AsyncFn(&Scene)) {
    testkit::parity::parity(&PROGRAM, Pace::Stepwise, &script);
}

/// Creates a Job and waits until it runs, or waits to, and nothing is left to do.
async fn make(scene: &Scene, work: Job) {
    scene.create(work).await;
    scene.until("somebody has looked at it", has_begun).await;
    scene.until_quiet_for(REST).await;
}

fn has_begun(state: &State) -> bool {
    counts(state)[0] > 0
        || state
            .job("work")
            .is_some_and(|work| work.says("Suspended").starts_with("True"))
}

/// Changes the spec, and waits until so many pods are active and nothing is left to do.
async fn change(scene: &Scene, spec: Value, active: i64) {
    scene.merge(Kind::JOB, "work", json!({ "spec": spec })).await;
    scene
        .until(&format!("{active} active pods"), |state| counts(state)[0] == active)
        .await;
    scene.until_quiet_for(REST).await;
}

/// Ends the oldest active pod, and waits until it is counted and nothing is left to do.
async fn end_first(scene: &Scene, exit_code: u8) {
    let pod = scene.look(|state| names(state.active_pods()).remove(0));
    end_and_rest(scene, &pod, exit_code).await;
}

/// As [`end_first`], the active pod of an index.
async fn end_of(scene: &Scene, index: u32, exit_code: u8) {
    let pod = scene
        .look(|state| pod_of_index(state, index))
        .expect("a pod of that index");
    end_and_rest(scene, &pod, exit_code).await;
}

async fn end_and_rest(scene: &Scene, pod: &str, exit_code: u8) {
    end(scene, pod, exit_code).await;
    until_counted(scene, &[pod.to_owned()]).await;
}

async fn until_counted(scene: &Scene, pods: &[String]) {
    let waits = |state: &State, pod: &String| state.get(Kind::POD, pod).is_some_and(|pod| pod.has_finalizer(TRACKING));
    scene
        .until("none waits to be counted", |state| {
            !pods.iter().any(|pod| waits(state, pod))
        })
        .await;
    scene.until_quiet_for(REST).await;
}

/// Ends all pods that were asked to go, step by step: who is faster, a kubelet or whoever counts, decides about writes.
async fn end_terminating(scene: &Scene) {
    let going = scene.look(|state| names(state.pods().into_iter().filter(|pod| pod.is_terminating())));
    for pod in &going {
        scene.kubelet().fail(pod, 143).await;
    }
    until_counted(scene, &going).await;
    for pod in &going {
        scene.kubelet().end(pod).await;
    }
    scene.until("nobody is told to go", |state| counts(state)[2] <= 0).await;
    scene.until_quiet_for(REST).await;
}

/// Binds all pods: one that has no node goes at once.
async fn bind_all(scene: &Scene) {
    for pod in scene.look(|state| names(state.active_pods())) {
        scene.kubelet().ready(&pod).await;
    }
    let ready = |state: &State| state.active_pods().into_iter().filter(|pod| pod.is_ready()).count();
    scene
        .until("all are told to be ready", |state| {
            usize::try_from(counts(state)[1]).is_ok_and(|told| told == ready(state))
        })
        .await;
    scene.until_quiet_for(REST).await;
}

/// Waits until Job `work` has ended and nothing is left to do.
async fn until_ended(scene: &Scene) {
    scene.until("the end", has_ended).await;
    scene.until_quiet_for(REST).await;
}

/// Waits until a new pod is active beside those that `old` names, and nothing is left to do. Back-offs take ten seconds.
async fn until_replaced(scene: &Scene, old: &[String]) {
    let is_new = |pod: &&testkit::object::Stored| !old.iter().any(|old| old == pod.name());
    scene
        .until("a replacement", |state| {
            state.active_pods().iter().any(is_new)
                && counts(state)[0] == i64::try_from(state.active_pods().len()).unwrap()
        })
        .await;
    scene.until_quiet_for(REST).await;
}

/// Names of all pods.
fn all_pods(state: &State) -> Vec<String> {
    names(state.pods())
}
