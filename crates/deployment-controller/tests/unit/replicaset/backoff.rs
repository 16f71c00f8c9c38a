//! Opt-in failed-pod-backoff: pods that fail at once are not replaced without pause (deployment L-7, field FR-DP-01).

use std::time::Duration;

use proptest::prelude::*;
use rstest::rstest;
use testkit::builders::{Deployment, Manifest as _, Pod, deployment};
use workload_core::plan::{Severity, Stage, Wake};
use workload_core::time::{self, Timestamp, to_api};

use super::{World, at, owned, web};

fn owner() -> Deployment {
    deployment("web").rolling(1, 0).uid("uid-of-owner")
}

fn backing_off(value: &str) -> Deployment {
    owner().opt_in("deployment.failed-pod-backoff", value)
}

/// `12:00:SS`.
fn second(second: u64) -> Timestamp {
    time::plus(at("2026-01-02T12:00:00Z"), Duration::from_secs(second))
}

fn made(name: &str, created: u64) -> Pod {
    owned(name).created(second(created))
}

/// A pod that its node refused.
fn refused(name: &str, created: u64, failed: u64) -> Pod {
    made(name, created)
        .phase("Failed")
        .set("/status/reason", "OutOfcpu")
        .set("/status/startTime", to_api(second(failed)))
}

fn plan(world: World, at: &str) -> String {
    world.at(&format!("2026-01-02T12:{at}Z")).plan()
}

// proves: deployment/L-7, field/FR-DP-01
#[rstest]
#[case::nothing_failed(&[], "00:00", "create 3")]
#[case::failed_late(&[refused("a", 0, 31)], "00:31", "create 3")]
#[case::at_once(&[refused("a", 0, 1)], "00:01", "nothing")]
#[case::not_quite(&[refused("a", 0, 1)], "00:11.9", "nothing")]
#[case::the_wait_is_over(&[refused("a", 0, 1)], "00:12", "create 1")]
#[case::made_together(&[refused("a", 0, 1), refused("b", 0, 2), refused("c", 1, 2)], "00:13", "create 1")]
#[case::twice(&[refused("a", 0, 1), refused("b", 12, 13)], "00:33", "nothing")]
#[case::twice_and_waited(&[refused("a", 0, 1), refused("b", 12, 13)], "00:34", "create 1")]
#[case::longest_wait(&[refused("a", 0, 1), refused("b", 12, 13), refused("c", 34, 35), refused("d", 76, 77)], "02:18", "create 1")]
#[case::longest_wait_not_over(&[refused("a", 0, 1), refused("b", 12, 13), refused("c", 34, 35), refused("d", 76, 77)], "02:17", "nothing")]
#[case::one_is_being_tried(&[refused("a", 0, 1), made("b", 12)], "00:42", "nothing")]
#[case::one_has_lived_long_enough(&[refused("a", 0, 1), made("b", 12)], "00:43", "create 1")]
#[case::older_ones_still_start(&[refused("a", 2, 3), made("b", 2)], "00:14", "create 1")]
#[case::one_got_ready(&[refused("a", 0, 1), made("b", 12).ready_since(second(15))], "00:15", "create 2")]
#[case::one_failed_after_that(&[refused("a", 0, 1), made("b", 12).ready_since(second(15)), refused("c", 15, 16)], "00:26", "nothing")]
#[case::a_failure_that_is_not_forgotten(&[refused("a", 0, 1)], "10:00", "create 1")]
#[case::a_failure_that_says_nothing_about_now(&[refused("a", 0, 1)], "10:01", "create 3")]
#[case::a_clock_that_is_ahead(&[refused("a", 60, 61)], "00:01", "nothing")]
#[case::a_clock_that_is_wrong(&[refused("a", 61, 62)], "00:01", "create 3")]
#[case::counted_anew_after_that(&[refused("a", 0, 1), made("b", 12).ready_since(second(15)), refused("c", 15, 16)], "00:27", "create 1")]
fn after_failures_the_next_pod_waits(#[case] pods: &[Pod], #[case] at: &str, #[case] expected: &str) {
    let world = || World::of(web(3), pods.to_vec());
    assert_eq!(plan(world().under(backing_off("10s,1m")), at), expected);
    let missing = 3 - pods
        .iter()
        .filter(|pod| !(*pod).clone().json().to_string().contains("Failed"))
        .count();
    for unset in [owner(), backing_off("soon")] {
        assert_eq!(
            plan(world().under(unset), at),
            format!("create {missing}"),
            "as upstream"
        );
    }
}

// proves: deployment/L-7
#[test]
fn deletes_do_not_wait() {
    let pods = [refused("a", 0, 1), made("b", 0), made("c", 1).phase("Pending")];
    assert_eq!(
        plan(World::of(web(1), pods).under(backing_off("10s")), "00:02"),
        "delete c"
    );
}

// proves: deployment/L-7
#[test]
fn a_wait_is_explained_and_ends_by_itself() {
    let world = World::of(web(2), [refused("a", 0, 1), refused("b", 12, 13)]).under(backing_off("10s"));
    let report = world.at("2026-01-02T12:00:14Z").report();
    assert_eq!(report.wake, Wake::After(Duration::from_secs(20)));
    let held_up = report.held_up.unwrap();
    let [explanation] = &held_up[..] else {
        panic!("{held_up:?}")
    };
    assert_eq!(
        (explanation.cause, explanation.note.severity),
        ("FailedPodBackoff", Severity::Warning)
    );
    assert_eq!(
        explanation.note.message,
        "pods failed within 30 s of their creation, 2 times in a row; next try at 2026-01-02T12:00:34Z"
    );
    let enough = World::of(web(1), [refused("a", 0, 1), made("b", 12)]).under(backing_off("10s"));
    let report = enough.at("2026-01-02T12:00:14Z").report();
    assert_eq!((report.wake, report.held_up), (Wake::OnChange, Some(Vec::new())));
}

/// How many pods are made within a minute if each is refused in the second in which it is made.
fn made_in_a_minute(replicas: u32, deployment: &Deployment) -> usize {
    let mut pods: Vec<Pod> = Vec::new();
    for tenth in 0..600_u64 {
        let now = time::plus(second(0), Duration::from_millis(tenth * 100));
        let mut world = World::of(web(replicas), pods.clone()).under(deployment.clone());
        world.now = now;
        for stage in world.turn().plan.stages {
            let Stage::Create(creates) = stage else { continue };
            let from = pods.len();
            pods.extend((0..creates.len()).map(|n| refused(&format!("p{}", from + n), tenth / 10, tenth / 10)));
        }
        if pods.len() > 100 {
            break;
        }
    }
    pods.len()
}

// proves: field/FR-DP-01, deployment/L-7
#[test]
fn of_a_pod_that_is_always_refused_a_minute_sees_few() {
    assert!(made_in_a_minute(1, &owner()) > 100, "upstream knows no bound");
    assert_eq!(made_in_a_minute(1, &backing_off("1s")), 6);
    assert_eq!(
        made_in_a_minute(10, &backing_off("1s")),
        15,
        "ten at first, then one at a time"
    );
}

proptest! {
    // proves: deployment/L-7
    #[test]
    fn a_backoff_only_ever_makes_fewer_pods(
        pods in prop::collection::vec((0..60_u64, 0..40_u64, 0..4_u8), 0..6),
        replicas in 0..8_u32,
        now in 0..120_u64,
    ) {
        let pod = |(n, (created, after, state)): (usize, (u64, u64, u8))| {
            let name = format!("p{n}");
            match state {
                0 => made(&name, created),
                1 => made(&name, created).ready_since(second(created + after)),
                _ => refused(&name, created, created + after),
            }
        };
        let counts = |deployment| {
            let mut world = World::of(web(replicas), pods.iter().copied().enumerate().map(pod)).under(deployment);
            world.now = second(now);
            let turn = world.turn();
            let (mut creates, mut deletes) = (0, 0);
            for stage in &turn.plan.stages {
                match stage {
                    Stage::Create(all) => creates += all.len(),
                    Stage::Delete(all) => deletes += all.len(),
                    Stage::Claim(_)
                | Stage::Status(_)
                | Stage::Patch(_)
                | Stage::PatchEach(_)
                | Stage::Depart(_)
                | Stage::Evict(_)
                | Stage::DeleteForeground(_)
                | Stage::Read(_) => {}
                }
            }
            let wakes = matches!(turn.report(&workload_core::outcome::Outcome::default()).wake, Wake::After(_));
            (creates, deletes, wakes)
        };
        let (all, surplus, _) = counts(owner());
        let (few, same, wakes) = counts(backing_off("10s"));
        prop_assert_eq!(surplus, same);
        prop_assert!(few == all || few <= 1);
        prop_assert!(few > 0 || all == 0 || wakes, "what waits is woken");
    }
}
