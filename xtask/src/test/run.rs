//! Running cargo, and counting what its tests say.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use super::servers::Servers;
use super::summary::Tally;
use crate::places::{self, Places};
use crate::tools::{Tool, Tools};
use crate::workspace::{Package, Workspace};

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
        let mut args = words(&[
            "test",
            "--locked",
            "--no-fail-fast",
            "--workspace",
            "--exclude=e2e",
            "--lib",
            "--bins",
        ]);
        args.extend(
            tests(&workspace, |name| kind_of(name) == Kind::Alone)
                .into_iter()
                .map(|name| format!("--test={name}")),
        );
        self.cargo(&args)
    }

    /// Tests of the Helm charts.
    pub(super) fn charts(&mut self) -> Result<()> {
        if tests(&Workspace::load()?, |name| kind_of(name) == Kind::Charts).is_empty() {
            println!("there are no charts");
            return Ok(());
        }
        let tools = Tools::resolve(self.places, &[Tool::Helm])?;
        self.environment.push(("HELM", tools.path(Tool::Helm)?.to_owned()));
        self.cargo(&["test", "--locked", "--package=xtask", "--test=charts"])
    }

    /// Tests against real API servers.
    pub(super) fn server(&mut self) -> Result<()> {
        let workspace = Workspace::load()?;
        let names = tests(&workspace, |name| kind_of(name) == Kind::Server);
        if names.is_empty() {
            println!("there are no tests against a server");
            return Ok(());
        }
        self.controllers(&workspace)?;
        let tools = Tools::resolve(self.places, &[Tool::Kubectl, Tool::Helm])?;
        let servers = Servers::start(self.places)?;
        self.environment.extend(servers.environment());
        self.environment
            .push(("KUBECTL", tools.path(Tool::Kubectl)?.to_owned()));
        self.environment.push(("HELM", tools.path(Tool::Helm)?.to_owned()));
        let mut args = words(&["test", "--locked", "--no-fail-fast", "--workspace"]);
        args.extend(names.into_iter().map(|name| format!("--test={name}")));
        self.cargo(&args)
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

/// What a test target needs, told by its name.
#[derive(Debug, PartialEq)]
enum Kind {
    Alone,
    Charts,
    Server,
}

fn kind_of(test: &str) -> Kind {
    match test {
        "charts" => Kind::Charts,
        _ if test.starts_with("server") || test.starts_with("e2e") => Kind::Server,
        _ => Kind::Alone,
    }
}

/// Names of the workspace's test targets that are `wanted`, each once.
fn tests(workspace: &Workspace, wanted: impl Fn(&str) -> bool) -> BTreeSet<&str> {
    workspace
        .members()
        .flat_map(Package::tests)
        .filter(|name| wanted(name))
        .collect()
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_target_tells_by_its_name_what_it_needs() {
        assert_eq!(kind_of("policies"), Kind::Alone);
        assert_eq!(kind_of("charts"), Kind::Charts);
        assert_eq!(kind_of("server"), Kind::Server);
        assert_eq!(kind_of("server_parity"), Kind::Server);
        assert_eq!(kind_of("e2e"), Kind::Server);
    }
}
