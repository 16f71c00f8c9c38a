//! The `deployment-controller` binary.

use std::process::ExitCode;

use clap::Parser;
use deployment_controller::args::Args;

fn main() -> ExitCode {
    let args = Args::parse();
    workload_core::run::main(deployment_controller::PROGRAM, &args.run, |site| {
        deployment_controller::install(site, &args.controllers);
    })
}
