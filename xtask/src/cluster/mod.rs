//! `cargo xtask cluster`: Kubernetes clusters as plain processes on this machine's loopback address.
//!
//! A cluster is etcd, kube-apiserver and kube-controller-manager, and for simulated nodes kube-scheduler and kwok too.
//! Any number of them can run side by side. Nothing is kept: `down` removes a cluster's data.

mod certificates;
mod components;
mod kubectl;
mod launch;
mod local;
mod nodes;
mod parts;
mod ports;
mod process;
mod spec;
mod state;
pub(crate) mod watchdog;

use std::fs::{self, File};
use std::path::Path;

use anyhow::{Context as _, Result, bail};

pub(crate) use self::local::{Cluster, Guest};
use self::parts::Choice;
pub(crate) use self::spec::{ClusterSpec, all_but};
use self::state::State;
use crate::places::Places;

/// What to do with clusters.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Start a cluster that stays until `cluster down`; one that runs already is left as it is.
    Up(ClusterSpec),
    /// End a cluster's processes and remove its data.
    Down {
        /// Which one.
        #[arg(long, default_value = "dev")]
        name: String,
    },
    /// List clusters and their processes.
    Status {
        /// Only this one.
        #[arg(long)]
        name: Option<String>,
    },
    /// End one component of a running cluster at once, as a crash would.
    Stop(Choice),
    /// Start a component again that was stopped.
    Start {
        #[command(flatten)]
        choice: Choice,
        /// Controllers that kube-controller-manager shall not run from now on; empty: it runs all [default: as before].
        #[arg(long, value_delimiter = ',', value_name = "CONTROLLERS")]
        kcm_without: Option<Vec<String>>,
    },
    /// Keep a copy of all that a running cluster stores; it takes the place of an earlier one.
    Snapshot {
        /// Which cluster.
        #[arg(long, default_value = "dev")]
        name: String,
    },
    /// Put a cluster's store back to the copy: kube-apiserver and etcd are stopped and started again.
    Restore {
        /// Which cluster.
        #[arg(long, default_value = "dev")]
        name: String,
    },
}

/// Run the command.
pub(crate) fn run(places: &Places, command: &Command) -> Result<()> {
    match command {
        Command::Up(spec) => up(places, spec),
        Command::Down { name } => down(places, name),
        Command::Status { name } => status(places, name.as_deref()),
        Command::Stop(choice) => change(places, &choice.name, |_, state| state.stop(choice.part)),
        Command::Start { choice, kcm_without } => change(places, &choice.name, |dir, state| {
            state.start(dir, choice.part, kcm_without.as_deref())
        }),
        Command::Snapshot { name } => change(places, name, |dir, state| state.snapshot(dir)),
        Command::Restore { name } => change(places, name, |dir, state| state.restore(dir)),
    }
}

/// Change the running cluster `name`, whose directory and state `change` gets.
fn change(places: &Places, name: &str, change: impl FnOnce(&Path, &mut State) -> Result<()>) -> Result<()> {
    let _lock = lock(places, name)?;
    let dir = places.cluster(name)?;
    let mut state = State::load(&dir)?.with_context(|| format!("there is no cluster {name}"))?;
    change(&dir, &mut state)
}

fn up(places: &Places, spec: &ClusterSpec) -> Result<()> {
    let _lock = lock(places, &spec.name)?;
    let kubeconfig = match State::load(&places.cluster(&spec.name)?)? {
        Some(state) if state.all_alive() => {
            eprintln!("cluster {} runs already", spec.name);
            state.kubeconfig
        }
        _ => Cluster::start(places, spec)?.detach()?,
    };
    println!("export KUBECONFIG={}", kubeconfig.display());
    eprintln!("stop it by: cargo xtask cluster down --name {}", spec.name);
    Ok(())
}

fn down(places: &Places, name: &str) -> Result<()> {
    let _lock = lock(places, name)?;
    let dir = places.cluster(name)?;
    let Some(state) = State::load(&dir)? else {
        bail!("there is no cluster {name}");
    };
    state.kill_all()?;
    fs::remove_dir_all(&dir).with_context(|| dir.display().to_string())?;
    eprintln!("cluster {name} is gone");
    Ok(())
}

fn status(places: &Places, name: Option<&str>) -> Result<()> {
    let mut table = comfy_table::Table::new();
    table
        .load_style(comfy_table::presets::NOTHING)
        .set_header(["CLUSTER", "PROCESS", "PID", "STATE"]);
    for state in State::load_all(&places.clusters()?)? {
        if name.is_some_and(|name| name != state.name) {
            continue;
        }
        for process in &state.processes {
            let condition = if process.is_alive() { "running" } else { "gone" };
            table.add_row([state.name.as_str(), process.name(), &process.pid.to_string(), condition]);
        }
    }
    if table.is_empty() {
        eprintln!("no cluster");
    } else {
        println!("{table}");
    }
    Ok(())
}

/// Let one command at a time change the cluster `name`, until the returned file is closed.
fn lock(places: &Places, name: &str) -> Result<File> {
    let dir = places.clusters()?;
    fs::create_dir_all(&dir).with_context(|| dir.display().to_string())?;
    let file = File::create(dir.join(format!("{name}.lock"))).context("the cluster's lock file")?;
    file.lock().context("waiting for another command on the same cluster")?;
    Ok(file)
}

impl Places {
    fn clusters(&self) -> Result<std::path::PathBuf> {
        Ok(self.cache()?.join("clusters"))
    }

    fn cluster(&self, name: &str) -> Result<std::path::PathBuf> {
        Ok(self.clusters()?.join(name))
    }
}
