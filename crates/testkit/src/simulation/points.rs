//! One kind of trouble with each of a story's writes in turn.

use std::time::Duration;

use super::run::Simulation;
use super::schedule::{Fault, Lines, Planned, Plural, Schedule, Side, When};
use super::seed::Seed;
use super::survey::{Case, Repertoire as _, Survey};

/// A story, played once for each of its writes, with the same faults at that write.
#[derive(Debug)]
pub struct Points {
    /// The story.
    pub survey: Survey,
    /// One history for each write.
    pub cases: Vec<Case>,
}

impl Points {
    /// These faults at each write of a story.
    pub fn of(story: Simulation, faults: &[Fault]) -> Self {
        let survey = Survey::of([story]);
        let cases = at_each_write(&survey, 0, faults);
        Self { survey, cases }
    }

    /// The leader is frozen for longer than its lease lasts, and than a successor needs to write: a story of two replicas.
    pub fn of_a_frozen_leader(story: Simulation) -> Self {
        Self::of(story, &[Fault::Freeze(0, Duration::from_secs(25))])
    }

    /// The write arrives after its sender has given up.
    pub fn of_a_late_write(story: Simulation) -> Self {
        Self::of(story, &[Fault::Late(Duration::from_secs(40))])
    }

    /// The leader is killed, and its successor's cache of a kind is behind: a story of two replicas.
    pub fn of_a_successor_behind(story: Simulation, kind: Plural) -> Self {
        Self::of(story, &[Fault::Lag(1, kind, Duration::from_secs(20)), Fault::Kill(0)])
    }

    /// The connections break, and the server does not know any more what pods were meanwhile.
    pub fn of_a_cut_and_lost_history(story: Simulation) -> Self {
        let cut = Fault::Cut(0, Lines::Work, Duration::from_secs(3));
        Self::of(story, &[cut, Fault::Expire(0, "pods")])
    }

    /// Plays all of them.
    #[track_caller]
    pub fn check(&self) {
        assert!(self.cases.len() > 8, "{} writes", self.cases.len());
        self.survey.play_all(&self.cases, &|_| {}).check();
    }
}

/// A crash right before and right after every write of every story.
pub fn crashes(survey: &Survey) -> Vec<Case> {
    let stories = 0..survey.stories().len();
    let sides = [Side::Before, Side::After].map(Fault::Crash);
    let each = stories.flat_map(|story| sides.map(|crash| at_each_write(survey, story, &[crash])));
    each.flatten().collect()
}

fn at_each_write(survey: &Survey, story: usize, faults: &[Fault]) -> Vec<Case> {
    let writes = survey.stories()[story].1.tally.writes;
    let planned = |number, fault: &Fault| Planned {
        when: When::Write(number),
        fault: *fault,
    };
    let at = |number| Case {
        story,
        seed: Seed(number),
        schedule: Schedule(faults.iter().map(|fault| planned(number, fault)).collect()),
    };
    (1..=writes).map(at).collect()
}
