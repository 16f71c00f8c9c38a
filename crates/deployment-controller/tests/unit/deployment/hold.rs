//! A rollout that stops part of the way: opt-in `deployment.hold-at` (field FR-DP-07).

use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;
use testkit::builders::{Deployment, Manifest as _, Templated as _, deployment};
use workload_core::time;

use super::cluster::Cluster;
use super::set;

const HOLD: &str = "deployment.hold-at";

fn web(replicas: u32) -> Deployment {
    deployment("web").replicas(replicas).image("a")
}

/// Ten replicas, settled, of which image `b` is to be rolled out with this hold.
fn held(hold: &str) -> Cluster {
    let mut cluster = Cluster::settled(web(10));
    cluster.edit(|web| web.opt_in(HOLD, hold).image("b"));
    cluster
}

fn progressing(cluster: &Cluster) -> String {
    let condition = cluster.condition("Progressing").unwrap();
    [&condition["status"], &condition["reason"]]
        .map(|word| word.as_str().unwrap())
        .join(" ")
}

// proves: field/FR-DP-07
#[rstest]
#[case::a_number("3", "a 7, b 3")]
#[case::a_part("25%", "a 7, b 3")]
#[case::nothing("0", "a 10, b 0")]
#[case::more_than_surge("8", "a 2, b 8")]
#[case::all_but_one("9", "a 1, b 9")]
#[case::all("10", "a 0, b 10")]
#[case::nearly_all_as_part("99%", "a 1, b 9")]
#[case::all_as_part("100%", "a 0, b 10")]
#[case::more_than_all("11", "a 0, b 10")]
#[case::not_a_number("some", "a 0, b 10")]
fn the_rollout_stops_at_the_hold(#[case] hold: &str, #[case] expected: &str) {
    let mut cluster = held(hold);
    cluster.roll();
    assert_eq!(cluster.sizes(), expected);
    let over = expected.starts_with("a 0");
    let said = if over {
        "True NewReplicaSetAvailable"
    } else {
        "Unknown DeploymentPaused"
    };
    assert_eq!(progressing(&cluster), said);
}

// proves: field/FR-DP-07
#[test]
fn who_does_not_ask_for_a_hold_rolls_as_ever() {
    let rolled = |mut cluster: Cluster| {
        cluster.edit(|web| web.image("b"));
        (cluster.roll(), cluster.sizes())
    };
    let (text, sizes) = rolled(Cluster::settled(web(10)));
    assert_eq!(sizes, "a 0, b 10");
    assert!(!text.contains("Paused") && !text.contains("Resumed"), "{text}");
    let unread = Cluster::settled(web(10).opt_in(HOLD, "some"));
    assert_eq!(rolled(unread), (text, sizes), "an unreadable value is none");
}

// proves: field/FR-DP-07, deployment/D-84
#[rstest]
#[case::raised(Some("6"), "a 4, b 6")]
#[case::to_all(Some("100%"), "a 0, b 10")]
#[case::removed(None, "a 0, b 10")]
#[case::lowered(Some("1"), "a 7, b 3")]
fn a_hold_that_changes_lets_the_rollout_go_on_and_takes_nothing_back(
    #[case] hold: Option<&str>,
    #[case] expected: &str,
) {
    let mut cluster = held("3");
    cluster.roll();
    let key = format!("opt-in.workload-controllers/{HOLD}");
    cluster.edit(|web| web.patched(&json!({"metadata": {"annotations": {key: hold}}})));
    let turn = cluster.turn();
    let goes_on = hold != Some("1");
    let resumed = turn.told.contains(&"Progressing Unknown DeploymentResumed".to_owned());
    assert_eq!(resumed, goes_on, "{}", turn.text());
    cluster.settle();
    cluster.roll();
    assert_eq!(cluster.sizes(), expected);
}

// proves: field/FR-DP-07, deployment/D-74
#[test]
fn no_deadline_runs_at_the_hold_and_it_is_said_why() {
    let mut cluster = held("3");
    cluster.roll();
    cluster.now = time::plus(cluster.now, std::time::Duration::from_hours(1));
    let turn = cluster.turn();
    assert_eq!(turn.text(), "");
    assert_eq!(turn.conclusion.wake, workload_core::plan::Wake::OnChange);
    let held = &turn.conclusion.held_up.unwrap()[0];
    assert_eq!((held.cause, &*held.note.reason), ("HoldAt", "RolloutHeld"));
    let message =
        "Deployment is held at 3 updated replicas by its annotation opt-in.workload-controllers/deployment.hold-at";
    assert_eq!(held.note.message, message);
    assert_eq!(cluster.condition("Progressing").unwrap()["message"], message);
}

// proves: field/FR-DP-07, deployment/D-74
#[test]
fn a_bad_canary_misses_its_deadline_and_the_hold_is_told_once_it_is_well() {
    let mut cluster = held("3");
    cluster.broken = vec!["b"];
    cluster.roll();
    assert!(progressing(&cluster).starts_with("True"), "{}", progressing(&cluster));
    cluster.now = time::plus(cluster.now, std::time::Duration::from_secs(601));
    cluster.roll();
    assert_eq!(progressing(&cluster), "False ProgressDeadlineExceeded");
    cluster.broken.clear();
    cluster.settle();
    cluster.roll();
    assert_eq!(
        (progressing(&cluster).as_str(), cluster.sizes().as_str()),
        ("Unknown DeploymentPaused", "a 7, b 3")
    );
    cluster.report("b", 3, 2);
    assert_eq!(cluster.turn().text(), "Progressing Unknown DeploymentResumed");
}

// proves: field/FR-DP-07, deployment/D-22
#[rstest]
#[case::up("3", 20, "a 17, b 3")]
#[case::up_by_part("30%", 20, "a 14, b 6")]
#[case::down("3", 5, "a 2, b 3")]
#[case::down_to_the_hold("3", 3, "a 0, b 3")]
#[case::down_by_part("30%", 2, "a 1, b 1")]
#[case::down_by_part_to_one("30%", 1, "a 1, b 0")]
#[case::to_nothing("3", 0, "a 0, b 0")]
fn scaling_in_a_hold_keeps_it(#[case] hold: &str, #[case] replicas: u32, #[case] expected: &str) {
    let mut cluster = held(hold);
    cluster.roll();
    cluster.edit(|web| web.replicas(replicas));
    cluster.roll();
    assert_eq!(cluster.sizes(), expected);
}

// proves: field/FR-DP-07
#[rstest]
#[case::while_it_holds("3")]
#[case::after_the_hold_was_lowered("1")]
fn going_back_is_not_held(#[case] hold: &str) {
    let mut cluster = held("3");
    cluster.roll();
    cluster.edit(|web| web.opt_in(HOLD, hold).image("a"));
    cluster.roll();
    assert_eq!(cluster.sizes(), "a 10, b 0");
    cluster.edit(|web| web.image("b"));
    cluster.roll();
    let again = if hold == "3" { "a 7, b 3" } else { "a 9, b 1" };
    assert_eq!(cluster.sizes(), again, "the next try holds again");
}

// proves: field/FR-DP-07
#[rstest]
#[case::at_once("25%")]
#[case::with_room_for_all("100%")]
fn going_back_from_one_canary_to_a_former_one_is_held_like_that_one(#[case] surge: &str) {
    let mut cluster = Cluster::settled(web(10).rolling(surge, "25%"));
    cluster.edit(|web| web.opt_in(HOLD, "2").image("b"));
    cluster.roll();
    cluster.broken = vec!["c"];
    cluster.edit(|web| web.image("c"));
    cluster.roll();
    assert_eq!(cluster.sizes(), "a 8, b 0, c 2");
    cluster.edit(|web| web.image("b"));
    cluster.roll();
    assert_eq!(cluster.sizes(), "a 8, b 2, c 0");
    cluster.edit(|web| web.image("a"));
    cluster.roll();
    assert_eq!(cluster.sizes(), "a 10, b 0, c 0");
}

// proves: field/FR-DP-07
#[test]
fn going_back_to_a_version_that_was_let_on_gives_it_its_place_back() {
    let mut cluster = held("7");
    cluster.roll();
    cluster.edit(|web| web.opt_in(HOLD, "2").image("c"));
    cluster.roll();
    assert_eq!(cluster.sizes(), "a 3, b 5, c 2");
    cluster.edit(|web| web.image("b"));
    cluster.roll();
    assert_eq!(cluster.sizes(), "a 3, b 7, c 0");
}

// proves: field/FR-DP-07
#[test]
fn a_canary_of_the_second_in_which_its_predecessor_was_made_is_held_whatever_its_name() {
    let of_noon = |image, size, revision| {
        set(image, size, size)
            .created(super::noon())
            .annotation(super::REVISION, revision)
    };
    let mut cluster = Cluster::of(web(10).opt_in(HOLD, "3"))
        .with(of_noon("b", 10, "1"))
        .with(of_noon("a", 0, "2"));
    cluster.roll();
    assert_eq!(cluster.sizes(), "b 7, a 3");
    for (image, expected) in [("b", "b 10, a 0"), ("a", "b 7, a 3"), ("b", "b 10, a 0")] {
        cluster.edit(|web| web.image(image));
        cluster.roll();
        assert_eq!(cluster.sizes(), expected, "to {image}");
    }
}

// proves: field/FR-DP-07
#[test]
fn of_two_canaries_the_former_goes() {
    let mut cluster = held("3");
    cluster.roll();
    cluster.edit(|web| web.image("c"));
    cluster.roll();
    assert_eq!(cluster.sizes(), "a 7, b 0, c 3");
}

// proves: field/FR-DP-07, deployment/D-22
#[test]
fn a_former_canary_does_not_grow_with_the_deployment() {
    let mut cluster = held("2");
    cluster.roll();
    assert_eq!(cluster.sizes(), "a 8, b 2");
    cluster.broken = vec!["b"];
    cluster.settle();
    cluster.edit(|web| web.image("c").replicas(20));
    cluster.roll();
    assert_eq!(cluster.sizes(), "a 18, b 0, c 2");
}

// proves: field/FR-DP-07, deployment/D-9
#[test]
fn going_back_to_a_version_does_not_bring_back_a_hold_that_was_removed() {
    let mut cluster = held("3");
    cluster.roll();
    let key = format!("opt-in.workload-controllers/{HOLD}");
    let copied = |cluster: &Cluster| cluster.set("b")["metadata"]["annotations"].get(&key).is_some();
    assert!(copied(&cluster), "kubectl rollout undo restores what was set then");
    cluster.edit(|web| web.patched(&json!({"metadata": {"annotations": {&key: null, "note": "mine"}}})));
    cluster.roll();
    assert!(!copied(&cluster));
    cluster.edit(|web| web.patched(&json!({"metadata": {"annotations": {"note": null}}})));
    cluster.roll();
    assert_eq!(
        cluster.set("b")["metadata"]["annotations"]["note"],
        "mine",
        "all others stay, as upstream has it"
    );
}

// proves: field/FR-DP-07
#[test]
fn it_holds_only_once_old_pods_that_are_too_many_have_gone() {
    let mut cluster = held("3");
    cluster.roll();
    cluster.report("a", 10, 10);
    cluster.turn();
    assert_eq!(progressing(&cluster), "True ReplicaSetUpdated");
    cluster.report("a", 7, 7);
    cluster.turn();
    assert_eq!(progressing(&cluster), "Unknown DeploymentPaused");
}

// proves: field/FR-DP-07
#[test]
fn where_there_are_no_old_pods_there_is_nothing_to_hold() {
    let mut cluster = Cluster::of(web(10).opt_in(HOLD, "3"));
    cluster.roll();
    assert_eq!(cluster.sizes(), "a 10");
}

// proves: field/FR-DP-07
#[test]
fn old_pods_that_are_missing_are_made_up_for_when_nobody_else_may_grow() {
    let mut cluster = held("3");
    cluster.roll();
    cluster.edit_set("a", |set| set.replicas(4));
    cluster.roll();
    assert_eq!(cluster.sizes(), "a 7, b 3");
}

// proves: field/FR-DP-07
#[test]
fn recreate_cannot_hold_and_says_so() {
    let mut cluster = Cluster::settled(web(3).recreate());
    cluster.edit(|web| web.opt_in(HOLD, "1").image("b"));
    let workload_core::workload::Observation::Ready(seen) = cluster.observation() else {
        panic!("nothing to act on")
    };
    let rejected: Vec<_> = seen
        .deployment
        .opt_ins
        .rejected
        .iter()
        .map(ToString::to_string)
        .collect();
    let text = "opt-in.workload-controllers/deployment.hold-at: \"1\" has no effect: the strategy Recreate has no steps at which it could hold";
    assert_eq!(rejected, [text]);
    cluster.roll();
    assert_eq!(cluster.sizes(), "a 0, b 3");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    // proves: field/FR-DP-07
    #[test]
    fn whatever_the_state_new_pods_stay_within_the_hold_and_old_ones_beside_it(
        hold in 0..12_i64,
        surge in 0..4_u32,
        unavailable in 1..4_u32,
        (old, old_ready) in (1..12_u32, 0..12_u32),
        (new, new_ready) in (0..12_u32, 0..12_u32),
        pace in 1..4_i64,
    ) {
        let web = web(10).rolling(surge, unavailable).image("b").opt_in(HOLD, &hold.to_string());
        let mut cluster = Cluster::of(web)
            .with(set("a", old, old_ready.min(old)))
            .with(set("b", new, new_ready.min(new)));
        cluster.pace = Some(pace);
        let size = |cluster: &Cluster, image| cluster.set(image)["spec"]["replicas"].as_i64().unwrap();
        let holds = hold < 10;
        for _ in 0..40 {
            let (old, new) = (size(&cluster, "a"), size(&cluster, "b"));
            cluster.turn();
            let (after_old, after_new) = (size(&cluster, "a"), size(&cluster, "b"));
            if holds && old > 0 {
                prop_assert!(after_new <= new.max(hold), "{}", cluster.sizes());
                prop_assert!(after_old >= old.min(10 - hold.max(after_new).min(10)), "{}", cluster.sizes());
            }
            cluster.settle();
        }
        let (old, new) = (size(&cluster, "a"), size(&cluster, "b"));
        prop_assert_eq!(old + new, 10, "nothing is missing and nothing left over");
        prop_assert!(if holds && old > 0 { new >= hold } else { new == 10 }, "{}", cluster.sizes());
    }
}
