//! The flags that all controllers have. Each can also be given as an environment variable.

use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};

use crate::run::telemetry;

/// Flags of the process; a controller's own arguments flatten them.
#[derive(Args, Clone, Debug)]
pub struct RunArgs {
    #[command(flatten)]
    pub(super) server: ServerArgs,
    #[command(flatten)]
    pub(super) election: ElectionArgs,
    #[command(flatten)]
    pub(super) load: LoadArgs,
    /// Name under which writes are recorded in managedFields. GitOps tools that ignore fields managed by the built-in
    /// controllers go on doing so with `kube-controller-manager`. [default: the name of the binary]
    #[arg(long, env = "WORKLOAD_FIELD_MANAGER", value_name = "NAME")]
    pub(super) field_manager: Option<String>,
    /// Address of /livez, /readyz and /metrics. Port 0 takes any free port; the log says which.
    #[arg(
        long,
        env = "WORKLOAD_ADMIN_ADDR",
        value_name = "ADDRESS",
        default_value = "127.0.0.1:0"
    )]
    pub(super) admin_addr: SocketAddr,
    /// Which log lines are written: a level, or a filter such as `info,workload_core::cache=debug`.
    #[arg(long, env = "WORKLOAD_LOG_LEVEL", value_name = "FILTER", default_value = "info", value_parser = telemetry::checked)]
    pub(super) log_level: String,
    /// Form of log lines.
    #[arg(long, env = "WORKLOAD_LOG_FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub(super) log_format: LogFormat,
}

impl RunArgs {
    /// The same flags with this name for the Lease, unless one of them gives another.
    #[must_use]
    pub fn with_default_lease(mut self, name: String) -> Self {
        self.election.lease_name.get_or_insert(name);
        self
    }
}

/// The choice of loops, for a binary that has several.
#[derive(Args, Clone, Debug)]
pub struct LoopArgs<L: ValueEnum + Clone + Send + Sync + 'static> {
    /// Which loops run. The others are left to whoever else reconciles their kinds. [default: all]
    #[arg(
        long = "controllers",
        env = "WORKLOAD_CONTROLLERS",
        value_name = "CONTROLLERS",
        value_enum,
        value_delimiter = ','
    )]
    chosen: Vec<L>,
}

impl<L: ValueEnum + Clone + PartialEq + Send + Sync> LoopArgs<L> {
    /// True if this loop runs.
    pub fn runs(&self, named: &L) -> bool {
        self.chosen.is_empty() || self.chosen.contains(named)
    }
}

/// Which server, and how much of it.
#[derive(Args, Clone, Debug)]
pub(super) struct ServerArgs {
    /// A kubeconfig file. [default: the pod's service account, else $KUBECONFIG or ~/.kube/config]
    #[arg(long, env = "WORKLOAD_KUBECONFIG", value_name = "FILE")]
    pub(super) kubeconfig: Option<PathBuf>,
    /// A context of the kubeconfig other than its current one.
    #[arg(long, env = "WORKLOAD_CONTEXT", value_name = "NAME")]
    pub(super) context: Option<String>,
    /// Reconcile only this namespace. For tests: on a cluster, whatever reconciles the others must leave this one alone.
    #[arg(long, env = "WORKLOAD_NAMESPACE", value_name = "NAME")]
    pub(super) namespace: Option<String>,
}

/// Who leads.
#[derive(Args, Clone, Debug)]
pub(super) struct ElectionArgs {
    /// Act only while holding a Lease. Switch off only where a second instance is impossible.
    #[arg(
        long,
        env = "WORKLOAD_LEADER_ELECT",
        value_name = "BOOL",
        default_value_t = true,
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        action = ArgAction::Set
    )]
    pub(super) leader_elect: bool,
    /// Namespace of the Lease.
    #[arg(
        long,
        env = "WORKLOAD_LEASE_NAMESPACE",
        value_name = "NAME",
        default_value = "kube-system"
    )]
    pub(super) lease_namespace: String,
    /// Name of the Lease. [default: the name of the binary]
    #[arg(long, env = "WORKLOAD_LEASE_NAME", value_name = "NAME")]
    pub(super) lease_name: Option<String>,
}

/// How hard the process works.
#[derive(Args, Clone, Debug)]
pub(super) struct LoadArgs {
    /// How many objects of each kind are worked on at once (upstream's --concurrent-…-syncs).
    #[arg(long, env = "WORKLOAD_WORKERS", value_name = "NUMBER", default_value = "5")]
    pub(super) workers: NonZeroUsize,
    /// How many writes of each kind's loop may be on their way at once.
    #[arg(
        long,
        env = "WORKLOAD_MAX_INFLIGHT_WRITES",
        value_name = "NUMBER",
        default_value = "50"
    )]
    pub(super) max_inflight_writes: NonZeroUsize,
    /// Requests per second; without it the API server's own flow control decides.
    #[arg(long, env = "WORKLOAD_QPS", value_name = "NUMBER", value_parser = positive)]
    pub(super) qps: Option<f64>,
    /// Requests at once after a pause. [default: twice --qps]
    #[arg(long, env = "WORKLOAD_BURST", value_name = "NUMBER", requires = "qps")]
    pub(super) burst: Option<NonZeroU32>,
}

/// Form of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

fn positive(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|error| format!("{error}"))?;
    let fits = number.is_finite() && number > 0.0;
    fits.then_some(number).ok_or_else(|| "must be above 0".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{CommandFactory, Parser};

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        run: RunArgs,
    }

    fn parse(flags: &[&str]) -> Result<RunArgs, String> {
        let words = ["test"].into_iter().chain(flags.iter().copied());
        Cli::try_parse_from(words)
            .map(|cli| cli.run)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn election_is_on_unless_switched_off() {
        assert!(parse(&[]).unwrap().election.leader_elect);
        assert!(parse(&["--leader-elect"]).unwrap().election.leader_elect);
        assert!(!parse(&["--leader-elect=false"]).unwrap().election.leader_elect);
    }

    #[test]
    fn there_is_no_rate_limit_unless_asked_for() {
        let load = parse(&[]).unwrap().load;
        assert_eq!((load.qps, load.burst), (None, None));
        assert!(parse(&["--qps", "0"]).unwrap_err().contains("must be above 0"));
        assert!(parse(&["--burst", "5"]).unwrap_err().contains("--qps"));
    }

    #[test]
    fn each_flag_has_an_environment_variable_of_its_name() {
        let command = Cli::command();
        let own: Vec<_> = command
            .get_arguments()
            .filter_map(|flag| Some((flag.get_long()?, flag)))
            .collect();
        assert!(own.len() >= 14, "{} flags", own.len());
        for (name, flag) in own {
            let expected = format!("WORKLOAD_{}", name.replace('-', "_").to_uppercase());
            assert_eq!(
                flag.get_env().and_then(|env| env.to_str()),
                Some(&*expected),
                "--{name}"
            );
        }
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(parse(&["--workers", "0"]).is_err());
        assert!(parse(&["--admin-addr", "here"]).is_err());
        assert!(parse(&["--log-format", "xml"]).is_err());
    }
}
