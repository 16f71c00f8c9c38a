//! The real kubectl, as users run it.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use crate::server::environment;

/// What a kubectl command came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Whether it exited with 0.
    pub succeeded: bool,
    /// What it printed.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
}

impl Output {
    /// What a successful command printed.
    pub fn printed(self) -> String {
        assert!(self.succeeded, "kubectl failed: {}{}", self.stdout, self.stderr);
        self.stdout
    }
}

/// Runs kubectl against the server of `kubeconfig`; `home` takes its caches.
pub(crate) async fn run(kubeconfig: &Path, home: &Path, args: &[&str]) -> Output {
    let program = environment("KUBECTL").unwrap_or_else(|| "kubectl".to_owned());
    let child = Command::new(program)
        .env("HOME", home)
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .args(args)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let ended = tokio::time::timeout(Duration::from_mins(2), child).await;
    let output = ended
        .unwrap_or_else(|_| panic!("kubectl {} does not end", args.join(" ")))
        .expect("kubectl");
    Output {
        succeeded: output.status.success(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
