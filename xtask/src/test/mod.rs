//! `cargo xtask test`: everything that has to hold, from cheap to dear.
//!
//! Stages find their tests themselves: a crate takes part in stage `server` as soon as it has an integration test whose
//! name begins with `server`, in stage `simulation` with one of that name, in stage `unit` with any other. What the tests of the last stages may rely on:
//!
//! | variable | meaning |
//! |---|---|
//! | `WORKLOAD_TEST_OURS` | kubeconfig of a server on which nobody runs the controllers that ours replace |
//! | `WORKLOAD_TEST_KCM` | kubeconfig of a server on which kube-controller-manager runs all of its own |
//! | `WORKLOAD_TEST_TAKEOVER` | only in stage `takeover`: kubeconfig of a cluster whose components tests stop and start |
//! | `WORKLOAD_TEST_TAKEOVER_CLUSTER`, `WORKLOAD_XTASK` | its name, and the program that does so (`xtask cluster stop` ...) |
//! | `WORKLOAD_CONTROLLER_BIN_DIR` | directory of our controllers' binaries |
//! | `KUBECTL`, `HELM` | paths of the programs |
//! | `KUBECONFIG` | only in stage `e2e`: a cluster with three simulated nodes |

mod complaints;
mod run;
mod servers;
mod summary;

use std::time::Duration;

use anyhow::{Result, bail};

use self::run::Run;
use self::summary::Tally;
use crate::places::Places;
use crate::{clock, generate, tidy};

/// The longest that all stages together may take.
const LIMIT: Duration = Duration::from_mins(75);

/// Flags of `cargo xtask test`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run only this stage; may be repeated.
    #[arg(long, value_name = "STAGE", value_parser = clap::builder::PossibleValuesParser::new(STAGES.map(|stage| stage.name)))]
    only: Vec<String>,
}

/// One step on the way from cheap to dear.
struct Stage {
    name: &'static str,
    run: fn(&mut Run<'_>) -> Result<()>,
}

const STAGES: [Stage; 10] = [
    Stage {
        name: "fmt",
        run: |run| run.cargo(&["fmt", "--all", "--check"]),
    },
    Stage {
        name: "tidy",
        run: |_| tidy::run(),
    },
    Stage {
        name: "gen",
        run: |_| generate::check(),
    },
    Stage {
        name: "clippy",
        run: |run| {
            run.cargo(&[
                "clippy",
                "--workspace",
                "--all-targets",
                "--locked",
                "--",
                "-D",
                "warnings",
            ])
        },
    },
    Stage {
        name: "unit",
        run: |run| run.unit(),
    },
    Stage {
        name: "simulation",
        run: |run| run.simulation(),
    },
    Stage {
        name: "charts",
        run: |run| run.charts(),
    },
    Stage {
        name: "server",
        run: |run| run.server(),
    },
    Stage {
        name: "takeover",
        run: |run| run.takeover(),
    },
    Stage {
        name: "e2e",
        run: |run| run.e2e(),
    },
];

/// How a stage went.
struct Outcome {
    name: &'static str,
    took: Duration,
    tally: Tally,
    complaints: Vec<String>,
    error: Option<anyhow::Error>,
}

/// Run the command.
pub(crate) fn run(places: &Places, args: &Args) -> Result<()> {
    let started = clock::now();
    let mut outcomes = Vec::new();
    for stage in STAGES
        .iter()
        .filter(|stage| args.only.is_empty() || args.only.iter().any(|name| name == stage.name))
    {
        if started.elapsed() > LIMIT {
            break;
        }
        println!("\n=== {} ===", stage.name);
        outcomes.push(run_stage(places, stage));
    }
    report(&outcomes, started.elapsed())
}

fn run_stage(places: &Places, stage: &Stage) -> Outcome {
    let started = clock::now();
    let mut run = Run::new(places);
    let error = (stage.run)(&mut run).err();
    if let Some(error) = &error {
        eprintln!("error: stage {}: {error:#}", stage.name);
    }
    Outcome {
        name: stage.name,
        took: started.elapsed(),
        tally: run.tally(),
        complaints: run.complaints().to_vec(),
        error,
    }
}

/// Print the table of stages and, as the last line, how many tests passed and failed.
fn report(outcomes: &[Outcome], took: Duration) -> Result<()> {
    let mut table = comfy_table::Table::new();
    table
        .load_style(comfy_table::presets::NOTHING)
        .set_header(["STAGE", "TIME", "PASSED", "FAILED", "RESULT"]);
    let mut total = Tally::default();
    for outcome in outcomes {
        let Tally { passed, failed } = outcome.tally;
        let result = if outcome.error.is_some() { "failed" } else { "ok" };
        let cells = [
            outcome.name,
            &clock::for_people(outcome.took),
            &passed.to_string(),
            &failed.to_string(),
            result,
        ];
        table.add_row(cells);
        total = total + outcome.counted();
    }
    for line in outcomes.iter().flat_map(|outcome| &outcome.complaints) {
        println!("{line}");
    }
    println!("\n{table}\ntotal {}", clock::for_people(took));
    let verdict = verdict(outcomes, total, took);
    if let Err(error) = &verdict {
        println!("{error:#}");
    }
    println!("\n{total}");
    verdict.map_err(|_| anyhow::Error::new(super::AlreadyTold))
}

fn verdict(outcomes: &[Outcome], total: Tally, took: Duration) -> Result<()> {
    let failed: Vec<_> = outcomes
        .iter()
        .filter(|outcome| outcome.error.is_some())
        .map(|outcome| outcome.name)
        .collect();
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    if took > LIMIT {
        bail!("the tests took longer than {}", clock::for_people(LIMIT));
    }
    if total.passed == 0 && outcomes.iter().any(|outcome| outcome.name == "unit") {
        bail!("no test ran");
    }
    Ok(())
}

impl Outcome {
    /// The tally, with a stage that failed for another reason than a test counted as one failure.
    fn counted(&self) -> Tally {
        let silent = self.error.is_some() && self.tally.failed == 0;
        Tally {
            failed: self.tally.failed + u64::from(silent),
            ..self.tally
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(name: &'static str, tally: Tally, error: Option<&'static str>) -> Outcome {
        Outcome {
            name,
            took: Duration::ZERO,
            tally,
            complaints: Vec::new(),
            error: error.map(anyhow::Error::msg),
        }
    }

    #[test]
    fn a_failed_stage_counts_even_if_no_test_failed() {
        let none = Tally::default();
        assert_eq!(
            outcome("fmt", none, Some("x")).counted(),
            Tally { passed: 0, failed: 1 }
        );
        let two = Tally { passed: 5, failed: 2 };
        assert_eq!(outcome("unit", two, Some("x")).counted(), two);
        assert_eq!(outcome("fmt", none, None).counted(), none);
    }

    #[test]
    fn a_run_without_any_test_is_no_success() {
        let short = Duration::from_secs(1);
        let none = [
            outcome("fmt", Tally::default(), None),
            outcome("unit", Tally::default(), None),
        ];
        verdict(&none, Tally::default(), short).unwrap_err();
        verdict(&none[..1], Tally::default(), short).unwrap();
        verdict(&none, Tally { passed: 1, failed: 0 }, short).unwrap();
    }

    #[test]
    fn too_long_a_run_is_no_success() {
        let tally = Tally { passed: 1, failed: 0 };
        let fine = [outcome("unit", tally, None)];
        verdict(&fine, tally, LIMIT).unwrap();
        verdict(&fine, tally, LIMIT + Duration::from_secs(1)).unwrap_err();
    }
}
