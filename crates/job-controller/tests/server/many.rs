//! Many Jobs, and a Job of many pods: how many requests they take, and that none waits for the others.

use std::time::Duration;

use futures::{StreamExt as _, stream};
use testkit::Kind;
use testkit::builders::{Manifest as _, job};
use testkit::record::{Change, State, Version};

use crate::{TRACKING, has_ended, scenario};

/// How many Jobs.
const JOBS: usize = 250;
/// How many of them are created at once.
const AT_ONCE: usize = 16;

/// How many recorded writes of this kind are such ones.
fn count(state: &State, kind: Kind, counts: impl Fn(&Version) -> bool) -> usize {
    state.writes(kind).filter(|write| counts(write)).count()
}

fn creates(state: &State) -> usize {
    count(state, Kind::POD, |write| write.change == Change::Added)
}

fn releases(state: &State) -> usize {
    count(state, Kind::POD, |write| {
        let had = write.before.as_ref().is_some_and(|pod| pod.has_finalizer(TRACKING));
        had && !write.object.has_finalizer(TRACKING)
    })
}

fn statuses(state: &State) -> usize {
    count(state, Kind::JOB, |write| {
        write.change == Change::Modified && write.changed("/status")
    })
}

fn complete(state: &State) -> usize {
    let is_complete = |job: &&testkit::object::Stored| job.says("Complete") == "True CompletionsReached";
    state.all(Kind::JOB).into_iter().filter(is_complete).count()
}

// proves: field/FR-JB-04, field/FR-JB-14, job/J-232
#[test]
fn jobs_of_one_pod_do_not_wait_for_one_another_and_take_few_requests() {
    scenario(async |scene| {
        scene.kubelet().auto_exit(|_| Some(0));
        let create = async |at| {
            let work = job(&format!("work-{at}")).json();
            scene.api().create(Kind::JOB, &work).await.unwrap();
        };
        stream::iter(0..JOBS).for_each_concurrent(AT_ONCE, create).await;
        scene
            .find_within(Duration::from_mins(5), "all are complete", |state| {
                (complete(state) == JOBS).then_some(())
            })
            .await;
        assert_eq!(scene.look(creates), JOBS);
        assert_eq!(scene.look(releases), JOBS);
        // One after the create unless the pod has ended by then, and two at the end.
        let statuses = scene.look(statuses);
        assert!((2 * JOBS..=3 * JOBS).contains(&statuses), "{statuses}");
    });
}

// proves: field/FR-JB-04, job/J-45, job/J-232
#[test]
fn a_job_of_many_indexes_is_counted_in_few_writes() {
    scenario(async |scene| {
        scene.kubelet().auto_exit(|_| Some(0));
        scene.create(job("work").indexed(200).parallelism(200)).await;
        scene
            .find_within(Duration::from_mins(5), "the end", |state| {
                has_ended(state).then_some(())
            })
            .await;
        let done = |state: &State| state.job("work").unwrap().text("/status/completedIndexes").to_owned();
        assert_eq!(scene.look(done), "0-199");
        assert_eq!((scene.look(creates), scene.look(releases)), (200, 200));
        let statuses = scene.look(statuses);
        assert!(statuses <= 60, "{statuses}");
    });
}
