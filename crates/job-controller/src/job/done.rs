//! What the plan of a turn has come to, read from its attempts.

use std::collections::BTreeSet;

use workload_core::id::{ObjectKey, Uid};
use workload_core::outcome::{Attempt, Outcome, Verb};

use super::decide::{Action, Counts, Step};

/// What became of the record of ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The plan did not write one, or did not come to it.
    NotWritten,
    /// It is stored.
    Applied,
    /// It is not.
    Failed,
}

/// What the plan has come to.
pub(super) struct Done {
    pub(super) record: Fate,
    /// Pods that were let go of.
    pub(super) released: Vec<Uid>,
    /// Pods that still have their finalizer.
    pub(super) unreleased: usize,
    /// Pods after it.
    pub(super) counts: Counts,
    /// True if the verdict has to wait.
    pub(super) is_withheld: bool,
}

impl Done {
    pub(super) fn of(action: &Action, outcome: &Outcome) -> Self {
        let applied = |verb: Verb| -> BTreeSet<&ObjectKey> {
            let of_verb = outcome.attempts.iter().filter(|attempt| attempt.verb == verb);
            let worked = of_verb.filter(|attempt| attempt.result.is_ok());
            worked.map(|attempt| &attempt.key).collect()
        };
        let (patched, deleted) = (applied(Verb::Patch), applied(Verb::Delete));
        let record = match outcome.attempts.iter().find(|attempt| attempt.verb == Verb::Status) {
            None => Fate::NotWritten,
            Some(Attempt { result: Ok(_), .. }) => Fate::Applied,
            Some(Attempt { result: Err(_), .. }) => Fate::Failed,
        };
        let pods = action.selection.pods.iter();
        let (released, unreleased): (Vec<_>, Vec<_>) = pods.partition(|pod| patched.contains(&pod.key));
        let (going, must_all_go) = match &action.step {
            Step::Wait => (&[][..], false),
            Step::Manage { removed, .. } => (&removed[..], false),
            Step::Kill(killed) => (&killed[..], true),
        };
        let gone: Vec<_> = going.iter().filter(|(key, ..)| deleted.contains(key)).collect();
        let mut counts = action.counts;
        counts.active = counts.active.saturating_sub(gone.len()) + applied(Verb::Create).len();
        counts.ready = counts
            .ready
            .saturating_sub(gone.iter().filter(|(.., is_ready)| *is_ready).count());
        counts.terminating += gone.len();
        Self {
            record,
            is_withheld: must_all_go && gone.len() < going.len(),
            released: released.into_iter().map(|pod| pod.uid.clone()).collect(),
            unreleased: unreleased.len(),
            counts,
        }
    }
}
