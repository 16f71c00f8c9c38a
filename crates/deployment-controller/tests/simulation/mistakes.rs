//! Deliberate mistakes, each of which some history has to find.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use testkit::simulation::schedule::Schedule;
use testkit::simulation::seed::Seed;
use testkit::simulation::{Case, Survey};
use workload_core::mistake::{self, Mistake};

use crate::points::Points;
use crate::{crashes, histories, points};

/// What the other tests play.
struct Played {
    surveys: Vec<(&'static str, Survey)>,
    /// Which survey, and what of it.
    cases: Vec<(usize, Case)>,
}

impl Played {
    /// Every story undisturbed; then by turns a random history, a crash point, and other trouble at a write: what is rare among
    /// the ones may be frequent among the others.
    fn all() -> Self {
        let (crash, random) = (crashes::survey(), histories::survey());
        let numbered = |number: usize, cases: Vec<Case>| cases.into_iter().map(move |case| (number, case));
        let crashes: Vec<_> = numbered(0, crashes::cases(&crash)).collect();
        let by_chance: Vec<_> = numbered(1, histories::cases(&random)).collect();
        let stories = crash.stories().len();
        let mut surveys = vec![("crash point", crash), ("random trouble", random)];
        let mut at_writes = Vec::new();
        for Points { survey, cases } in points::all() {
            at_writes.extend(numbered(surveys.len(), cases));
            surveys.push(("trouble at a write", survey));
        }
        let turns = [by_chance, shuffled(crashes), shuffled(at_writes)];
        let mut disturbed: Vec<_> = turns
            .into_iter()
            .flat_map(|cases| cases.into_iter().enumerate())
            .collect();
        disturbed.sort_by_key(|(turn, _)| *turn);
        let undisturbed = |story| Case {
            story,
            seed: Seed(0),
            schedule: Schedule::none(),
        };
        let mut cases: Vec<_> = numbered(0, (0..stories).map(undisturbed).collect()).collect();
        cases.extend(disturbed.into_iter().map(|(_, case)| case));
        Self { surveys, cases }
    }

    /// What finds a mistake, after how many histories.
    fn finds(&self, made: Mistake) -> Option<String> {
        self.cases.iter().enumerate().find_map(|(before, (number, case))| {
            let (name, survey) = self.surveys.get(*number)?;
            let making = mistake::make(made);
            let history = survey.play(case);
            drop(making);
            let why = history.verdict.err()?;
            let (story, _) = survey.stories().get(case.story)?;
            let (name, why) = (
                if case.schedule.0.is_empty() {
                    "undisturbed"
                } else {
                    name
                },
                why.lines().next(),
            );
            Some(format!(
                "{}. history, {name}, story {:?}, {:?}: {}",
                before + 1,
                story.scenario.name,
                case.schedule.to_string(),
                why.unwrap_or_default()
            ))
        })
    }
}

/// Neighbours show the same.
fn shuffled(mut cases: Vec<(usize, Case)>) -> Vec<(usize, Case)> {
    cases.sort_by_key(|(_, case)| case.seed.mixed(&case.schedule.to_string()));
    cases
}

#[test]
#[allow(clippy::print_stdout, reason = "what finds each mistake is worth knowing")]
fn every_mistake_is_found() {
    let played = Played::all();
    let (next, missed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(&made) = Mistake::ALL.get(next.fetch_add(1, Ordering::Relaxed)) {
            match played.finds(made) {
                Some(how) => println!("{made:?}: {how}"),
                None => missed.lock().unwrap().push(made),
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(work);
        }
    });
    let missed = missed.into_inner().unwrap();
    assert!(missed.is_empty(), "no history finds {missed:?}");
}
