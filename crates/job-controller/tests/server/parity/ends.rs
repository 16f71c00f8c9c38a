//! The ways in which a Job comes to its end.

use std::time::Duration;

use serde_json::json;
use testkit::builders::{Manifest as _, job};

use workload_core::time::{Clock as _, SystemClock};

use super::{
    REST, all_pods, bind_all, change, end_first, end_of, end_terminating, make, parity, until_counted, until_ended,
};
use crate::counts;

// proves: job/J-65, job/J-66, job/J-157, job/J-232
#[test]
fn a_job_of_one_pod() {
    parity(async |scene| {
        make(scene, job("work").label("team", "a").annotation("note", "1")).await;
        let pod = scene.look(|state| state.pods()[0].name().to_owned());
        scene.kubelet().ready(&pod).await;
        scene.until_quiet_for(REST).await;
        end_first(scene, 0).await;
    });
}

// proves: job/J-148, job/J-149
#[test]
fn a_success_policy_that_is_met() {
    parity(async |scene| {
        let rules = json!({"rules": [{"succeededIndexes": "0-1", "succeededCount": 1}]});
        make(
            scene,
            job("work").indexed(3).parallelism(3).set("/spec/successPolicy", rules),
        )
        .await;
        bind_all(scene).await;
        end_of(scene, 1, 0).await;
        end_terminating(scene).await;
    });
}

// proves: job/J-148, job/J-149
#[test]
fn a_success_policy_that_counts() {
    parity(async |scene| {
        let rules = json!({"rules": [{"succeededIndexes": "3"}, {"succeededCount": 2}]});
        let work = job("work").indexed(4).parallelism(4);
        make(scene, work.set("/spec/successPolicy", rules)).await;
        bind_all(scene).await;
        end_of(scene, 0, 0).await;
        end_of(scene, 2, 0).await;
        end_terminating(scene).await;
    });
}

// proves: job/J-148, job/J-149
#[test]
fn a_success_policy_that_names_indexes() {
    parity(async |scene| {
        let rules = json!({"rules": [{"succeededIndexes": "0,2"}]});
        let work = job("work").indexed(3).parallelism(3);
        make(scene, work.set("/spec/successPolicy", rules)).await;
        bind_all(scene).await;
        for index in [0, 2] {
            end_of(scene, index, 0).await;
        }
        end_terminating(scene).await;
    });
}

// proves: job/J-130, job/J-131
#[test]
fn a_job_that_runs_for_too_long() {
    parity(async |scene| {
        scene
            .create(job("work").parallelism(2).completions(2).deadline_seconds(12))
            .await;
        scene.until("it runs", |state| counts(state)[0] == 2).await;
        bind_all(scene).await;
        scene
            .until("they are asked to go", |state| {
                state.pods().iter().all(|pod| pod.is_terminating())
            })
            .await;
        scene.until_quiet_for(REST).await;
        end_terminating(scene).await;
        until_ended(scene).await;
    });
}

// proves: job/J-130, job/J-131
#[test]
fn a_job_that_may_not_run_at_all() {
    parity(async |scene| {
        scene
            .create(job("work").parallelism(2).completions(2).deadline_seconds(0))
            .await;
        until_ended(scene).await;
    });
}

// proves: job/J-31, job/J-60
#[test]
fn a_job_that_has_nothing_to_do() {
    parity(async |scene| {
        scene.create(job("work").completions(0)).await;
        until_ended(scene).await;
    });
}

// proves: job/J-105
#[test]
fn a_suspended_job_that_has_nothing_to_do() {
    parity(async |scene| {
        scene.create(job("work").completions(0).suspended()).await;
        until_ended(scene).await;
    });
}

// proves: job/J-31, job/J-47, job/J-120, job/J-150
#[test]
fn pods_that_fail_together_and_exceed_the_limit() {
    parity(async |scene| {
        let work = job("work").parallelism(5).completions(5).backoff_limit(1);
        make(scene, work).await;
        bind_all(scene).await;
        let pods = scene.look(all_pods);
        for pod in &pods[..2] {
            scene.kubelet().fail(pod, 1).await;
        }
        until_counted(scene, &pods[..2]).await;
        end_terminating(scene).await;
        until_ended(scene).await;
    });
}

// proves: job/J-121
#[test]
fn a_pod_that_is_restarted_too_often() {
    parity(async |scene| {
        let restarted = job("work").set("/spec/template/spec/restartPolicy", "OnFailure");
        make(scene, restarted.backoff_limit(2)).await;
        bind_all(scene).await;
        let pod = scene.look(all_pods).remove(0);
        let since = SystemClock.now();
        for restarts in [1, 2] {
            scene.kubelet().ready_since(&pod, since, restarts).await;
            scene.until_quiet_for(REST).await;
        }
        end_terminating(scene).await;
        until_ended(scene).await;
    });
}

// proves: job/J-31, job/J-149
#[test]
fn a_failure_that_comes_together_with_the_last_success() {
    parity(async |scene| {
        make(scene, job("work").parallelism(2).completions(2).backoff_limit(0)).await;
        let pods = scene.look(all_pods);
        bind_all(scene).await;
        scene.kubelet().fail(&pods[0], 1).await;
        scene.kubelet().succeed(&pods[1]).await;
        until_counted(scene, &pods).await;
        until_ended(scene).await;
    });
}

// proves: job/J-106, job/J-130
#[test]
fn a_deadline_that_stands_still_while_a_job_is_suspended() {
    parity(async |scene| {
        make(scene, job("work").deadline_seconds(14).suspended()).await;
        scene
            .holds_for(Duration::from_secs(15), "it waits", |state| state.pods().is_empty())
            .await;
        change(scene, json!({"suspend": false}), 1).await;
        end_first(scene, 0).await;
        until_ended(scene).await;
    });
}
