//! What holds in every world (deployment D-31…D-36, K-10, W-25).

use proptest::prelude::*;
use serde_json::{Value, json};
use testkit::builders::{Templated as _, deployment};

use super::cluster::{Cluster, image};
use super::set;

/// The bounds of a rolling update that a server accepts, and what they come to for so many replicas.
fn bounds() -> impl Strategy<Value = (Value, Value)> {
    let bound = prop_oneof![
        (0..4_u32).prop_map(Value::from),
        (0..=100_u32).prop_map(|part| format!("{part}%").into())
    ];
    let both_zero = |bound: &Value| *bound == json!(0) || *bound == json!("0%");
    (bound.clone(), bound).prop_filter("one of them must allow something", move |(surge, unavailable)| {
        !(both_zero(surge) && both_zero(unavailable))
    })
}

fn resolved(bound: &Value, replicas: i64, up: bool) -> i64 {
    match bound.as_str() {
        None => bound.as_i64().unwrap(),
        Some(text) => {
            let parts = text.trim_end_matches('%').parse::<i64>().unwrap() * replicas;
            if up { (parts + 99) / 100 } else { parts / 100 }
        }
    }
}

/// A Deployment in any state of a rollout.
#[derive(Clone, Debug)]
struct World {
    cluster: Cluster,
    replicas: i64,
    surge: i64,
    unavailable: i64,
}

impl World {
    fn wanted(&self) -> i64 {
        let sizes = self
            .cluster
            .sets
            .iter()
            .map(|set| set["spec"]["replicas"].as_i64().unwrap());
        sizes.sum()
    }

    /// Pods that stay available once every set has its size: unavailable ones go first (C-51).
    fn lasting(&self) -> i64 {
        let lasting = self.cluster.sets.iter().map(|set| {
            let available = set["status"]["availableReplicas"].as_i64().unwrap_or(0);
            available.min(set["spec"]["replicas"].as_i64().unwrap())
        });
        lasting.sum()
    }

    fn must_stay(&self) -> i64 {
        self.replicas - self.unavailable.min(self.replicas)
    }
}

/// Up to three old sets and perhaps one with the template, of any size and availability; no scaling event.
fn worlds() -> impl Strategy<Value = World> {
    let sizes = prop::collection::vec((0..12_u32, 0..12_u32), 1..4);
    let new = prop::option::of((0..12_u32, 0..12_u32));
    (0..12_u32, bounds(), sizes, new).prop_map(|(replicas, (surge, unavailable), old, new)| {
        let web = deployment("web")
            .replicas(replicas)
            .rolling(surge.clone(), unavailable.clone())
            .image("n");
        let of_size = |image: &str, (size, available): (u32, u32)| set(image, size, available.min(size));
        let mut cluster = Cluster::of(web);
        for (image, size) in ["a", "b", "c"].into_iter().zip(old) {
            cluster = cluster.with(of_size(image, size));
        }
        cluster = new
            .into_iter()
            .fold(cluster, |cluster, size| cluster.with(of_size("n", size)));
        let replicas = i64::from(replicas);
        let (surge, unavailable) = (
            resolved(&surge, replicas, true),
            resolved(&unavailable, replicas, false),
        );
        World {
            cluster,
            replicas,
            surge,
            unavailable: if surge == 0 && unavailable == 0 { 1 } else { unavailable },
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // proves: deployment/D-31, deployment/K-10
    #[test]
    fn sets_never_want_more_than_surge_allows_because_of_us(mut world in worlds()) {
        for _ in 0..6 {
            let before = world.wanted();
            world.cluster.turn();
            prop_assert!(world.wanted() <= before.max(world.replicas + world.surge));
            world.cluster.settle();
        }
    }

    // proves: deployment/D-33, deployment/D-34, deployment/D-35, deployment/K-10
    #[test]
    fn availability_is_never_lowered_below_its_bound_even_if_status_lags(mut world in worlds()) {
        let floor = world.must_stay().min(world.lasting());
        for _ in 0..4 {
            world.cluster.turn();
            prop_assert!(world.lasting() >= floor, "{} < {floor}: {}", world.lasting(), world.cluster.sizes());
        }
    }

    // proves: deployment/W-25
    #[test]
    fn a_plan_that_was_carried_out_is_not_made_again(mut world in worlds()) {
        for _ in 0..4 {
            world.cluster.turn();
        }
        let turn = world.cluster.turn();
        prop_assert_eq!(turn.text(), "");
        prop_assert!(turn.conclusion.status.is_none());
    }

    // proves: deployment/D-5
    #[test]
    fn the_order_in_which_a_cache_lists_sets_does_not_matter(world in worlds(), shift in 0..4_usize) {
        let mut shuffled = world.cluster.clone();
        let places = shuffled.sets.len();
        shuffled.sets.rotate_left(shift % places);
        let plan = |cluster: &Cluster| format!("{:?}", cluster.clone().turn().plan);
        prop_assert_eq!(plan(&shuffled), plan(&world.cluster));
    }

    // proves: deployment/D-38, deployment/D-72
    #[test]
    fn every_rollout_ends_with_the_new_template_alone(mut world in worlds(), pace in 1..4_i64) {
        world.cluster.pace = Some(pace);
        world.cluster.roll();
        for set in &world.cluster.sets {
            let expected = if image(set) == "n" { world.replicas } else { 0 };
            prop_assert_eq!(set["spec"]["replicas"].as_i64(), Some(expected));
        }
        prop_assert_eq!(&world.cluster.condition("Progressing").unwrap()["reason"], "NewReplicaSetAvailable");
    }

    // proves: deployment/D-20, deployment/D-22, deployment/D-23, deployment/L-1
    #[test]
    fn scaling_in_mid_rollout_keeps_the_bounds_and_lets_the_rollout_end(
        mut world in worlds(),
        before in 0..4_usize,
        replicas in 0..12_u32,
        pace in 1..4_i64,
    ) {
        world.cluster.pace = Some(pace);
        for _ in 0..before {
            world.cluster.turn();
            world.cluster.settle();
        }
        let former = world.wanted();
        world.cluster.edit(|web| web.replicas(replicas));
        let bounds = world.cluster.deployment["spec"]["strategy"]["rollingUpdate"].clone();
        let surge = resolved(&bounds["maxSurge"], i64::from(replicas), true);
        world.cluster.turn();
        prop_assert!(world.wanted() <= former.max(i64::from(replicas) + surge));
        world.cluster.roll();
        for set in &world.cluster.sets {
            let expected = if image(set) == "n" { replicas } else { 0 };
            prop_assert_eq!(&set["spec"]["replicas"], &json!(expected));
        }
    }

    // proves: deployment/A-4
    #[test]
    fn reported_counts_are_such_that_a_server_takes_them(mut world in worlds()) {
        for _ in 0..4 {
            world.cluster.turn();
            let count = |field: &str| world.cluster.deployment["status"][field].as_i64().unwrap_or(0);
            prop_assert!(count("updatedReplicas") <= count("replicas"));
            prop_assert!(count("readyReplicas") <= count("replicas"));
            prop_assert!(count("availableReplicas") <= count("readyReplicas"));
            prop_assert!(count("unavailableReplicas") >= 0);
            world.cluster.settle();
        }
    }
}
