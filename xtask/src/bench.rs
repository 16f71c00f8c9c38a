//! `cargo xtask bench`: a large Deployment comes up and is rolled, and what that took is printed.
//!
//! Bounds and counts are checked; times are only printed, for they depend on the machine.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::clock;
use crate::demo::rollout::Row;
use crate::demo::stage::{DEPLOYMENTS, Profile, Stage};
use crate::demo::{scrape, table};
use crate::places::Places;

/// Flags of `bench`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Pods of the Deployment; five simulated nodes take at most 1000 and a quarter more during the rollout.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(4..=1000))]
    pods: u32,
}

/// The one replica of the controller.
const LEADER: usize = 0;

/// What the controller says of itself at one moment.
struct Reading {
    memory: f64,
    cpu: f64,
    requests: BTreeMap<String, f64>,
    results: BTreeMap<String, f64>,
}

impl Reading {
    fn take(stage: &Stage) -> Result<Self> {
        let text = stage.metrics(LEADER)?;
        Ok(Self {
            memory: scrape::sum(&text, "process_resident_memory_bytes"),
            cpu: scrape::sum(&text, "process_cpu_seconds_total"),
            requests: scrape::by_label(&text, "rest_client_requests_total", "method"),
            results: scrape::by_label(&text, "write_attempts_total", "result"),
        })
    }
}

/// The extremes that a rollout reached.
struct Extremes {
    most_wanted: i64,
    least_available: i64,
    took: Duration,
}

pub(crate) fn run(places: &Places, args: &Args) -> Result<()> {
    let mut stage = Stage::set(places, "bench", Profile::Release, &[DEPLOYMENTS])?;
    stage.install_rights(DEPLOYMENTS)?;
    stage.start_replica(DEPLOYMENTS)?;
    stage.leader(DEPLOYMENTS, None)?;
    let idle = Reading::take(&stage)?;
    stage.apply("web.json", &web(args.pods))?;
    let up = follow(&mut stage)?;
    let filled = Reading::take(&stage)?;
    stage.kubectl(&["set", "image", "deployment/web", "web=registry.example/web:2"])?;
    let rolled = follow(&mut stage)?;
    let end = Reading::take(&stage)?;
    report(
        args.pods,
        &[("comes up", &up, &idle, &filled), ("rolls", &rolled, &filled, &end)],
    );
    let grown = filled.memory - idle.memory;
    println!(
        "memory per pod, all caches and the heap's slack included: {:.0} bytes",
        grown / f64::from(args.pods)
    );
    check(args.pods, &rolled, &end)
}

fn follow(stage: &mut Stage) -> Result<Extremes> {
    let started = clock::now();
    let (mut most_wanted, mut least_available) = (0, i64::MAX);
    table::follow(stage, |row: &Row| {
        most_wanted = most_wanted.max(row.sizes());
        least_available = least_available.min(row.available());
        row.is_complete()
    })?;
    Ok(Extremes {
        most_wanted,
        least_available,
        took: started.elapsed(),
    })
}

fn report(pods: u32, phases: &[(&str, &Extremes, &Reading, &Reading)]) {
    for (what, extremes, before, after) in phases {
        println!(
            "{pods} pods: the Deployment {what} in {:.1} s",
            extremes.took.as_secs_f64()
        );
        println!(
            "  at most {} wanted, at least {} available",
            extremes.most_wanted, extremes.least_available
        );
        println!("  requests: {}", difference(&before.requests, &after.requests));
        println!("  writes by result: {}", difference(&before.results, &after.results));
        println!(
            "  CPU {:.2} s, memory now {:.1} MiB",
            after.cpu - before.cpu,
            after.memory / 1_048_576.0
        );
    }
}

fn difference(before: &BTreeMap<String, f64>, after: &BTreeMap<String, f64>) -> String {
    let grown = after
        .iter()
        .map(|(name, count)| (name, count - before.get(name).copied().unwrap_or(0.0)));
    let words: Vec<_> = grown
        .filter(|(_, count)| *count > 0.0)
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    words.join(", ")
}

/// What must hold on any machine: surge 25 %, unavailable 25 %, nothing refused.
fn check(pods: u32, rolled: &Extremes, end: &Reading) -> Result<()> {
    let pods = i64::from(pods);
    let most = pods + pods.div_euclid(4) + i64::from(pods % 4 > 0);
    let least = pods - pods.div_euclid(4);
    ensure!(
        rolled.most_wanted <= most,
        "{} pods wanted, more than {most}",
        rolled.most_wanted
    );
    ensure!(
        rolled.least_available >= least,
        "{} pods available, fewer than {least}",
        rolled.least_available
    );
    let refused: Vec<_> = end
        .results
        .keys()
        .filter(|result| !matches!(result.as_str(), "stored" | "gone" | "conflict"))
        .collect();
    ensure!(refused.is_empty(), "some writes were not taken: {refused:?}");
    println!("bounds kept: never more than {most} wanted, never fewer than {least} available, no write refused");
    Ok(())
}

fn web(pods: u32) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {
            "replicas": pods,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "registry.example/web:1"}]},
            },
        },
    })
}
