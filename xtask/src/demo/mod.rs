//! `cargo xtask demo`: the deployment-controller at work on a real API server.
//!
//! - [`stage`] is what the story is played on: a cluster, the chart's rights, two replicas of the controller.
//! - [`story`] is what happens, step by step; everything is done with kubectl, as its user would.
//! - [`table`] watches a rollout and prints a row for each change.

pub(crate) mod scrape;
pub(crate) mod stage;
mod story;
pub(crate) mod table;

use std::io::{IsTerminal as _, stdin};
use std::sync::mpsc;

use anyhow::Result;

use self::stage::{Profile, Stage};
use crate::clock;
use crate::places::Places;

/// Flags of `demo`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// End after the last step instead of leaving the cluster to play with until Ctrl-C.
    #[arg(long)]
    exit: bool,
}

pub(crate) fn run(places: &Places, args: &Args) -> Result<()> {
    let mut stage = Stage::set(places, "demo", Profile::Dev)?;
    let started = clock::now();
    story::play(&mut stage)?;
    println!();
    println!("That took {}.", clock::for_people(started.elapsed()));
    if args.exit || !stdin().is_terminal() {
        return Ok(());
    }
    println!();
    println!("The cluster stays until you press Ctrl-C. Go on in another terminal:");
    println!();
    println!("  export KUBECONFIG={}", stage.kubeconfig().display());
    println!("  kubectl get deployments,replicasets");
    println!("  kubectl scale deployment web --replicas=20");
    println!("  kubectl rollout history deployment web");
    println!();
    wait_for_interrupt()
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
