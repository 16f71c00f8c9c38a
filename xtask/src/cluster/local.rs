//! The provider `local`: every component is a process of this machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use super::certificates::{ADMIN, Certificates};
use super::components::{Component, Plan};
use super::kubectl::Kubectl;
use super::launch::Launch;
use super::parts::Part;
use super::process::Process;
use super::spec::ClusterSpec;
use super::state::State;
use super::watchdog::Watchdog;
use super::{nodes, ports};
use crate::clock;
use crate::places::Places;
use crate::progress::Progress;
use crate::tools::{Tool, Tools};

/// The longest that any step of a start may take, on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);
/// Lines of a component's log that a failed start shows.
const SHOWN_LINES: usize = 20;
/// How often a start that lost a port to another process is tried.
const ATTEMPTS: u32 = 3;

/// A running cluster. It ends, and its data goes, when this value is dropped or this process ends in any other way.
pub(crate) struct Cluster {
    dir: PathBuf,
    state: State,
    children: Vec<(Tool, Child)>,
    /// None once the cluster may outlive us.
    watchdog: Option<Watchdog>,
}

/// A program that was started beside a cluster.
pub(crate) struct Guest {
    child: Child,
    log: PathBuf,
}

impl Guest {
    /// What it has logged.
    pub(crate) fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Has it ended, and how?
    pub(crate) fn ended(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// End it without a warning (SIGKILL).
    pub(crate) fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Cluster {
    /// Start the cluster that `spec` describes and wait until it can be used: service accounts are made, and every
    /// node is ready.
    pub(crate) fn start(places: &Places, spec: &ClusterSpec) -> Result<Self> {
        let tools = Tools::resolve(places, &wanted_tools(spec))?;
        let dir = places.cluster(&spec.name)?;
        let mut attempt = 1;
        loop {
            match Self::start_once(&tools, &dir, spec, attempt) {
                Err(error) if attempt < ATTEMPTS && format!("{error:#}").contains("address already in use") => {
                    attempt += 1;
                }
                result => return result,
            }
        }
    }

    /// Path of the administrator's kubeconfig.
    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.state.kubeconfig
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.state.name
    }

    /// The directory of the cluster's files.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Start another program that ends with the cluster. Its log goes to `NAME.log` beside those of the components.
    pub(crate) fn start_guest(&mut self, name: &str, program: &Path, args: &[String]) -> Result<Guest> {
        let launch = Launch {
            name: name.to_owned(),
            program: program.to_owned(),
            args: args.to_owned(),
        };
        let log = launch.log(&self.dir);
        let child = self.start_process(launch)?;
        Ok(Guest { child, log })
    }

    /// End kube-controller-manager at once.
    pub(crate) fn stop_controller_manager(&self) -> Result<()> {
        self.state.stop(Part::KubeControllerManager)
    }

    /// Start kube-controller-manager without these controllers; it was stopped.
    pub(crate) fn start_controller_manager(&mut self, without: &[String]) -> Result<()> {
        self.state.start(&self.dir, Part::KubeControllerManager, Some(without))
    }

    /// Let the cluster live on after this process; return the administrator's kubeconfig.
    pub(crate) fn detach(mut self) -> Result<PathBuf> {
        if let Some(watchdog) = self.watchdog.take() {
            watchdog.release()?;
            self.state.group = None;
            self.state.save(&self.dir)?;
        }
        Ok(self.state.kubeconfig.clone())
    }

    fn start_once(tools: &Tools, dir: &Path, spec: &ClusterSpec, attempt: u32) -> Result<Self> {
        clear(dir)?;
        let certificates = Certificates::create(dir)?;
        let ports = ports::free(std::process::id().wrapping_add(attempt))?;
        let plan = Plan {
            dir,
            certificates: &certificates,
            ports,
        };
        let kubeconfig = certificates.kubeconfig(&ADMIN, &plan.server())?;
        let watchdog = Watchdog::start(dir)?;
        let state = State {
            name: spec.name.clone(),
            kubeconfig,
            processes: Vec::new(),
            group: Some(watchdog.group()),
        };
        let mut cluster = Self {
            dir: dir.to_owned(),
            state,
            children: Vec::new(),
            watchdog: Some(watchdog),
        };
        let mut progress = Progress::start(format!("starting cluster {}", spec.name));
        cluster.bring_up(tools, &plan, spec, &mut progress)?;
        progress.finish();
        Ok(cluster)
    }

    fn bring_up(&mut self, tools: &Tools, plan: &Plan<'_>, spec: &ClusterSpec, progress: &mut Progress) -> Result<()> {
        let kubectl = Kubectl {
            program: tools.path(Tool::Kubectl)?.to_owned(),
            kubeconfig: self.state.kubeconfig.clone(),
            home: self.dir.clone(),
        };
        self.launch(tools, plan.etcd())?;
        self.launch(tools, plan.kube_apiserver())?;
        self.wait(progress, "the API server", || {
            kubectl.succeeds(&["get", "--raw=/readyz"])
        })?;
        self.launch(tools, plan.kube_controller_manager(spec)?)?;
        if spec.needs_scheduler() {
            self.launch(tools, plan.kube_scheduler()?)?;
        }
        if spec.nodes > 0 {
            self.launch(tools, plan.kwok()?)?;
            kubectl.create(nodes::manifest(spec.nodes).to_string().as_bytes())?;
        }
        let account = ["get", "serviceaccount", "default", "--namespace=default"];
        self.wait(progress, "kube-controller-manager", || kubectl.succeeds(&account))?;
        let wanted = usize::try_from(spec.nodes)?;
        self.wait(progress, "ready nodes", || {
            Ok(wanted == 0 || nodes::count_ready(&kubectl.output(&["get", "nodes", nodes::READY_STATES])?) == wanted)
        })
    }

    fn launch(&mut self, tools: &Tools, component: Component) -> Result<()> {
        let Component { tool, args } = component;
        let child = self.start_process(Launch {
            name: tool.name().to_owned(),
            program: tools.path(tool)?.to_owned(),
            args,
        })?;
        self.children.push((tool, child));
        Ok(())
    }

    fn start_process(&mut self, launch: Launch) -> Result<Child> {
        let child = launch.start(&self.dir, self.state.group)?;
        self.state.processes.push(Process::note(launch, child.id()));
        self.state.save(&self.dir)?;
        Ok(child)
    }

    /// Wait for `ready`, as long as every component runs.
    fn wait(&mut self, progress: &mut Progress, what: &str, mut ready: impl FnMut() -> Result<bool>) -> Result<()> {
        let happened = clock::wait_until(PATIENCE, || {
            progress.tell(&format!("waiting for {what}"));
            self.check_children()?;
            ready()
        })?;
        if !happened {
            let logs: Vec<_> = self.children.iter().map(|(tool, _)| self.end_of_log(*tool)).collect();
            bail!("no {what} after {}\n{}", clock::for_people(PATIENCE), logs.join("\n"));
        }
        Ok(())
    }

    fn check_children(&mut self) -> Result<()> {
        let mut ended = None;
        for (tool, child) in &mut self.children {
            if let Some(status) = child.try_wait()? {
                ended = Some((*tool, status));
            }
        }
        let Some((tool, status)) = ended else { return Ok(()) };
        bail!("{} ended ({status})\n{}", tool.name(), self.end_of_log(tool))
    }

    fn log(&self, tool: Tool) -> PathBuf {
        self.dir.join(format!("{}.log", tool.name()))
    }

    fn end_of_log(&self, tool: Tool) -> String {
        let log = fs::read(self.log(tool)).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<_> = log.lines().rev().take(SHOWN_LINES).collect();
        let lines: Vec<_> = lines.into_iter().rev().map(|line| format!("  {line}")).collect();
        format!("last lines of {}.log:\n{}", tool.name(), lines.join("\n"))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let Some(mut watchdog) = self.watchdog.take() else {
            return;
        };
        watchdog.kill();
        for (_, child) in &mut self.children {
            // The signal cannot be refused, so the wait is short.
            let _ = child.wait();
        }
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// Make `dir` an empty directory, and end what runs from it.
fn clear(dir: &Path) -> Result<()> {
    if let Some(left) = State::load(dir)? {
        left.kill_all()?;
    }
    if dir.exists() {
        fs::remove_dir_all(dir).with_context(|| dir.display().to_string())?;
    }
    fs::create_dir_all(dir).with_context(|| dir.display().to_string())
}

fn wanted_tools(spec: &ClusterSpec) -> Vec<Tool> {
    let mut tools = vec![
        Tool::Etcd,
        Tool::KubeApiserver,
        Tool::KubeControllerManager,
        Tool::Kubectl,
    ];
    if spec.needs_scheduler() {
        tools.push(Tool::KubeScheduler);
    }
    if spec.nodes > 0 {
        tools.push(Tool::Kwok);
    }
    tools
}
