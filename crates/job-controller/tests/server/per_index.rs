//! Failures that are limited per index.

use testkit::builders::{Manifest as _, job};
use testkit::record::State;

use crate::{active, conditions, counts, end_index, has_ended, scenario, until_indexes};

/// Values of the failure count of all pods of an index, oldest first.
fn failure_counts(state: &State, index: &str) -> Vec<String> {
    let of_index = state
        .pods()
        .into_iter()
        .filter(|pod| pod.annotation("batch.kubernetes.io/job-completion-index") == Some(index));
    of_index
        .map(|pod| {
            pod.annotation("batch.kubernetes.io/job-index-failure-count")
                .unwrap_or_default()
                .to_owned()
        })
        .collect()
}

// proves: job/J-122, job/J-123, job/J-124, job/J-126, job/J-31
#[test]
fn each_index_has_failures_of_its_own() {
    scenario(async |scene| {
        scene.kubelet().auto_exit(|pod| {
            let index = pod.annotation("batch.kubernetes.io/job-completion-index");
            Some(u8::from(matches!(index, Some("1" | "3"))))
        });
        let work = job("work").indexed(4).parallelism(2).backoff_limit_per_index(1);
        scene.create(work).await;
        scene.until("the end", has_ended).await;
        until_indexes(scene, "0,2", "1,3").await;
        assert_eq!(scene.look(counts), [0, 0, 0, 2, 4]);
        assert_eq!(
            scene.look(conditions),
            ["FailureTarget FailedIndexes", "Failed FailedIndexes"]
        );
        for index in ["1", "3"] {
            assert_eq!(scene.look(|state| failure_counts(state, index)), ["0", "1"]);
        }
    });
}

// proves: job/J-123, job/J-128, job/J-31
#[test]
fn more_failed_indexes_than_may_fail_the_job() {
    scenario(async |scene| {
        let work = job("work").indexed(2).parallelism(1).backoff_limit_per_index(0);
        scene.create(work.set("/spec/maxFailedIndexes", 0)).await;
        end_index(scene, 0, 1).await;
        scene.until("the end", has_ended).await;
        until_indexes(scene, "", "0").await;
        assert_eq!(scene.look(counts), [0, 0, 0, 0, 1]);
        let both = [
            "FailureTarget MaxFailedIndexesExceeded",
            "Failed MaxFailedIndexesExceeded",
        ];
        assert_eq!(scene.look(conditions), both);
    });
}

// proves: job/J-123, job/J-140
#[test]
fn a_rule_can_end_an_index_without_another_try() {
    scenario(async |scene| {
        let work = job("work")
            .indexed(2)
            .parallelism(2)
            .backoff_limit_per_index(1)
            .on_exit_codes("FailIndex", "In", &[13]);
        scene.create(work).await;
        active(scene, 2).await;
        end_index(scene, 0, 13).await;
        until_indexes(scene, "", "0").await;
        scene.until("it counts", |state| counts(state) == [1, 0, 0, 0, 1]).await;
        end_index(scene, 1, 0).await;
        scene.until("the end", has_ended).await;
        assert_eq!(scene.look(|state| state.pods().len()), 2);
        assert_eq!(
            scene.look(conditions),
            ["FailureTarget FailedIndexes", "Failed FailedIndexes"]
        );
    });
}
