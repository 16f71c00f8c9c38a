//! `cargo xtask demo`: the controllers at work on a real API server.
//!
//! - [`stage`] is what the stories are played on: a cluster, the rights of the charts, two replicas of each controller.
//! - [`deployments`] and [`jobs`] are what happens, step by step; everything is done with kubectl, as its user would.
//! - [`table`] watches objects and prints a row for each change; [`rollout`] and [`counts`] are its rows.

mod counts;
mod deployments;
mod jobs;
pub(crate) mod rollout;
pub(crate) mod scrape;
pub(crate) mod stage;
pub(crate) mod table;

use std::io::{IsTerminal as _, stdin};
use std::sync::mpsc;

use anyhow::Result;

use self::stage::{DEPLOYMENTS, JOBS, Profile, Role, Stage};
use crate::clock;
use crate::places::Places;

/// Flags of `demo`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Show only this controller.
    #[arg(long, value_name = "CONTROLLER")]
    controller: Option<Story>,
    /// End after the last step instead of leaving the cluster to play with until Ctrl-C.
    #[arg(long)]
    exit: bool,
}

/// What can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Story {
    /// A Deployment: rollout, bad image, undo, scale-up, death of the leader.
    Deployment,
    /// Jobs: failure policy, named rules, indexed work, death of the leader.
    Job,
}

impl Story {
    fn role(self) -> Role {
        match self {
            Self::Deployment => DEPLOYMENTS,
            Self::Job => JOBS,
        }
    }

    fn play(self, stage: &mut Stage) -> Result<()> {
        match self {
            Self::Deployment => deployments::play(stage),
            Self::Job => jobs::play(stage),
        }
    }
}

pub(crate) fn run(places: &Places, args: &Args) -> Result<()> {
    let stories = args
        .controller
        .map_or_else(|| vec![Story::Deployment, Story::Job], |story| vec![story]);
    let roles: Vec<Role> = stories.iter().map(|story| story.role()).collect();
    let mut stage = Stage::set(places, "demo", Profile::Dev, &roles)?;
    let started = clock::now();
    title("A cluster whose kube-controller-manager leaves these kinds to others");
    println!("It runs with --controllers={}.", stage.controllers());
    stage.kubectl(&["get", "nodes"])?;
    for story in stories {
        story.play(&mut stage)?;
    }
    println!();
    println!("That took {}.", clock::for_people(started.elapsed()));
    if args.exit || !stdin().is_terminal() {
        return Ok(());
    }
    println!();
    println!("The cluster stays until you press Ctrl-C. Go on in another terminal:");
    println!();
    println!("  export KUBECONFIG={}", stage.kubeconfig().display());
    println!("  kubectl get deployments,replicasets,jobs");
    println!("  kubectl create job hello --image=registry.example/hello -- sh -c 'sleep 3; exit 0'");
    println!();
    wait_for_interrupt()
}

/// Installs the chart's rights and starts two replicas.
fn start_controller(stage: &mut Stage, role: Role) -> Result<()> {
    let name = role.controller;
    title(&format!(
        "Two replicas of {name}, with the rights of their chart and no others"
    ));
    stage.install_rights(role)?;
    stage.start_replica(role)?;
    stage.start_replica(role)?;
    let leader = stage.leader(role, None)?;
    println!(
        "Process {} leads, the other one stands by with warm caches.",
        stage.pid(leader)?
    );
    stage.kubectl(&["get", "lease", name, "--namespace=kube-system"])
}

/// Kills the leader, and waits until the other replica leads.
fn change_leaders(stage: &mut Stage, role: Role, leader: usize) -> Result<()> {
    println!("$ kill -9 {}", stage.pid(leader)?);
    stage.kill(leader)?;
    let killed = clock::now();
    println!("Its Lease has to expire before the other one may write; running pods do not notice.");
    let successor = stage.leader(role, Some(leader))?;
    println!(
        "Process {} leads after {}.",
        stage.pid(successor)?,
        clock::for_people(killed.elapsed())
    );
    Ok(())
}

fn title(text: &str) {
    println!();
    println!("== {text}");
    println!();
}

/// Returns at Ctrl-C; what was started ends with its owners.
fn wait_for_interrupt() -> Result<()> {
    let (sender, interrupted) = mpsc::channel();
    ctrlc::set_handler(move || {
        // Nobody listens only if we are ending already.
        let _ = sender.send(());
    })?;
    interrupted.recv()?;
    println!("stopping");
    Ok(())
}
