//! The whole controller under simulation: the stories of users, with trouble on the way.

mod crashes;
mod histories;
mod laws;
mod mistakes;
mod opt_in_laws;
mod opt_ins;
mod points;
mod replay;
mod stories;
mod summary;

use std::sync::Arc;

use clap::Parser as _;
use deployment_controller::args::Args;
use testkit::simulation::scenario::Scenario;
use testkit::simulation::{Controller, Simulation};

/// The controller with its flags as they are by default.
fn controller() -> Controller {
    let args = Args::parse_from([deployment_controller::PROGRAM.name]);
    let controllers = args.controllers.clone();
    Controller {
        program: deployment_controller::PROGRAM,
        args: args.run,
        install: Arc::new(move |site| deployment_controller::install(site, &controllers)),
    }
}

fn simulation(scenario: Scenario) -> Simulation {
    Simulation {
        controller: controller(),
        scenario,
    }
}
