//! The process that makes sure that nothing outlives the command that started it.
//!
//! A watchdog leads a process group, and every component of a cluster is started into that group. It reads a pipe
//! whose other end only its parent holds. When the pipe closes, because the parent ended in whatever way, the
//! watchdog kills the group, itself included, and removes the cluster's directory. A parent that wants the processes
//! to stay writes a line first.

use std::fs;
use std::io::{BufRead as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{Pid, getpgrp, getpid};

use super::state::State;

/// What the parent writes to let the processes live on.
const STAY: &str = "stay";

/// Flags of the hidden command.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The directory to remove after the processes.
    dir: PathBuf,
}

/// Wait for the parent's word or end.
pub(crate) fn run(args: &Args) -> Result<()> {
    let mut word = String::new();
    std::io::stdin().lock().read_line(&mut word)?;
    if word.trim() == STAY {
        return Ok(());
    }
    // Started by hand it would be in the group of somebody's shell.
    if getpgrp() == getpid() {
        if let Some(state) = State::load(&args.dir)? {
            state.kill_all()?;
        }
        fs::remove_dir_all(&args.dir)?;
        // Also whatever was started and not recorded any more.
        killpg(getpgrp(), Signal::SIGKILL)?;
    }
    Ok(())
}

/// A watchdog as its parent sees it.
pub(super) struct Watchdog {
    child: Child,
}

impl Watchdog {
    /// Start a watchdog over the cluster in `dir`.
    pub(super) fn start(dir: &Path) -> Result<Self> {
        let mut program = std::env::current_exe().context("finding the path of this program")?;
        if !program.exists() {
            // A build has replaced the file since we started; Linux still knows the old one.
            program = PathBuf::from("/proc/self/exe");
        }
        let child = Command::new(program)
            .arg("watchdog")
            .arg(dir)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("starting the watchdog")?;
        Ok(Self { child })
    }

    /// The process group that it guards.
    pub(super) fn group(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap_or(i32::MAX)
    }

    /// Let the group live on without a watchdog.
    pub(super) fn release(mut self) -> Result<()> {
        if let Some(mut pipe) = self.child.stdin.take() {
            writeln!(pipe, "{STAY}").context("the watchdog is gone")?;
        }
        self.child.wait()?;
        Ok(())
    }

    /// End the whole group.
    pub(super) fn kill(&mut self) {
        // Fails only if the group is gone, which is what we want.
        let _ = killpg(Pid::from_raw(self.group()), Signal::SIGKILL);
        let _ = self.child.wait();
    }
}
