//! `cargo xtask simulate`: random histories of a controller, more of them than a run of the tests plays.
//!
//! The histories are those of the controller's own simulation tests. A failure comes back with its seed, the fewest faults
//! that show it, and the end of its timeline; `--seed` plays it once more.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::clock;
use crate::places;
use crate::progress::Progress;

/// How the tests tell how many histories are over.
const TOLD: &str = "simulated ";

/// From so many histories on an optimized build pays.
const MANY: u64 = 5000;

/// Flags of `simulate`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Which controller, such as `deployment`.
    #[arg(long, value_name = "NAME")]
    controller: String,
    /// How many histories.
    #[arg(long, value_name = "NUMBER", default_value_t = 1000)]
    seeds: u64,
    /// The first seed.
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    seed_base: u64,
    /// Only this seed.
    #[arg(long, value_name = "SEED", conflicts_with_all = ["seeds", "seed_base"])]
    seed: Option<u64>,
    /// Print the whole timeline of each history.
    #[arg(long)]
    trace: bool,
    /// Play an optimized build: faster to run, slower to build. Many histories are always played by one.
    #[arg(long)]
    optimized: bool,
}

impl Args {
    fn seeds(&self) -> u64 {
        if self.seed.is_some() { 1 } else { self.seeds }
    }

    fn command(&self) -> Command {
        let mut command = Command::new("cargo");
        let package = format!("{}-controller", self.controller);
        command.args([
            "test",
            "--quiet",
            "--locked",
            "--package",
            &package,
            "--test",
            "simulation",
        ]);
        if self.optimized || self.seeds() >= MANY {
            command.args(["--profile", "simulation"]);
        }
        command.args(["--", "--nocapture", "histories::"]);
        command.env("WORKLOAD_SIMULATE_SEEDS", self.seeds().to_string());
        let base = self.seed.unwrap_or(self.seed_base);
        command.env("WORKLOAD_SIMULATE_SEED_BASE", base.to_string());
        if self.trace {
            command.env("WORKLOAD_SIMULATE_TRACE", "1");
        }
        command.current_dir(places::repository()).stdout(Stdio::piped());
        command
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let title = format!(
        "simulating {} histories of the {}-controller",
        args.seeds(),
        args.controller
    );
    let mut progress = Progress::start(title);
    progress.tell("building");
    let mut child = args.command().spawn().context("starting cargo")?;
    let mut begun = None;
    let mut over = 0;
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            let started = *begun.get_or_insert_with(clock::now);
            match line.strip_prefix(TOLD).and_then(|count| count.parse::<u64>().ok()) {
                Some(count) => {
                    over = count;
                    let rate = rate(over, started.elapsed().as_secs_f64());
                    progress.tell(&format!("{over} of {}, {rate:.0} a second", args.seeds()));
                }
                None => println!("{line}"),
            }
        }
    }
    let status = child.wait()?;
    progress.finish();
    let took = begun.map(|begun| begun.elapsed()).unwrap_or_default();
    println!(
        "{over} histories in {}, {:.0} a second",
        clock::for_people(took),
        rate(over, took.as_secs_f64())
    );
    if !status.success() {
        bail!("a history failed, or could not be played");
    }
    Ok(())
}

#[allow(clippy::cast_precision_loss, reason = "shown without digits behind the point")]
fn rate(over: u64, seconds: f64) -> f64 {
    over as f64 / seconds.max(0.001)
}
