//! Scaling events (deployment D-20…D-25).

use rstest::rstest;
use serde_json::json;
use testkit::builders::{Manifest as _, ReplicaSet, Templated as _, deployment};

use super::cluster::Cluster;
use super::{DESIRED, MAX, annotation, set};

/// A set that was sized for a Deployment of so many replicas, with surge so many.
fn sized(image: &str, size: u32, desired: u32, most: u32) -> ReplicaSet {
    set(image, size, size)
        .annotation(DESIRED, &desired.to_string())
        .annotation(MAX, &most.to_string())
}

/// `replicas` of the template of image `c`, no surge, one may be unavailable.
fn world(replicas: u32, sets: impl IntoIterator<Item = ReplicaSet>) -> Cluster {
    let web = deployment("web").replicas(replicas).rolling(0, 1).image("c");
    sets.into_iter().fold(Cluster::of(web), Cluster::with)
}

// proves: deployment/D-20
#[rstest]
#[case::of_an_active_set("9", 3, true)]
#[case::for_the_same_number("10", 3, false)]
#[case::of_an_inactive_set("9", 0, false)]
#[case::not_a_number("nine", 3, false)]
#[case::with_a_sign("+9", 3, false)]
#[case::negative("-9", 3, false)]
#[case::largest("2147483647", 3, true)]
#[case::too_large("2147483648", 3, false)]
#[case::empty("", 3, false)]
fn a_set_that_was_sized_for_another_number_asks_for_scaling(
    #[case] desired: &str,
    #[case] size: u32,
    #[case] scales: bool,
) {
    let old = set("a", size, size).annotation(DESIRED, desired).annotation(MAX, "13");
    let mut cluster = world(10, [old, set("c", 5, 0)]);
    cluster.edit(|web| web.set("/spec/strategy/rollingUpdate/maxSurge", 3));
    // A rolling step would leave the old set alone and grow the new one only.
    let written = cluster.turn().written();
    assert_eq!(written.contains("desired-replicas of a"), scales, "{written}");
}

// proves: deployment/D-20
#[test]
fn another_surge_alone_is_no_scaling_event() {
    let mut cluster = world(10, [sized("a", 8, 10, 13), sized("c", 2, 10, 13)]);
    assert_eq!(cluster.turn().written(), "scale a 8 -> 7", "a step of the rollout");
}

// proves: deployment/D-21, deployment/T-6
#[rstest]
#[case::newest_of_equal_ones_grows(3, 4, &[("a", 1), ("b", 1), ("c", 1)], "a 1, b 1, c 2")]
#[case::oldest_of_equal_ones_shrinks(3, 2, &[("a", 1), ("b", 1), ("c", 1)], "a 0, b 1, c 1")]
#[case::a_small_set_loses_everything(9, 4, &[("b", 1), ("c", 8)], "b 0, c 4")]
#[case::the_largest_grows_by_its_share(7, 10, &[("a", 2), ("b", 3), ("c", 2)], "a 3, b 4, c 3")]
#[case::only_one_active(5, 7, &[("a", 5), ("b", 0)], "a 7, b 0")]
#[case::none_active_without_new(0, 7, &[("a", 0), ("b", 0)], "a 0, b 7")]
#[case::none_active(0, 7, &[("a", 0), ("c", 0)], "a 0, c 7")]
#[case::to_nothing(6, 0, &[("a", 3), ("b", 2), ("c", 1)], "a 0, b 0, c 0")]
fn each_set_keeps_its_share(#[case] from: u32, #[case] to: u32, #[case] sets: &[(&str, u32)], #[case] expected: &str) {
    let sets = sets.iter().map(|(image, size)| sized(image, *size, from, from));
    let mut cluster = world(to, sets);
    cluster.edit(|web| web.set("/spec/paused", true));
    cluster.turn();
    assert_eq!(cluster.sizes(), expected);
}

// proves: deployment/D-22
#[rstest]
#[case::most_replicas_from_the_annotation("13", 10, "a 16, c 10")]
#[case::none_means_status("0", 13, "a 16, c 10")]
#[case::neither_of_them("none", 0, "a 21, c 5")]
fn the_base_of_a_share_is_what_the_set_was_sized_for(#[case] most: &str, #[case] pods: u32, #[case] expected: &str) {
    let set = |image, size| set(image, size, size).annotation(DESIRED, "10").annotation(MAX, most);
    let mut cluster = world(20, [set("a", 8), set("c", 5)]);
    cluster.edit(|web| {
        web.set("/spec/strategy/rollingUpdate/maxSurge", 6)
            .set("/status/replicas", pods)
    });
    cluster.turn();
    assert_eq!(cluster.sizes(), expected);
}

// proves: deployment/D-22, deployment/L-11
#[rstest]
#[case::half_a_pod_counts_as_one(10, 15, &[("a", 7), ("c", 3)], "a 11, c 4")]
#[case::beyond_32_bits(2_000_000_000, 2_000_000_100, &[("a", 1_500_000_000), ("c", 500_000_000)], "a 1500000075, c 500000025")]
fn shares_are_rounded_half_away_from_zero(
    #[case] from: u32,
    #[case] to: u32,
    #[case] sets: &[(&str, u32)],
    #[case] expected: &str,
) {
    let sets = sets.iter().map(|(image, size)| sized(image, *size, from, from));
    let mut cluster = world(to, sets);
    cluster.turn();
    assert_eq!(cluster.sizes(), expected);
}

// proves: deployment/D-22
#[test]
fn once_all_is_shared_out_the_other_sets_keep_their_size() {
    let mut cluster = world(12, [sized("a", 4, 10, 100), sized("c", 6, 10, 6)]);
    cluster.turn();
    assert_eq!(
        cluster.sizes(),
        "a 4, c 8",
        "by its own share the first would lose its pods"
    );
}

// proves: deployment/D-21
#[test]
fn old_sets_go_once_the_new_one_has_everything() {
    let saturated = sized("c", 10, 10, 10);
    let adopted = sized("a", 3, 3, 10);
    assert_eq!(
        world(10, [adopted.clone(), saturated.clone()]).turn().written(),
        "scale a 3 -> 0"
    );
    let unavailable = saturated.clone().set("/status/availableReplicas", 9);
    let mut cluster = world(10, [adopted.clone(), unavailable]);
    cluster.turn();
    assert_eq!(cluster.sizes(), "a 3, c 7", "ten in all");
    let sized_for_others = saturated.annotation(DESIRED, "9");
    let mut cluster = world(10, [adopted, sized_for_others]);
    cluster.turn();
    assert_eq!(cluster.sizes(), "a 3, c 7");
}

// proves: deployment/D-23
#[test]
fn sets_that_keep_their_size_are_told_what_it_is_for_and_inactive_ones_are_not() {
    let mut cluster = world(9, [sized("a", 0, 5, 5), sized("b", 5, 10, 10), sized("c", 5, 10, 10)]);
    cluster.edit(|web| web.set("/spec/strategy/rollingUpdate/maxSurge", 1));
    insta::assert_snapshot!(
        cluster.turn().written(),
        @"desired-replicas of c 9; desired-replicas of b 9"
    );
}

// proves: deployment/D-21, deployment/L-1
#[test]
fn a_set_that_has_its_size_is_touched_only_if_it_would_ask_again() {
    let mut cluster = world(5, [sized("c", 5, 4, 4)]);
    insta::assert_snapshot!(cluster.turn().written(), @"desired-replicas of c 5; max-replicas of c 5");
    let paused = |set: ReplicaSet| {
        let mut cluster = world(5, [set]);
        cluster.edit(|web| web.set("/spec/paused", true));
        cluster.turn().written()
    };
    assert_eq!(paused(sized("c", 5, 5, 9)), "", "another surge is no reason");
    assert_eq!(paused(set("c", 5, 5)), "", "no annotation is no reason");
}

// proves: deployment/D-25
#[test]
fn a_scaling_step_counts_but_does_not_judge_the_rollout() {
    let mut cluster = Cluster::settled(deployment("web").replicas(10).rolling(3, 2));
    cluster.broken = vec!["b"];
    cluster.edit(|web| web.image("b"));
    cluster.roll();
    let failing = json!([{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate"}]);
    cluster.edit_set("b", |set| set.set("/status/conditions", failing));
    cluster.edit(|web| web.replicas(20));
    cluster.now = super::at("2026-01-03T12:00:00Z");
    let turn = cluster.turn();
    assert_eq!(turn.told, Vec::<String>::new(), "the deadline has passed long ago");
    assert_eq!(cluster.condition("ReplicaFailure"), None);
    assert_eq!(cluster.deployment["status"]["unavailableReplicas"], 15);
    assert_eq!(annotation(cluster.set("b"), DESIRED), Some("20"));
    let turn = cluster.turn();
    assert_eq!(turn.told, ["Progressing False ProgressDeadlineExceeded"]);
    assert!(cluster.condition("ReplicaFailure").is_some());
}
