//! The `job-controller` binary.

use std::process::ExitCode;

use job_controller::args::Args;

fn main() -> ExitCode {
    let args = Args::read();
    let loops = args.loops();
    workload_core::run::main(job_controller::PROGRAM, &args.run(), |site| {
        job_controller::install(site, &loops);
    })
}
