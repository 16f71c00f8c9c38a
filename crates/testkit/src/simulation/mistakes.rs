//! Deliberate mistakes, each of which some history has to find.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::points::Points;
use super::schedule::Schedule;
use super::seed::Seed;
use super::survey::{Case, Repertoire, Survey};

/// Histories that the tests of a controller play.
pub struct Played {
    sources: Vec<(&'static str, Box<dyn Repertoire>)>,
    /// Which source, and what of it.
    cases: Vec<(usize, Case)>,
}

impl Played {
    /// Every story undisturbed; then by turns a random history, a crash point, and other trouble at a write: what is rare among
    /// the ones may be frequent among the others.
    pub fn of(
        (crash, crashes): (Survey, Vec<Case>),
        (random, by_chance): (impl Repertoire + 'static, Vec<Case>),
        points: impl IntoIterator<Item = Points>,
    ) -> Self {
        let numbered = |number: usize, cases: Vec<Case>| cases.into_iter().map(move |case| (number, case));
        let undisturbed = |story| Case {
            story,
            seed: Seed(0),
            schedule: Schedule::none(),
        };
        let stories = (0..crash.stories().len()).map(undisturbed).collect();
        let mut cases: Vec<_> = numbered(0, stories).collect();
        let mut at_writes = Vec::new();
        let mut sources: Vec<(&str, Box<dyn Repertoire>)> =
            vec![("crash point", Box::new(crash)), ("random trouble", Box::new(random))];
        for Points { survey, cases } in points {
            at_writes.extend(numbered(sources.len(), cases));
            sources.push(("trouble at a write", Box::new(survey)));
        }
        let turns = [
            numbered(1, by_chance).collect(),
            shuffled(numbered(0, crashes).collect()),
            shuffled(at_writes),
        ];
        let mut disturbed: Vec<_> = turns
            .into_iter()
            .flat_map(|cases: Vec<(usize, Case)>| cases.into_iter().enumerate())
            .collect();
        disturbed.sort_by_key(|(turn, _)| *turn);
        cases.extend(disturbed.into_iter().map(|(_, case)| case));
        Self { sources, cases }
    }

    /// Looks for each of these mistakes, which `make` has made until what it answers is dropped, and says what finds it. Those
    /// that no history finds are the answer.
    pub fn missed<M: Copy + fmt::Debug + Sync + Send, G>(
        &self,
        mistakes: &[M],
        make: impl Fn(M) -> G + Sync,
    ) -> Vec<M> {
        let (next, missed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let work = || {
            while let Some(&made) = mistakes.get(next.fetch_add(1, Ordering::Relaxed)) {
                match self.finds(|| make(made)) {
                    Some(how) => say(&format!("{made:?}: {how}")),
                    None => missed.lock().expect("a lock").push(made),
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(work);
            }
        });
        missed.into_inner().expect("a lock")
    }

    /// What finds a mistake, after how many histories.
    fn finds<G>(&self, make: impl Fn() -> G) -> Option<String> {
        self.cases.iter().enumerate().find_map(|(before, (number, case))| {
            let (name, source) = self.sources.get(*number)?;
            let making = make();
            let history = source.play(case);
            drop(making);
            let why = history.verdict.err()?;
            let is_calm = case.schedule.0.is_empty();
            Some(format!(
                "{}. history, {}, story {:?}, {:?}: {}",
                before + 1,
                if is_calm { "undisturbed" } else { name },
                source.story(case),
                case.schedule.to_string(),
                why.lines().next().unwrap_or_default()
            ))
        })
    }
}

/// Neighbours show the same.
fn shuffled(mut cases: Vec<(usize, Case)>) -> Vec<(usize, Case)> {
    cases.sort_by_key(|(_, case)| case.seed.mixed(&case.schedule.to_string()));
    cases
}

impl fmt::Debug for Played {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Played")
            .field("cases", &self.cases.len())
            .finish_non_exhaustive()
    }
}

#[allow(clippy::print_stdout, reason = "what finds each mistake is worth knowing")]
fn say(line: &str) {
    println!("{line}");
}
