//! Template and replicas that change together: opt-in `deployment.never-grow-old` (field FR-DP-12).

use proptest::prelude::*;
use rstest::rstest;
use serde_json::Value;
use testkit::builders::{Deployment, Manifest as _, Templated as _, deployment};

use super::cluster::{Cluster, image};

fn web(replicas: u32) -> Deployment {
    deployment("web").replicas(replicas).image("a")
}

fn careful(replicas: u32) -> Deployment {
    web(replicas).opt_in("deployment.never-grow-old", "true")
}

fn size(cluster: &Cluster, of: &str) -> i64 {
    cluster.set(of)["spec"]["replicas"].as_i64().unwrap()
}

/// How far the ReplicaSet of image `a` grows while the Deployment gets image `b` and another size in one update.
fn old_pods_made(web: Deployment, replicas: u32) -> i64 {
    let mut cluster = Cluster::settled(web);
    let (mut size_before, mut made) = (size(&cluster, "a"), 0);
    cluster.edit(|web| web.replicas(replicas).image("b"));
    for _ in 0..40 {
        cluster.turn();
        let now = size(&cluster, "a");
        made += (now - size_before).max(0);
        size_before = now;
        cluster.settle();
    }
    assert_eq!(cluster.sizes(), format!("a 0, b {replicas}"));
    made
}

// proves: field/FR-DP-12, deployment/D-20
#[rstest]
#[case::by_default(web(1), 2)]
#[case::switched_off(web(1).opt_in("deployment.never-grow-old", "false"), 2)]
#[case::asked_for(careful(1), 0)]
#[case::asked_for_with_recreate(careful(1).recreate(), 0)]
#[case::by_default_with_recreate(web(1).recreate(), 2)]
fn old_pods_that_one_update_makes(#[case] web: Deployment, #[case] expected: i64) {
    assert_eq!(old_pods_made(web, 3), expected);
}

// proves: field/FR-DP-12, deployment/D-22
#[test]
fn in_mid_rollout_the_new_set_takes_what_old_ones_do_not() {
    let mut cluster = Cluster::settled(careful(10));
    cluster.broken = vec!["b"];
    cluster.edit(|web| web.image("b"));
    cluster.roll();
    assert_eq!(cluster.sizes(), "a 8, b 5");
    cluster.edit(|web| web.replicas(20));
    cluster.roll();
    assert_eq!(cluster.sizes(), "a 8, b 17");
    cluster.broken.clear();
    cluster.settle();
    cluster.roll();
    assert_eq!(cluster.sizes(), "a 0, b 20");
}

// proves: field/FR-DP-12, deployment/D-85
#[test]
fn a_paused_deployment_scales_what_runs() {
    let mut cluster = Cluster::settled(careful(1));
    cluster.edit(|web| web.set("/spec/paused", true).replicas(3).image("b"));
    cluster.roll();
    assert_eq!(cluster.sizes(), "a 3");
}

// proves: field/FR-DP-12
#[test]
fn a_settled_deployment_scales_as_ever() {
    let mut cluster = Cluster::settled(careful(1));
    cluster.edit(|web| web.replicas(3));
    assert_eq!(cluster.turn().written(), "scale a 1 -> 3");
}

// proves: field/FR-DP-12, field/FR-DP-07
#[test]
fn in_a_hold_old_pods_come_last() {
    let mut cluster = Cluster::settled(careful(1).opt_in("deployment.hold-at", "1"));
    cluster.edit(|web| web.replicas(3).image("b"));
    cluster.turn();
    assert_eq!(cluster.sizes(), "a 1");
    cluster.settle();
    cluster.turn();
    assert_eq!(cluster.sizes(), "a 1, b 1");
    cluster.roll();
    assert_eq!(cluster.sizes(), "a 2, b 1");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    // proves: field/FR-DP-12
    #[test]
    fn whatever_the_sizes_old_sets_only_shrink_and_the_rollout_ends(
        from in 0..8_u32,
        turns in 0..6_usize,
        to in prop::collection::vec(0..12_u32, 1..3),
        pace in 1..4_i64,
        (surge, unavailable) in (0..3_u32, 0..3_u32).prop_filter("a server takes not both 0", |bounds| *bounds != (0, 0)),
    ) {
        let mut cluster = Cluster::settled(careful(from).rolling(surge, unavailable));
        cluster.pace = Some(pace);
        cluster.edit(|web| web.image("b"));
        for replicas in &to {
            cluster.edit(|web| web.replicas(*replicas));
            for _ in 0..turns {
                let before = size(&cluster, "a");
                cluster.turn();
                prop_assert!(size(&cluster, "a") <= before, "{}", cluster.sizes());
                cluster.settle();
            }
        }
        cluster.roll();
        let wanted = Value::from(*to.last().unwrap());
        for set in &cluster.sets {
            let expected = if image(set) == "b" { wanted.clone() } else { 0.into() };
            prop_assert_eq!(&set["spec"]["replicas"], &expected);
        }
    }
}
