//! The program under test as a process of its own.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::leash::Leash;
use crate::metrics::{Metrics, get};
use crate::server::environment;

/// The longest that a start may take on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);
/// How often a starting or ending process is looked at.
const POLL: Duration = Duration::from_millis(50);

/// A running controller. It is killed when this value is dropped, and when the test process ends in any other way.
pub struct Controller {
    child: Child,
    log: PathBuf,
    admin: String,
    _leash: Leash,
}

impl Controller {
    /// Starts `program` with these flags and waits until its admin server answers. Its log goes to a file in `dir`.
    pub(crate) async fn launch(program: &str, flags: &[&str], dir: &Path) -> Self {
        let mut started = Self::spawn(program, flags, dir);
        let alive = tokio::time::timeout(PATIENCE, started.answers("/livez")).await;
        assert!(
            alive.is_ok(),
            "{program} does not start; its log:\n{}",
            started.log_about("")
        );
        started
    }

    /// Waits until it is ready to reconcile, or to stand by.
    pub async fn until_ready(&mut self) {
        let ready = tokio::time::timeout(PATIENCE, self.answers("/readyz")).await;
        assert!(ready.is_ok(), "not ready; its log:\n{}", self.log_about(""));
    }

    fn spawn(program: &str, flags: &[&str], dir: &Path) -> Self {
        let bin = environment("WORKLOAD_CONTROLLER_BIN_DIR").expect("WORKLOAD_CONTROLLER_BIN_DIR");
        let log = dir.join(format!("{program}.log"));
        let output = File::options()
            .create(true)
            .append(true)
            .open(&log)
            .expect("a log file");
        let child = Command::new(Path::new(&bin).join(program))
            .args(flags)
            .args(["--admin-addr=127.0.0.1:0", "--log-format=json"])
            .stdin(Stdio::null())
            .stdout(output.try_clone().expect("a file"))
            .stderr(output)
            .spawn()
            .unwrap_or_else(|error| panic!("starting {program}: {error}"));
        let leash = Leash::on(child.id());
        Self {
            child,
            log,
            admin: String::new(),
            _leash: leash,
        }
    }

    /// Returns when its admin server answers with 200.
    async fn answers(&mut self, path: &str) {
        loop {
            if let Some(status) = self.ended() {
                panic!("the controller ended ({status}); its log:\n{}", self.log_about(""));
            }
            if self.admin.is_empty() {
                self.admin = self.admin_address().unwrap_or_default();
            } else if get(&self.admin, path).await.is_some_and(|(status, _)| status == 200) {
                return;
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// The address that the process got for its admin server, from its log.
    fn admin_address(&self) -> Option<String> {
        let log = fs::read_to_string(&self.log).ok()?;
        let line = log.lines().rev().find(|line| line.contains("admin"))?;
        let start = line.rfind("127.0.0.1:")?;
        let address = line[start..]
            .split(|c: char| !(c.is_ascii_digit() || c == '.' || c == ':'))
            .next()?;
        Some(address.to_owned())
    }

    /// What it measures, now.
    pub async fn metrics(&self) -> Metrics {
        let (status, text) = get(&self.admin, "/metrics")
            .await
            .expect("an answer from the admin server");
        assert_eq!(status, 200, "{text}");
        Metrics::parse(&text)
    }

    /// Status and body of a GET at its admin server; `None` without an answer.
    pub async fn get(&self, path: &str) -> Option<(u16, String)> {
        get(&self.admin, path).await
    }

    /// Its resident memory in bytes.
    pub fn resident_bytes(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("a running process");
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("VmRSS");
        let kilobytes: u64 = line
            .split_whitespace()
            .nth(1)
            .and_then(|word| word.parse().ok())
            .expect("a number");
        kilobytes * 1024
    }

    /// How it ended, if it did.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a child of ours")
    }

    /// Asks it to end by SIGTERM and waits until it has.
    pub async fn stop(self) -> ExitStatus {
        self.signal(Signal::SIGTERM);
        self.end().await
    }

    /// Waits until it has ended.
    pub async fn end(mut self) -> ExitStatus {
        self.until_ended().await
    }

    /// As [`Controller::end`]; its log can still be read afterwards.
    pub async fn until_ended(&mut self) -> ExitStatus {
        let end = tokio::time::timeout(PATIENCE, async {
            loop {
                if let Some(status) = self.ended() {
                    return status;
                }
                tokio::time::sleep(POLL).await;
            }
        });
        end.await.expect("the end of the controller")
    }

    /// Ends it by SIGKILL.
    pub fn kill(self) {
        drop(self);
    }

    /// Stops its time (SIGSTOP) until [`Controller::thaw`].
    pub fn freeze(&self) {
        self.signal(Signal::SIGSTOP);
    }

    /// Lets a frozen controller go on.
    pub fn thaw(&self) {
        self.signal(Signal::SIGCONT);
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).expect("a pid");
        kill(Pid::from_raw(pid), signal).expect("a child of ours");
    }

    /// The last lines of its log that contain `words`.
    pub fn log_about(&self, words: &str) -> String {
        lines_about(&self.log, words)
    }

    /// How often its log says something with these words, so far.
    pub fn says(&self, words: &str) -> usize {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        log.lines().filter(|line| line.contains(words)).count()
    }
}

/// The last lines of a log.
pub(crate) fn last_lines(log: &Path) -> String {
    lines_about(log, "")
}

fn lines_about(log: &Path, words: &str) -> String {
    let log = fs::read(log).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let lines: Vec<_> = log.lines().rev().filter(|line| line.contains(words)).take(60).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

impl Drop for Controller {
    fn drop(&mut self) {
        // Both fail only for a process that has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
