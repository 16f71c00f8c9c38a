//! Jobs that are deleted, by their user or because their time has come.

use serde_json::json;
use testkit::builders::{Manifest as _, job};
use testkit::record::State;
use testkit::{Kind, Scene, names};

use super::{REST, bind_all, end_first, make, parity, until_counted};
use crate::{TRACKING, end};

// proves: job/J-170, job/J-172
#[test]
fn a_job_that_is_deleted_without_its_pods() {
    parity(async |scene| {
        make(scene, job("work").parallelism(2).completions(2)).await;
        let orphan = json!({"propagationPolicy": "Orphan"});
        let pods = scene.look(|state| names(state.pods()));
        scene.delete_with(Kind::JOB, "work", &orphan).await;
        until_counted(scene, &pods).await;
    });
}

/// Deletes a Job of two running pods in this way. Its pods go when their kubelet says so.
async fn deleted(scene: &Scene, propagation: &str) {
    make(scene, job("work").parallelism(2).completions(2)).await;
    bind_all(scene).await;
    let options = json!({"propagationPolicy": propagation});
    scene.delete_with(Kind::JOB, "work", &options).await;
    let are_free = |state: &State| {
        let pods = state.pods();
        pods.iter()
            .all(|pod| pod.is_terminating() && !pod.has_finalizer(TRACKING))
    };
    scene.until("its pods are free to go", are_free).await;
    scene.until_quiet_for(REST).await;
    for pod in scene.look(|state| names(state.pods())) {
        scene.kubelet().end(&pod).await;
    }
    scene
        .until("all is gone", |state| {
            state.job("work").is_none() && state.pods().is_empty()
        })
        .await;
}

// proves: job/J-172, job/J-173
#[test]
fn a_job_that_is_deleted_before_its_pods() {
    parity(async |scene| deleted(scene, "Background").await);
}

// proves: job/J-38, job/J-171
#[test]
fn a_job_that_is_deleted_after_its_pods() {
    parity(async |scene| deleted(scene, "Foreground").await);
}

/// Lets a Job end that is to go so many seconds later, and waits until it has gone.
async fn outlived(scene: &Scene, seconds: u32) {
    make(scene, job("work").ttl_seconds(seconds)).await;
    let pod = scene.look(|state| names(state.pods()).remove(0));
    end(scene, &pod, 0).await;
    scene
        .until("all is gone", |state| {
            state.job("work").is_none() && state.pods().is_empty()
        })
        .await;
}

// proves: job/TTL-3, job/TTL-5
#[test]
fn a_job_that_goes_at_its_end() {
    parity(async |scene| outlived(scene, 0).await);
}

// proves: job/TTL-3, job/TTL-5, job/TTL-6
#[test]
fn a_job_that_goes_some_seconds_after_its_end() {
    parity(async |scene| outlived(scene, 3).await);
}

// proves: job/J-160, job/TTL-9
#[test]
fn a_job_of_another_controller() {
    parity(async |scene| {
        let of_another = job("other").set("/spec/managedBy", "example.com/x");
        scene.create(of_another).await;
        make(scene, job("work")).await;
        end_first(scene, 0).await;
    });
}
