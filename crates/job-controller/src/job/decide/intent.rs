//! What a turn wants its report to know of the decision.

use workload_core::id::{ObjectKey, Uid};
use workload_core::plan::Note;

use super::finalizers::Selection;
use super::verdict::Verdict;
use crate::job::facts::NewEnd;
use crate::job::policy::backoff::Record;
use crate::job::status::{JobStatus, to_count};
use crate::job::tally::CreationReason;

/// What a turn made of its Job.
#[derive(Clone, Debug)]
pub enum Intent {
    /// Nothing: nobody here knows what it asks for.
    Leave,
    /// A plan.
    Act(Box<Action>),
}

/// What the plan of a turn is to achieve.
#[derive(Clone, Debug)]
pub struct Action {
    /// The status without the plan's effects.
    pub(in crate::job) base: JobStatus,
    /// The pods to let go of, and the status that records their ends.
    pub(in crate::job) selection: Selection,
    /// What became of [`Selection::status`].
    pub(in crate::job) ahead: Ahead,
    /// Said once the record is stored.
    pub(in crate::job) notes: Vec<Note>,
    /// How the Job ends, if it does.
    pub(in crate::job) verdict: Option<Verdict>,
    /// What is done about the pods.
    pub(in crate::job) step: Step,
    /// Pods at the start of the turn.
    pub(in crate::job) counts: Counts,
    /// Failures since the last success, as far as they were remembered (J-111).
    pub(in crate::job) record: Record,
    /// Ends of pods that this turn adds to it.
    pub(in crate::job) ends: Vec<NewEnd>,
    /// Whether the work is done but for active pods.
    pub(in crate::job) is_done: bool,
    /// Why pods are made.
    pub(in crate::job) reason: CreationReason,
}

/// Whether the record has to be stored before pods are let go of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::job) enum Ahead {
    /// There is nothing to record; the turn ends with its only status write.
    Nothing,
    /// The plan stores it.
    Written,
}

/// What a turn does about the pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::job) enum Step {
    /// Nothing: not allowed, or not needed.
    Wait,
    /// It makes and removes pods as its user wants.
    Manage {
        /// Active pods that go, by key: ready or not.
        removed: Vec<(ObjectKey, Uid, bool)>,
        /// How many pods are made.
        created: usize,
        /// Whether its user wants pods to run.
        suspended: bool,
    },
    /// It kills all active pods, and nothing else happens unless all of them go.
    Kill(Vec<(ObjectKey, Uid, bool)>),
}

/// Pods by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::job) struct Counts {
    pub(in crate::job) active: usize,
    pub(in crate::job) ready: usize,
    pub(in crate::job) terminating: usize,
}

impl Counts {
    /// Puts them into a status.
    pub(in crate::job) fn report(self, status: &mut JobStatus) {
        status.active = to_count(self.active);
        status.ready = Some(to_count(self.ready));
        status.terminating = Some(to_count(self.terminating));
    }
}
