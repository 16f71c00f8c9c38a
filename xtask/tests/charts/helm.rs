//! Running the `helm` and `kubectl` binaries.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// What a finished command wrote, by whether it succeeded.
pub(crate) type Answer = Result<String, String>;

/// A Helm binary with settings of its own, so that nothing set up on the machine plays a part.
pub(crate) struct Helm {
    program: PathBuf,
    home: TempDir,
}

impl Helm {
    /// The binary named by `HELM`, else the one on `PATH`; `None`, with a notice, if there is neither.
    pub(crate) fn find() -> Option<Self> {
        let program = find("HELM", "helm")?;
        let home = tempfile::tempdir().unwrap();
        Some(Self { program, home })
    }

    /// Runs Helm with these arguments.
    pub(crate) fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Answer {
        self.run_with(args, None)
    }

    /// Runs Helm with these arguments against the cluster of a kubeconfig.
    pub(crate) fn run_with<A: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = A>,
        kubeconfig: Option<&Path>,
    ) -> Answer {
        let home = self.home.path();
        let kubeconfig = kubeconfig.map_or_else(|| home.join("no-cluster"), Path::to_path_buf);
        let output = Command::new(&self.program)
            .args(args)
            .env("HELM_CACHE_HOME", home.join("cache"))
            .env("HELM_CONFIG_HOME", home.join("config"))
            .env("HELM_DATA_HOME", home.join("data"))
            .env("KUBECONFIG", kubeconfig)
            .output()
            .unwrap();
        answer(&output)
    }
}

/// `kubectl` with the kubeconfig of a cluster.
pub(crate) struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
}

impl Kubectl {
    /// The binary named by `KUBECTL`, else the one on `PATH`; `None`, with a notice, if there is neither.
    pub(crate) fn find(kubeconfig: &Path) -> Option<Self> {
        let program = find("KUBECTL", "kubectl")?;
        Some(Self {
            program,
            kubeconfig: kubeconfig.to_path_buf(),
        })
    }

    /// Runs kubectl with these arguments.
    pub(crate) fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Answer {
        let output = Command::new(&self.program)
            .args(args)
            .env("KUBECONFIG", &self.kubeconfig)
            .output();
        answer(&output.unwrap())
    }
}

/// The program that a variable names, else the first of that name on `PATH`.
fn find(variable: &str, name: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).map(PathBuf::from);
    let found = named.or_else(|| {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path)
            .map(|folder| folder.join(name))
            .find(|file| file.is_file())
    });
    if found.is_none() {
        eprintln!("skipped: no {name} on PATH and none named by {variable}");
    }
    found
}

fn answer(output: &Output) -> Answer {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(text(&output.stdout) + &text(&output.stderr))
    }
}
