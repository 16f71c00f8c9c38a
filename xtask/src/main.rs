//! The project's own commands: `cargo xtask <command>`.
//!
//! One module per command. Commands share [`places`] (where things lie), [`tools`] (the programs of Kubernetes they
//! need) and [`progress`] (what people see while they wait).
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "these are commands; printing is what they do"
)]

mod bench;
mod clock;
mod cluster;
mod demo;
mod generate;
mod places;
mod progress;
mod simulate;
mod test;
mod tidy;
mod tools;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The project's own commands.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_version_flag = true)]
struct Cli {
    #[command(flatten)]
    places: places::Places,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Find or build kube-apiserver, etcd, kubectl and the other programs that tests and clusters use.
    Tools(tools::Args),
    /// Start and stop Kubernetes clusters on this machine, without containers.
    #[command(subcommand)]
    Cluster(cluster::Command),
    /// Show the controllers at work on a cluster of their own.
    Demo(demo::Args),
    /// Bring a large Deployment up and roll it, or let thousands of Jobs run, and print what that took.
    Bench(bench::Args),
    /// Run everything that has to hold, from cheap to dear.
    #[command(alias = "ci")]
    Test(test::Args),
    /// Play random histories of a controller with trouble on the way, each from a seed.
    Simulate(simulate::Args),
    /// Check what the compiler does not check about this repository.
    Tidy,
    /// Write the files of the repository that follow from others.
    Gen(generate::Args),
    /// End a process group when the process that started it is gone.
    #[command(hide = true)]
    Watchdog(cluster::watchdog::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Tools(args) => tools::run(&cli.places, &args),
        Command::Cluster(command) => cluster::run(&cli.places, &command),
        Command::Demo(args) => demo::run(&cli.places, &args),
        Command::Bench(args) => bench::run(&cli.places, &args),
        Command::Test(args) => test::run(&cli.places, &args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Tidy => tidy::run(),
        Command::Gen(args) => generate::run(&args),
        Command::Watchdog(args) => cluster::watchdog::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is::<AlreadyTold>() => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// A failure that the command has reported in its own form.
#[derive(Debug)]
struct AlreadyTold;

impl std::fmt::Display for AlreadyTold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("see above")
    }
}

impl std::error::Error for AlreadyTold {}
