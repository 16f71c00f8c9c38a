//! What becomes of the pods of a Job that is deleted.

use serde_json::json;
use testkit::Kind;
use testkit::builders::job;

use crate::{TRACKING, active, scenario};

/// Deletes a Job of two running pods in this way.
fn scenario_of(propagation: &'static str) {
    scenario(async |scene| {
        scene.create(job("work").parallelism(2).completions(2)).await;
        let pods = active(scene, 2).await;
        for pod in &pods {
            scene.kubelet().bind(pod, "main").await;
        }
        let options = json!({"propagationPolicy": propagation});
        scene.delete_with(Kind::JOB, "work", &options).await;
        scene
            .until("no pod waits to be counted", |state| {
                state.pods().iter().all(|pod| !pod.has_finalizer(TRACKING))
            })
            .await;
        if propagation == "Orphan" {
            scene
                .until("the Job is gone, its pods stay", |state| {
                    state.job("work").is_none() && state.active_pods().len() == 2
                })
                .await;
        } else {
            scene.kubelet().auto();
            scene
                .until("all is gone", |state| {
                    state.job("work").is_none() && state.pods().is_empty()
                })
                .await;
        }
    });
}

// proves: job/J-170, job/J-171, job/J-172, job/J-173
#[test]
fn pods_that_are_orphaned_run_on_without_the_finalizer() {
    scenario_of("Orphan");
}

// proves: job/J-172, job/J-173
#[test]
fn pods_of_a_job_that_is_gone_are_not_kept() {
    scenario_of("Background");
}

// proves: job/J-171
#[test]
fn pods_of_a_job_that_waits_for_them_are_not_kept() {
    scenario_of("Foreground");
}
