//! Which pods go first (deployment C-50…C-53), through the whole decision.

use deployment_controller::replicaset::metrics::{DeletionAges, ratios};
use rstest::rstest;
use testkit::builders::{Manifest as _, Pod, ReplicaSet, Templated as _, deployment, replica_set};
use workload_core::metrics::Metrics;

use super::{World, at, noon, orphan, owned, ready, web};

const COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// One of `doomed` and `spared` has to go.
fn check(doomed: Pod, spared: Pod) {
    for pods in [[doomed.clone(), spared.clone()], [spared, doomed]] {
        assert_eq!(World::of(web(1), pods).plan(), "delete doomed");
    }
}

fn doomed() -> Pod {
    owned("doomed")
}

fn spared() -> Pod {
    owned("spared")
}

fn doomed_since(time: &str) -> Pod {
    ready("doomed", &format!("2026-01-02T{time}Z")).uid("b")
}

fn spared_since(time: &str) -> Pod {
    ready("spared", &format!("2026-01-02T{time}Z")).uid("a")
}

// proves: deployment/C-51, field/FR-DP-03
#[rstest]
#[case::not_scheduled(doomed(), spared().on("n").phase("Pending"))]
#[case::pending(doomed().phase("Pending"), spared().phase("Unknown"))]
#[case::unknown(doomed().phase("Unknown"), spared())]
#[case::not_ready(doomed(), spared_since("11:59:59"))]
#[case::cheaper(doomed_since("10:00:00").annotation(COST, "-1"), spared_since("11:59:00"))]
#[case::ready_for_less_time(doomed_since("11:55:00"), spared_since("11:00:00"))]
#[case::more_restarts(doomed_since("11:00:00").restarts(1), spared_since("11:00:00"))]
#[case::younger(doomed().created(at("2026-01-02T11:55:00Z")), spared().created(at("2026-01-02T11:00:00Z")))]
fn of_two_pods_the_less_useful_one_goes(#[case] doomed: Pod, #[case] spared: Pod) {
    check(doomed, spared);
}

// proves: deployment/T-20, deployment/C-53
#[rstest]
#[case::cost_decides_first(("1000", 5), ("100", 0), "b")]
#[case::equal_cost(("7", 5), ("7", 0), "a")]
#[case::unreadable_cost(("+9", 5), ("008", 0), "a")]
fn deletion_cost_comes_before_restarts(#[case] a: (&str, u32), #[case] b: (&str, u32), #[case] victim: &str) {
    let pod = |name, (cost, restarts)| {
        ready(name, "2026-01-02T11:00:00Z")
            .annotation(COST, cost)
            .restarts(restarts)
    };
    let world = World::of(web(1), [pod("a", a), pod("b", b)]);
    assert_eq!(world.plan(), format!("delete {victim}"));
}

// proves: deployment/T-20, deployment/C-52
#[test]
fn ages_within_a_factor_of_two_are_decided_by_uid_whatever_the_restarts() {
    let hour = ready("hour", "2026-01-02T11:00:00Z").uid("a");
    let forty_minutes = ready("forty-minutes", "2026-01-02T11:20:00Z").uid("b").restarts(9);
    let five_minutes = ready("five-minutes", "2026-01-02T11:55:00Z").uid("c");
    assert_eq!(World::of(web(1), [hour.clone(), forty_minutes]).plan(), "delete hour");
    assert_eq!(World::of(web(1), [hour, five_minutes]).plan(), "delete five-minutes");
}

/// A ReplicaSet of a Deployment, selecting the pods of `web` that carry this label.
fn sibling(name: &str, key: &str, value: &str) -> ReplicaSet {
    stand_alone(name, key, value).owned_by(&deployment("shop").uid("uid-of-shop").json())
}

fn stand_alone(name: &str, key: &str, value: &str) -> ReplicaSet {
    let set = replica_set(name)
        .uid(&format!("uid-of-{name}"))
        .selected_label(key, value);
    set.set("/spec/selector/matchLabels/app", "web")
}

/// Two pods of `set`, alike but for restarts, on a node each: `crowded` beside a pod that only `old` selects, `alone`
/// beside pods of `old` that are not active.
fn two_nodes(set: ReplicaSet) -> World {
    let own = |name: &str, node: &str| ready(name, "2026-01-02T11:00:00Z").label("set", "new").on(node);
    let other = |name: &str, node: &str| orphan(name).label("set", "old").on(node);
    let pods = [
        own("crowded", "n1"),
        own("alone", "n2").restarts(1).label("pinned", "yes"),
        other("neighbour", "n1"),
        other("finished", "n2").phase("Succeeded"),
        other("leaving", "n2").terminating(noon()),
    ];
    World::of(set, pods)
}

// proves: deployment/C-50
#[test]
fn pods_on_nodes_crowded_with_pods_of_sibling_sets_go_first() {
    let world = two_nodes(sibling("web", "set", "new"));
    assert_eq!(world.plan(), "delete alone", "no sibling selects the neighbour");
    let world = world.beside(sibling("old", "set", "old"));
    assert_eq!(world.plan(), "delete crowded");
    let world = world.beside(sibling("overlapping", "pinned", "yes"));
    assert_eq!(
        world.plan(),
        "delete crowded",
        "a pod that two siblings select counts once"
    );
}

// proves: deployment/C-50
#[test]
fn a_set_without_a_controller_does_not_care_for_crowds() {
    let world = two_nodes(stand_alone("web", "set", "new")).beside(stand_alone("old", "set", "old"));
    assert_eq!(world.plan(), "delete alone");
    let [one, two] = ["one", "two"].map(|name| ready(name, "2026-01-02T11:00:00Z").on("n1"));
    let lonely = ready("lonely", "2026-01-02T11:00:00Z").on("n2").restarts(1);
    assert_eq!(World::of(web(2), [one, two, lonely]).plan(), "delete lonely");
}

// proves: deployment/C-34
#[test]
fn the_histogram_of_ages_has_upstreams_name_and_buckets() {
    let metrics = Metrics::default();
    let _ages = metrics.register(DeletionAges::register);
    let text = metrics.text().unwrap();
    let buckets: Vec<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix("replicaset_controller_sorting_deletion_age_ratio_bucket{le=\""))
        .filter_map(|rest| rest.split_once('"'))
        .map(|(bound, _)| bound)
        .collect();
    assert_eq!(buckets, ["0.25", "0.5", "1", "2", "4", "8", "+Inf"]);
}

// proves: deployment/C-34
#[test]
fn ages_of_ready_victims_are_compared_with_that_of_the_youngest_ready_pod() {
    let aged = |name: &str, since: &str| ready(name, since).created(at(since));
    let pods = [
        aged("old", "2026-01-02T10:00:00Z").annotation(COST, "-1"),
        aged("young", "2026-01-02T11:00:00Z"),
        owned("unready").created(at("2026-01-02T11:59:00Z")),
        aged("older", "2026-01-02T09:00:00Z"),
    ];
    let ratios_of = |replicas| {
        let turn = World::of(web(replicas), pods.clone()).turn();
        ratios(&turn.seen, &turn.plan, turn.now)
    };
    assert_eq!(ratios_of(2), [2.0], "of two victims one is ready");
    assert!(ratios_of(0).is_empty(), "nothing is chosen where all go");
    assert!(ratios_of(4).is_empty());
}
