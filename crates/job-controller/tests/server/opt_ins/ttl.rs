//! Opt-ins `job.ttl-failed` and `job.ttl-complete`.

use std::time::Duration;

use testkit::Scene;
use testkit::builders::{Job, Manifest as _, job};

use crate::{has_ended, ours_only, scenario};

/// Longer than an immediate deletion takes.
const WHILE: Duration = Duration::from_secs(5);

async fn run(scene: &Scene, work: Job, exit_code: u8) {
    scene.kubelet().auto_exit(move |_| Some(exit_code));
    scene.create(work.backoff_limit(0)).await;
}

async fn goes(scene: &Scene) {
    scene
        .until("all is gone", |state| {
            state.job("work").is_none() && state.pods().is_empty()
        })
        .await;
}

async fn stays(scene: &Scene) {
    scene.until("the end", has_ended).await;
    scene
        .holds_for(WHILE, "it stays", |state| {
            state.job("work").is_some_and(|work| !work.is_terminating())
        })
        .await;
}

// proves: job/L-8, field/FR-TT-01
#[test]
fn each_outcome_has_a_time_of_its_own_if_so_wished() {
    for (opt_in, exit_code) in [("job.ttl-complete", 0), ("job.ttl-failed", 1)] {
        ours_only(async |scene| {
            run(scene, job("work").ttl_seconds(3600).opt_in(opt_in, "0"), exit_code).await;
            goes(scene).await;
        });
    }
}

// proves: job/L-8
#[test]
fn the_time_of_one_outcome_means_nothing_for_the_other() {
    for (opt_in, exit_code) in [("job.ttl-complete", 1), ("job.ttl-failed", 0)] {
        ours_only(async |scene| {
            run(scene, job("work").opt_in(opt_in, "0"), exit_code).await;
            stays(scene).await;
        });
    }
}

// proves: job/L-8
#[test]
fn a_longer_time_of_an_outcome_keeps_the_job() {
    ours_only(async |scene| {
        run(scene, job("work").ttl_seconds(0).opt_in("job.ttl-failed", "3600"), 1).await;
        stays(scene).await;
    });
}

// proves: job/TTL-1, job/TTL-3, job/L-8
#[test]
fn both_outcomes_have_the_same_time_by_default() {
    for exit_code in [0, 1] {
        scenario(async |scene| {
            run(scene, job("work").ttl_seconds(0), exit_code).await;
            goes(scene).await;
        });
        scenario(async |scene| {
            run(scene, job("work"), exit_code).await;
            stays(scene).await;
        });
    }
}
