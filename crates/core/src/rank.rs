//! Which pods go first when there are too many (deployment C-50…C-53).

use std::cmp::{Ordering, Reverse};

use crate::pod::{Phase, PodView};
use crate::time::Timestamp;

/// A pod that may have to go.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The pod.
    pub pod: &'a PodView,
    /// How many active pods of the same group run on its node; 0 where colocation does not matter (deployment C-50).
    pub colocated: usize,
}

/// The first `how_many` of the candidates to go. The result does not depend on the order of the candidates.
pub fn victims<'a>(candidates: &[Candidate<'a>], how_many: usize, now: Timestamp) -> Vec<&'a PodView> {
    let mut order = candidates.to_vec();
    order.sort_unstable_by(|a, b| a.pod.meta.uid.cmp(&b.pod.meta.uid));
    if how_many < order.len() {
        order = merge_sort(order, &|a, b| goes_before(a, b, now));
    }
    order.iter().take(how_many).map(|candidate| candidate.pod).collect()
}

/// Compares two candidates by the first criterion in which they differ (deployment C-51); `Equal` where upstream leaves
/// the order open.
fn goes_before(a: &Candidate<'_>, b: &Candidate<'_>, now: Timestamp) -> Ordering {
    let first = |candidate: &Candidate<'_>| {
        let pod = candidate.pod;
        let phase = match pod.phase {
            Phase::Pending | Phase::Succeeded | Phase::Failed => 0,
            Phase::Unknown => 1,
            Phase::Running => 2,
        };
        (
            pod.node.is_some(),
            phase,
            pod.is_ready(),
            pod.deletion_cost,
            Reverse(candidate.colocated),
        )
    };
    let last = |candidate: &Candidate<'_>| (Reverse(candidate.pod.restarts), Reverse(candidate.pod.sidecar_restarts));
    let by_uid = || a.pod.meta.uid.cmp(&b.pod.meta.uid);
    first(a)
        .cmp(&first(b))
        .then_with(|| younger_first(a.pod.ready_since(), b.pod.ready_since(), now, by_uid))
        .then_with(|| last(a).cmp(&last(b)))
        .then_with(|| younger_first(a.pod.meta.created, b.pod.meta.created, now, by_uid))
}

/// Unknown times first, then small ages. Ages that differ less than twofold count as equal, so that uids, which are
/// random, spread the victims; equal times decide nothing.
fn younger_first(
    a: Option<Timestamp>,
    b: Option<Timestamp>,
    now: Timestamp,
    by_uid: impl FnOnce() -> Ordering,
) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    let bucket = |at: Option<Timestamp>| at.map(|at| age_bucket(at, now));
    bucket(a).cmp(&bucket(b)).then_with(by_uid)
}

/// Binary logarithm of the age in nanoseconds, rounded down; nothing for an age that is not positive (deployment C-52).
fn age_bucket(at: Timestamp, now: Timestamp) -> Option<u32> {
    now.duration_since(at).as_nanos().checked_ilog2()
}

/// Sorts by a comparison that need not be transitive. Upstream's is not: of pods that became ready in one second the one
/// with more restarts goes first, of others with ages in one bucket the one with the smaller uid, which together can run
/// in a circle. The standard sorts may panic on that; this one ends, and where there is no circle its result is the one
/// that the comparison demands.
fn merge_sort<T: Copy>(mut items: Vec<T>, compare: &impl Fn(&T, &T) -> Ordering) -> Vec<T> {
    if items.len() < 2 {
        return items;
    }
    let right = merge_sort(items.split_off(items.len() / 2), compare);
    let left = merge_sort(items, compare);
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let next = if compare(a, b) == Ordering::Greater {
            right.next()
        } else {
            left.next()
        };
        merged.extend(next);
    }
    merged.extend(left.chain(right));
    merged
}
