//! Running cargo, and counting what its tests say.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use super::servers::{self, Servers};
use super::summary::Tally;
use crate::places::{self, Places};
use crate::tools::{Tool, Tools};
use crate::workspace::Workspace;

/// Tests with a server spend their time waiting for it, so there can be more of them at once than processors.
const TEST_THREADS: &str = "--test-threads=8";

/// One stage under way.
pub(super) struct Run<'a> {
    places: &'a Places,
    tally: Tally,
    environment: Vec<(&'static str, PathBuf)>,
}

impl<'a> Run<'a> {
    pub(super) fn new(places: &'a Places) -> Self {
        Self {
            places,
            tally: Tally::default(),
            environment: Vec::new(),
        }
    }

    /// The tests counted so far.
    pub(super) fn tally(&self) -> Tally {
        self.tally
    }

    /// Tests that need nothing but this repository.
    pub(super) fn unit(&mut self) -> Result<()> {
        let workspace = Workspace::load()?;
        let mut args = words(&["test", "--locked", "--no-fail-fast", "--workspace", "--lib", "--bins"]);
        args.extend(tests(&workspace, Kind::Alone));
        self.cargo(&args)
    }

    /// Tests of the Helm charts.
    pub(super) fn charts(&mut self) -> Result<()> {
        let tests = tests(&Workspace::load()?, Kind::Charts);
        if tests.is_empty() {
            println!("there are no charts");
            return Ok(());
        }
        let tools = Tools::resolve(self.places, &[Tool::Helm])?;
        self.environment.push(("HELM", tools.path(Tool::Helm)?.to_owned()));
        let mut args = words(&["test", "--locked", "--package=xtask"]);
        args.extend(tests);
        self.cargo(&args)
    }

    /// Tests against real API servers.
    pub(super) fn server(&mut self) -> Result<()> {
        let workspace = Workspace::load()?;
        let tests = tests(&workspace, Kind::Server);
        if tests.is_empty() {
            println!("there are no tests against a server");
            return Ok(());
        }
        self.prepare(&workspace)?;
        let servers = Servers::start(self.places)?;
        self.environment.extend(servers.environment());
        let mut args = words(&["test", "--locked", "--no-fail-fast", "--workspace"]);
        args.extend(tests);
        args.extend(words(&["--", TEST_THREADS]));
        self.cargo(&args)
    }

    /// Scenarios on a whole cluster.
    pub(super) fn e2e(&mut self) -> Result<()> {
        let workspace = Workspace::load()?;
        let tests = tests(&workspace, Kind::Scenario);
        if tests.is_empty() {
            println!("there are no scenarios");
            return Ok(());
        }
        self.prepare(&workspace)?;
        let cluster = servers::with_nodes(self.places)?;
        self.environment.push(("KUBECONFIG", cluster.kubeconfig().to_owned()));
        let mut args = words(&["test", "--locked", "--no-fail-fast", "--package=e2e"]);
        args.extend(tests);
        args.extend(words(&["--", TEST_THREADS]));
        self.cargo(&args)
    }

    /// What tests with a server need besides the server.
    fn prepare(&mut self, workspace: &Workspace) -> Result<()> {
        self.controllers(workspace)?;
        let tools = Tools::resolve(self.places, &[Tool::Kubectl, Tool::Helm])?;
        self.environment
            .push(("KUBECTL", tools.path(Tool::Kubectl)?.to_owned()));
        self.environment.push(("HELM", tools.path(Tool::Helm)?.to_owned()));
        Ok(())
    }

    /// Build the controllers once; the tests run these files.
    fn controllers(&mut self, workspace: &Workspace) -> Result<()> {
        let mut args = words(&["build", "--locked"]);
        for package in workspace.members().filter(|package| package.is_controller()) {
            args.extend(package.binaries().map(|name| format!("--bin={name}")));
            args.push(format!("--package={}", package.name));
        }
        self.cargo(&args)?;
        self.environment
            .push(("WORKLOAD_CONTROLLER_BIN_DIR", workspace.target_directory.join("debug")));
        Ok(())
    }

    /// Run cargo, show what it says, and count its tests.
    pub(super) fn cargo<S: AsRef<str>>(&mut self, args: &[S]) -> Result<()> {
        let args: Vec<&str> = args.iter().map(AsRef::as_ref).collect();
        println!("cargo {}", args.join(" "));
        let mut child = Command::new("cargo")
            .args(&args)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(places::repository())
            .stdout(Stdio::piped())
            .spawn()
            .context("starting cargo")?;
        if let Some(stdout) = child.stdout.take() {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                println!("{line}");
                self.tally = self.tally + Tally::in_line(&line).unwrap_or_default();
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
    Charts,
    Server,
    Scenario,
}

fn kind_of(package: &str, test: &str) -> Kind {
    match (package, test) {
        ("e2e", _) => Kind::Scenario,
        ("xtask", "charts") => Kind::Charts,
        (_, test) if test.starts_with("server") => Kind::Server,
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
        assert_eq!(kind_of("job-controller", "charts"), Kind::Alone);
        assert_eq!(kind_of("xtask", "charts"), Kind::Charts);
        assert_eq!(kind_of("e2e", "rollout"), Kind::Scenario);
    }
}
