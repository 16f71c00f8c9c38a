//! Which old ReplicaSets go (deployment D-55, D-56).

use rstest::rstest;
use serde_json::json;
use testkit::builders::{Manifest as _, ReplicaSet, Templated as _, deployment};
use workload_core::outcome::{FailureClass, Verb};
use workload_core::plan::{DeleteGuard, Stage};

use super::cluster::Cluster;
use super::{REVISION, at, set};

/// One replica of image `z`, rolled out; whatever old sets there are.
fn world(limit: u32, old: impl IntoIterator<Item = ReplicaSet>) -> Cluster {
    let mut cluster = Cluster::of(deployment("web").replicas(1).image("z").history_limit(limit));
    cluster = old.into_iter().fold(cluster, Cluster::with);
    cluster = cluster.with(set("z", 1, 1));
    cluster.turn();
    cluster
}

fn old(image: &str, revision: &str) -> ReplicaSet {
    set(image, 0, 0).annotation(REVISION, revision)
}

// proves: deployment/T-16, deployment/D-55
#[rstest]
#[case::none_stays(0, vec![old("a", "1"), old("b", "2")], "delete a; delete b")]
#[case::lowest_revisions_go(2, vec![old("a", "3"), old("b", "1"), old("c", "4"), old("d", "2")], "delete b; delete d")]
#[case::as_many_as_may_stay(2, vec![old("a", "1"), old("b", "2")], "")]
#[case::of_equal_revisions_the_older_goes(1, vec![old("b", "1"), old("a", "1")], "delete a")]
#[case::no_number_is_the_lowest(1, vec![old("a", "1"), old("b", "one")], "delete b")]
#[case::status_is_about_an_older_spec(0, vec![old("a", "1").generation(2)], "")]
#[case::one_that_goes_already_does_not_count(
    1,
    vec![old("a", "1").terminating(at("2026-01-01T12:00:00Z")), old("b", "2")],
    ""
)]
fn old_sets_beyond_the_limit_go(#[case] limit: u32, #[case] old: Vec<ReplicaSet>, #[case] expected: &str) {
    assert_eq!(world(limit, old).turn().written(), expected);
}

// proves: deployment/D-55, deployment/A-1
#[rstest]
#[case::the_largest_number(json!(2_147_483_647))]
#[case::none(json!(null))]
fn without_limit_all_stay(#[case] limit: serde_json::Value) {
    let mut cluster = world(5, [old("a", "1")]);
    cluster.edit(|web| web.set("/spec/revisionHistoryLimit", limit));
    cluster.turn();
    assert_eq!(cluster.turn().written(), "");
}

// proves: deployment/D-55, deployment/D-56
#[test]
fn nothing_goes_while_a_rollout_is_under_way_or_the_deployment_is_scaled() {
    let mut cluster = world(0, [old("a", "1")]);
    cluster.report("z", 1, 0);
    cluster.turn();
    assert_eq!(cluster.turn().written(), "", "not available");
    let mut cluster = world(0, [old("a", "1")]);
    cluster.edit_set("z", |set| set.annotation(super::DESIRED, "1"));
    cluster.edit(|web| web.replicas(2));
    assert_eq!(cluster.turn().written(), "scale z 1 -> 2");
}

// proves: deployment/D-37
#[test]
fn nothing_goes_in_a_turn_that_resizes() {
    let mut cluster = world(1, [old("a", "1"), old("b", "2")]);
    cluster.edit_set("b", |set| set.replicas(1));
    assert_eq!(cluster.turn().written(), "scale b 1 -> 0");
    assert_eq!(cluster.turn().written(), "delete a");
}

// proves: deployment/D-25, deployment/D-56
#[test]
fn a_paused_deployment_is_cleaned_up_even_in_mid_rollout() {
    let mut cluster = Cluster::of(deployment("web").replicas(2).image("z").history_limit(0).paused())
        .with(old("a", "1"))
        .with(set("b", 2, 2));
    assert_eq!(cluster.turn().written(), "delete a");
    let mut cluster = Cluster::of(deployment("web").replicas(2).image("z").history_limit(0).paused())
        .with(old("a", "1"))
        .with(set("b", 2, 2));
    cluster.edit(|web| web.annotation("deprecated.deployment.rollback.to", "1"));
    assert_eq!(cluster.turn().written(), "", "somebody asks for an old revision");
}

// proves: deployment/T-16, deployment/D-55
#[test]
fn a_set_that_still_has_pods_stays_and_no_other_goes_in_its_place() {
    let busy = old("a", "1").set("/status/replicas", 1);
    let web = deployment("web").replicas(0).image("z").history_limit(1).paused();
    let sets = [busy, old("b", "2"), old("c", "3")];
    let mut cluster = sets.into_iter().fold(Cluster::of(web), Cluster::with);
    cluster.edit_set("a", |set| set.replicas(0));
    assert_eq!(cluster.turn().written(), "delete b");
}

// proves: deployment/W-5, deployment/D-55
#[test]
fn a_set_goes_only_as_it_was_seen_and_a_failure_fails_the_turn() {
    let mut cluster = world(0, [old("a", "1")]);
    let plan = cluster.clone().turn().plan;
    let Some(Stage::Delete(deletes)) = plan.stages.last() else {
        panic!("no delete: {plan:?}")
    };
    assert_eq!(deletes[0].guard, DeleteGuard::UidAndVersion);
    assert_eq!(
        deletes[0].target.version.as_str(),
        cluster.set("a")["metadata"]["resourceVersion"]
    );
    cluster.refusal = Some((Verb::Delete, FailureClass::Conflict));
    let turn = cluster.turn();
    assert_eq!(turn.status(), &json!(null));
}
