//! One kind of trouble with each of a story's writes in turn.

use testkit::simulation::Points;

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

fn frozen_leader() -> Points {
    Points::of_a_frozen_leader(simulation(stories::parallel().replicas(2)))
}

fn late_create() -> Points {
    Points::of_a_late_write(simulation(stories::indexed()))
}

fn successor_behind() -> Points {
    Points::of_a_successor_behind(simulation(stories::indexed().replicas(2)), "pods")
}

fn cut_and_expired() -> Points {
    Points::of_a_cut_and_lost_history(simulation(stories::replacement()))
}

/// Whose cache of Jobs is behind does not see what is recorded already.
fn success_unseen() -> Points {
    Points::of_a_successor_behind(simulation(stories::parallel().replicas(2)), "jobs")
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
