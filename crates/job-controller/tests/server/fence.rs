//! Who may write: two instances with one Lease. However the leader ends, no write of it reaches the server after its
//! successor's first one, and the Job under way ends as if nobody had changed.

use testkit::Scene;
use testkit::builders::job;
use testkit::pair::{Pair, no_write_since, silent_since};
use testkit::record::{Change, State};
use testkit::{Kind, pair};

use crate::{PROGRAM, TRACKING, counts, has_ended, uncounted};

/// Pods of the Job that is under way.
const PODS: usize = 300;
/// How many of them run at once.
const AT_ONCE: u32 = 60;

/// Runs a test with a pair of instances.
fn with_pair(body: impl AsyncFnOnce(&mut Scene, Pair)) {
    pair::with_pair(&PROGRAM, body);
}

/// A Job under way: some of its pods are counted, some run, some do not exist yet.
async fn under_way(scene: &Scene) {
    scene.kubelet().auto_exit(|_| Some(0));
    let all = u32::try_from(PODS).unwrap();
    scene.create(job("work").indexed(all).parallelism(AT_ONCE)).await;
    scene.until("some are counted", |state| counts(state)[3] >= 30).await;
}

/// Waits for the end and checks that each pod was made once, let go of once and counted once.
async fn ends_well(scene: &Scene) {
    scene.until("the end", has_ended).await;
    scene.until("none waits", |state| uncounted(state) == 0).await;
    let all = i64::try_from(PODS).unwrap();
    assert_eq!(scene.look(counts), [0, 0, 0, all, 0]);
    let of_pods = |state: &State| {
        let made = state.writes(Kind::POD).filter(|write| write.change == Change::Added);
        let released = state.writes(Kind::POD).filter(|write| {
            let had = write.before.as_ref().is_some_and(|pod| pod.has_finalizer(TRACKING));
            had && !write.object.has_finalizer(TRACKING)
        });
        (made.count(), released.count())
    };
    assert_eq!(scene.look(of_pods), (PODS, PODS), "pods that were made, and let go of");
}

// proves: job/J-40, job/J-46, field/FR-XC-02
#[test]
fn a_leader_that_was_frozen_past_its_lease_writes_nothing_when_it_thaws_and_ends() {
    with_pair(async |scene, Pair { mut leader, standby }| {
        under_way(scene).await;
        leader.controller.freeze();
        let left = scene.look(|state| counts(state)[3]);
        assert!(left < i64::try_from(PODS).unwrap(), "the Job is under way");
        let took_over = standby.taken_over(scene).await;
        scene
            .until("the successor has counted on", |state| counts(state)[3] > left)
            .await;
        leader.controller.thaw();
        let status = leader.controller.until_ended().await;
        assert_eq!(status.code(), Some(1), "a process that lost its Lease ends");
        assert_eq!(leader.controller.says("lost the lease"), 1);
        ends_well(scene).await;
        no_write_since(&leader.proxy, took_over);
    });
}

// proves: job/J-40, job/J-46
#[test]
fn a_killed_leader_is_followed_when_its_lease_expires() {
    with_pair(async |scene, Pair { leader, standby }| {
        under_way(scene).await;
        leader.controller.kill();
        let took_over = standby.taken_over(scene).await;
        ends_well(scene).await;
        silent_since(&leader.proxy, took_over);
    });
}
