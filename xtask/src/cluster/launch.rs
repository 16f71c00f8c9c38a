//! How a process of a cluster is started, the first time and again.

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use super::kubectl;

/// A program and its flags, under the name by which its cluster knows it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Launch {
    pub(super) name: String,
    pub(super) program: PathBuf,
    pub(super) args: Vec<String>,
}

impl Launch {
    /// Start it in its cluster's directory `dir`, in the process group `group` or in one of its own. Its log goes to
    /// `NAME.log` there, behind what an earlier start has logged.
    pub(super) fn start(&self, dir: &Path, group: Option<i32>) -> Result<Child> {
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.log(dir))
            .context("a log file")?;
        kubectl::command(&self.program, dir)
            .args(&self.args)
            .current_dir(dir)
            .process_group(group.unwrap_or(0))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("starting {}", self.name))
    }

    /// The file in `dir` that it logs to.
    pub(super) fn log(&self, dir: &Path) -> PathBuf {
        dir.join(format!("{}.log", self.name))
    }
}
