//! Random trouble from random seeds.

use std::time::Duration;

use testkit::simulation::schedule::{Fault, Schedule, Trouble, draw};
use testkit::simulation::seed::Seed;
use testkit::simulation::{Case, History, Invented, Order, Repertoire, Survey};

use crate::{invented, simulation, stories};

/// How many histories every run of the tests plays; `cargo xtask simulate` plays others.
const SEEDS: u64 = 600;
/// In which time trouble begins.
const SPAN: Duration = Duration::from_mins(1);

/// By turns the stories that are told here, and others that follow from seeds.
pub(crate) struct Histories {
    pub(crate) told: Survey,
    invented: Invented,
}

impl Repertoire for Histories {
    fn play(&self, case: &Case) -> History {
        if case.story < self.told.stories().len() {
            self.told.play(case)
        } else {
            self.invented.play(case)
        }
    }

    fn story(&self, case: &Case) -> String {
        if case.story < self.told.stories().len() {
            self.told.story(case)
        } else {
            self.invented.story(case)
        }
    }
}

impl Histories {
    pub(crate) fn all() -> Self {
        let told = stories::all()
            .into_iter()
            .map(|scenario| simulation(scenario.replicas(2)));
        Self {
            told: Survey::of(told),
            invented: invented::all(),
        }
    }

    /// The history of a seed: it says which story, and what goes wrong.
    pub(crate) fn case(&self, number: u64) -> Case {
        let (count, seed) = (self.told.stories().len(), Seed(number));
        let story = usize::try_from(number / 2).unwrap_or_default() % count;
        let is_told = number.is_multiple_of(2);
        Case {
            story: if is_told { story } else { count },
            seed,
            schedule: if is_told {
                self.trouble_of_a_story(story, seed)
            } else {
                trouble(seed, true, true)
            },
        }
    }

    /// Pods fare as the story says.
    fn trouble_of_a_story(&self, story: usize, seed: Seed) -> Schedule {
        let deletes = self
            .told
            .stories()
            .get(story)
            .is_some_and(|(_, end)| end.tally.deletions > 0);
        trouble(seed, false, deletes)
    }

    /// What every run of the tests plays.
    pub(crate) fn cases(&self) -> Vec<Case> {
        (0..SEEDS).map(|number| self.case(number)).collect()
    }
}

/// Whose clock is wrong by hours ends a Job or lets it wait for hours, as upstream does (job TTL-7). A create that is carried out
/// after a pod of that name is gone, or after a successor of its sender has made another in its place, makes a pod that nobody
/// asks for any more.
fn trouble(seed: Seed, pods: bool, deletes: bool) -> Schedule {
    let trouble = Trouble {
        pods,
        ..Trouble::of_jobs(2, SPAN)
    };
    let mut schedule = draw(seed, &trouble);
    let is_forgotten = deletes || schedule.0.iter().any(|planned| planned.fault.may_end_a_process());
    let is_too_much = |fault: Fault| {
        matches!(fault, Fault::Jump(_, by) if by.abs() > 60) || (is_forgotten && matches!(fault, Fault::Late(_)))
    };
    schedule.0.retain(|planned| !is_too_much(planned.fault));
    schedule
}

#[test]
fn histories_with_random_trouble_come_to_their_end() {
    let (histories, order) = (Histories::all(), Order::or_the_first(SEEDS));
    let findings = order.play(&histories, |number| histories.case(number));
    findings.check();
    assert_eq!(findings.histories, order.seeds);
}
