//! A change of `spec.replicas`: every ReplicaSet keeps its share, so that scaling does not roll the template on
//! (D-20…D-25). Follows upstream's `isScalingEvent` and `scale`.

use std::cmp::Reverse;

use workload_core::opt_in::Switch;

use super::draft::Draft;
use super::hold::Hold;
use crate::deployment::observe::{self, Observed, Occupancy};
use crate::deployment::spec::{Rollout, Strategy};
use crate::deployment::words;
use crate::replicaset::spec::ReplicaSet;

/// True if an active ReplicaSet was sized for another number of replicas than the Deployment has now (D-20).
pub(super) fn is_due(seen: &Observed) -> bool {
    let mut active = seen.sets().filter(|set| set.replicas > 0);
    active.any(|set| is_outdated(seen, set))
}

/// Gives each ReplicaSet its size (D-21).
///
/// Where terminating pods count, it waits until ReplicaSets have taken in the sizes that they have: nobody grows before, and
/// what is given out here at once keeps the shares.
pub(super) fn step(draft: &mut Draft<'_>) {
    let seen = draft.seen;
    if seen.occupancy == Occupancy::Unsure {
        return;
    }
    let active: Vec<&ReplicaSet> = seen.sets().filter(|set| set.replicas > 0).collect();
    match (active.as_slice(), seen.found()) {
        ([], new) => {
            let youngest = seen.old.last().map(|set| &**set);
            if let Some(target) = new.or(youngest) {
                draft.resize(target, seen.deployment.spec.wanted());
            }
        }
        ([target], _) => {
            resize(draft, target, seen.deployment.spec.wanted());
            restate_outdated(draft, &active);
        }
        (_, Some(new)) if is_saturated(seen, new) => {
            for set in &seen.old {
                draft.resize(set, 0);
            }
        }
        _ => match seen.deployment.spec.strategy {
            Strategy::RollingUpdate { .. } => in_proportion(draft, active),
            Strategy::Recreate => restate_outdated(draft, &active),
        },
    }
}

/// Resizes a ReplicaSet, but does not grow an old one if its user does not want that: the rollout gives the new one what is
/// missing (FR-DP-12). A paused rollout does not, so there all grow.
fn resize(draft: &mut Draft<'_>, set: &ReplicaSet, size: i64) {
    let deployment = &*draft.seen.deployment;
    let rolls_on = deployment.spec.rollout == Rollout::Active;
    let stays = rolls_on && deployment.opt_ins.never_grow_old == Switch::On && !is_new(draft.seen, set);
    let most = if stays { i64::from(set.replicas) } else { i64::MAX };
    draft.resize(set, size.min(most));
}

/// True for the ReplicaSet that has the Deployment's template.
fn is_new(seen: &Observed, set: &ReplicaSet) -> bool {
    seen.found().is_some_and(|new| new.meta.uid == set.meta.uid)
}

/// A count in an annotation, as upstream's parser accepts it (D-20).
fn count(set: &ReplicaSet, key: &str) -> Option<i32> {
    let text = set.meta.annotations.get(key)?;
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}

/// True if the ReplicaSet says that it was sized for another number of replicas.
fn is_outdated(seen: &Observed, set: &ReplicaSet) -> bool {
    count(set, words::DESIRED_REPLICAS).is_some_and(|desired| desired != seen.deployment.spec.replicas)
}

/// Tells ReplicaSets that already have their size what it is for now. Upstream does not, and takes each further sync for the
/// same scaling event: the rollout stands still until somebody scales again (L-1).
fn restate_outdated(draft: &mut Draft<'_>, sets: &[&ReplicaSet]) {
    for set in sets.iter().filter(|set| is_outdated(draft.seen, set)) {
        draft.restate(set);
    }
}

/// True if the new ReplicaSet was sized for all replicas and has them available (D-21b).
fn is_saturated(seen: &Observed, new: &ReplicaSet) -> bool {
    let wanted = seen.deployment.spec.replicas;
    new.replicas == wanted
        && count(new, words::DESIRED_REPLICAS) == Some(wanted)
        && new.status.available_replicas == wanted
}

/// Shares what there is to add or to remove among the active ReplicaSets, in proportion to their sizes (D-22, D-23).
fn in_proportion(draft: &mut Draft<'_>, mut active: Vec<&ReplicaSet>) {
    let seen = draft.seen;
    let allowed = match seen.deployment.spec.replicas {
        0 => 0,
        _ => draft.bounds.most,
    };
    let total: i64 = active.iter().map(|set| i64::from(set.replicas)).sum();
    let hold = Hold::of(draft).filter(|_| seen.deployment.spec.replicas > 0);
    let to_add = hold.map_or(allowed - total, |hold| hold.to_add(total, allowed));
    active.sort_by(|a, b| observe::by_age(a, b));
    if to_add > 0 && hold.is_none() {
        active.reverse();
    }
    active.sort_by_key(|set| Reverse(set.replicas));
    let mut sizes: Vec<(&ReplicaSet, i64)> = Vec::new();
    let mut added = 0;
    for set in active {
        let left = to_add - added;
        let share = share(seen, set, draft.bounds.most);
        let part = if to_add > 0 { share.min(left) } else { share.max(left) };
        let part = if left == 0 { 0 } else { part };
        let size = i64::from(set.replicas);
        let part = match hold.filter(|_| is_new(seen, set)) {
            Some(hold) if to_add > 0 => part.min(hold.most_updated(size) - size),
            Some(hold) => share.min(0).max(hold.least_updated(size) - size),
            // Former canaries are on their way out: the largest of the others takes what there is to add.
            None if hold.is_some() && to_add > 0 => 0,
            None => part,
        };
        sizes.push((set, size + part));
        added += part;
    }
    let takes_rest = |set: &ReplicaSet| to_add <= 0 || hold.is_none() || !is_new(seen, set);
    if let Some((_, first)) = sizes.iter_mut().find(|(set, _)| takes_rest(set)) {
        *first = (*first + to_add - added).max(0);
    }
    for (set, size) in sizes {
        resize(draft, set, size);
        draft.restate(set);
    }
}

/// By how much a ReplicaSet would grow if it kept its share of all pods exactly, rounded half away from zero. In 128 bits,
/// where upstream's 32 overflow (L-11).
fn share(seen: &Observed, set: &ReplicaSet, most: i64) -> i64 {
    let size = i64::from(set.replicas);
    if seen.deployment.spec.replicas == 0 {
        return -size;
    }
    let sized_for = count(set, words::MAX_REPLICAS).filter(|most| *most != 0);
    let base = i128::from(sized_for.unwrap_or(seen.deployment.status.replicas));
    if base <= 0 {
        return 0;
    }
    let rounded = (2 * i128::from(size) * i128::from(most) + base) / (2 * base);
    i64::try_from(rounded).unwrap_or(i64::MAX) - size
}
