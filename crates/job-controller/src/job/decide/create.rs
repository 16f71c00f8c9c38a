//! How many pods are made, and for which indexes (J-60, J-61, J-70, J-113, J-125). Follows upstream's `manageJob`.

use std::time::Duration;

use workload_core::mistake::{Mistake, made};
use workload_core::plan::{Create, Note};
use workload_core::time::Timestamp;

use super::pods::{Mould, Seat, Unfit};
use crate::job::facts::Facts;
use crate::job::indexes::Indexes;
use crate::job::policy::{backoff, per_index};
use crate::job::spec::{Indexed, Replacement, Work};
use crate::job::words;

/// What is to be made.
#[derive(Debug, Default)]
pub(super) struct Creation {
    pub(super) creates: Vec<Create>,
    /// When more may be made, if something has to wait.
    pub(super) wait: Option<Duration>,
    /// Why nothing can be made.
    pub(super) notes: Vec<Note>,
}

/// Pods with an index each have a text of their own until they are sent; those of one turn take up no more than this.
const TEXTS: usize = 4 << 20;

/// How many pods are to be active (J-60, J-80).
pub(super) fn wanted(facts: &Facts<'_>) -> usize {
    let spec = &facts.seen.job.spec;
    let parallelism = usize::try_from(spec.parallelism).unwrap_or(usize::MAX);
    match spec.completions() {
        None if facts.succeeded() > 0 => facts.active.len(),
        None => parallelism,
        Some(completions) => {
            let completions = usize::try_from(completions).unwrap_or(usize::MAX);
            completions.saturating_sub(facts.succeeded()).min(parallelism)
        }
    }
}

/// The missing pods, at most `burst`.
pub(super) fn missing(facts: &Facts<'_>, burst: usize, now: Timestamp) -> Creation {
    let spec = &facts.seen.job.spec;
    let awaited = match spec.replacement {
        Replacement::Failed if !made(Mistake::ReplacedTooEarly) => facts.terminating,
        Replacement::Failed | Replacement::TerminatingOrFailed => 0,
    };
    let there = facts.active.len() + awaited;
    let count = wanted(facts).saturating_sub(there).min(burst);
    if count == 0 {
        return Creation::default();
    }
    if spec.per_index().is_none()
        && let Some(rest) = facts.record().remaining(now)
    {
        return Creation {
            wait: Some(backoff::look_again(rest)),
            ..Creation::default()
        };
    }
    let mould = match Mould::of(&facts.seen.job) {
        Ok(mould) => mould,
        Err(unfit) => return refused(&unfit),
    };
    match &spec.work {
        Work::Indexed(work) => seated(facts, work, &mould, count, now),
        Work::Queue | Work::Fixed(_) => Creation {
            creates: mould.plain(count),
            ..Creation::default()
        },
        Work::Unknown(_) => Creation::default(),
    }
}

fn seated(facts: &Facts<'_>, work: &Indexed, mould: &Mould<'_>, count: usize, now: Timestamp) -> Creation {
    let mut creation = Creation::default();
    let text = facts.seen.job.spec.template.as_deref().map_or(0, str::len);
    // The others follow as soon as these are seen, as if they were more than a burst.
    let count = count.min(TEXTS / text.max(1)).max(1);
    for index in free(facts, work, count) {
        let predecessor = facts.predecessors.get(&index).copied();
        let job = &facts.seen.job;
        let rules = &job.spec.failure_rules;
        let forgive = job.opt_ins.ignored_failures_no_backoff;
        let rest = predecessor.and_then(|pod| per_index::remaining(rules, pod, forgive, now));
        match rest.map(backoff::look_again) {
            Some(rest) => creation.wait = Some(creation.wait.map_or(rest, |wait| wait.min(rest))),
            None => creation.creates.push(mould.seated(Seat {
                index,
                predecessors: work.per_index.map(|_| per_index::counts_after(rules, predecessor)),
            })),
        }
    }
    creation
}

/// The first indexes that need a pod, ascending (J-70).
fn free(facts: &Facts<'_>, work: &Indexed, count: usize) -> Vec<u32> {
    let seen = facts.seen;
    let index_of = |pod: &&crate::job::pod::Pod| seen.part(pod).index();
    let active = facts.active.iter().filter_map(index_of);
    let waits = seen.job.spec.replacement == Replacement::Failed && !made(Mistake::ReplacedTooEarly);
    let blocks = |pod: &&crate::job::pod::Pod| waits && pod.is_terminating();
    let terminating = seen
        .pods
        .iter()
        .map(|pod| &**pod)
        .filter(blocks)
        .filter_map(|pod| seen.part(pod).index());
    let busy: Indexes = active.chain(terminating).collect();
    let over = if made(Mistake::IndexesRedone) {
        facts.failed_indexes.clone()
    } else {
        facts.completed.and(&facts.failed_indexes)
    };
    let taken = over.and(&busy);
    taken.missing(work.completions).take(count).collect()
}

fn refused(unfit: &Unfit) -> Creation {
    let why = match unfit {
        Unfit::NoLabels => "unable to create pods, no labels".to_owned(),
        Unfit::Template(error) => format!("the template cannot be read: {error}"),
    };
    Creation {
        notes: vec![Note::warning(words::FAILED_CREATE, format!("Error creating: {why}"))],
        ..Creation::default()
    }
}
