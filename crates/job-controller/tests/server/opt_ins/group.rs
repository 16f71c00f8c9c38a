//! Opt-in `job.on-pod-failure`.

use testkit::builders::{Job, Manifest as _, job};
use testkit::record::{Change, State, Version};
use testkit::{Kind, Scene};

use crate::{active, counts, end_index, has_ended, ours_only, pod_of_index, scenario, until_indexes};

/// Three parts that run, of which one fails.
async fn fail_one_of_three(scene: &Scene, work: Job) -> Vec<String> {
    scene.kubelet().auto();
    scene.create(work.indexed(3).parallelism(3)).await;
    let first = active(scene, 3).await;
    scene
        .until("all are ready", |state| state.pods().iter().all(|pod| pod.is_ready()))
        .await;
    end_index(scene, 1, 1).await;
    first
}

fn made(state: &State) -> usize {
    let is_birth = |write: &&Version| write.change == Change::Added;
    state.writes(Kind::POD).filter(is_birth).count()
}

async fn finish(scene: &Scene) {
    for index in 0..3 {
        end_index(scene, index, 0).await;
    }
    scene.until("the end", has_ended).await;
    until_indexes(scene, "0-2", "").await;
    assert_eq!(scene.look(counts), [0, 0, 0, 3, 1]);
}

// proves: job/L-10
#[test]
fn a_pod_that_fails_restarts_the_group_if_so_wished() {
    ours_only(async |scene| {
        let first = fail_one_of_three(scene, job("work").opt_in("job.on-pod-failure", "RestartAll")).await;
        scene
            .until("all are new, and it counts once", |state| {
                let is_old = |pod: &&testkit::object::Stored| first.iter().any(|old| old == pod.name());
                counts(state) == [3, 3, 0, 0, 1] && !state.active_pods().iter().any(is_old)
            })
            .await;
        finish(scene).await;
        assert_eq!(scene.look(made), 6);
    });
}

// proves: job/J-70, job/L-10
#[test]
fn a_pod_that_fails_is_replaced_alone_by_default() {
    scenario(async |scene| {
        let first = fail_one_of_three(scene, job("work")).await;
        scene
            .until("it is replaced", |state| counts(state) == [3, 3, 0, 0, 1])
            .await;
        let left = scene.look(|state| [0, 2].map(|index| pod_of_index(state, index).unwrap()));
        assert!(left.iter().all(|pod| first.contains(pod)));
        finish(scene).await;
        assert_eq!(scene.look(made), 4);
    });
}
