//! One kind of trouble with each of a story's writes in turn.

use std::time::Duration;

use testkit::simulation::scenario::Scenario;
use testkit::simulation::schedule::{Fault, Lines, Planned, Schedule, When};
use testkit::simulation::seed::Seed;
use testkit::simulation::{Case, Survey};

use crate::{simulation, stories};

/// Plays a story once for each of its writes, with these faults at that write.
#[track_caller]
fn at_each_write(story: Scenario, faults: &[Fault]) {
    let survey = Survey::of([simulation(story)]);
    let writes: u64 = survey.stories().iter().map(|(_, end)| end.tally.writes).sum();
    let planned = |number, fault: &Fault| Planned {
        when: When::Write(number),
        fault: *fault,
    };
    let at = |number| Case {
        story: 0,
        seed: Seed(number),
        schedule: Schedule(faults.iter().map(|fault| planned(number, fault)).collect()),
    };
    let cases: Vec<Case> = (1..=writes).map(at).collect();
    assert!(cases.len() > 10, "{} writes", cases.len());
    survey.play_all(&cases, |_| {}).check();
}

// proves: deployment/I-4
#[test]
fn a_leader_that_goes_on_after_its_successor_has_begun_writes_nothing() {
    // Longer than a lease lasts, and than a successor needs to write.
    at_each_write(
        stories::rolling().replicas(2),
        &[Fault::Freeze(0, Duration::from_secs(25))],
    );
}

#[test]
fn a_create_that_arrives_after_its_sender_has_given_up_makes_no_second_pod() {
    at_each_write(stories::create(), &[Fault::Late(Duration::from_secs(40))]);
}

#[test]
fn a_successor_whose_cache_is_behind_lists_anew_before_it_acts() {
    let behind = Fault::Lag(1, "pods", Duration::from_secs(20));
    at_each_write(stories::rolling().replicas(2), &[behind, Fault::Kill(0)]);
}

#[test]
fn what_vanishes_while_nobody_is_told_is_noticed() {
    let cut = Fault::Cut(0, Lines::Work, Duration::from_secs(3));
    at_each_write(stories::rolling(), &[cut, Fault::Expire(0, "pods")]);
}
