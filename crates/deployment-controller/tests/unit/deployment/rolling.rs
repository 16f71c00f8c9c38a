//! One step of a rolling update (deployment D-30…D-37).

use rstest::rstest;
use serde_json::Value;
use testkit::builders::{Templated as _, deployment};

use super::cluster::Cluster;
use super::set;

/// A size and how many pods are available.
type Size = (u32, u32);

/// `replicas` with these bounds; old sets `a`, `b`, … and the new one `n`, which has the template already unless it is absent.
fn world(replicas: u32, bounds: (impl Into<Value>, impl Into<Value>), old: &[Size], new: Option<Size>) -> Cluster {
    let (surge, unavailable) = bounds;
    let web = deployment("web")
        .replicas(replicas)
        .rolling(surge, unavailable)
        .image("n");
    let mut cluster = Cluster::of(web);
    for (image, (size, available)) in ["a", "b", "c"].into_iter().zip(old) {
        cluster = cluster.with(set(image, *size, *available));
    }
    if let Some((size, available)) = new {
        cluster = cluster.with(set("n", size, available));
    }
    cluster
}

// proves: deployment/D-31
#[rstest]
#[case::from_nothing(10, 3, &[(10, 10)], None, "create n 3; scale a 10 -> 8")]
#[case::no_room_no_pods(10, 0, &[(10, 10)], None, "create n 0; scale a 10 -> 8")]
#[case::as_much_as_fits(10, 3, &[(8, 8)], Some((3, 3)), "scale n 3 -> 5")]
#[case::not_more_than_wanted(10, 3, &[(1, 1)], Some((8, 8)), "scale n 8 -> 10")]
#[case::too_large(10, 3, &[], Some((12, 12)), "scale n 12 -> 10")]
#[case::over_the_bound_already(10, 3, &[(20, 10)], Some((3, 0)), "scale a 20 -> 8")]
#[case::to_nothing(0, 0, &[], Some((4, 4)), "scale n 4 -> 0")]
fn the_new_set_grows_into_the_room_that_surge_leaves(
    #[case] replicas: u32,
    #[case] surge: u32,
    #[case] old: &[Size],
    #[case] new: Option<Size>,
    #[case] expected: &str,
) {
    assert_eq!(world(replicas, (surge, 2), old, new).turn().written(), expected);
}

// proves: deployment/D-33, deployment/D-35
#[rstest]
#[case::nothing_new_is_available(&[(8, 8)], (5, 0), "")]
#[case::as_many_as_became_available(&[(8, 8)], (5, 2), "scale a 8 -> 6")]
#[case::all(&[(8, 8)], (5, 5), "scale a 8 -> 3")]
#[case::oldest_first(&[(3, 3), (5, 5)], (5, 5), "scale a 3 -> 0; scale b 5 -> 3")]
#[case::more_available_than_wanted(&[(3, 5)], (10, 10), "")]
#[case::an_old_pod_is_lost_too(&[(8, 7)], (5, 0), "")]
#[case::old_pods_beyond_the_bound(&[(2, 0)], (10, 10), "scale a 2 -> 0")]
fn old_sets_shrink_by_what_availability_leaves(#[case] old: &[Size], #[case] new: Size, #[case] expected: &str) {
    assert_eq!(world(10, (3, 2), old, Some(new)).turn().written(), expected);
}

// proves: deployment/D-34
#[rstest]
#[case::unavailable_ones(&[(8, 8), (5, 0)], "scale b 5 -> 0")]
#[case::before_available_ones_of_older_sets(&[(5, 5), (8, 3)], "scale b 8 -> 3")]
#[case::oldest_first(&[(6, 2), (7, 3)], "scale a 6 -> 2; scale b 7 -> 6")]
#[case::then_available_ones(&[(11, 9), (2, 1)], "scale a 11 -> 7; scale b 2 -> 1")]
fn pods_that_are_not_available_go_first(#[case] old: &[Size], #[case] expected: &str) {
    assert_eq!(world(10, (3, 2), old, Some((0, 0))).turn().written(), expected);
}

// proves: deployment/D-34
#[test]
fn a_set_whose_status_lags_is_not_shrunk_twice() {
    let lagging = world(10, (3, 2), &[(5, 9), (3, 3)], Some((5, 5)));
    assert_eq!(lagging.clone().turn().written(), "");
    let mut lagging_later = world(10, (3, 2), &[(4, 1), (5, 9)], Some((4, 4)));
    assert_eq!(
        lagging_later.turn().written(),
        "scale a 4 -> 1",
        "what was shed before stays so"
    );
    let mut out_of_reach = world(10, (3, 2), &[(8, 3), (1, 2)], Some((4, 4)));
    assert_eq!(
        out_of_reach.turn().written(),
        "scale a 8 -> 2",
        "the budget is spent before the lagging set"
    );
}

// proves: deployment/D-30
#[rstest]
#[case::both_zero_after_rounding(2, "0%", "25%", "create n 0; scale a 2 -> 1")]
#[case::surge_rounds_up(2, "25%", "25%", "create n 1")]
#[case::unavailability_rounds_down(5, "0%", "50%", "create n 0; scale a 5 -> 3")]
#[case::unavailability_is_at_most_all(3, "0%", "100%", "create n 0; scale a 3 -> 0")]
fn bounds_are_parts_of_replicas(
    #[case] replicas: u32,
    #[case] surge: &str,
    #[case] unavailable: &str,
    #[case] expected: &str,
) {
    let mut cluster = world(replicas, (surge, unavailable), &[(replicas, replicas)], None);
    assert_eq!(cluster.turn().written(), expected);
}

// proves: deployment/D-30
#[test]
fn absent_bounds_are_zero() {
    let mut cluster = world(2, (1, 1), &[(2, 2)], None);
    cluster.deployment["spec"]["strategy"] = serde_json::json!({"type": "RollingUpdate"});
    assert_eq!(cluster.turn().written(), "create n 0; scale a 2 -> 1");
}

// proves: deployment/D-32
#[test]
fn a_step_grows_or_shrinks_but_only_a_creation_does_both() {
    let mut cluster = world(10, (3, 5), &[(10, 10)], Some((0, 0)));
    assert_eq!(cluster.turn().written(), "scale n 0 -> 3");
    assert_eq!(cluster.turn().written(), "scale a 10 -> 5");
}

// proves: deployment/D-24, deployment/C-74
#[test]
fn every_change_of_size_is_recorded_and_told() {
    let mut cluster = world(10, (3, 2), &[(10, 10)], None);
    let turn = cluster.turn();
    let name = |image: &str| cluster.set(image)["metadata"]["name"].as_str().unwrap().to_owned();
    assert_eq!(
        turn.said(),
        [
            format!("ScalingReplicaSet: Scaled up replica set {} from 0 to 3", name("n")),
            format!("ScalingReplicaSet: Scaled down replica set {} from 10 to 8", name("a")),
        ]
    );
    for image in ["a", "n"] {
        assert_eq!(super::annotation(cluster.set(image), super::DESIRED), Some("10"));
        assert_eq!(super::annotation(cluster.set(image), super::MAX), Some("13"));
    }
}

// proves: deployment/D-37, deployment/D-56
#[test]
fn history_is_cleaned_up_only_after_a_completed_rollout() {
    let mut cluster = Cluster::settled(deployment("web").replicas(4).history_limit(0));
    cluster.edit(|web| web.image("b"));
    let text = cluster.roll();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.last(), Some(&"delete a"), "{text}");
    assert!(
        lines[..lines.len() - 1].iter().all(|line| !line.contains("delete")),
        "{text}"
    );
}
