//! One kind of trouble with each of a story's writes in turn.

use std::time::Duration;

use testkit::simulation::scenario::Scenario;
use testkit::simulation::schedule::{Fault, Lines, Planned, Return, Schedule, When};
use testkit::simulation::seed::Seed;
use testkit::simulation::{Case, Survey};

use crate::{simulation, stories};

/// A story, played once for each of its writes, with the same faults at that write.
pub(crate) struct Points {
    pub(crate) survey: Survey,
    pub(crate) cases: Vec<Case>,
}

impl Points {
    fn of(story: Scenario, faults: &[Fault]) -> Self {
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
        let cases = (1..=writes).map(at).collect();
        Self { survey, cases }
    }

    #[track_caller]
    fn check(&self) {
        assert!(self.cases.len() > 10, "{} writes", self.cases.len());
        self.survey.play_all(&self.cases, |_| {}).check();
    }

    #[track_caller]
    fn check_that_pods_were_lost(&self) {
        let lost = |case| self.survey.play(case).verdict.map_or(0, |end| end.tally.lost);
        let lost: Vec<u64> = self.cases.iter().step_by(5).map(lost).collect();
        assert!(lost.iter().any(|lost| *lost > 0), "{lost:?}");
    }
}

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

/// Frozen for longer than a lease lasts, and than a successor needs to write.
fn frozen_leader() -> Points {
    let frozen = Fault::Freeze(0, Duration::from_secs(25));
    Points::of(stories::rolling().replicas(2), &[frozen])
}

fn late_create() -> Points {
    Points::of(stories::create(), &[Fault::Late(Duration::from_secs(40))])
}

fn successor_behind() -> Points {
    let behind = Fault::Lag(1, "pods", Duration::from_secs(20));
    Points::of(stories::rolling().replicas(2), &[behind, Fault::Kill(0)])
}

fn cut_and_expired() -> Points {
    let cut = Fault::Cut(0, Lines::Work, Duration::from_secs(3));
    Points::of(stories::rolling(), &[cut, Fault::Expire(0, "pods")])
}

/// Who still sees a Deployment that is gone finds orphans that fit it.
fn owner_seen_too_long() -> Points {
    let behind = Fault::Lag(0, "deployments", Duration::from_secs(10));
    Points::of(stories::orphan(), &[behind])
}

/// Often nothing else happens that would bring the object back.
fn conflict() -> Points {
    Points::of(stories::scale(), &[Fault::Answer(409, 0)])
}

fn lost_node(then: Return) -> Points {
    let lost = Fault::Lose(1, Duration::from_mins(1), then);
    let mut points = Points::of(stories::rolling(), &[lost]);
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

#[test]
fn pods_of_a_lost_node_are_replaced_and_none_is_missed_when_it_is_back() {
    let points = lost_node(Return::Back);
    points.check();
    points.check_that_pods_were_lost();
}

#[test]
fn pods_of_a_node_that_never_comes_back_are_replaced() {
    let points = lost_node(Return::Gone);
    points.check();
    points.check_that_pods_were_lost();
}
