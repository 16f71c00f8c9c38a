//! One kind of trouble with each of a story's writes in turn.

use std::time::Duration;

use testkit::simulation::Points;
use testkit::simulation::schedule::{Fault, Lines};

use crate::{simulation, stories};

/// All that are played here.
pub(crate) fn all() -> [Points; 5] {
    [
        frozen_leader(),
        late_create(),
        successor_behind(),
        cut_and_expired(),
        success_unseen(),
    ]
}

/// Frozen for longer than a lease lasts, and than a successor needs to write.
fn frozen_leader() -> Points {
    let frozen = Fault::Freeze(0, Duration::from_secs(25));
    Points::of(simulation(stories::parallel().replicas(2)), &[frozen])
}

fn late_create() -> Points {
    Points::of(simulation(stories::indexed()), &[Fault::Late(Duration::from_secs(40))])
}

fn successor_behind() -> Points {
    let behind = Fault::Lag(1, "pods", Duration::from_secs(20));
    Points::of(simulation(stories::indexed().replicas(2)), &[behind, Fault::Kill(0)])
}

fn cut_and_expired() -> Points {
    let cut = Fault::Cut(0, Lines::Work, Duration::from_secs(3));
    Points::of(simulation(stories::replacement()), &[cut, Fault::Expire(0, "pods")])
}

/// Whose cache of Jobs is behind does not see what is recorded already.
fn success_unseen() -> Points {
    let behind = Fault::Lag(1, "jobs", Duration::from_secs(20));
    Points::of(simulation(stories::parallel().replicas(2)), &[behind, Fault::Kill(0)])
}

#[test]
fn a_leader_that_goes_on_after_its_successor_has_begun_writes_nothing() {
    frozen_leader().check();
}

#[test]
fn a_create_that_arrives_after_its_sender_has_given_up_makes_no_second_pod() {
    late_create().check();
}

#[test]
fn a_successor_whose_pods_are_behind_lists_anew_before_it_acts() {
    successor_behind().check();
}

#[test]
fn what_vanishes_while_nobody_is_told_is_noticed() {
    cut_and_expired().check();
}

#[test]
fn a_successor_whose_jobs_are_behind_counts_no_pod_twice() {
    success_unseen().check();
}
