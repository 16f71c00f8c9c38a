//! The command line.

use std::sync::Arc;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser, ValueEnum};
use workload_core::run::{LoopArgs, RunArgs};

use crate::job::{Manager, Serves, words};

/// Kubernetes' Job and TTL-after-finished controllers, in place of those inside kube-controller-manager.
///
/// Run it only where every replica of kube-controller-manager runs with
/// `--controllers=*,-job-controller,-ttl-after-finished-controller`, or with --managed-by beside them.
#[derive(Clone, Debug, Parser)]
#[command(name = crate::PROGRAM.name, version)]
#[command(mut_arg("workers", |workers| workers.default_value(WORKERS)))]
pub struct Args {
    #[command(flatten)]
    controllers: LoopArgs<Controller>,
    /// Reconcile exactly the Jobs whose spec.managedBy is this name, such as `example.com/jobs`, beside the controller that
    /// reconciles all others. Only the loop `job` runs then, and the default name of the Lease is another one.
    #[arg(long, env = "WORKLOAD_MANAGED_BY", value_name = "DOMAIN/NAME", value_parser = manager)]
    managed_by: Option<Arc<str>>,
    #[command(flatten)]
    run: RunArgs,
}

/// How many Jobs are worked on at once. A turn of a Job with one pod waits for one write after the other: with upstream's five
/// (J-2) thousands of them would queue behind one another. `--max-inflight-writes` bounds what the server gets at once.
const WORKERS: &str = "50";

/// A loop of this binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Controller {
    /// Jobs.
    Job,
    /// The end of Jobs some time after they have finished.
    TtlAfterFinished,
}

/// The loops that run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loops {
    /// Which Jobs are reconciled, if any.
    pub jobs: Option<Serves>,
    /// Whether finished Jobs are deleted when their time has come.
    pub ttl: bool,
}

impl Loops {
    fn is_empty(&self) -> bool {
        self.jobs.is_none() && !self.ttl
    }
}

impl Args {
    /// The flags of this process. Ends it where they make no sense.
    pub fn read() -> Self {
        let args = Self::parse();
        if args.loops().is_empty() {
            let none = "with --managed-by the loop `job` alone can run, and --controllers leaves it out";
            Self::command().error(ErrorKind::ArgumentConflict, none).exit();
        }
        args
    }

    /// The loops to run. Beside another controller the end of Jobs is left to that one: it regards all of them (TTL-9).
    pub fn loops(&self) -> Loops {
        let [jobs, ttl] = [Controller::Job, Controller::TtlAfterFinished].map(|name| self.controllers.runs(&name));
        let by = self.managed_by.clone().map_or(Manager::BuiltIn, Manager::Named);
        Loops {
            jobs: jobs.then_some(Serves(by)),
            ttl: ttl && self.managed_by.is_none(),
        }
    }

    /// Flags of every controller. Instances that reconcile the Jobs of different names do not stand for one Lease.
    pub fn run(&self) -> RunArgs {
        let run = self.run.clone();
        match &self.managed_by {
            Some(name) => run.with_default_lease(lease(name)),
            None => run,
        }
    }
}

/// The Lease of the instance for this name. The chart grants rights on the same one (`workload-lib.lease`).
fn lease(managed_by: &str) -> String {
    let fits = |character: char| {
        if character.is_ascii_alphanumeric() {
            character.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    let readable: String = managed_by.chars().map(fits).collect();
    let checksum = adler32(managed_by.as_bytes());
    format!("{}-{}-{checksum}", crate::PROGRAM.name, readable.trim_matches('-'))
}

/// A checksum that Helm knows too.
fn adler32(bytes: &[u8]) -> u32 {
    const MODULUS: u32 = 65_521;
    let (a, b) = bytes.iter().fold((1, 0), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % MODULUS;
        (a, (b + a) % MODULUS)
    });
    (b << 16) | a
}

/// A name that `spec.managedBy` can have and that is not the built-in controller's.
fn manager(text: &str) -> Result<Arc<str>, String> {
    let (domain, path) = text.split_once('/').ok_or("must be a domain, a slash and a name")?;
    if text == words::BUILT_IN {
        return Err("is the built-in controller's name: leave the flag out to take its place".to_owned());
    }
    let of_domain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.' || c == '-';
    if domain.is_empty() || !domain.chars().all(of_domain) {
        return Err("must begin with a domain in lower case".to_owned());
    }
    let of_path = |c: char| c.is_ascii_alphanumeric() || "/-._~!$&'()*+,;=:@%".contains(c);
    if path.is_empty() || !path.chars().all(of_path) || text.len() > 63 {
        return Err("must be a domain and a path of at most 63 characters together".to_owned());
    }
    Ok(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(flags: &[&str]) -> Result<Args, String> {
        let words = ["job-controller"].into_iter().chain(flags.iter().copied());
        Args::try_parse_from(words).map_err(|error| error.to_string())
    }

    fn loops(flags: &[&str]) -> (Option<Manager>, bool) {
        let loops = parse(flags).unwrap().loops();
        (loops.jobs.map(|Serves(by)| by), loops.ttl)
    }

    #[test]
    fn both_loops_run_unless_one_is_named() {
        assert_eq!(loops(&[]), (Some(Manager::BuiltIn), true));
        assert_eq!(loops(&["--controllers", "job"]), (Some(Manager::BuiltIn), false));
        assert_eq!(loops(&["--controllers", "ttl-after-finished"]), (None, true));
        assert!(parse(&["--controllers", "cronjob"]).is_err());
    }

    #[test]
    fn beside_another_controller_jobs_are_reconciled_and_nothing_else() {
        let named = Some(Manager::Named("example.com/jobs".into()));
        assert_eq!(loops(&["--managed-by", "example.com/jobs"]), (named, false));
        let flags = [
            "--managed-by",
            "example.com/jobs",
            "--controllers",
            "ttl-after-finished",
        ];
        assert!(parse(&flags).unwrap().loops().is_empty());
    }

    #[test]
    fn a_name_that_no_job_can_have_is_refused() {
        for name in ["jobs", "/jobs", "example.com/", "Example.com/jobs", "example.com/a b"] {
            assert!(parse(&["--managed-by", name]).is_err(), "{name}");
        }
        let own = parse(&["--managed-by", "kubernetes.io/job-controller"]).unwrap_err();
        assert!(own.contains("leave the flag out"), "{own}");
    }

    #[test]
    fn each_name_has_a_lease_of_its_own() {
        assert_eq!(lease("example.com/jobs"), "job-controller-example-com-jobs-897123895");
        assert_ne!(lease("a.b/c"), lease("a-b/c"));
        assert_eq!(adler32(b"Wikipedia"), 300_286_872);
    }

    // proves: field/FR-JB-14
    #[test]
    fn as_many_jobs_are_worked_on_at_once_as_writes_may_be_on_their_way() {
        let default = |name: &str| {
            let command = Args::command();
            let flag = command.get_arguments().find(|flag| flag.get_id() == name).unwrap();
            flag.get_default_values().to_vec()
        };
        assert_eq!(default("workers"), ["50"]);
        assert_eq!(default("workers"), default("max_inflight_writes"));
    }

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }
}
