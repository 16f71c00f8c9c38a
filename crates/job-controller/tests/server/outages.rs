//! What we do when the server or its store goes away, and when it comes back as it was some time ago.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::future::join_all;
use testkit::builders::job;
use testkit::cluster::{Cluster, Part, alone};
use testkit::record::State;
use testkit::reign::PATIENT_FLAGS;
use testkit::{Kind, Scene, on};

use crate::{PROGRAM, active, counts, end, end_index, has_ended, uncounted};

/// Pods of the Job that is hit.
const PODS: usize = 450;

// proves: job/J-40, job/J-46, job/J-61
#[test]
fn every_pod_is_made_and_counted_once_though_the_server_crashes_meanwhile() {
    alone(async |cluster| interrupted(cluster, Part::ApiServer).await);
}

// proves: job/J-40, job/J-46
#[test]
fn every_pod_is_made_and_counted_once_though_the_store_crashes_meanwhile() {
    alone(async |cluster| interrupted(cluster, Part::Etcd).await);
}

/// Hit twice: while its pods are made, and while they are counted.
async fn interrupted(cluster: &Cluster, part: Part) {
    on(cluster.server(), async |scene| {
        cluster.give_to(scene, &PROGRAM, &PATIENT_FLAGS).await;
        let all = u32::try_from(PODS).unwrap();
        scene.create(job("work").indexed(all).parallelism(all)).await;
        scene.until("the first pods", |state| state.pods().len() > 10).await;
        scene.without(cluster, part, |state| state.pods().len() < PODS).await;
        let made = active(scene, PODS).await;
        scene.until_requests_rest().await;
        assert_eq!(scene.look(indexes).len(), PODS, "each index has one pod");

        // One fails: it is replaced once, and counted once.
        join_all(made.iter().map(async |pod| scene.kubelet().bind(pod, "main").await)).await;
        let (failing, others) = made.split_first().unwrap();
        join_all(others.iter().map(async |pod| scene.kubelet().succeed(pod).await)).await;
        scene.kubelet().fail(failing, 1).await;
        scene.until("some are counted", |state| uncounted(state) < PODS).await;
        scene.without(cluster, part, |state| uncounted(state) > 0).await;

        let last = active(scene, 1).await;
        end(scene, &last[0], 0).await;
        scene.until("the end", has_ended).await;
        scene.until_requests_rest().await;
        let whole = i64::from(all);
        assert_eq!(scene.look(counts), [0, 0, 0, whole, 1]);
        let completed = |state: &State| state.job("work").unwrap().text("/status/completedIndexes").to_owned();
        assert_eq!(scene.look(completed), format!("0-{}", PODS - 1));
        assert_eq!(
            scene.look(|state| (state.pods().len(), uncounted(state))),
            (PODS + 1, 0)
        );
    })
    .await;
}

// proves: job/J-40, job/J-44, job/J-46
#[test]
fn a_server_that_comes_back_from_a_backup_is_followed_from_there() {
    alone(async |cluster| {
        on(cluster.server(), async |scene| {
            cluster.give_to(scene, &PROGRAM, &["--leader-elect=false"]).await;
            scene.create(job("work").indexed(6).parallelism(3)).await;
            active(scene, 3).await;
            end_index(scene, 0, 0).await;
            let kept = |state: &State| (counts(state)[0], counts(state)[3]) == (3, 1) && uncounted(state) == 3;
            scene.until("one is counted and replaced", kept).await;
            scene.until_quiet_for(Duration::from_secs(2)).await;
            let at_first = scene.look(pods);
            let is_as_before =
                |state: &State| pods(state) == at_first && kept(state) && state.all(Kind::JOB).len() == 1;
            scene
                .undo(cluster, 2, async || go_on_for_a_while(scene).await, is_as_before)
                .await;
            assert_eq!(scene.look(pods), at_first, "no pod was made or deleted");
            assert!(scene.look(kept), "nothing was counted");

            for index in 1..6 {
                end_index(scene, index, 0).await;
            }
            scene.until("the end", has_ended).await;
            assert_eq!(scene.look(counts), [0, 0, 0, 6, 0]);
            assert_eq!(scene.look(|state| (state.pods().len(), uncounted(state))), (6, 0));
            assert_eq!(scene.noticed_restores(), 2, "each kind is told once");
        })
        .await;
    });
}

/// What the restore makes undone: the end of the Job with a failure on the way, and a second one. The server counts on before
/// the last of it, so that all that is seen of it is clearly ahead of what the restored server begins with.
async fn go_on_for_a_while(scene: &Scene) {
    scene.create(job("forgotten").parallelism(2).completions(2)).await;
    end_index(scene, 1, 1).await;
    scene.outgrow().await;
    for index in 2..6 {
        end_index(scene, index, 0).await;
    }
    end_index(scene, 1, 0).await;
    scene.until("the end", has_ended).await;
}

fn pods(state: &State) -> BTreeSet<String> {
    state.pods().iter().map(|pod| pod.uid().to_owned()).collect()
}

/// The indexes that have pods.
fn indexes(state: &State) -> BTreeSet<String> {
    let of = |pod: &&testkit::object::Stored| {
        let index = pod.annotation("batch.kubernetes.io/job-completion-index");
        index.unwrap_or_default().to_owned()
    };
    state.pods().iter().map(of).collect()
}
