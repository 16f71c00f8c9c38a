//! A cluster on which our controllers run: the rights of their charts, replicas of their binaries, kubectl.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::scrape;
use crate::clock;
use crate::cluster::{Cluster, ClusterSpec, Guest, all_but};
use crate::places::{self, Places};
use crate::progress::Progress;
use crate::tools::{Tool, Tools};

/// A controller that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Role {
    /// Its name; also that of its chart, of its Lease and of the release.
    pub(crate) controller: &'static str,
    /// What kube-controller-manager calls the loops that it replaces.
    loops: [&'static str; 2],
}

/// Who reconciles Deployments and ReplicaSets.
pub(crate) const DEPLOYMENTS: Role = Role {
    controller: "deployment-controller",
    loops: ["deployment", "replicaset"],
};
/// Who reconciles Jobs.
pub(crate) const JOBS: Role = Role {
    controller: "job-controller",
    loops: ["job", "ttl-after-finished"],
};

/// Simulated nodes.
const NODES: u32 = 5;
/// The longest that a replica may take to come up or to take over.
const PATIENCE: Duration = Duration::from_mins(1);

/// How the controller is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    /// As the tests build it.
    Dev,
    /// As it is shipped.
    Release,
}

/// A cluster with replicas of controllers.
pub(crate) struct Stage {
    tools: Tools,
    profile: Profile,
    controllers: String,
    replicas: Vec<Replica>,
    cluster: Cluster,
}

/// A replica of a controller.
struct Replica {
    role: Role,
    process: Guest,
}

impl Stage {
    /// Builds what is needed and starts it, except for the replicas. kube-controller-manager leaves to them what they reconcile.
    pub(crate) fn set(places: &Places, name: &str, profile: Profile, roles: &[Role]) -> Result<Self> {
        build(profile, roles)?;
        let loops: Vec<String> = roles.iter().flat_map(|role| role.loops).map(str::to_owned).collect();
        let controllers = all_but(&loops);
        let tools = Tools::resolve(places, &[Tool::Kubectl, Tool::Helm])?;
        let cluster = Cluster::start(
            places,
            &ClusterSpec {
                name: format!("{name}-{}", std::process::id()),
                nodes: NODES,
                kcm_without: loops,
                ..ClusterSpec::default()
            },
        )?;
        Ok(Self {
            tools,
            profile,
            controllers,
            replicas: Vec::new(),
            cluster,
        })
    }

    /// Which controllers kube-controller-manager runs, as its flag says it.
    pub(crate) fn controllers(&self) -> &str {
        &self.controllers
    }

    /// The administrator's kubeconfig.
    pub(crate) fn kubeconfig(&self) -> &Path {
        self.cluster.kubeconfig()
    }

    /// Runs kubectl and shows the command and what it prints.
    pub(crate) fn kubectl(&self, args: &[&str]) -> Result<()> {
        println!("$ kubectl {}", args.join(" "));
        let output = self.command(Tool::Kubectl, args)?.output().context("kubectl")?;
        for text in [&output.stdout, &output.stderr] {
            print!("{}", indented(&String::from_utf8_lossy(text)));
        }
        Ok(())
    }

    /// The directory of the cluster's files.
    pub(crate) fn dir(&self) -> &Path {
        self.cluster.dir()
    }

    /// A call of kubectl that the caller starts and ends.
    pub(crate) fn watching(&self, args: &[&str]) -> Result<Command> {
        self.command(Tool::Kubectl, args)
    }

    /// Runs kubectl and returns what it prints.
    pub(crate) fn quietly(&self, args: &[&str]) -> Result<String> {
        checked(&mut self.command(Tool::Kubectl, args)?)
    }

    /// Creates objects.
    pub(crate) fn apply(&self, name: &str, manifest: &Value) -> Result<()> {
        let file = self.cluster.dir().join(name);
        fs::write(&file, serde_json::to_vec_pretty(manifest)?)?;
        println!("$ kubectl apply --filename={name}");
        let printed = self.quietly(&["apply", "--filename", &file.display().to_string()])?;
        print!("{}", indented(&printed));
        Ok(())
    }

    /// Installs the rights of the chart, without pods: the replicas run beside the cluster.
    pub(crate) fn install_rights(&self, role: Role) -> Result<()> {
        let name = role.controller;
        let chart = places::repository().join("charts").join(name);
        println!("$ helm install {name} charts/{name} --namespace=kube-system --set=workload=None");
        let chart = chart.display().to_string();
        let args = [
            "install",
            name,
            &chart,
            "--namespace=kube-system",
            "--set=workload=None",
        ];
        let printed = checked(&mut self.command(Tool::Helm, &args)?)?;
        let told = printed
            .lines()
            .filter(|line| line.starts_with("STATUS") || line.starts_with("NAME:"));
        told.for_each(|line| println!("  {line}"));
        Ok(())
    }

    /// Starts a replica under the chart's ServiceAccount.
    pub(crate) fn start_replica(&mut self, role: Role) -> Result<()> {
        let kubeconfig = self.kubeconfig_of_account(role)?;
        let name = format!("{}-{}", role.controller, self.replicas.len());
        let program = binary(self.profile, role);
        let args = [format!("--kubeconfig={}", kubeconfig.display())];
        let process = self.cluster.start_guest(&name, &program, &args)?;
        self.replicas.push(Replica { role, process });
        Ok(())
    }

    /// Waits for a replica other than `not` to lead, and returns its index.
    pub(crate) fn leader(&mut self, role: Role, not: Option<usize>) -> Result<usize> {
        let mut found = None;
        clock::wait_until(PATIENCE, || {
            self.check()?;
            let leads = |replica: &Replica| replica.role == role && replica.process.log().contains("leading");
            found = (0..self.replicas.len())
                .find(|index| Some(*index) != not && self.replicas.get(*index).is_some_and(leads));
            Ok(found.is_some())
        })?;
        found.context("no replica leads")
    }

    /// Process id of a replica.
    pub(crate) fn pid(&self, replica: usize) -> Result<u32> {
        Ok(self.replica(replica)?.process.pid())
    }

    /// Kills a replica.
    pub(crate) fn kill(&mut self, replica: usize) -> Result<()> {
        let replica = self.replicas.get_mut(replica).context("no such replica")?;
        replica.process.kill()
    }

    /// Has kube-controller-manager run all its controllers again. Every replica must have been killed.
    pub(crate) fn give_back(&mut self) -> Result<()> {
        self.cluster.stop_controller_manager()?;
        // The one that was ended has left its Lease; waiting for its end would only take time.
        self.quietly(&["delete", "lease", "kube-controller-manager", "--namespace=kube-system"])?;
        self.cluster.start_controller_manager(&[])
    }

    /// What a replica says of itself.
    pub(crate) fn metrics(&self, replica: usize) -> Result<String> {
        let log = self.replica(replica)?.process.log();
        let address = log
            .lines()
            .find_map(|line| line.split_once(" admin="))
            .context("no admin address in the log")?
            .1;
        scrape::metrics(address.trim())
    }

    /// Fails if a replica has ended that was not killed.
    pub(crate) fn check(&mut self) -> Result<()> {
        for replica in &mut self.replicas {
            if let Some(status) = replica.process.ended()?.filter(|status| status.code().is_some()) {
                let (name, log) = (replica.role.controller, replica.process.log());
                bail!("a replica of {name} ended ({status}):\n{log}");
            }
        }
        Ok(())
    }

    fn replica(&self, index: usize) -> Result<&Replica> {
        self.replicas.get(index).context("no such replica")
    }

    /// A kubeconfig with a token of the chart's ServiceAccount.
    fn kubeconfig_of_account(&self, role: Role) -> Result<PathBuf> {
        let account = format!("{}-account", role.controller);
        let token = self.quietly(&["create", "token", &account, "--namespace=kube-system", "--duration=12h"])?;
        let mut config: Value = serde_json::from_str(&self.quietly(&["config", "view", "--raw", "--output=json"])?)?;
        let users = config.get_mut("users").and_then(Value::as_array_mut);
        for user in users.into_iter().flatten() {
            user["user"] = json!({ "token": token.trim() });
        }
        let path = self.cluster.dir().join(format!("{account}.kubeconfig"));
        fs::write(&path, config.to_string())?;
        Ok(path)
    }

    fn command(&self, tool: Tool, args: &[&str]) -> Result<Command> {
        let mut command = Command::new(self.tools.path(tool)?);
        command
            .args(args)
            .env("KUBECONFIG", self.cluster.kubeconfig())
            .env("HOME", self.cluster.dir())
            .stdin(Stdio::null());
        Ok(command)
    }
}

/// Builds the controllers: as they are shipped only those that are wanted, else all binaries at once, as the tests do, so that both
/// share what was compiled.
fn build(profile: Profile, roles: &[Role]) -> Result<()> {
    let progress = Progress::start("building the controllers");
    let mut command = Command::new("cargo");
    command.args(["build", "--quiet", "--locked"]);
    match profile {
        Profile::Dev => command.args(["--workspace", "--bins"]),
        Profile::Release => {
            let packages = roles.iter().flat_map(|role| ["--package", role.controller]);
            command.arg("--release").args(packages)
        }
    };
    let status = command.current_dir(places::repository()).status().context("cargo")?;
    if !status.success() {
        bail!("the controllers do not build");
    }
    progress.finish();
    Ok(())
}

/// Where cargo puts the binary: beside this program, or in the folder of the other profile beside that.
fn binary(profile: Profile, role: Role) -> PathBuf {
    let this = std::env::current_exe().unwrap_or_default();
    let here = this.parent().unwrap_or_else(|| Path::new("."));
    match profile {
        Profile::Dev => here.join(role.controller),
        Profile::Release => here.with_file_name("release").join(role.controller),
    }
}

fn checked(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn indented(text: &str) -> String {
    text.lines().flat_map(|line| ["  ", line, "\n"]).collect()
}
