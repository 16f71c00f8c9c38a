//! The whole controller under simulation: Jobs of every sort, with trouble on the way.

mod crashes;
mod histories;
mod invented;
mod laws;
mod mistakes;
mod points;
mod replay;
mod stories;
mod summary;

use std::sync::Arc;

use clap::Parser as _;
use job_controller::args::Args;
use testkit::simulation::scenario::Scenario;
use testkit::simulation::{Controller, Simulation};

/// The controller with its flags as they are by default.
fn controller() -> Controller {
    let args = Args::parse_from([job_controller::PROGRAM.name]);
    let loops = args.loops();
    Controller {
        program: job_controller::PROGRAM,
        args: args.run(),
        install: Arc::new(move |site| job_controller::install(site, &loops)),
    }
}

fn simulation(scenario: Scenario) -> Simulation {
    Simulation {
        controller: controller(),
        scenario,
    }
}
