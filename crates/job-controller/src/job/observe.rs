//! What the caches know of one Job and its pods (J-20…J-25, J-30).

use std::collections::BTreeSet;
use std::sync::Arc;

use workload_core::id::{Kind, ObjectKey, Uid};
use workload_core::owner::Claimant;
use workload_core::plan;
use workload_core::pod::Phase;
use workload_core::time::Timestamp;
use workload_core::workload::{Aids, Children, Observation};

use super::Jobs;
use super::memory::Recalled;
use super::pod::{Pod, Start};
use super::spec::{Job, Replacement, Work};
use super::words;

/// One Job at the start of a turn.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The Job.
    pub job: Arc<Job>,
    /// Its pods, those included that `claims` is about to adopt: by index where it has such, then by name.
    pub pods: Vec<Arc<Pod>>,
    /// Adoptions and releases that have to be written.
    pub claims: Vec<plan::Claim>,
    /// Whether earlier creates and deletes of ours are all in the cache.
    pub children: Children,
    /// How many of its pods cannot be decoded: nobody knows what they are up to.
    pub unread: usize,
    /// What is remembered of it.
    pub recalled: Recalled,
    /// When the turn began.
    pub began: Timestamp,
    /// The pods that still have to be counted (J-40).
    tracked: BTreeSet<Uid>,
}

impl Observed {
    /// True if the pod still has to be counted: it has the finalizer, or gets it with its adoption, and it was not taken away
    /// by a write that the cache does not show yet (J-22, J-50).
    pub fn is_tracked(&self, pod: &Pod) -> bool {
        self.tracks(&pod.meta.uid)
    }

    /// As [`Self::is_tracked`], for a pod that may be gone.
    pub fn tracks(&self, pod: &Uid) -> bool {
        self.tracked.contains(pod)
    }

    /// True if one of its pods has run.
    pub fn has_run(&self) -> bool {
        has_run(&self.pods)
    }

    /// True if the pod has failed as far as this Job is concerned (J-37).
    pub fn has_failed(&self, pod: &Pod) -> bool {
        let is_given_up = self.job.spec.replacement == Replacement::TerminatingOrFailed
            && pod.meta.is_terminating()
            && pod.phase != Phase::Succeeded;
        pod.phase == Phase::Failed || is_given_up
    }

    /// The index that the pod works on; nothing if it is no part of the work. Every pod of work without indexes is part of it.
    pub fn part(&self, pod: &Pod) -> Part {
        match &self.job.spec.work {
            Work::Queue | Work::Fixed(_) | Work::Unknown(_) => Part::Any,
            Work::Indexed(work) => {
                let index = pod.index.filter(|index| *index < work.completions);
                index.map_or(Part::None, Part::Index)
            }
        }
    }

    /// True if pods may be made and removed, and an end be published (J-33, J-34): not while some of them are unknown.
    pub fn is_settled(&self) -> bool {
        self.children == Children::Settled && self.unread == 0
    }

    /// True if the pod certainly needs not be waited for any more: it was let go of or is gone (J-46). A pod that cannot be
    /// decoded may be any that is not seen.
    pub fn is_released(&self, pod: &Uid) -> bool {
        let is_seen = || self.pods.iter().any(|seen| seen.meta.uid == *pod);
        !self.tracks(pod) && (self.unread == 0 || is_seen())
    }
}

/// Which part of the work a pod does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Any: the work has no indexes.
    Any,
    /// This index.
    Index(u32),
    /// None (J-49, J-77).
    None,
}

impl Part {
    /// The index, if it is one.
    pub fn index(self) -> Option<u32> {
        match self {
            Self::Index(index) => Some(index),
            Self::Any | Self::None => None,
        }
    }
}

/// Reads the caches.
pub(super) fn observe(caches: &Jobs, key: &ObjectKey, aids: &Aids<'_>) -> Observation<Observed> {
    let Some(job) = caches.jobs.get(key) else {
        return Observation::Absent;
    };
    if !caches.serves.includes(&job) {
        return Observation::Ignored("it names another controller");
    }
    if job.is_finished() {
        caches.memory.forget(key);
        return Observation::Ignored("it has finished");
    }
    let Ok(selector) = &job.spec.selector else {
        return Observation::Ignored("the selector cannot be parsed");
    };
    let owner = Claimant {
        kind: Kind::JOB,
        meta: &job.meta,
        selector,
    };
    let mut candidates = caches.pods.controlled_by(&job.meta.uid);
    candidates.retain(|pod| names(pod, &job));
    candidates.extend(caches.pods.orphans_in(&key.namespace));
    let mut claimed = owner.claim_all(candidates);
    claimed.writes.sort_by(|a, b| a.child.key.cmp(&b.child.key));
    for claim in &mut claimed.writes {
        claim.finalizer = Some(words::TRACKING);
    }
    let mut pods: Vec<Arc<Pod>> = claimed.owned().cloned().collect();
    let shown = |pod: &&Arc<Pod>| pod.has_finalizer();
    let mut tracked: BTreeSet<Uid> = pods.iter().filter(shown).map(|pod| pod.meta.uid.clone()).collect();
    let recalled = caches.memory.recall(&job, |pod| tracked.contains(pod), has_run(&pods));
    tracked.retain(|pod| !recalled.released.contains(pod));
    tracked.extend(claimed.adopted.iter().map(|pod| pod.meta.uid.clone()));
    let is_indexed = job.spec.indexed().is_some();
    let place = |pod: &Arc<Pod>| (pod.index.filter(|_| is_indexed), pod.meta.key.clone());
    pods.sort_by_cached_key(place);
    Observation::Ready(Observed {
        pods,
        claims: claimed.writes,
        children: aids.children,
        unread: caches.pods.unread_of(&job.meta.uid),
        recalled,
        began: aids.now,
        tracked,
        job: Arc::clone(&job),
    })
}

/// True if one of these pods has run.
fn has_run(pods: &[Arc<Pod>]) -> bool {
    pods.iter().any(|pod| pod.start == Start::Once)
}

/// True if the pod's controller is named like `job`: a reference that has the uid and another kind or name, or that crosses
/// namespaces, leads nowhere (J-17, J-20).
fn names(pod: &Pod, job: &Job) -> bool {
    let controller = pod.meta.controller.as_deref();
    controller.is_some_and(|controller| controller.is_of(Kind::JOB) && controller.name == job.meta.key.name)
        && pod.meta.key.namespace == job.meta.key.namespace
}
