//! The command line.

use clap::{Parser, ValueEnum};
use workload_core::run::RunArgs;

/// Kubernetes' Deployment and ReplicaSet controllers, in place of those inside kube-controller-manager.
///
/// Run it only where every replica of kube-controller-manager runs with
/// `--controllers=*,-deployment-controller,-replicaset-controller`.
#[derive(Clone, Debug, Parser)]
#[command(name = crate::PROGRAM.name, version)]
pub struct Args {
    /// Which loops run. The other one is left to whoever else reconciles its kind.
    #[arg(
        long,
        env = "WORKLOAD_CONTROLLERS",
        value_enum,
        value_delimiter = ',',
        default_value = "deployment,replicaset"
    )]
    pub controllers: Vec<Controller>,
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

    fn controllers(flags: &[&str]) -> Result<Vec<Controller>, clap::Error> {
        let words = ["deployment-controller"].into_iter().chain(flags.iter().copied());
        Args::try_parse_from(words).map(|args| args.controllers)
    }

    #[test]
    fn both_loops_run_unless_one_is_named() {
        use Controller::{Deployment, ReplicaSet};
        assert_eq!(controllers(&[]).unwrap(), [Deployment, ReplicaSet]);
        assert_eq!(controllers(&["--controllers", "replicaset"]).unwrap(), [ReplicaSet]);
        assert!(controllers(&["--controllers", "daemonset"]).is_err());
    }

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }
}
