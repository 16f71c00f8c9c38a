//! Deliberate mistakes, each of which some history has to find.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use testkit::simulation::schedule::Schedule;
use testkit::simulation::seed::Seed;
use testkit::simulation::{Case, Survey, exhaustive};
use workload_core::mistake::{self, Mistake};

use crate::{freezes, histories, simulation, stories};

/// What the other tests play: every story undisturbed, the random histories, the frozen leaders, the crash points.
struct Rounds {
    name: &'static str,
    survey: Survey,
    cases: Vec<Case>,
}

fn rounds() -> [Rounds; 4] {
    let alone = || Survey::of(stories::all().into_iter().map(simulation));
    let undisturbed = |survey: &Survey| {
        let case = |story| Case {
            story,
            seed: Seed(0),
            schedule: Schedule::none(),
        };
        (0..survey.stories().len()).map(case).collect()
    };
    let crashes = |survey: &Survey| {
        (0..survey.stories().len())
            .flat_map(|story| exhaustive(survey, story))
            .collect()
    };
    let of = |name, survey: Survey, cases: &dyn Fn(&Survey) -> Vec<Case>| Rounds {
        name,
        cases: cases(&survey),
        survey,
    };
    [
        of("undisturbed", alone(), &undisturbed),
        of("random trouble", histories::survey(), &histories::cases),
        of("frozen leaders", freezes::survey(), &freezes::cases),
        of("crash points", alone(), &crashes),
    ]
}

/// What found a mistake, after how many histories.
fn found(rounds: &[Rounds], made: Mistake) -> Option<String> {
    let mut played = 0;
    for Rounds { name, survey, cases } in rounds {
        for case in cases {
            played += 1;
            let making = mistake::make(made);
            let history = survey.play(case);
            drop(making);
            if let Err(why) = history.verdict {
                let story = survey.stories()[case.story].0.scenario.name;
                let why = why.lines().next().unwrap_or_default();
                return Some(format!("{name}, {played}. history ({story:?}, {}): {why}", case.schedule));
            }
        }
    }
    None
}

#[test]
#[allow(clippy::print_stdout, reason = "what finds each mistake is worth knowing")]
fn every_mistake_is_found() {
    let rounds = rounds();
    let (next, missed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(&made) = Mistake::ALL.get(next.fetch_add(1, Ordering::Relaxed)) {
            match found(&rounds, made) {
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
