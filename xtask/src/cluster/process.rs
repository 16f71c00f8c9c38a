//! Processes that outlive the command that started them, told apart from later ones that got the same id.

use std::fs;
use std::process::Command;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use super::launch::Launch;

/// One process of a cluster.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Process {
    /// How it was started.
    #[serde(flatten)]
    pub(super) launch: Launch,
    pub(crate) pid: u32,
    /// When it started, in the system's own words: a reused id has another one.
    started: String,
}

impl Process {
    /// Take note of a process that was just started.
    pub(super) fn note(launch: Launch, pid: u32) -> Self {
        Self {
            launch,
            pid,
            started: start_of(pid).unwrap_or_default(),
        }
    }

    /// The component that it runs.
    pub(crate) fn name(&self) -> &str {
        &self.launch.name
    }

    /// Does it still run? A process that ended and that nobody has waited for yet does not.
    pub(crate) fn is_alive(&self) -> bool {
        start_of(self.pid).is_some_and(|started| started == self.started)
    }

    /// Has it ended with all its threads? Those of a killed process can outlive its first one for a moment, and hold its ports.
    pub(super) fn has_ended(&self) -> bool {
        let threads = fs::read_dir(format!("/proc/{}/task", self.pid)).map_or(0, Iterator::count);
        !self.is_alive() && threads <= 1
    }

    /// Does it stand still, with all its threads? They stop one after the other. Where the system does not tell, they do.
    pub(super) fn stands_still(&self) -> bool {
        let threads = fs::read_dir(format!("/proc/{}/task", self.pid)).into_iter().flatten();
        let stats = threads
            .flatten()
            .filter_map(|thread| fs::read_to_string(thread.path().join("stat")).ok());
        stats.into_iter().all(|stat| is_stopped(&stat))
    }

    /// End it at once. Nothing a cluster stores outlives it, so nobody needs the time to finish.
    pub(super) fn kill(&self) -> nix::Result<()> {
        self.signal(Signal::SIGKILL)
    }

    /// Send it a signal, unless it has ended.
    pub(super) fn signal(&self, signal: Signal) -> nix::Result<()> {
        let (true, Ok(pid)) = (self.is_alive(), i32::try_from(self.pid)) else {
            return Ok(());
        };
        match kill(Pid::from_raw(pid), signal) {
            Ok(()) | Err(Errno::ESRCH) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// When the process `pid` started. None: it does not run.
fn start_of(pid: u32) -> Option<String> {
    if fs::exists("/proc/self/stat").unwrap_or(false) {
        return start_in_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?);
    }
    let output = Command::new("ps")
        .args(["-o", "state=,lstart=", "-p", &pid.to_string()])
        .output()
        .ok()?;
    start_in_ps(&String::from_utf8_lossy(&output.stdout))
}

/// Field 22 of Linux' process status. The second field is the program's name in parentheses and may contain anything.
fn start_in_stat(stat: &str) -> Option<String> {
    let (_, after_name) = stat.rsplit_once(") ")?;
    let mut fields = after_name.split(' ');
    let state = fields.next()?;
    let started = fields.nth(18)?;
    (!matches!(state, "Z" | "X")).then(|| started.to_owned())
}

/// The state in Linux' status of a process or thread.
fn is_stopped(stat: &str) -> bool {
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| rest.starts_with(['T', 't']))
}

fn start_in_ps(line: &str) -> Option<String> {
    let (state, start) = line.trim().split_once(' ')?;
    (!state.starts_with('Z')).then(|| start.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn the_start_time_is_found_behind_any_program_name() {
        let stat = |name: &str, state: &str| {
            format!("42 ({name}) {state} 1 42 42 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 98765 1000 10 0")
        };
        assert_eq!(start_in_stat(&stat("etcd", "S")).as_deref(), Some("98765"));
        assert_eq!(start_in_stat(&stat("a) R 1", "R")).as_deref(), Some("98765"));
        assert_eq!(start_in_stat(&stat("etcd", "Z")), None);
        assert_eq!(
            start_in_ps("S    Mon Nov 30 12:00:00 2026\n").as_deref(),
            Some("Mon Nov 30 12:00:00 2026")
        );
        assert_eq!(start_in_ps("Z    Mon Nov 30 12:00:00 2026\n"), None);
        assert_eq!(start_in_ps(""), None);
    }

    #[test]
    fn a_stopped_thread_is_told_from_one_that_sleeps() {
        for (state, stopped) in [("T", true), ("t", true), ("S", false), ("R", false)] {
            assert_eq!(is_stopped(&format!("42 (etcd) {state} 1 42")), stopped);
        }
    }

    #[test]
    fn a_reused_process_id_is_not_ours() {
        let launch = Launch {
            name: "this test".to_owned(),
            program: PathBuf::new(),
            args: Vec::new(),
        };
        let this = Process::note(launch, std::process::id());
        assert!(this.is_alive());
        let other = Process {
            started: "1".to_owned(),
            ..this
        };
        assert!(!other.is_alive());
        other.kill().unwrap();
    }
}
