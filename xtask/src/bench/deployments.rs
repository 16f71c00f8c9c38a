//! A large Deployment comes up and is rolled.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::reading::{Reading, difference, mebibytes};
use crate::clock;
use crate::demo::rollout::Row;
use crate::demo::stage::{DEPLOYMENTS, Profile, Stage};
use crate::demo::table;
use crate::places::Places;

/// The one replica of the controller.
const LEADER: usize = 0;

/// The extremes that a rollout reached.
struct Extremes {
    most_wanted: i64,
    least_available: i64,
    took: Duration,
}

pub(super) fn run(places: &Places, pods: u32) -> Result<()> {
    let mut stage = Stage::set(places, "bench", Profile::Release, &[DEPLOYMENTS])?;
    stage.install_rights(DEPLOYMENTS)?;
    stage.start_replica(DEPLOYMENTS)?;
    stage.leader(DEPLOYMENTS, None)?;
    let idle = Reading::take(&stage, LEADER)?;
    stage.apply("web.json", &web(pods))?;
    let up = follow(&mut stage)?;
    let filled = Reading::take(&stage, LEADER)?;
    stage.kubectl(&["set", "image", "deployment/web", "web=registry.example/web:2"])?;
    let rolled = follow(&mut stage)?;
    let end = Reading::take(&stage, LEADER)?;
    report(
        pods,
        &[("comes up", &up, &idle, &filled), ("rolls", &rolled, &filled, &end)],
    );
    let grown = filled.memory - idle.memory;
    println!(
        "memory per pod, all caches and the heap's slack included: {:.0} bytes",
        grown / f64::from(pods)
    );
    check(pods, &rolled, &end)
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
            mebibytes(after.memory)
        );
    }
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
    end.nothing_refused()?;
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
