//! Calls of kubectl against one cluster.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, Result, bail};

/// kubectl as the cluster's administrator.
pub(super) struct Kubectl {
    pub(super) program: PathBuf,
    pub(super) kubeconfig: PathBuf,
    /// The directory for kubectl's caches.
    pub(super) home: PathBuf,
}

impl Kubectl {
    /// Does the call succeed?
    pub(super) fn succeeds(&self, args: &[&str]) -> Result<bool> {
        Ok(self.call(args, b"")?.status.success())
    }

    /// What the call prints.
    pub(super) fn output(&self, args: &[&str]) -> Result<String> {
        checked(args, &self.call(args, b"")?)
    }

    /// Create the objects in `manifest`. kubectl does not check them first: it would have to fetch the whole schema.
    pub(super) fn create(&self, manifest: &[u8]) -> Result<()> {
        let args = ["create", "--validate=false", "--filename=-"];
        checked(&args, &self.call(&args, manifest)?).map(drop)
    }

    fn call(&self, args: &[&str], input: &[u8]) -> Result<Output> {
        let mut child = command(&self.program, &self.home)
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .arg("--request-timeout=30s")
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("starting kubectl")?;
        if let Some(mut pipe) = child.stdin.take() {
            pipe.write_all(input)?;
        }
        child.wait_with_output().context("kubectl")
    }
}

/// A command that sees nothing of the user's own configuration of Kubernetes.
pub(super) fn command(program: &Path, home: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("HOME", home).env_remove("KUBECONFIG");
    command
}

fn checked(args: &[&str], output: &Output) -> Result<String> {
    if !output.status.success() {
        bail!(
            "kubectl {}: {}",
            args.join(" "),
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
