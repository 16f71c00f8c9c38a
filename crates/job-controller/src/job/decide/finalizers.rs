//! Which pods are let go of, and what of them has to be recorded before (J-40, J-41, J-45…J-49). Follows the selection in
//! upstream's `trackJobStatusAndRemoveFinalizers`.

use std::collections::BTreeSet;

use serde_json::json;
use workload_core::id::{Kind, Uid};
use workload_core::mistake::{Mistake, made};
use workload_core::plan::{Patch, PatchForm, Target};
use workload_core::pod::Phase;

use super::verdict::{End, Verdict};
use crate::job::facts::Facts;
use crate::job::indexes::Indexes;
use crate::job::observe::Part;
use crate::job::pod::Pod;
use crate::job::policy::failure::{self, Action};
use crate::job::status::{JobStatus, to_count};
use crate::job::words;

/// How many ends of pods may be recorded and not counted yet (J-48).
pub(super) const CAP: usize = 500;

/// The pods to let go of.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    /// The status in which their ends are recorded.
    pub(crate) status: JobStatus,
    /// They themselves.
    pub(crate) pods: Vec<Target>,
    /// Whether all were selected.
    pub(crate) extent: Extent,
    /// Failures that the pod failure policy decided.
    pub(crate) handled: Vec<(Uid, Action)>,
}

/// Whether a selection is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Nothing is left for the next turn.
    All,
    /// The cap was hit.
    Capped,
}

/// Selects pods other than those that are to be `kept`, and records them on top of the base status.
pub(super) fn select(facts: &Facts<'_>, verdict: Option<&Verdict>, kept: &BTreeSet<Uid>, cap: usize) -> Selection {
    let mut selecting = Selecting {
        facts,
        verdict,
        new_indexes: Vec::new(),
        completed: facts.seen.job.spec.indexed().map(|work| facts.base.completed(work)),
        selection: Selection::nothing(facts.base.clone()),
    };
    for pod in facts.seen.pods.iter().filter(|pod| facts.seen.is_tracked(pod)) {
        if kept.contains(&pod.meta.uid) || !selecting.may_go(pod) {
            continue;
        }
        selecting.take(pod);
        if selecting.waiting() >= cap {
            selecting.selection.extent = Extent::Capped;
            break;
        }
    }
    selecting.finish()
}

struct Selecting<'s, 'a> {
    facts: &'s Facts<'a>,
    verdict: Option<&'s Verdict>,
    new_indexes: Vec<u32>,
    completed: Option<Indexes>,
    selection: Selection,
}

impl Selecting<'_, '_> {
    /// The last failed pod of an index keeps its finalizer until the next one is there, so that its counts are not lost
    /// (J-126); so does the failure that ends a round while others of the round are there (L-10).
    fn may_go(&self, pod: &Pod) -> bool {
        let seen = self.facts.seen;
        if seen.job.meta.is_terminating() || self.verdict.is_some() || pod.phase == Phase::Succeeded {
            return true;
        }
        let uid = &pod.meta.uid;
        let kept = pod.index.and_then(|index| self.facts.predecessors.get(&index));
        let is_predecessor = kept.is_some_and(|kept| kept.meta.uid == *uid);
        seen.has_failed(pod) && !is_predecessor && self.facts.round.held.as_ref() != Some(uid)
    }

    fn take(&mut self, pod: &Pod) {
        self.selection.pods.push(Target::of(Kind::POD, &pod.meta));
        let uid = &pod.meta.uid;
        let uncounted = &self.selection.status.uncounted_terminated_pods;
        let listed_failed = uncounted.failed.contains(uid);
        let listed = listed_failed || uncounted.succeeded.contains(uid);
        let part = self.facts.seen.part(pod);
        if pod.phase == Phase::Succeeded && !listed_failed {
            match part {
                Part::Index(index) => self.take_index(index),
                Part::Any if !listed => self.list_succeeded(uid),
                Part::Any | Part::None => {}
            }
        } else if !listed && part != Part::None && self.is_a_failure(pod) {
            self.take_failed(pod);
        }
    }

    /// An index that has failed before stays failed.
    fn take_index(&mut self, index: u32) {
        let known = self
            .completed
            .as_ref()
            .is_some_and(|completed| completed.contains(index));
        if !known && self.facts.completed.contains(index) && !self.new_indexes.contains(&index) {
            self.new_indexes.push(index);
        }
    }

    fn list_succeeded(&mut self, uid: &Uid) {
        self.selection
            .status
            .uncounted_terminated_pods
            .succeeded
            .insert(uid.clone());
    }

    /// With a verdict of failure the pods that it kills have failed too (J-47).
    fn is_a_failure(&self, pod: &Pod) -> bool {
        let is_killed = self.verdict.is_some_and(|verdict| verdict.end == End::Failure);
        self.facts.seen.has_failed(pod) || is_killed
    }

    fn take_failed(&mut self, pod: &Pod) {
        let uid = &pod.meta.uid;
        if self.facts.round.absorbed.contains(uid) {
            return;
        }
        let matched = failure::first_match(&self.facts.seen.job.spec.failure_rules, pod);
        if let Some(matched) = &matched {
            self.selection.handled.push((uid.clone(), matched.action));
        }
        let is_ignored = matched.is_some_and(|matched| matched.action == Action::Ignore);
        if !is_ignored || made(Mistake::IgnoredCounted) {
            self.selection
                .status
                .uncounted_terminated_pods
                .failed
                .insert(uid.clone());
        }
    }

    fn waiting(&self) -> usize {
        self.new_indexes.len() + self.selection.status.uncounted_terminated_pods.len()
    }

    fn finish(self) -> Selection {
        let Self {
            facts,
            new_indexes,
            completed,
            mut selection,
            ..
        } = self;
        if let Some(completed) = completed {
            let completed = completed.and(&new_indexes.into_iter().collect());
            selection.status.succeeded = to_count(completed.len());
            selection.status.completed_indexes = completed.to_string();
        }
        if facts.seen.job.spec.per_index().is_some() {
            selection.status.failed_indexes = Some(facts.failed_indexes.to_string());
        }
        selection
    }
}

impl Selection {
    /// No pod, on top of this status.
    pub(super) fn nothing(status: JobStatus) -> Self {
        Self {
            status,
            pods: Vec::new(),
            extent: Extent::All,
            handled: Vec::new(),
        }
    }

    /// True if something is recorded that `base` does not have: it must be stored before the pods are let go of.
    pub(super) fn records_more_than(&self, base: &JobStatus) -> bool {
        self.status != *base
    }
}

/// Takes the finalizer away (J-43).
pub(super) fn removal(pod: Target) -> Patch {
    Patch {
        target: pod,
        form: PatchForm::Metadata,
        body: json!({"metadata": {"$deleteFromPrimitiveList/finalizers": [words::TRACKING]}}),
        note: None,
    }
}
