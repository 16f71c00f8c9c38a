//! Jobs that grow, shrink, pause and go on.

use serde_json::json;
use testkit::builders::job;

use super::{bind_all, change, end_first, end_of, end_terminating, make, parity, until_ended};

// proves: job/J-70, job/J-74, job/J-75, job/J-255
#[test]
fn indexes_that_are_done_one_by_one_and_a_job_that_is_scaled() {
    parity(async |scene| {
        make(scene, job("work").indexed(4).parallelism(4)).await;
        end_of(scene, 1, 0).await;
        end_of(scene, 3, 0).await;
        change(scene, json!({"completions": 3, "parallelism": 3}), 2).await;
        end_of(scene, 0, 0).await;
        end_of(scene, 2, 0).await;
    });
}

// proves: job/J-100, job/J-102, job/J-103, job/J-254
#[test]
fn a_job_that_is_suspended_and_resumed() {
    parity(async |scene| {
        make(scene, job("work").parallelism(2).completions(2).suspended()).await;
        change(scene, json!({"suspend": false}), 2).await;
        bind_all(scene).await;
        change(scene, json!({"suspend": true}), 0).await;
        end_terminating(scene).await;
        change(scene, json!({"suspend": false}), 2).await;
    });
}

// proves: job/J-91, job/J-92
#[test]
fn parallelism_that_falls_to_nothing_and_comes_back() {
    parity(async |scene| {
        make(scene, job("work").parallelism(3).completions(5)).await;
        bind_all(scene).await;
        for parallelism in [1, 0, 2] {
            change(scene, json!({"parallelism": parallelism}), parallelism).await;
            end_terminating(scene).await;
        }
    });
}

// proves: job/J-80, job/J-81
#[test]
fn a_queue_of_work() {
    parity(async |scene| {
        make(scene, job("work").parallelism(3)).await;
        end_first(scene, 0).await;
        change(scene, json!({"parallelism": 5}), 2).await;
        end_first(scene, 0).await;
        end_first(scene, 0).await;
    });
}

// proves: job/J-75
#[test]
fn indexed_work_that_grows_and_shrinks() {
    parity(async |scene| {
        make(scene, job("work").indexed(2).parallelism(2)).await;
        bind_all(scene).await;
        end_of(scene, 1, 0).await;
        change(scene, json!({"completions": 4, "parallelism": 4}), 3).await;
        bind_all(scene).await;
        end_of(scene, 3, 0).await;
        change(scene, json!({"completions": 1, "parallelism": 1}), 1).await;
        end_terminating(scene).await;
        change(scene, json!({"completions": 2, "parallelism": 2}), 2).await;
        end_of(scene, 0, 0).await;
        end_of(scene, 1, 0).await;
        until_ended(scene).await;
    });
}

// proves: job/J-100, job/J-103, job/J-106
#[test]
fn indexed_work_that_is_suspended_when_part_of_it_is_done() {
    parity(async |scene| {
        make(scene, job("work").indexed(3).parallelism(2)).await;
        bind_all(scene).await;
        end_of(scene, 0, 0).await;
        bind_all(scene).await;
        change(scene, json!({"suspend": true}), 0).await;
        end_terminating(scene).await;
        change(scene, json!({"suspend": false}), 2).await;
        end_of(scene, 1, 0).await;
        end_of(scene, 2, 0).await;
        until_ended(scene).await;
    });
}
