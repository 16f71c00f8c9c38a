//! A rollout that stops part of the way, on request: opt-in `deployment.hold-at` (field FR-DP-07).
//!
//! The new ReplicaSet never grows beyond the hold, and the old ones never shrink below the rest of the replicas. Without any
//! old pods there is nothing to hold. A hold that was lowered below what is updated already takes nothing back. And going
//! back is not held: a template whose ReplicaSet is older than one that has pods is the way out of a canary, and takes the
//! place of all that is younger.

use std::cmp::Ordering;
use std::sync::Arc;

use workload_core::opt_in::Switch;

use super::draft::Draft;
use super::revisions::{self, Standing};
use crate::deployment::observe::by_age;
use crate::replicaset::spec::ReplicaSet;

/// The hold of a Deployment that has old pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hold {
    /// How many replicas are to be updated.
    at: i64,
    /// `spec.replicas`.
    wanted: i64,
}

impl Hold {
    /// The hold that is in force, if any. On the way back from a younger version it leaves to those that are older still what
    /// they have, and the rest to the new one: that may be a former canary itself.
    pub(super) fn of(draft: &Draft<'_>) -> Option<Self> {
        let deployment = &*draft.seen.deployment;
        let at = deployment.hold()?;
        let wanted = deployment.spec.wanted();
        let active: Vec<&ReplicaSet> = draft
            .seen
            .old
            .iter()
            .map(|set| &**set)
            .filter(|set| set.replicas > 0)
            .collect();
        let (younger, older): (Vec<&ReplicaSet>, Vec<&ReplicaSet>) = active
            .iter()
            .partition(|set| draft.seen.found().is_some_and(|new| is_older(new, set)));
        let left = wanted - older.iter().map(|set| i64::from(set.replicas)).sum::<i64>();
        let at = if younger.is_empty() { at } else { at.max(left) };
        (!active.is_empty() && at < wanted).then_some(Self { at, wanted })
    }

    /// The size up to which a new ReplicaSet of this size may grow.
    pub(super) fn most_updated(self, size: i64) -> i64 {
        self.at.max(size).min(self.wanted)
    }

    /// The size below which scaling down does not take a new ReplicaSet of this size: it would grow again at once.
    pub(super) fn least_updated(self, size: i64) -> i64 {
        self.at.min(size)
    }

    /// By how much the old ReplicaSets may shrink, beside a new one of this size.
    pub(super) fn spare(self, draft: &Draft<'_>, new: i64) -> i64 {
        old_total(draft) - self.kept(new)
    }

    /// By how much ReplicaSets of this size together are to be scaled, of which `most` are allowed. A rollout that holds needs
    /// no surge, so nobody is made for it.
    pub(super) fn to_add(self, total: i64, most: i64) -> i64 {
        if most > total {
            (self.wanted - total).max(0)
        } else {
            most - total
        }
    }

    /// Makes up for old pods that are missing while the new ReplicaSet may not: scaling may have been short of room, or have
    /// spared old ones (FR-DP-12), which then come last.
    pub(super) fn refill(self, draft: &mut Draft<'_>, new: Standing) {
        let missing = -self.spare(draft, new.size);
        let spared = draft.seen.deployment.opt_ins.never_grow_old;
        let active = draft.seen.old.iter().filter(|set| set.replicas > 0);
        let Some(largest) = active.max_by_key(|set| set.replicas) else {
            return;
        };
        if new.size >= self.at && missing > 0 && (spared == Switch::Off || new.available >= new.size) {
            draft.resize(largest, draft.size(largest) + missing);
        }
    }

    /// The number of updated replicas if the rollout stands still because of the hold: all sizes are as they are to be, old
    /// pods that are too many have gone, and all updated replicas are available.
    pub(super) fn reached(self, draft: &Draft<'_>, new: Standing) -> Option<i64> {
        let stands = new.size >= self.at && new.available >= new.size && self.spare(draft, new.size) == 0;
        let shrunk = |set: &Arc<ReplicaSet>| set.is_observed() && set.kept() == 0;
        let stands = stands && draft.seen.old.iter().all(shrunk);
        (stands && draft.seen.found().is_some() && !draft.resizes()).then_some(new.size)
    }

    /// How many old pods stay beside a new ReplicaSet of this size.
    fn kept(self, new: i64) -> i64 {
        self.wanted - self.most_updated(new)
    }
}

/// True if the version of `a` is older than that of `b`. Creation times are whole seconds: of two that were made within one,
/// the older has the lower first revision. Their names say nothing, and a canary must not pass for the way back.
fn is_older(a: &ReplicaSet, b: &ReplicaSet) -> bool {
    let age = |set: &ReplicaSet| (set.meta.created, revisions::first_revision(set));
    age(a).cmp(&age(b)).then_with(|| by_age(a, b)) == Ordering::Less
}

fn old_total(draft: &Draft<'_>) -> i64 {
    draft.seen.old.iter().map(|set| draft.size(set)).sum()
}
