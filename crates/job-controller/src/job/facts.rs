//! What follows from the pods of a Job and its status: the counts that every policy starts from (J-35…J-37, J-46, J-111).

use std::collections::{BTreeMap, BTreeSet};

use workload_core::id::Uid;
use workload_core::mistake::{Mistake, made};
use workload_core::opt_in::Switch;
use workload_core::pod::Phase;
use workload_core::time::Timestamp;

use super::decide::Selection;
use super::indexes::Indexes;
use super::observe::{Observed, Part};
use super::opt_ins::OnPodFailure;
use super::pod::Pod;
use super::policy::backoff::Record;
use super::policy::failure::{self, Action};
use super::policy::per_index;
use super::spec::Indexed;
use super::status::{JobStatus, Presence, to_count};

/// The counts of one turn.
#[derive(Debug)]
pub(super) struct Facts<'a> {
    pub(super) seen: &'a Observed,
    /// Pods that have neither ended nor been asked to go.
    pub(super) active: Vec<&'a Pod>,
    /// Pods that were asked to go and have not ended.
    pub(super) terminating: usize,
    /// Pods that have succeeded and are recorded nowhere.
    pub(super) new_succeeded: Vec<&'a Pod>,
    /// Pods that have failed and are recorded nowhere, with what that means.
    pub(super) new_failed: Vec<NewFailure<'a>>,
    /// The status without the uncounted pods that are released already: these are in the counts (J-46).
    pub(super) base: JobStatus,
    /// Indexes that are done, new ones included (J-36).
    pub(super) completed: Indexes,
    /// Indexes that have failed, new ones included (J-123).
    pub(super) failed_indexes: Indexes,
    /// The failed pods from which the next pods of their indexes take their counts (J-126).
    pub(super) predecessors: BTreeMap<u32, &'a Pod>,
    /// Where all pods go with one that failed: what this turn does about it (L-10).
    pub(super) round: Round,
}

/// A pod that has failed and is recorded nowhere.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewFailure<'a> {
    pub(super) pod: &'a Pod,
    pub(super) action: Action,
}

/// Opt-in `job.on-pod-failure` (L-10): a round ends with its first failure.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Round {
    /// Pods that failed in the same round after the first: not counted.
    pub(super) absorbed: BTreeSet<Uid>,
    /// The failure that counts, while others of its round are still there: it must not be recorded before they are gone, or
    /// nobody would know that they have to go.
    pub(super) held: Option<Uid>,
}

impl<'a> Facts<'a> {
    pub(super) fn of(seen: &'a Observed) -> Self {
        let status = &seen.job.status;
        let pods = || seen.pods.iter().map(|pod| &**pod);
        let active: Vec<&Pod> = pods().filter(|pod| pod.is_active()).collect();
        let uncounted = &status.uncounted_terminated_pods;
        let is_new = |pod: &&Pod| seen.is_tracked(pod) && seen.part(pod) != Part::None;
        let is_in =
            |list: &BTreeSet<Uid>, pod: &Pod| list.contains(&pod.meta.uid) && !made(Mistake::UncountedOverlooked);
        let succeeded = |pod: &&Pod| pod.phase == Phase::Succeeded && !is_in(&uncounted.succeeded, pod);
        let failed = |pod: &&Pod| seen.has_failed(pod) && !is_in(&uncounted.failed, pod);
        let rules = &seen.job.spec.failure_rules;
        let meaning = |pod: &'a Pod| NewFailure {
            pod,
            action: failure::action(rules, pod),
        };
        let mut facts = Self {
            seen,
            terminating: pods().filter(|pod| pod.is_terminating()).count(),
            new_succeeded: pods().filter(is_new).filter(succeeded).collect(),
            new_failed: pods().filter(is_new).filter(failed).map(meaning).collect(),
            base: base(seen),
            completed: Indexes::default(),
            failed_indexes: Indexes::default(),
            predecessors: BTreeMap::new(),
            round: Round::default(),
            active,
        };
        if let Some(work) = seen.job.spec.indexed() {
            facts.count_indexes(work);
        }
        facts.round = facts.round();
        facts
    }

    /// Indexes never are in both sets, which the server would not take: what was recorded first stays (J-124).
    fn count_indexes(&mut self, work: &Indexed) {
        let seen = self.seen;
        let status = &seen.job.status;
        let (completed, failed) = (status.completed(work), status.failed_of(work));
        let of_tracked = |fits: &dyn Fn(&Pod) -> bool| -> Indexes {
            let pods = seen.pods.iter().filter(|pod| seen.is_tracked(pod) && fits(pod));
            pods.filter_map(|pod| seen.part(pod).index()).collect()
        };
        let listed_failed = &status.uncounted_terminated_pods.failed;
        let newly_done = of_tracked(&|pod| pod.phase == Phase::Succeeded && !listed_failed.contains(&pod.meta.uid));
        self.completed = completed.and(&newly_done.without(&failed));
        if let Some(limits) = work.per_index {
            let rules = &seen.job.spec.failure_rules;
            let ends = |pod: &Pod| seen.has_failed(pod) && per_index::ends_index(rules, limits.limit, pod);
            self.failed_indexes = failed.and(&of_tracked(&ends).without(&self.completed));
            self.predecessors = self.waiting_predecessors();
        }
    }

    fn waiting_predecessors(&self) -> BTreeMap<u32, &'a Pod> {
        let seen = self.seen;
        let busy: BTreeSet<u32> = self.active.iter().filter_map(|pod| seen.part(pod).index()).collect();
        let waits = |index: u32| {
            !busy.contains(&index) && !self.completed.contains(index) && !self.failed_indexes.contains(index)
        };
        let failed =
            seen.pods.iter().map(|pod| &**pod).filter(|pod| {
                seen.is_tracked(pod) && seen.has_failed(pod) && seen.part(pod).index().is_some_and(waits)
            });
        per_index::last_of_each(failed)
    }

    /// Nothing is rounded up while the Job is being deleted: then its pods are let go of, not restarted.
    fn round(&self) -> Round {
        let job = &self.seen.job;
        if job.opt_ins.on_pod_failure != OnPodFailure::RestartAll || job.meta.is_terminating() {
            return Round::default();
        }
        let mut counted: Vec<&Pod> = self.counted_failures().collect();
        counted.sort_by_key(|pod| (pod.ended, pod.index, &pod.meta.uid));
        let Some((first, others)) = counted.split_first() else {
            return Round::default();
        };
        let is_over = self.active.is_empty() && others.is_empty();
        Round {
            absorbed: others.iter().map(|pod| pod.meta.uid.clone()).collect(),
            held: (!is_over).then(|| first.meta.uid.clone()),
        }
    }

    /// New failures that count, unless their round absorbs them.
    fn counted_failures(&self) -> impl Iterator<Item = &'a Pod> {
        let counted = self
            .new_failed
            .iter()
            .filter(|failure| failure.action != Action::Ignore);
        counted.map(|failure| failure.pod)
    }

    /// Pods that have succeeded; of indexed work the indexes (J-35, J-36).
    pub(super) fn succeeded(&self) -> usize {
        if self.seen.job.spec.indexed().is_some() {
            return self.completed.len();
        }
        let uncounted = self.base.uncounted_terminated_pods.succeeded.len();
        count(self.base.succeeded) + uncounted + self.new_succeeded.len()
    }

    /// Pods that have failed and count (J-35).
    pub(super) fn failed(&self) -> usize {
        let uncounted = self.base.uncounted_terminated_pods.failed.len();
        let new = self
            .counted_failures()
            .filter(|pod| !self.round.absorbed.contains(&pod.meta.uid));
        count(self.base.failed) + uncounted + new.count()
    }

    /// Active pods that are ready.
    pub(super) fn ready(&self) -> usize {
        self.active.iter().filter(|pod| pod.is_ready()).count()
    }

    /// True if the work is done but for active pods (J-31h, J-80).
    pub(super) fn is_done(&self) -> bool {
        match self.seen.job.spec.completions() {
            None => self.succeeded() > 0,
            Some(completions) => self.succeeded() >= usize::try_from(completions).unwrap_or(usize::MAX),
        }
    }

    /// Failures since the last success, all new ones included (J-111).
    pub(super) fn record(&self) -> Record {
        let failed: Vec<Timestamp> = self.backing_off().filter_map(|pod| pod.ended).collect();
        let succeeded: Vec<Timestamp> = self.new_succeeded.iter().filter_map(|pod| pod.ended).collect();
        self.seen.recalled.record.after(&failed, &succeeded)
    }

    /// The new ends of those pods that are selected, each with the write by which it ceases to be new.
    pub(super) fn ends(&self, selection: &Selection) -> Vec<NewEnd> {
        let going: BTreeSet<&Uid> = selection.pods.iter().map(|pod| &pod.uid).collect();
        let uncounted = &selection.status.uncounted_terminated_pods;
        let end = |pod: &Pod, how: How| {
            let uid = &pod.meta.uid;
            let listed = uncounted.succeeded.contains(uid) || uncounted.failed.contains(uid);
            going.contains(uid).then(|| NewEnd {
                pod: uid.clone(),
                at: pod.ended,
                how,
                known_by: if listed { KnownBy::Record } else { KnownBy::Release },
            })
        };
        let failed = self.backing_off().filter_map(|pod| end(pod, How::Failed));
        let succeeded = self.new_succeeded.iter().filter_map(|pod| end(pod, How::Succeeded));
        failed.chain(succeeded).collect()
    }

    /// New failures that lengthen the back-off: ignored ones too, unless the Job's user asks that they do not (field FR-JB-09).
    fn backing_off(&self) -> impl Iterator<Item = &'a Pod> {
        let lenient = self.seen.job.opt_ins.ignored_failures_no_backoff == Switch::On;
        let counts = move |failure: &&NewFailure<'_>| {
            let forgiven = lenient && failure.action == Action::Ignore;
            !forgiven && !self.round.absorbed.contains(&failure.pod.meta.uid)
        };
        self.new_failed.iter().filter(counts).map(|failure| failure.pod)
    }
}

/// The end of a pod, as the back-off counts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NewEnd {
    pub(super) pod: Uid,
    pub(super) at: Option<Timestamp>,
    pub(super) how: How,
    pub(super) known_by: KnownBy,
}

/// How a pod ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    Failed,
    Succeeded,
}

/// The write after which an end is not new any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KnownBy {
    /// The status that lists the pod.
    Record,
    /// The patch that takes its finalizer.
    Release,
}

/// The stored status with what is certain without any write: uncounted pods that are gone or released are counted, and indexes
/// that are no part of the work any more are left out (J-46, J-75).
fn base(seen: &Observed) -> JobStatus {
    let mut status = seen.job.status.clone();
    status.uncounted_terminated_pods.presence = Presence::Present;
    let uncounted = status.uncounted_terminated_pods.clone();
    let released = uncounted
        .succeeded
        .union(&uncounted.failed)
        .filter(|pod| seen.is_released(pod));
    for pod in released {
        status.count(pod);
    }
    if let Some(work) = seen.job.spec.indexed() {
        let completed = status.completed(work);
        status.succeeded = to_count(completed.len());
        status.completed_indexes = completed.to_string();
        status.failed_indexes = work.per_index.map(|_| status.failed_of(work).to_string());
    }
    status
}

fn count(stored: i32) -> usize {
    usize::try_from(stored).unwrap_or_default()
}
