//! Thousands of Jobs of one pod, twice: at first alone, then beside all that the first ones have left.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};

use super::batch::{self, Course};
use super::reading::{self, Reading, difference, mebibytes};
use crate::demo::stage::{JOBS, Profile, Stage};
use crate::places::Places;

/// What is read before and after.
struct Moment {
    own: Reading,
    server: BTreeMap<&'static str, f64>,
}

impl Moment {
    fn now(stage: &Stage, replica: usize) -> Result<Self> {
        Ok(Self {
            own: Reading::take(stage, replica)?,
            server: reading::writes(stage)?,
        })
    }
}

pub(super) fn run(places: &Places, count: u32, finished: u32) -> Result<()> {
    let mut stage = Stage::set(places, "bench", Profile::Release, &[JOBS])?;
    stage.install_rights(JOBS)?;
    stage.start_replica(JOBS)?;
    let leader = stage.leader(JOBS, None)?;
    for (namespace, beside) in [("first", 0), ("second", count + finished)] {
        if beside > count {
            end_at_once(&mut stage, leader, finished)?;
        }
        let before = Moment::now(&stage, leader)?;
        let course = batch::play(&mut stage, namespace, &batch::of_one_pod(usize::try_from(count)?))?;
        let after = Moment::now(&stage, leader)?;
        println!("{count} Jobs of one pod, beside {beside} finished ones:");
        report(&course, &before, &after);
        check(count, &before, &after)?;
    }
    Ok(())
}

/// Makes Jobs that have nothing to do, and waits for their end.
fn end_at_once(stage: &mut Stage, leader: usize, count: u32) -> Result<()> {
    batch::play(stage, "finished", &batch::of_no_pod(usize::try_from(count)?))?;
    let memory = Reading::take(stage, leader)?.memory;
    println!(
        "{count} Jobs that have nothing to do: memory then {:.1} MiB",
        mebibytes(memory)
    );
    Ok(())
}

fn report(course: &Course, before: &Moment, after: &Moment) {
    let [made, ended, complete] = course.took().map(|took| took.as_secs_f64());
    println!(
        "  made within {made:.1} s, the last pod ended after {ended:.1} s, the last Job was complete after {complete:.1} s"
    );
    for (what, lags) in [
        ("from a Job to its pod", course.lives.to_last_pod()),
        (
            "from the end of its pod to its completion",
            course.lives.to_completion(),
        ),
    ] {
        let [median, most, longest] = lags.quantiles().map(|lag| lag.as_secs_f64());
        println!("  {what}: median {median:.3} s, 99 % within {most:.3} s, longest {longest:.3} s");
    }
    println!("  writes: {}", difference(&before.server, &after.server));
    println!(
        "  requests of ours: {}",
        difference(&before.own.requests, &after.own.requests)
    );
    println!(
        "  results of ours: {}",
        difference(&before.own.results, &after.own.results)
    );
    println!(
        "  CPU {:.2} s, memory now {:.1} MiB (before: {:.1})",
        after.own.cpu - before.own.cpu,
        mebibytes(after.own.memory),
        mebibytes(before.own.memory)
    );
}

/// What must hold on any machine: each pod is made once and let go of once, and nothing is refused.
fn check(count: u32, before: &Moment, after: &Moment) -> Result<()> {
    let grown = |name: &str| {
        let at = |moment: &Moment| moment.server.get(name).copied().unwrap_or_default();
        at(after) - at(before)
    };
    let made = grown("pods created") - 1.0;
    ensure!(
        (made - f64::from(count)).abs() < 0.5,
        "{made} pods were made for {count} Jobs"
    );
    after.own.nothing_refused()
}
