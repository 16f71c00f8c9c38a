//! The file that tells later commands about a running cluster.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};

use super::process::Process;
use crate::clock;

/// A cluster as its directory records it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct State {
    pub(crate) name: String,
    /// The administrator's kubeconfig.
    pub(crate) kubeconfig: PathBuf,
    pub(crate) processes: Vec<Process>,
    /// The process group that ends with the command that started the cluster; none once the cluster may outlive it.
    pub(super) group: Option<i32>,
}

impl State {
    /// Read the state of the cluster in `dir`. None: there is no such cluster.
    pub(crate) fn load(dir: &Path) -> Result<Option<Self>> {
        let file = file(dir);
        if !file.exists() {
            return Ok(None);
        }
        let text = fs::read(&file).with_context(|| file.display().to_string())?;
        serde_json::from_slice(&text)
            .with_context(|| file.display().to_string())
            .map(Some)
    }

    /// Every cluster below `clusters`, by name.
    pub(crate) fn load_all(clusters: &Path) -> Result<Vec<Self>> {
        let mut states = Vec::new();
        if clusters.is_dir() {
            for entry in clusters.read_dir()? {
                states.extend(Self::load(&entry?.path())?);
            }
        }
        states.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(states)
    }

    /// Write the state into `dir`, all or nothing.
    pub(super) fn save(&self, dir: &Path) -> Result<()> {
        let draft = dir.join("state.json.new");
        fs::write(&draft, serde_json::to_vec_pretty(self)?).with_context(|| draft.display().to_string())?;
        fs::rename(&draft, file(dir)).context("state.json")
    }

    pub(crate) fn all_alive(&self) -> bool {
        !self.processes.is_empty() && self.processes.iter().all(Process::is_alive)
    }

    /// End every process and wait until all are gone.
    pub(super) fn kill_all(&self) -> Result<()> {
        for process in &self.processes {
            process
                .kill()
                .with_context(|| format!("ending {} ({})", process.name(), process.pid))?;
        }
        let gone = clock::wait_until(Duration::from_secs(10), || {
            Ok(!self.processes.iter().any(Process::is_alive))
        })?;
        if !gone {
            bail!("some processes of cluster {} do not end", self.name);
        }
        Ok(())
    }
}

fn file(dir: &Path) -> PathBuf {
    dir.join("state.json")
}

#[cfg(test)]
mod tests {
    use super::super::launch::Launch;
    use super::*;

    #[test]
    fn a_saved_state_is_found_again() {
        let clusters = tempfile::tempdir().unwrap();
        let dir = clusters.path().join("a");
        assert!(State::load(&dir).unwrap().is_none());
        fs::create_dir(&dir).unwrap();
        let launch = Launch {
            name: "this test".to_owned(),
            program: PathBuf::new(),
            args: Vec::new(),
        };
        let state = State {
            name: "a".to_owned(),
            kubeconfig: dir.join("kubeconfig"),
            processes: vec![Process::note(launch, std::process::id())],
            group: None,
        };
        state.save(&dir).unwrap();
        let loaded = State::load_all(clusters.path()).unwrap();
        assert_eq!(loaded.len(), 1);
        assert!(loaded[0].all_alive());
        assert_eq!(loaded[0].kubeconfig, dir.join("kubeconfig"));
    }

    #[test]
    fn a_cluster_without_processes_does_not_count_as_running() {
        let state = State {
            name: "a".to_owned(),
            kubeconfig: PathBuf::new(),
            processes: Vec::new(),
            group: None,
        };
        assert!(!state.all_alive());
    }
}
