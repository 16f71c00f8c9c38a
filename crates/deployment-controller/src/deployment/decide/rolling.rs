//! Rolling updates: the new ReplicaSet grows as far as surge allows, then old ones shrink as far as availability allows
//! (D-31…D-38). Follows upstream's `rolloutRolling`.
//!
//! All sizes are what ReplicaSets *want*. Terminating pods are invisible here, so running pods may exceed the bound for as
//! long as they take to end (D-31).

use super::draft::Draft;
use super::hold::Hold;
use super::revisions::{self, Standing};
use super::{Report, cleanup};
use crate::deployment::opt_ins::DisruptionBudgets;
use crate::deployment::progress;
use crate::deployment::spec::Bounds;
use crate::replicaset::spec::ReplicaSet;

/// The size to which a ReplicaSet of `size` grows, if all of them together have `total` (D-31).
pub(super) fn grown(size: i64, total: i64, wanted: i64, bounds: Bounds) -> i64 {
    let room = (bounds.most - total).max(0);
    size + room.min(wanted - size).max(0)
}

/// One step of a rollout.
pub(super) fn step(draft: &mut Draft<'_>) -> Report {
    let Some(new) = revisions::ensure(draft) else {
        return Report::Marks;
    };
    // A ReplicaSet created a moment ago has its size already; one that existed is sized now, and old ones have to wait for
    // the next turn (D-32).
    let hold = Hold::of(draft);
    if let Some(set) = draft.seen.found() {
        let size = new_size(draft, new, hold);
        draft.resize(set, size);
    }
    if !draft.resizes() {
        shrink_old(draft, new, hold);
    }
    if let Some(hold) = hold.filter(|_| !draft.resizes()) {
        hold.refill(draft, new);
        if let Some(size) = hold.reached(draft, new) {
            return Report::Held(size);
        }
    }
    if !draft.resizes() && progress::is_complete(&draft.seen.deployment.status, &draft.seen.deployment) {
        cleanup::step(draft);
    }
    Report::Progress
}

fn new_size(draft: &Draft<'_>, new: Standing, hold: Option<Hold>) -> i64 {
    let wanted = draft.seen.deployment.spec.wanted();
    if new.size > wanted {
        wanted
    } else {
        let wanted = hold.map_or(wanted, |hold| hold.most_updated(new.size));
        grown(new.size, draft.total(), wanted, draft.bounds)
    }
}

/// Shrinks old ReplicaSets: first by pods that are not available anyway, then by as many as availability allows (D-33…D-35),
/// and neither below what a hold leaves them.
fn shrink_old(draft: &mut Draft<'_>, new: Standing, hold: Option<Hold>) {
    let mut active: Vec<&ReplicaSet> = draft
        .seen
        .old
        .iter()
        .map(|set| &**set)
        .filter(|set| set.replicas > 0)
        .collect();
    if hold.is_some() {
        // What stays while the rollout holds is what has proved itself: former canaries go first.
        active.reverse();
    }
    let unavailable_new = new.size - new.available;
    let spare = |draft: &Draft<'_>| hold.map_or(i64::MAX, |hold| hold.spare(draft, new.size));
    let budget = (draft.total() - draft.bounds.least_available - unavailable_new).min(spare(draft));
    if active.is_empty() || budget <= 0 {
        return;
    }
    if shed_unavailable(draft, &active, budget).is_ok() {
        let available: i64 = new.available + active.iter().map(|set| remaining(draft, set)).sum::<i64>();
        let surplus = (available - draft.bounds.least_available).min(spare(draft));
        shed_available(draft, &active, surplus);
    }
}

/// The status of a ReplicaSet has not caught up with a former shrink: to shrink on its grounds would be to shrink twice.
struct Lagging;

/// How many pods of an old ReplicaSet are available and stay so. Those that only a disruption budget keeps are as good as
/// gone (L-4): the budget may keep them for long, and other ReplicaSets must be able to shrink meanwhile.
fn remaining(draft: &Draft<'_>, set: &ReplicaSet) -> i64 {
    let available = i64::from(set.status.available_replicas);
    if is_kept(draft, set) {
        available.min(i64::from(set.replicas))
    } else {
        available
    }
}

/// True for a ReplicaSet that has not let go of all pods that were taken from it, because a disruption budget may keep them
/// (L-4). More is not taken before: sizes would be free for new pods while no old one goes.
fn is_kept(draft: &Draft<'_>, set: &ReplicaSet) -> bool {
    draft.seen.deployment.opt_ins.disruption_budgets == DisruptionBudgets::Respect && set.kept() > 0
}

/// Takes pods that are not available from old ReplicaSets, at most `budget` (D-34).
fn shed_unavailable(draft: &mut Draft<'_>, active: &[&ReplicaSet], budget: i64) -> Result<(), Lagging> {
    let mut left = budget;
    for set in active {
        if left <= 0 {
            break;
        }
        let unavailable = i64::from(set.replicas) - remaining(draft, set);
        if unavailable < 0 {
            return Err(Lagging);
        }
        let shed = if is_kept(draft, set) { 0 } else { unavailable.min(left) };
        draft.resize(set, draft.size(set) - shed);
        left -= shed;
    }
    Ok(())
}

/// Takes pods from old ReplicaSets, at most `surplus` (D-35).
fn shed_available(draft: &mut Draft<'_>, active: &[&ReplicaSet], surplus: i64) {
    let mut left = surplus;
    for set in active {
        if left <= 0 {
            break;
        }
        let size = draft.size(set);
        let shed = if is_kept(draft, set) { 0 } else { size.min(left) };
        draft.resize(set, size - shed);
        left -= shed;
    }
}
