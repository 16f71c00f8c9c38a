//! The controller on a real API server. `cargo xtask test` starts the servers; without them every test here is skipped.
//!
//! With `WORKLOAD_TEST_SUBJECT=upstream` the same scenarios run against kube-controller-manager: what they demand of us is
//! what upstream does, except where a test says otherwise ([`ours_only`]).
#![cfg(test)]

mod claims;
mod clients;
mod deletion;
mod ends;
mod facts;
mod failure_policy;
mod faults;
mod fence;
mod indexed;
mod managed;
mod many;
mod opt_ins;
mod outages;
mod parity;
mod per_index;
mod queue;
mod quota;
mod replacement;
mod suspending;
mod takeover;
mod ttl;

use std::time::Duration;

use testkit::object::Stored;
use testkit::record::State;
use testkit::{Kind, Program, Scene, Subject};
use workload_core::time::{Clock as _, SystemClock, Timestamp, plus, until};

const PROGRAM: Program = Program::new(
    "job-controller",
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../charts/job-controller"),
)
.in_place_of(&["job", "ttl-after-finished"]);

/// The finalizer of pods that have still to be counted.
const TRACKING: &str = "batch.kubernetes.io/job-tracking";

/// Runs a test with the controllers at work.
fn scenario(body: impl AsyncFnOnce(&mut Scene)) {
    testkit::scenario(&PROGRAM, body);
}

/// As [`scenario`], for what we do better than upstream.
fn ours_only(body: impl AsyncFnOnce(&mut Scene)) {
    scenario(async |scene| {
        if scene.subject() == Subject::Ours {
            body(scene).await;
        }
    });
}

/// What Job `work` reports of its pods: active, ready, terminating, succeeded, failed.
fn counts(state: &State) -> [i64; 5] {
    let fields = ["active", "ready", "terminating", "succeeded", "failed"];
    state
        .job("work")
        .map_or([-1; 5], |work| fields.map(|field| work.count(field)))
}

/// The true conditions of Job `work`, each with its reason.
fn conditions(state: &State) -> Vec<String> {
    state.job("work").map(Stored::true_conditions).unwrap_or_default()
}

/// True once Job `work` has ended.
fn has_ended(state: &State) -> bool {
    let of_end = |condition: &String| condition.starts_with("Complete ") || condition.starts_with("Failed ");
    conditions(state).iter().any(of_end)
}

/// How many status writes of Job `work` were stored.
fn status_writes(state: &State) -> usize {
    state
        .writes(Kind::JOB)
        .filter(|write| write.object.name() == "work" && write.before.is_some() && write.changed("/status"))
        .count()
}

/// How many pods wait to be counted.
fn uncounted(state: &State) -> usize {
    state.pods().iter().filter(|pod| pod.has_finalizer(TRACKING)).count()
}

/// Waits until Job `work` has this many active pods, and returns their names.
async fn active(scene: &Scene, count: usize) -> Vec<String> {
    scene
        .find(&format!("{count} active pods"), |state| {
            let pods = testkit::names(state.active_pods());
            let reported = usize::try_from(counts(state)[0]) == Ok(count);
            (pods.len() == count && reported).then_some(pods)
        })
        .await
}

/// The active pod of an index.
fn pod_of_index(state: &State, index: u32) -> Option<String> {
    let index = index.to_string();
    let of_index =
        |pod: &&Stored| pod.is_active() && pod.annotation("batch.kubernetes.io/job-completion-index") == Some(&index);
    state.pods().into_iter().find(of_index).map(|pod| pod.name().to_owned())
}

/// Ends the active pod of an index with this exit code, once there is one.
async fn end_index(scene: &Scene, index: u32, exit_code: u8) {
    let pod = scene
        .find(&format!("a pod of index {index}"), |state| pod_of_index(state, index))
        .await;
    end(scene, &pod, exit_code).await;
}

/// Ends a pod with this exit code.
async fn end(scene: &Scene, pod: &str, exit_code: u8) {
    let is_bound = |state: &State| !state.get(Kind::POD, pod).unwrap().text("/spec/nodeName").is_empty();
    if !scene.look(is_bound) {
        scene.kubelet().bind(pod, "main").await;
    }
    match exit_code {
        0 => scene.kubelet().succeed(pod).await,
        code => scene.kubelet().fail(pod, code).await,
    }
}

/// When a pod ended, as its only container's status tells.
fn ended_at(state: &State, pod: &str) -> Timestamp {
    let pod = state.get(Kind::POD, pod).unwrap();
    let at = pod.text("/status/containerStatuses/0/state/terminated/finishedAt");
    at.parse().unwrap()
}

/// How many seconds after `since` a pod was made, as the server's stamp tells: no matter when the test comes to look.
fn made_after(state: &State, pod: &str, since: Timestamp) -> i64 {
    let made = state.get(Kind::POD, pod).unwrap().text("/metadata/creationTimestamp");
    let made: Timestamp = made.parse().unwrap();
    made.duration_since(since).as_secs()
}

/// What is left of the first eight seconds after `failure`. The first back-off takes ten.
fn most_of_back_off(failure: Timestamp) -> Duration {
    until(plus(failure, Duration::from_secs(8)), SystemClock.now()).unwrap_or_default()
}

/// Waits until Job `work` says this of its indexes: done, and failed.
async fn until_indexes(scene: &Scene, completed: &str, failed: &str) {
    let says = |state: &State| {
        let work = state.job("work").unwrap();
        (
            work.text("/status/completedIndexes"),
            work.text("/status/failedIndexes"),
        ) == (completed, failed)
    };
    scene
        .until(&format!("completed {completed:?}, failed {failed:?}"), says)
        .await;
}
