//! Single components of a running cluster, stopped and started again, and what the cluster stores, kept and put back.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use nix::sys::signal::Signal;
use walkdir::WalkDir;

use super::components::{CONTROLLERS, ETCD_DATA, flag};
use super::process::Process;
use super::spec;
use super::state::State;
use crate::clock;

/// Where a copy of etcd's data is kept, below the cluster's directory.
const SNAPSHOT: &str = "etcd.snapshot";
/// The longest that the end of a killed process may take, or the halt of a stopped one.
const PATIENCE: Duration = Duration::from_secs(10);

/// A component of one cluster.
#[derive(clap::Args)]
pub(crate) struct Choice {
    /// Which cluster.
    #[arg(long, default_value = "dev")]
    pub(super) name: String,
    /// Which component.
    #[arg(long, value_enum)]
    pub(super) part: Part,
}

/// A component that can be stopped and started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Part {
    Etcd,
    KubeApiserver,
    KubeControllerManager,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::KubeApiserver => "kube-apiserver",
            Self::KubeControllerManager => "kube-controller-manager",
        }
    }
}

impl State {
    /// End a component; one that has ended already is left as it is.
    pub(super) fn stop(&self, part: Part) -> Result<()> {
        let process = self.process(part)?;
        process.kill()?;
        ensure!(
            clock::wait_until(PATIENCE, || Ok(process.has_ended()))?,
            "{} does not end",
            part.name()
        );
        Ok(())
    }

    /// Start a component with the flags that it had; one that runs is an error. `kcm_without` says which controllers
    /// kube-controller-manager leaves out from now on.
    pub(super) fn start(&mut self, dir: &Path, part: Part, kcm_without: Option<&[String]>) -> Result<()> {
        let group = self.group;
        let process = self.process_mut(part)?;
        if process.is_alive() {
            bail!("{} runs already", part.name());
        }
        if let (Part::KubeControllerManager, Some(without)) = (part, kcm_without) {
            choose_controllers(&mut process.launch.args, without);
        }
        let launch = process.launch.clone();
        let child = launch.start(dir, group)?;
        *process = Process::note(launch, child.id());
        self.save(dir)
    }

    /// Copy etcd's data while etcd stands still. Like the data of a crashed etcd the copy may end in the middle of a
    /// record, which etcd repairs when it starts.
    pub(super) fn snapshot(&self, dir: &Path) -> Result<()> {
        let etcd = self.process(Part::Etcd)?;
        etcd.signal(Signal::SIGSTOP)?;
        let stopped = clock::wait_until(PATIENCE, || Ok(etcd.stands_still()));
        let copied = stopped.and_then(|stopped| {
            ensure!(stopped, "etcd does not stop");
            replace(&dir.join(ETCD_DATA), &dir.join(SNAPSHOT))
        });
        etcd.signal(Signal::SIGCONT)?;
        copied
    }

    /// Stop API server and etcd, put the copy in the place of etcd's data, and start both.
    pub(super) fn restore(&mut self, dir: &Path) -> Result<()> {
        self.stop(Part::KubeApiserver)?;
        self.stop(Part::Etcd)?;
        replace(&dir.join(SNAPSHOT), &dir.join(ETCD_DATA))?;
        self.start(dir, Part::Etcd, None)?;
        self.start(dir, Part::KubeApiserver, None)
    }

    fn process(&self, part: Part) -> Result<&Process> {
        let found = self.processes.iter().find(|process| process.name() == part.name());
        found.with_context(|| format!("the cluster has no {}", part.name()))
    }

    fn process_mut(&mut self, part: Part) -> Result<&mut Process> {
        let found = self.processes.iter_mut().find(|process| process.name() == part.name());
        found.with_context(|| format!("the cluster has no {}", part.name()))
    }
}

fn choose_controllers(args: &mut [String], without: &[String]) {
    let prefix = flag(CONTROLLERS, "");
    for arg in args.iter_mut().filter(|arg| arg.starts_with(&prefix)) {
        *arg = flag(CONTROLLERS, spec::all_but(without));
    }
}

/// Make `to` a copy of the directory `from`.
fn replace(from: &Path, to: &Path) -> Result<()> {
    ensure!(from.is_dir(), "there is no {}", from.display());
    if to.exists() {
        fs::remove_dir_all(to).with_context(|| to.display().to_string())?;
    }
    for entry in WalkDir::new(from) {
        let entry = entry?;
        let copy = to.join(entry.path().strip_prefix(from)?);
        if entry.file_type().is_dir() {
            fs::create_dir_all(&copy)
        } else {
            fs::copy(entry.path(), &copy).map(drop)
        }
        .with_context(|| copy.display().to_string())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_takes_the_place_of_what_was_there() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        for (file, content) in [("from/member/wal/1", "new"), ("to/member/old", "old")] {
            let file = dir.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, content).unwrap();
        }
        replace(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("member/wal/1")).unwrap(), "new");
        assert!(!to.join("member/old").exists());
        replace(&dir.path().join("nowhere"), &to).unwrap_err();
        assert!(to.join("member/wal/1").exists());
    }

    #[test]
    fn another_choice_of_controllers_takes_the_place_of_the_flag() {
        let mut args = vec!["--controllers=*".to_owned(), "--kube-api-qps=1".to_owned()];
        choose_controllers(&mut args, &["deployment".to_owned()]);
        assert_eq!(args, ["--controllers=*,-deployment-controller", "--kube-api-qps=1"]);
        choose_controllers(&mut args, &[String::new()]);
        assert_eq!(args[0], "--controllers=*");
    }
}
