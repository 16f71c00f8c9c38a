//! The controller on a real API server. `cargo xtask test` starts the servers; without them every test here is skipped.
//!
//! With `WORKLOAD_TEST_SUBJECT=upstream` the same scenarios run against kube-controller-manager: what they demand of us is
//! what upstream does, except where a test says otherwise ([`ours_only`]).
#![cfg(test)]

mod ends;

use testkit::record::State;
use testkit::{Program, Scene, Subject};

const PROGRAM: Program = Program {
    name: "job-controller",
    chart: concat!(env!("CARGO_MANIFEST_DIR"), "/../../charts/job-controller"),
};

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
    state.job("work").map(|work| work.true_conditions()).unwrap_or_default()
}

/// True once Job `work` has ended.
fn has_ended(state: &State) -> bool {
    let of_end = |condition: &String| condition.starts_with("Complete ") || condition.starts_with("Failed ");
    conditions(state).iter().any(of_end)
}

/// How many status writes of Job `work` were stored.
fn status_writes(state: &State) -> usize {
    state
        .writes(testkit::Kind::JOB)
        .filter(|write| write.object.name() == "work" && write.before.is_some() && write.changed("/status"))
        .count()
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
