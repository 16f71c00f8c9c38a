//! `cargo xtask bench`: many pods come up on a real API server with simulated nodes, and what that took is printed.
//!
//! Bounds and counts are checked; times are only printed, for they depend on the machine.
//!
//! - [`deployments`]: one large Deployment comes up and is rolled.
//! - [`jobs`]: thousands of Jobs of one pod; [`compare`]: some of them, and one with indexes, by us and by upstream in turn.
//! - [`batch`] makes Jobs and waits for their end; [`lives`] notes when each and its pods came and ended.
//! - [`reading`] is what the controller says of itself, and what the API server has counted.

mod batch;
mod compare;
mod deployments;
mod jobs;
mod lives;
mod reading;

use anyhow::Result;

use crate::places::Places;

/// Flags of `bench`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Which controller.
    #[arg(long, value_name = "CONTROLLER", default_value = "deployment")]
    controller: Controller,
    /// Pods of the Deployment; five simulated nodes take at most 1000 and a quarter more during the rollout.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(4..=1000))]
    pods: u32,
    /// Jobs of one pod.
    #[arg(long, default_value_t = 5000, value_parser = clap::value_parser!(u32).range(1..=5000))]
    jobs: u32,
    /// Jobs that have nothing to do, and have ended before the second of the two batches.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=50_000), conflicts_with = "compare")]
    finished: u32,
    /// Let fewer Jobs run, by our controller and by kube-controller-manager in turn, and print the ratios.
    #[arg(long)]
    compare: bool,
}

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Controller {
    /// A Deployment comes up and is rolled.
    Deployment,
    /// Thousands of Jobs run to their end.
    Job,
}

pub(crate) fn run(places: &Places, args: &Args) -> Result<()> {
    match args.controller {
        Controller::Deployment => deployments::run(places, args.pods),
        Controller::Job if args.compare => compare::run(places),
        Controller::Job => jobs::run(places, args.jobs, args.finished),
    }
}
