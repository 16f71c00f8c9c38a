//! Which pods go when there are too many (J-76, J-90, J-91). Follows upstream's `activePodsForRemoval`.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use workload_core::id::Kind;
use workload_core::mistake::{Mistake, made};
use workload_core::plan::{Delete, DeleteGuard, Departure, Note, Target};
use workload_core::pod::Phase;
use workload_core::time::Timestamp;

use super::finalizers;
use crate::job::facts::Facts;
use crate::job::observe::Part;
use crate::job::pod::{Placement, Pod};
use crate::job::words;

/// The pods to remove, at least `surplus` of the active ones: of indexed work all that have no part in it, and all but the best
/// of each index. Those that were let go of before and not deleted then are the first: whatever becomes of them counts for
/// nothing (J-52).
pub(super) fn choose<'a>(facts: &Facts<'a>, surplus: usize) -> Vec<&'a Pod> {
    let mut left = facts.active.clone();
    left.sort_by_cached_key(|pod| (stays(facts, pod), worth(pod)));
    let mut going: Vec<&Pod> = Vec::new();
    if facts.seen.job.spec.indexed().is_some() {
        let mut best: BTreeMap<u32, &Pod> = BTreeMap::new();
        for pod in std::mem::take(&mut left) {
            match facts.seen.part(pod) {
                Part::Index(index) => going.extend(best.insert(index, pod)),
                Part::Any | Part::None => going.push(pod),
            }
        }
        left = best.into_values().collect();
        left.sort_by_cached_key(|pod| (stays(facts, pod), worth(pod)));
    }
    let more = surplus.saturating_sub(going.len());
    going.extend(left.into_iter().take(more));
    going
}

/// Whether somebody still counts a pod.
fn stays(facts: &Facts<'_>, pod: &Pod) -> bool {
    facts.seen.is_tracked(pod) || made(Mistake::DeparturesForgotten)
}

/// Pods of less worth go first (J-90). What a user says about the cost of a pod's deletion does not matter to Jobs.
fn worth(pod: &Pod) -> impl Ord + use<> {
    let phase = match pod.phase {
        Phase::Pending | Phase::Succeeded | Phase::Failed => 0,
        Phase::Unknown => 1,
        Phase::Running => 2,
    };
    let since = pod.ready.filter(|_| pod.is_ready()).and_then(|ready| ready.since);
    (
        pod.placement == Placement::Bound,
        phase,
        pod.is_ready(),
        unknown_then_latest(since),
        (Reverse(pod.restarts.most), Reverse(pod.restarts.most_of_sidecars)),
        unknown_then_latest(pod.meta.created),
        pod.meta.uid.clone(),
    )
}

fn unknown_then_latest(at: Option<Timestamp>) -> (bool, Reverse<Option<Timestamp>>) {
    (at.is_some(), Reverse(at))
}

/// The removal of a pod that is not to be counted: its finalizer goes first (J-52, J-91).
pub(super) fn uncounted(pod: &Pod) -> Departure {
    Departure {
        patch: finalizers::removal(Target::of(Kind::POD, &pod.meta)),
        delete: Delete {
            note: Some(deleted(pod)),
            ..kill(pod)
        },
    }
}

/// The removal of a pod that is counted: its finalizer stays (J-33).
pub(super) fn kill(pod: &Pod) -> Delete {
    Delete {
        target: Target::of(Kind::POD, &pod.meta),
        guard: DeleteGuard::Uid,
        note: Some(deleted(pod)),
    }
}

fn deleted(pod: &Pod) -> Note {
    Note::normal(words::SUCCESSFUL_DELETE, format!("Deleted pod: {}", pod.meta.key.name))
}
