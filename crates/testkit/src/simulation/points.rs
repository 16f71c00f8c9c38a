//! One kind of trouble with each of a story's writes in turn.

use super::run::Simulation;
use super::schedule::{Fault, Planned, Schedule, Side, When};
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
