//! The command line.

use clap::{Parser, ValueEnum};
use workload_core::run::{LoopArgs, RunArgs};

/// Kubernetes' Deployment and ReplicaSet controllers, in place of those inside kube-controller-manager.
///
/// Run it only where every replica of kube-controller-manager runs with
/// `--controllers=*,-deployment-controller,-replicaset-controller`.
#[derive(Clone, Debug, Parser)]
#[command(name = crate::PROGRAM.name, version)]
pub struct Args {
    /// Which loops run.
    #[command(flatten)]
    pub controllers: LoopArgs<Controller>,
    /// Flags of every controller.
    #[command(flatten)]
    pub run: RunArgs,
}

/// A loop of this binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Controller {
    /// Deployments.
    Deployment,
    /// ReplicaSets.
    #[value(name = "replicaset")]
    ReplicaSet,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn run(flags: &[&str]) -> Result<[bool; 2], clap::Error> {
        let words = ["deployment-controller"].into_iter().chain(flags.iter().copied());
        let args = Args::try_parse_from(words)?;
        Ok([Controller::Deployment, Controller::ReplicaSet].map(|controller| args.controllers.runs(&controller)))
    }

    #[test]
    fn both_loops_run_unless_one_is_named() {
        assert_eq!(run(&[]).unwrap(), [true, true]);
        assert_eq!(run(&["--controllers", "replicaset"]).unwrap(), [false, true]);
        assert_eq!(run(&["--controllers", "replicaset,deployment"]).unwrap(), [true, true]);
        assert!(run(&["--controllers", "daemonset"]).is_err());
    }

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }
}
