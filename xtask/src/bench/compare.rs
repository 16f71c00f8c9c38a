//! The same Jobs by our controller and by upstream's, one after the other on one cluster.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use serde_json::Value;

use super::batch::{self, Course};
use super::reading::{self, difference};
use crate::demo::stage::{JOBS, Profile, Stage};
use crate::places::Places;

/// How often each batch is played. The median counts.
const ROUNDS: usize = 3;

/// What is compared.
fn batches() -> [(&'static str, &'static str, Vec<Value>); 2] {
    [
        ("one-pod", "250 Jobs of one pod", batch::of_one_pod(250)),
        ("indexed", "one Job with 200 indexes", batch::indexed(200)),
    ]
}

/// Medians of the rounds. The first is for the most part the time that kubectl and the simulated nodes take.
type Medians = [Duration; 4];
const MEASURES: [&str; 4] = [
    "until all are complete",
    "of that after the last pod of all has ended",
    "from a Job to its last pod (median)",
    "from the end of its last pod to its completion (median)",
];

pub(super) fn run(places: &Places) -> Result<()> {
    let mut stage = Stage::set(places, "bench", Profile::Release, &[JOBS])?;
    stage.install_rights(JOBS)?;
    stage.start_replica(JOBS)?;
    let leader = stage.leader(JOBS, None)?;
    let ours = measure(&mut stage, "ours")?;
    stage.kill(leader)?;
    stage.give_back()?;
    let upstream = measure(&mut stage, "upstream")?;
    println!();
    for (at, (_, what, _)) in batches().iter().enumerate() {
        println!("{what}:");
        for (measure, name) in MEASURES.iter().enumerate() {
            let of = |all: &[Medians]| {
                all.get(at)
                    .and_then(|medians| medians.get(measure))
                    .map_or(0.0, Duration::as_secs_f64)
            };
            let (ours, upstream) = (of(&ours), of(&upstream));
            println!(
                "  {name}: ours {ours:.3} s, upstream {upstream:.3} s, ratio {:.2}",
                ours / upstream
            );
        }
    }
    Ok(())
}

fn measure(stage: &mut Stage, who: &str) -> Result<Vec<Medians>> {
    let mut all = Vec::new();
    for (short, what, jobs) in batches() {
        let mut rounds = Vec::new();
        for round in 0..ROUNDS {
            let before = reading::writes(stage)?;
            let course = batch::play(stage, &format!("{who}-{short}-{round}"), &jobs)?;
            let after = reading::writes(stage)?;
            tell(who, what, &course, &before, &after);
            rounds.push(measures(&course));
        }
        all.push(medians(&rounds));
    }
    Ok(all)
}

fn measures(course: &Course) -> Medians {
    let [_, ended, complete] = course.took();
    let [last_pod, ..] = course.lives.to_last_pod().quantiles();
    let [completion, ..] = course.lives.to_completion().quantiles();
    [complete, complete.saturating_sub(ended), last_pod, completion]
}

fn medians(rounds: &[Medians]) -> Medians {
    let mut medians = Medians::default();
    for (at, median) in medians.iter_mut().enumerate() {
        let mut values: Vec<Duration> = rounds.iter().filter_map(|round| round.get(at).copied()).collect();
        values.sort();
        *median = values.get(values.len() / 2).copied().unwrap_or_default();
    }
    medians
}

fn tell(who: &str, what: &str, course: &Course, before: &BTreeMap<&str, f64>, after: &BTreeMap<&str, f64>) {
    let [complete, _, pod, completion] = measures(course).map(|took| took.as_secs_f64());
    let [made, ended, _] = course.took().map(|took| took.as_secs_f64());
    println!(
        "{who}, {what}: made within {made:.2} s, last pod ended after {ended:.2} s, all complete after {complete:.2} s"
    );
    println!(
        "  to the last pod {pod:.3} s, from its end to completion {completion:.3} s; {}",
        difference(before, after)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_each_measure_counts() {
        let round = |seconds: [u64; 4]| seconds.map(Duration::from_secs);
        assert_eq!(
            medians(&[round([1, 9, 4, 0]), round([3, 7, 5, 2]), round([2, 8, 6, 1])]),
            round([2, 8, 5, 1])
        );
    }
}
