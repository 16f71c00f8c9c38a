//! Pods that fail, and what the policies make of it.

use serde_json::json;
use testkit::Scene;
use testkit::builders::{Manifest as _, job};

use super::{
    REST, all_pods, bind_all, change, end_and_rest, end_first, end_of, end_terminating, make, parity, until_counted,
    until_ended, until_replaced,
};
use crate::counts;

// proves: job/J-144, job/J-150, job/J-152, job/J-153
#[test]
fn a_job_that_its_failure_policy_ends_while_others_run() {
    parity(async |scene| {
        let work = job("work")
            .parallelism(3)
            .completions(3)
            .on_exit_codes("FailJob", "In", &[42]);
        make(scene, work).await;
        bind_all(scene).await;
        end_first(scene, 42).await;
        end_terminating(scene).await;
    });
}

// proves: job/J-120, job/J-150
#[test]
fn a_job_with_too_many_failures() {
    parity(async |scene| {
        make(scene, job("work").backoff_limit(0)).await;
        end_first(scene, 1).await;
    });
}

// proves: job/J-123, job/J-124
#[test]
fn indexes_that_fail_by_themselves() {
    parity(async |scene| {
        make(scene, job("work").indexed(3).parallelism(3).backoff_limit_per_index(0)).await;
        end_of(scene, 1, 1).await;
        end_of(scene, 0, 0).await;
        end_of(scene, 2, 0).await;
    });
}

// proves: job/J-110, job/J-113, job/J-120
#[test]
fn a_pod_that_fails_and_is_replaced() {
    parity(async |scene| {
        make(scene, job("work").backoff_limit(1)).await;
        let first = scene.look(all_pods);
        end_first(scene, 1).await;
        until_replaced(scene, &first).await;
        end_first(scene, 0).await;
        until_ended(scene).await;
    });
}

// proves: job/J-111, job/J-142, job/J-143
#[test]
fn a_disruption_that_is_ignored() {
    parity(async |scene| {
        let work = job("work").backoff_limit(0).on_condition("Ignore", "DisruptionTarget");
        make(scene, work).await;
        bind_all(scene).await;
        let first = scene.look(all_pods);
        scene.kubelet().disrupt(&first[0]).await;
        until_counted(scene, &first).await;
        until_replaced(scene, &first).await;
        end_first(scene, 0).await;
        until_ended(scene).await;
    });
}

// proves: job/J-47, job/J-140, job/J-143
#[test]
fn a_pod_that_is_being_evicted_when_its_job_fails() {
    parity(async |scene| {
        let [evicted, _, failing] = &three_that_may_be_ignored(scene).await;
        scene.evict(evicted).await;
        scene.until_quiet_for(REST).await;
        end_and_rest(scene, failing, 42).await;
        end_terminating(scene).await;
        assert_eq!(scene.look(counts)[4], 2, "the eviction is ignored");
    });
}

// proves: job/J-47, job/J-140, job/J-141
#[test]
fn a_running_pod_with_a_container_that_has_failed_when_its_job_fails() {
    parity(async |scene| {
        let [broken, _, failing] = &three_that_may_be_ignored(scene).await;
        scene.kubelet().fail_one_of_two(broken, 5).await;
        scene.until_quiet_for(REST).await;
        end_and_rest(scene, failing, 42).await;
        end_terminating(scene).await;
        assert_eq!(scene.look(counts)[4], 2, "the exit code is ignored");
    });
}

/// The pods of a Job that ignores disruptions and exit code 5, and fails at 42.
async fn three_that_may_be_ignored(scene: &Scene) -> [String; 3] {
    let work = job("work")
        .parallelism(3)
        .completions(3)
        .on_condition("Ignore", "DisruptionTarget")
        .on_exit_codes("Ignore", "In", &[5])
        .on_exit_codes("FailJob", "In", &[42]);
    make(scene, work).await;
    bind_all(scene).await;
    let pods = scene.look(all_pods);
    pods.try_into().expect("three pods")
}

// proves: job/J-141, job/J-143
#[test]
fn rules_that_are_looked_at_one_after_the_other() {
    parity(async |scene| {
        let work = job("work")
            .backoff_limit(2)
            .on_exit_codes("Count", "In", &[1, 42])
            .on_exit_codes("Ignore", "In", &[5])
            .on_exit_codes("FailJob", "NotIn", &[3]);
        make(scene, work).await;
        let first = scene.look(all_pods);
        end_first(scene, 42).await;
        until_replaced(scene, &first).await;
        end_first(scene, 7).await;
        until_ended(scene).await;
    });
}

// proves: job/J-141, job/J-144
#[test]
fn a_condition_that_fails_the_job() {
    parity(async |scene| {
        make(scene, job("work").on_condition("FailJob", "DisruptionTarget")).await;
        bind_all(scene).await;
        let first = scene.look(all_pods);
        scene.kubelet().disrupt(&first[0]).await;
        until_counted(scene, &first).await;
        until_ended(scene).await;
    });
}

// proves: job/J-123, job/J-143
#[test]
fn an_index_that_a_rule_ends() {
    parity(async |scene| {
        let work = job("work")
            .indexed(2)
            .parallelism(2)
            .backoff_limit_per_index(1)
            .on_exit_codes("FailIndex", "In", &[13]);
        make(scene, work).await;
        end_of(scene, 0, 13).await;
        end_of(scene, 1, 0).await;
        until_ended(scene).await;
    });
}

// proves: job/J-128, job/J-123
#[test]
fn more_indexes_fail_than_may() {
    parity(async |scene| {
        let work = job("work").indexed(4).parallelism(3).backoff_limit_per_index(0);
        make(scene, work.set("/spec/maxFailedIndexes", 1)).await;
        bind_all(scene).await;
        end_of(scene, 0, 1).await;
        bind_all(scene).await;
        end_of(scene, 2, 1).await;
        end_terminating(scene).await;
        until_ended(scene).await;
    });
}

// proves: job/J-122, job/J-125, job/J-126
#[test]
fn an_index_that_is_tried_again() {
    parity(async |scene| {
        let work = job("work").indexed(2).parallelism(2).backoff_limit_per_index(1);
        make(scene, work).await;
        let first = scene.look(all_pods);
        // It keeps its finalizer until its replacement is there.
        let pod = scene.look(|state| crate::pod_of_index(state, 1)).unwrap();
        crate::end(scene, &pod, 1).await;
        until_replaced(scene, &first).await;
        end_of(scene, 1, 0).await;
        end_of(scene, 0, 0).await;
        until_ended(scene).await;
    });
}

// proves: job/J-80, job/J-120
#[test]
fn a_queue_of_work_in_which_pods_fail() {
    parity(async |scene| {
        make(scene, job("work").parallelism(2)).await;
        let first = scene.look(all_pods);
        end_first(scene, 1).await;
        until_replaced(scene, &first).await;
        end_first(scene, 0).await;
        change(scene, json!({"parallelism": 4}), 1).await;
        end_first(scene, 1).await;
        until_ended(scene).await;
    });
}
