//! What cargo knows about the workspace.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use crate::places;

/// The answer of `cargo metadata`.
#[derive(Deserialize)]
pub(crate) struct Workspace {
    /// Our packages and everything they depend on.
    packages: Vec<Package>,
    #[serde(rename = "workspace_members")]
    members: Vec<String>,
    pub(crate) target_directory: PathBuf,
}

/// One package.
#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    id: String,
    pub(crate) license: Option<String>,
    targets: Vec<Target>,
    pub(crate) dependencies: Vec<Dependency>,
    /// What each of its features enables.
    pub(crate) features: BTreeMap<String, Vec<String>>,
}

/// What a package asks of another one.
#[derive(Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    kind: Option<String>,
    pub(crate) features: Vec<String>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

impl Workspace {
    /// Ask cargo.
    pub(crate) fn load() -> Result<Self> {
        let output = Command::new("cargo")
            .args(["metadata", "--format-version=1", "--locked"])
            .current_dir(places::repository())
            .output()
            .context("running cargo metadata")?;
        if !output.status.success() {
            bail!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        serde_json::from_slice(&output.stdout).context("the answer of cargo metadata")
    }

    /// Every package that ends up in some build of ours.
    pub(crate) fn packages(&self) -> &[Package] {
        &self.packages
    }

    /// Our own packages.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages
            .iter()
            .filter(|package| self.members.contains(&package.id))
    }
}

impl Dependency {
    /// Whether only tests use it.
    pub(crate) fn is_for_tests(&self) -> bool {
        self.kind.as_deref() == Some("dev")
    }
}

impl Package {
    /// Names of its integration tests.
    pub(crate) fn tests(&self) -> impl Iterator<Item = &str> {
        self.targets
            .iter()
            .filter(|target| target.kind.iter().any(|kind| kind == "test"))
            .map(|target| target.name.as_str())
    }
}
