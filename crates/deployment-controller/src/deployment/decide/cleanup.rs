//! History: old ReplicaSets beyond `revisionHistoryLimit` go (D-55, D-56). Follows upstream's `cleanupDeployment`.

use workload_core::workload::Children;

use super::draft::Draft;
use super::revisions;
use crate::deployment::observe::{Observed, Occupancy};
use crate::deployment::spec::History;
use crate::replicaset::spec::ReplicaSet;

/// Removes the surplus of old ReplicaSets, those with the lowest revisions first. One of these that still has pods stays,
/// and no other goes in its place.
pub(super) fn step(draft: &mut Draft<'_>) {
    let seen = draft.seen;
    let (History::Keep(limit), Children::Settled) = (seen.deployment.spec.history, seen.children) else {
        return;
    };
    let mut candidates: Vec<&ReplicaSet> = seen
        .old
        .iter()
        .map(|set| &**set)
        .filter(|set| !set.meta.is_terminating())
        .collect();
    // A revision that is no number counts like none; upstream compares such a ReplicaSet by age, which is no total order.
    // Equal ones stay in the order of their age.
    candidates.sort_by_key(|set| revisions::revision(set).unwrap_or_default());
    let surplus = candidates.len().saturating_sub(limit);
    for set in candidates
        .into_iter()
        .take(surplus)
        .filter(|set| is_empty(set) && is_vacant(seen, set))
    {
        draft.delete(set);
    }
}

/// True if its pods have gone, where those that terminate count: without their ReplicaSet they would be lost sight of (L-2).
fn is_vacant(seen: &Observed, set: &ReplicaSet) -> bool {
    seen.occupancy != Occupancy::Unsure && seen.occupancy.of(set) == 0
}

/// True if the ReplicaSet neither wants nor has pods, and its status says so of the spec that it has.
fn is_empty(set: &ReplicaSet) -> bool {
    set.replicas == 0 && set.status.replicas == 0 && set.is_observed()
}
