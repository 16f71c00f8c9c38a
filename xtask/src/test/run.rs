//! Running cargo, and counting what its tests say.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use super::complaints::Complaints;
use super::servers::{self, Servers, Takeover};
use super::summary::Tally;
use crate::places::{self, Places};
use crate::tools::{Tool, Tools};
use crate::workspace::Workspace;

/// The module of the charts' tests whose tests need a server.
const ON_A_SERVER: &str = "server::";

/// The modules of the controllers' tests that need a cluster for themselves.
const ALONE: [&str; 2] = ["takeover::", "outages::"];

/// Tests with a server spend their time waiting for it, so there can be more of them at once than processors; but servers and
/// controllers that get no processor for a second let tests fail.
const TEST_THREADS: &str = "--test-threads=6";

/// Programs that tests run, and the variables that name them.
const KUBECTL: (&str, Tool) = ("KUBECTL", Tool::Kubectl);
const HELM: (&str, Tool) = ("HELM", Tool::Helm);

/// One stage under way.
pub(super) struct Run<'a> {
    places: &'a Places,
    tally: Tally,
    complaints: Complaints,
    environment: Vec<(&'static str, OsString)>,
}

impl<'a> Run<'a> {
    pub(super) fn new(places: &'a Places) -> Self {
        Self {
            places,
            tally: Tally::default(),
            complaints: Complaints::default(),
            environment: Vec::new(),
        }
    }

    /// The tests counted so far.
    pub(super) fn tally(&self) -> Tally {
        self.tally
    }

    /// What failed tests have said so far.
    pub(super) fn complaints(&self) -> &[String] {
        self.complaints.lines()
    }

    /// Tests that need nothing but this repository.
    pub(super) fn unit(&mut self) -> Result<()> {
        let mut wanted = tests(&Workspace::load()?, Kind::Alone);
        wanted.extend(words(&["--lib", "--bins"]));
        self.test(&wanted, &[])
    }

    /// Whole controllers on simulated time.
    pub(super) fn simulation(&mut self) -> Result<()> {
        self.test(&tests(&Workspace::load()?, Kind::Simulation), &[])
    }

    /// Tests of the Helm charts that need no server.
    pub(super) fn charts(&mut self) -> Result<()> {
        self.provide(&[HELM])?;
        self.test(
            &tests(&Workspace::load()?, Kind::Charts),
            &["--", "--skip", ON_A_SERVER],
        )
    }

    /// Tests against real API servers.
    pub(super) fn server(&mut self) -> Result<()> {
        let workspace = Workspace::load()?;
        let (controllers, charts) = (tests(&workspace, Kind::Server), tests(&workspace, Kind::Charts));
        self.build(&workspace, &controllers | &charts)?;
        self.provide(&[KUBECTL, HELM])?;
        let servers = Servers::start(self.places)?;
        self.environment.extend(servers.environment());
        let of_charts = self.test(&charts, &["--", ON_A_SERVER]);
        let mut rest = vec!["--", TEST_THREADS];
        rest.extend(ALONE.iter().flat_map(|module| ["--skip", *module]));
        self.test(&controllers, &rest).and(of_charts)
    }

    /// Tests that stop and start the components of a cluster, one after the other.
    pub(super) fn takeover(&mut self) -> Result<()> {
        let workspace = Workspace::load()?;
        let controllers = tests(&workspace, Kind::Server);
        self.build(&workspace, controllers.clone())?;
        self.provide(&[KUBECTL, HELM])?;
        let xtask = workspace.target_directory.join("debug").join("xtask");
        self.environment.push(("WORKLOAD_XTASK", xtask.into()));
        let cluster = Takeover::start(self.places)?;
        self.environment.extend(cluster.environment(self.places)?);
        let rest = [&["--", "--test-threads=1"][..], &ALONE].concat();
        self.test(&controllers, &rest)
    }

    /// Scenarios on a whole cluster.
    pub(super) fn e2e(&mut self) -> Result<()> {
        let workspace = Workspace::load()?;
        let scenarios = tests(&workspace, Kind::Scenario);
        if scenarios.is_empty() {
            println!("there are no scenarios");
            return Ok(());
        }
        self.build(&workspace, scenarios.clone())?;
        self.provide(&[KUBECTL, HELM])?;
        let cluster = servers::with_nodes(self.places)?;
        self.environment.push(("KUBECONFIG", cluster.kubeconfig().into()));
        self.test(&scenarios, &["--", TEST_THREADS])
    }

    /// Build the controllers and `tests`, before servers run for them. One call with all of the workspace: any other
    /// choice of packages means other features of what they depend on, hence a second build of it.
    fn build(&mut self, workspace: &Workspace, tests: BTreeSet<String>) -> Result<()> {
        let mut args = words(&["build", "--locked", "--workspace", "--bins"]);
        args.extend(tests);
        self.cargo(&args)?;
        let directory = workspace.target_directory.join("debug");
        self.environment.push(("WORKLOAD_CONTROLLER_BIN_DIR", directory.into()));
        Ok(())
    }

    /// Tell tests by these variables where these programs are.
    fn provide(&mut self, wanted: &[(&'static str, Tool)]) -> Result<()> {
        let programs: Vec<Tool> = wanted.iter().map(|(_, tool)| *tool).collect();
        let tools = Tools::resolve(self.places, &programs)?;
        for (variable, tool) in wanted {
            self.environment.push((variable, tools.path(*tool)?.into()));
        }
        Ok(())
    }

    /// Run the tests that the flags `wanted` name; none if there are none.
    fn test(&mut self, wanted: &BTreeSet<String>, rest: &[&str]) -> Result<()> {
        if wanted.is_empty() {
            println!("there are no such tests");
            return Ok(());
        }
        let mut args = words(&["test", "--locked", "--no-fail-fast", "--workspace"]);
        args.extend(wanted.iter().cloned());
        args.extend(words(rest));
        self.cargo(&args)
    }

    /// Run cargo, show what it says, and count its tests.
    pub(super) fn cargo<S: AsRef<str>>(&mut self, args: &[S]) -> Result<()> {
        let args: Vec<&str> = args.iter().map(AsRef::as_ref).collect();
        println!("cargo {}", args.join(" "));
        let mut child = Command::new("cargo")
            .args(&args)
            .envs(self.environment.iter().cloned())
            .current_dir(places::repository())
            .stdout(Stdio::piped())
            .spawn()
            .context("starting cargo")?;
        if let Some(stdout) = child.stdout.take() {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                println!("{line}");
                self.tally = self.tally + Tally::in_line(&line).unwrap_or_default();
                self.complaints.read(&line);
            }
        }
        let status = child.wait()?;
        if !status.success() {
            bail!("cargo {}: {status}", args.first().unwrap_or(&""));
        }
        Ok(())
    }
}

/// What an integration test needs.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Alone,
    Simulation,
    Charts,
    Server,
    Scenario,
}

fn kind_of(package: &str, test: &str) -> Kind {
    match (package, test) {
        ("e2e", _) => Kind::Scenario,
        ("xtask", "charts") => Kind::Charts,
        (_, test) if test.starts_with("server") => Kind::Server,
        (_, "simulation") => Kind::Simulation,
        _ => Kind::Alone,
    }
}

/// Cargo's flags for the integration tests of one kind, each once.
fn tests(workspace: &Workspace, kind: Kind) -> BTreeSet<String> {
    workspace
        .members()
        .flat_map(|package| package.tests().map(|test| (package.name.as_str(), test)))
        .filter(|(package, test)| kind_of(package, test) == kind)
        .map(|(_, test)| format!("--test={test}"))
        .collect()
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_tells_by_its_name_and_package_what_it_needs() {
        assert_eq!(kind_of("job-controller", "policies"), Kind::Alone);
        assert_eq!(kind_of("job-controller", "server"), Kind::Server);
        assert_eq!(kind_of("job-controller", "simulation"), Kind::Simulation);
        assert_eq!(kind_of("job-controller", "charts"), Kind::Alone);
        assert_eq!(kind_of("xtask", "charts"), Kind::Charts);
        assert_eq!(kind_of("e2e", "rollout"), Kind::Scenario);
    }
}
