//! Which random histories are to be played: those of every run of the tests, or those that `cargo xtask simulate` asks for by
//! environment variables.

use super::survey::{Case, Findings, Repertoire};
use crate::server::environment;

/// How many histories; all seeds from the base on.
const SEEDS: &str = "WORKLOAD_SIMULATE_SEEDS";
/// The first seed.
const BASE: &str = "WORKLOAD_SIMULATE_SEED_BASE";
/// Anything: the whole timeline of each history is printed.
const TRACE: &str = "WORKLOAD_SIMULATE_TRACE";
/// How often progress is told, in histories.
const TOLD: u64 = 20;

/// Seeds of histories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// The first seed.
    pub base: u64,
    /// How many there are.
    pub seeds: u64,
    /// Whether each timeline is printed.
    pub trace: bool,
    /// Whether progress is told.
    pub told: bool,
}

impl Order {
    /// What the environment asks for; else the first `seeds`.
    pub fn or_the_first(seeds: u64) -> Self {
        let number = |name| environment(name).and_then(|text| text.parse().ok());
        let asked: Option<u64> = number(SEEDS);
        Self {
            base: number(BASE).unwrap_or_default(),
            seeds: asked.unwrap_or(seeds),
            trace: environment(TRACE).is_some(),
            told: asked.is_some(),
        }
    }

    /// Plays the histories that are ordered. `case` is the history of a seed.
    pub fn play(self, histories: &dyn Repertoire, case: impl Fn(u64) -> Case) -> Findings {
        let cases: Vec<Case> = (self.base..self.base + self.seeds).map(case).collect();
        if self.trace {
            for case in &cases {
                show(histories, case);
            }
        }
        let findings = histories.play_all(&cases, &|over| {
            if self.told && (over % TOLD == 0 || over == self.seeds) {
                say(&format!("simulated {over}"));
            }
        });
        if self.told {
            let met = findings.met.iter().map(|(fault, count)| format!("{fault} {count}"));
            say(&format!("faults: {}", met.collect::<Vec<_>>().join(", ")));
            say(&format!("{} requests reached servers", findings.requests));
        }
        findings
    }
}

fn show(histories: &dyn Repertoire, case: &Case) {
    let story = histories.story(case);
    say(&format!(
        "story {story:?}, seed {}, schedule \"{}\"",
        case.seed.0, case.schedule
    ));
    say(&histories.play(case).to_string());
}

#[allow(clippy::print_stdout, reason = "read by people and by `cargo xtask simulate`")]
fn say(line: &str) {
    println!("{line}");
}
