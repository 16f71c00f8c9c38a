//! One kind of trouble with each of a story's writes in turn.

use std::time::Duration;

use testkit::simulation::schedule::{Fault, Return};
use testkit::simulation::{Points, Repertoire as _};

use crate::{simulation, stories};

/// All that are played here.
pub(crate) fn all() -> [Points; 6] {
    [
        frozen_leader(),
        late_create(),
        successor_behind(),
        cut_and_expired(),
        owner_seen_too_long(),
        conflict(),
    ]
}

fn frozen_leader() -> Points {
    Points::of_a_frozen_leader(simulation(stories::rolling().replicas(2)))
}

fn late_create() -> Points {
    Points::of_a_late_write(simulation(stories::create()))
}

fn successor_behind() -> Points {
    Points::of_a_successor_behind(simulation(stories::rolling().replicas(2)), "pods")
}

fn cut_and_expired() -> Points {
    Points::of_a_cut_and_lost_history(simulation(stories::rolling()))
}

/// Who still sees a Deployment that is gone finds orphans that fit it.
fn owner_seen_too_long() -> Points {
    let behind = Fault::Lag(0, "deployments", Duration::from_secs(10));
    Points::of(simulation(stories::orphan()), &[behind])
}

/// Often nothing else happens that would bring the object back.
fn conflict() -> Points {
    Points::of(simulation(stories::scale()), &[Fault::Answer(409, 0)])
}

fn lost_node(then: Return) -> Points {
    let lost = Fault::Lose(1, Duration::from_mins(1), then);
    let mut points = Points::of(simulation(stories::rolling()), &[lost]);
    let cases = std::mem::take(&mut points.cases);
    points.cases = cases.into_iter().step_by(4).collect();
    points
}

// proves: deployment/I-4
#[test]
fn a_leader_that_goes_on_after_its_successor_has_begun_writes_nothing() {
    frozen_leader().check();
}

#[test]
fn a_create_that_arrives_after_its_sender_has_given_up_makes_no_second_pod() {
    late_create().check();
}

#[test]
fn a_successor_whose_cache_is_behind_lists_anew_before_it_acts() {
    successor_behind().check();
}

#[test]
fn what_vanishes_while_nobody_is_told_is_noticed() {
    cut_and_expired().check();
}

// proves: deployment/C-12
#[test]
fn orphans_are_not_given_to_an_owner_that_is_gone() {
    owner_seen_too_long().check();
}

#[test]
fn a_write_that_meets_a_conflict_is_decided_on_anew() {
    conflict().check();
}

#[track_caller]
fn check_that_pods_were_lost(points: &Points) {
    let lost = |case| points.survey.play(case).verdict.map_or(0, |end| end.tally.lost);
    let lost: Vec<u64> = points.cases.iter().step_by(5).map(lost).collect();
    assert!(lost.iter().any(|lost| *lost > 0), "{lost:?}");
}

#[test]
fn pods_of_a_lost_node_are_replaced_and_none_is_missed_when_it_is_back() {
    let points = lost_node(Return::Back);
    points.check();
    check_that_pods_were_lost(&points);
}

#[test]
fn pods_of_a_node_that_never_comes_back_are_replaced() {
    let points = lost_node(Return::Gone);
    points.check();
    check_that_pods_were_lost(&points);
}
