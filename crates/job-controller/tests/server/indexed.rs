//! Work that consists of numbered parts.

use serde_json::json;
use testkit::Kind;
use testkit::builders::job;

use crate::{active, counts, end_index, has_ended, pod_of_index, scenario, until_indexes};

// proves: job/J-70, job/J-71, job/J-74, job/J-66
#[test]
fn each_index_is_done_once_and_one_that_fails_is_tried_again() {
    scenario(async |scene| {
        scene.create(job("work").indexed(4).parallelism(3)).await;
        active(scene, 3).await;
        end_index(scene, 1, 0).await;
        until_indexes(scene, "1", "").await;
        active(scene, 3).await;
        let busy: Vec<u32> = scene.look(|state| (0..4).filter(|index| pod_of_index(state, *index).is_some()).collect());
        assert_eq!(busy, [0, 2, 3]);
        end_index(scene, 2, 1).await;
        scene
            .until("index 2 is tried again", |state| counts(state) == [3, 0, 0, 1, 1])
            .await;
        for index in [0, 2, 3] {
            end_index(scene, index, 0).await;
        }
        scene.until("the end", has_ended).await;
        until_indexes(scene, "0-3", "").await;
        assert_eq!(scene.look(counts), [0, 0, 0, 4, 1]);
    });
}

// proves: job/J-75
#[test]
fn work_that_is_scaled_down_forgets_the_indexes_beyond_its_end() {
    scenario(async |scene| {
        scene.kubelet().auto();
        scene.create(job("work").indexed(3).parallelism(3)).await;
        active(scene, 3).await;
        end_index(scene, 2, 0).await;
        until_indexes(scene, "2", "").await;
        let scale = |to: u32| json!({"spec": {"completions": to, "parallelism": to}});
        scene.merge(Kind::JOB, "work", scale(2)).await;
        until_indexes(scene, "", "").await;
        assert_eq!(scene.look(|state| counts(state)[3]), 0);
        scene.merge(Kind::JOB, "work", scale(3)).await;
        for index in 0..3 {
            end_index(scene, index, 0).await;
        }
        scene.until("the end", has_ended).await;
        until_indexes(scene, "0-2", "").await;
    });
}
