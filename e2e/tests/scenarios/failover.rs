//! The leader ends in the middle of a rollout, in every way a process can end.

use testkit::Scene;
use testkit::record::{Change, State};

use crate::fleet::{DEPLOYMENTS, Fleet};
use crate::rollouts::{IMAGES, rolled_out, web};
use crate::scenario_with_fleet;

/// Rolls ten pods out anew while `end` ends the leader, each time when so many are updated. Nothing may come of it.
async fn roll(scene: &Scene, times: &[i64], end: impl AsyncFn()) {
    rolled_out(scene, web(10)).await;
    let start = scene.set_image("web", IMAGES[1]).await;
    for updated in times {
        let progress = |state: &State| {
            state
                .deployment("web")
                .is_some_and(|web| web.count("updatedReplicas") >= *updated)
        };
        scene.until("some progress", progress).await;
        end().await;
    }
    scene.until_settled("web").await;
    scene.never_outside(start.version(), 13, 8);
    let made = scene.look(|state| {
        state
            .writes(testkit::Kind::POD)
            .filter(|write| write.change == Change::Added)
            .count()
    });
    assert_eq!(made, 20, "a surplus pod was made");
}

// proves: deployment/I-2, deployment/I-3, field/FR-DP-15
#[test]
fn a_rollout_survives_the_death_of_its_leader_twice() {
    scenario_with_fleet(DEPLOYMENTS, async |scene, fleet| {
        roll(scene, &[1, 5], async || fleet.kill_leader().await).await;
    });
}

// proves: deployment/I-2, deployment/I-3
#[test]
fn a_leader_that_is_asked_to_end_hands_over_at_once() {
    scenario_with_fleet(DEPLOYMENTS, async |scene, fleet| {
        roll(scene, &[1, 5], async || fleet.stop_leader().await).await;
    });
}

// proves: deployment/I-4, field/FR-XC-02
#[test]
fn a_leader_that_was_frozen_until_somebody_else_led_writes_nothing_more_and_ends() {
    scenario_with_fleet(DEPLOYMENTS, async |scene, fleet: &Fleet| {
        roll(scene, &[3], async || fleet.freeze_leader().await).await;
    });
}
