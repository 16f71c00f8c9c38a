//! Many histories at once, on all processors; what failed comes back small enough to read.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::run::{End, History, Simulation};
use super::schedule::{Schedule, Trouble, draw, shrunk};
use super::seed::Seed;

/// After so many failures no new history begins.
const ENOUGH: usize = 3;
/// How much of a failed history is shown.
const SHOWN: usize = 120;

/// Stories, and what each comes to if nothing goes wrong.
#[derive(Debug)]
pub struct Survey {
    stories: Vec<(Simulation, End)>,
}

/// A history to play.
#[derive(Clone, Debug)]
pub struct Case {
    /// Which story.
    pub story: usize,
    /// From which seed.
    pub seed: Seed,
    /// With which trouble.
    pub schedule: Schedule,
}

/// A history that failed, with as few faults as show it.
#[derive(Debug)]
pub struct Failure {
    story: String,
    case: Case,
    history: History,
}

/// What came of a survey.
#[derive(Debug, Default)]
pub struct Findings {
    /// How many histories were played.
    pub histories: u64,
    /// How many requests reached servers in them.
    pub requests: u64,
    /// What went wrong in them, by the sort of fault.
    pub met: BTreeMap<&'static str, u64>,
    /// Those that failed.
    pub failures: Vec<Failure>,
}

impl Survey {
    /// Plays each story once without trouble.
    pub fn of(stories: impl IntoIterator<Item = Simulation>) -> Self {
        let known = |story: Simulation| {
            let history = story.undisturbed(Seed(0));
            let end = history.verdict.clone();
            let end = end.unwrap_or_else(|_| panic!("undisturbed, {}: {history}", story.scenario.name));
            (story, end)
        };
        Self {
            stories: stories.into_iter().map(known).collect(),
        }
    }

    /// Fails unless each story that is played twice, from one seed and with one trouble, gives one trace.
    #[track_caller]
    pub fn check_that_seeds_decide(&self, trouble: &Trouble) {
        for (at, (story, goal)) in self.stories.iter().enumerate() {
            let seed = Seed(100 + at as u64);
            let schedule = draw(seed, trouble);
            let play = || story.disturbed(seed, &schedule, goal);
            play().check_same(&play());
        }
    }

    /// The number of the story of this name.
    ///
    /// # Panics
    ///
    /// Without such a story.
    pub fn number(&self, name: &str) -> usize {
        let found = self.stories.iter().position(|(story, _)| story.scenario.name == name);
        found.unwrap_or_else(|| panic!("no story {name:?}"))
    }

    /// The stories and their ends.
    pub fn stories(&self) -> &[(Simulation, End)] {
        &self.stories
    }
}

impl Repertoire for Survey {
    fn play(&self, case: &Case) -> History {
        let (story, goal) = &self.stories[case.story];
        story.disturbed(case.seed, &case.schedule, goal)
    }

    fn story(&self, case: &Case) -> String {
        self.stories[case.story].0.scenario.name.to_owned()
    }
}

/// Stories that follow from seeds. What they come to if nothing goes wrong is not known: the laws say what must hold at the end.
pub struct Invented(Box<dyn Fn(Seed) -> Simulation + Send + Sync>);

impl Invented {
    /// Stories by this rule.
    pub fn by(rule: impl Fn(Seed) -> Simulation + Send + Sync + 'static) -> Self {
        Self(Box::new(rule))
    }
}

impl Repertoire for Invented {
    fn play(&self, case: &Case) -> History {
        (self.0)(case.seed).invented(case.seed, &case.schedule)
    }

    fn story(&self, case: &Case) -> String {
        (self.0)(case.seed).scenario.name.to_owned()
    }
}

impl fmt::Debug for Invented {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Invented")
    }
}

/// Histories that can be played.
pub trait Repertoire: Sync {
    /// Plays one history.
    fn play(&self, case: &Case) -> History;

    /// The name of its story.
    fn story(&self, case: &Case) -> String;

    /// Plays all of these, calling `told` with the number of those that are over.
    fn play_all(&self, cases: &[Case], told: &(dyn Fn(u64) + Sync)) -> Findings {
        let (next, over, requests) = (AtomicUsize::new(0), AtomicU64::new(0), AtomicU64::new(0));
        let (failures, met) = (Mutex::new(Vec::new()), Mutex::new(BTreeMap::new()));
        let work = || {
            while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                let failed = failures.lock().expect("a lock").len();
                if failed >= ENOUGH {
                    return;
                }
                let history = self.play(case);
                requests.fetch_add(history.requests, Ordering::Relaxed);
                for (fault, count) in &history.met {
                    *met.lock().expect("a lock").entry(*fault).or_default() += count;
                }
                if history.verdict.is_err() {
                    let failure = self.smallest(case);
                    failures.lock().expect("a lock").push(failure);
                }
                told(over.fetch_add(1, Ordering::Relaxed) + 1);
            }
        };
        let workers = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(work);
            }
        });
        Findings {
            histories: over.into_inner(),
            requests: requests.into_inner(),
            met: met.into_inner().expect("a lock"),
            failures: failures.into_inner().expect("a lock"),
        }
    }

    /// The failure of this history, with as few faults as show it.
    fn smallest(&self, case: &Case) -> Failure {
        let with = |schedule: &Schedule| Case {
            schedule: schedule.clone(),
            ..case.clone()
        };
        let least = shrunk(&case.schedule, |schedule| self.play(&with(schedule)).verdict.is_err());
        let case = with(&least);
        Failure {
            story: self.story(&case),
            history: self.play(&case),
            case,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { story, case, history } = self;
        let shown = History {
            trace: history.trace.tail(SHOWN),
            ..history.clone()
        };
        let lines = history.trace.len();
        write!(
            f,
            "story {story:?}, seed {}, schedule \"{}\" ({lines} lines, the last {SHOWN} shown):\n{shown}",
            case.seed.0, case.schedule
        )
    }
}

impl Findings {
    /// Fails the test if a history failed.
    pub fn check(&self) {
        let all: Vec<String> = self.failures.iter().map(ToString::to_string).collect();
        assert!(
            all.is_empty(),
            "{} histories, {} failed:\n{}",
            self.histories,
            all.len(),
            all.join("\n\n")
        );
    }
}
