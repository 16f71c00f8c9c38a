//! Every way in which a leader can end.

use std::time::Duration;

use testkit::api::LEASE;
use testkit::builders::{Templated as _, deployment};
use testkit::pair::{Pair, no_write_since, silent_since};
use testkit::proxy::{Exchange, Fault, Which};
use workload_core::id::Kind;
use workload_core::time::{Clock as _, SystemClock};

use super::{HANDED_OVER, PODS, SURGE, ends_well, pods_made, rolling, seconds, with_pair};

// proves: deployment/I-2, deployment/I-4
#[test]
fn a_leader_that_is_asked_to_end_hands_over_and_writes_nothing_more() {
    with_pair(async |scene, Pair { leader, standby }| {
        let start = rolling(scene, 5).await;
        let asked = SystemClock.instant();
        assert!(leader.controller.stop().await.success());
        let took_over = standby.taken_over(scene).await;
        eprintln!("SIGTERM: taken over after {:.2} s", seconds(asked, took_over));
        let is_resignation = |write: &Exchange| write.json()["spec"]["holderIdentity"] == "";
        let of_lease = Which::writes().of(LEASE);
        let resignation = leader
            .proxy
            .until("giving the Lease back", &of_lease, is_resignation)
            .await;
        let given_back = resignation.answered.expect("an answer");
        assert!(
            took_over < given_back + HANDED_OVER,
            "the successor waited for the Lease to expire"
        );
        ends_well(scene, start).await;
        silent_since(&leader.proxy, took_over);
    });
}

// proves: deployment/I-2, deployment/I-3, deployment/I-4
#[test]
fn a_killed_leader_is_followed_when_its_lease_expires() {
    with_pair(async |scene, Pair { leader, standby }| {
        let start = rolling(scene, 5).await;
        let killed = SystemClock.instant();
        leader.controller.kill();
        let took_over = standby.taken_over(scene).await;
        eprintln!("SIGKILL: taken over after {:.2} s", seconds(killed, took_over));
        ends_well(scene, start).await;
        silent_since(&leader.proxy, took_over);
    });
}

// proves: deployment/I-4, field/FR-XC-02
#[test]
fn a_leader_that_was_frozen_past_its_lease_writes_nothing_when_it_thaws_and_ends() {
    with_pair(async |scene, Pair { mut leader, standby }| {
        let start = rolling(scene, 5).await;
        leader.controller.freeze();
        let took_over = standby.taken_over(scene).await;
        scene
            .until("the successor has rolled on", |state| {
                state.deployment("web").unwrap().count("updatedReplicas") >= 10
            })
            .await;
        leader.controller.thaw();
        let status = leader.controller.until_ended().await;
        assert_eq!(status.code(), Some(1), "a process that lost its Lease ends");
        assert_eq!(leader.controller.says("lost the lease"), 1);
        ends_well(scene, start).await;
        no_write_since(&leader.proxy, took_over);
    });
}

// proves: deployment/I-4, field/FR-XC-02
#[test]
fn a_leader_that_cannot_reach_the_server_ends_before_another_leads() {
    with_pair(async |scene, Pair { mut leader, standby }| {
        let start = rolling(scene, 5).await;
        leader.proxy.cut_off();
        let took_over = standby.taken_over(scene).await;
        let status = leader.controller.ended().expect("it has ended before the other led");
        leader.proxy.reconnect();
        assert_eq!(status.code(), Some(1));
        assert_eq!(leader.controller.says("lost the lease"), 1);
        ends_well(scene, start).await;
        silent_since(&leader.proxy, took_over);
    });
}

// proves: deployment/I-4
#[test]
fn writes_of_a_leader_that_are_stuck_on_their_way_are_given_up_before_another_leads() {
    with_pair(async |scene, Pair { mut leader, standby }| {
        scene
            .settle(deployment("web").replicas(PODS).rolling(SURGE, SURGE))
            .await;
        // No pod of the rollout gets through, so that it is not over before the rest is stuck too.
        let pods = leader.proxy.strike(Which::creates().of(Kind::POD), Fault::Hold);
        let start = scene.set_image("web", "b").await.version();
        pods.struck(1).await;
        // Whatever the leader sends from now on hangs in between, and would reach the server as soon as it can.
        let rest = leader.proxy.strike(Which::all(), Fault::Hold);
        let took_over = standby.taken_over(scene).await;
        let on_its_way = |write: &Exchange| write.passed_on.is_none() && write.asked.plural != LEASE.plural;
        assert!(leader.proxy.seen(&Which::writes()).iter().any(on_its_way));
        pods.lift();
        rest.lift();
        assert_eq!(leader.controller.until_ended().await.code(), Some(1));
        ends_well(scene, start).await;
        no_write_since(&leader.proxy, took_over);
    });
}

// proves: deployment/I-3, field/FR-DP-15
#[test]
fn a_successor_whose_cache_lags_makes_no_pod_that_its_predecessor_has_made() {
    with_pair(async |scene, Pair { leader, standby }| {
        // The stream that the standby has open now stops at its next line; what it opens later does not.
        let lagging = Which::watches().of(Kind::POD);
        let stopped = standby.proxy.strike_times(1, lagging, Fault::Freeze);
        scene.settle(deployment("web").replicas(PODS)).await;
        stopped.struck(1).await;
        leader.controller.kill();
        let took_over = standby.taken_over(scene).await;
        scene.quiet_for(Duration::from_secs(3)).await;
        assert_eq!(pods_made(scene), PODS as usize);
        silent_since(&leader.proxy, took_over);
    });
}
