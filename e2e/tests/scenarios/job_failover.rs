//! The leader ends while a Job runs many pods, in every way a process can end: each pod is made once and counted once.

use testkit::builders::Manifest as _;
use testkit::record::{Change, State};
use testkit::{Kind, Scene};

use crate::fleet::{Fleet, JOBS};
use crate::jobs::{counts, ended, running};
use crate::scenario_with_fleet;

/// How many pods have to succeed.
const PODS: u32 = 60;

/// Runs a Job to its end and lets `end` end the leader, each time when so many pods are counted.
async fn run(scene: &Scene, times: &[i64], end: impl AsyncFn()) {
    let work = running("work", "sleep 2").completions(PODS).parallelism(12);
    scene.create(work.set("/spec/backoffLimit", 0)).await;
    for counted in times {
        let progress = |state: &State| state.job("work").unwrap().count("succeeded") >= *counted;
        scene.until("some progress", progress).await;
        end().await;
    }
    ended(scene).await;
    assert_eq!(scene.look(counts), [i64::from(PODS), 0]);
    let made = scene.look(|state| {
        let is_birth = |write: &&testkit::record::Version| write.change == Change::Added;
        state.writes(Kind::POD).filter(is_birth).count()
    });
    assert_eq!(made, usize::try_from(PODS).unwrap(), "a surplus pod was made");
}

// proves: job/J-40, job/J-44, job/J-46, field/FR-XC-02
#[test]
fn a_job_survives_the_death_of_its_leader_twice() {
    scenario_with_fleet(JOBS, async |scene, fleet| {
        run(scene, &[5, 30], async || fleet.kill_leader().await).await;
    });
}

// proves: job/J-40, job/J-46
#[test]
fn a_leader_of_jobs_that_is_asked_to_end_hands_over_at_once() {
    scenario_with_fleet(JOBS, async |scene, fleet| {
        run(scene, &[5, 30], async || fleet.stop_leader().await).await;
    });
}

// proves: job/J-1, field/FR-XC-02
#[test]
fn a_leader_of_jobs_that_was_frozen_writes_nothing_more_and_ends() {
    scenario_with_fleet(JOBS, async |scene, fleet: &Fleet| {
        run(scene, &[5], async || fleet.freeze_leader().await).await;
    });
}
