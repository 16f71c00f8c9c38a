//! Back-off of each index by itself (J-122…J-126).

use std::collections::BTreeMap;
use std::time::Duration;

use workload_core::opt_in::Switch;
use workload_core::time::Timestamp;

use super::backoff;
use super::failure::{self, Action, Rule};
use crate::job::pod::{Pod, Predecessors};

/// True if this failed pod is the last that its index may have (J-123).
pub fn ends_index(rules: &[Rule], limit: u32, pod: &Pod) -> bool {
    match failure::action(rules, pod) {
        Action::FailIndex => true,
        Action::Ignore => false,
        Action::FailJob | Action::Count => pod.predecessors.failed >= limit,
    }
}

/// Of the failed pods of each index the one that the next pod of the index takes its counts from (J-126): that of the highest
/// count, of several such the one that ended last.
pub fn last_of_each<'a>(failed: impl Iterator<Item = &'a Pod>) -> BTreeMap<u32, &'a Pod> {
    let mut last: BTreeMap<u32, &'a Pod> = BTreeMap::new();
    for pod in failed {
        let Some(index) = pod.index else { continue };
        let kept = last.entry(index).or_insert(pod);
        if rank(pod) > rank(kept) {
            *kept = pod;
        }
    }
    last
}

fn rank(pod: &Pod) -> (u64, Option<Timestamp>, &str) {
    (total(pod.predecessors), pod.ended, pod.meta.uid.as_str())
}

fn total(counts: Predecessors) -> u64 {
    u64::from(counts.failed) + u64::from(counts.ignored)
}

/// What the next pod of an index says about the failures before it (J-122).
pub fn counts_after(rules: &[Rule], predecessor: Option<&Pod>) -> Predecessors {
    let Some(pod) = predecessor else {
        return Predecessors::default();
    };
    let Predecessors { failed, ignored } = pod.predecessors;
    if failure::action(rules, pod) == Action::Ignore {
        let ignored = ignored.saturating_add(1);
        Predecessors { failed, ignored }
    } else {
        let failed = failed.saturating_add(1);
        Predecessors { failed, ignored }
    }
}

/// How long the index of this failed pod has to wait; nothing if it may have a pod now (J-125). Ignored failures lengthen the
/// wait too, unless the Job's user asks that they do not (field FR-JB-09).
pub fn remaining(rules: &[Rule], pod: &Pod, forgive_ignored: Switch, now: Timestamp) -> Option<Duration> {
    let Predecessors { failed, ignored } = counts_after(rules, Some(pod));
    let failures = match forgive_ignored {
        Switch::Off => failed.saturating_add(ignored),
        Switch::On => failed,
    };
    backoff::remaining(failures, pod.ended?, now)
}
