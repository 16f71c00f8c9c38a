//! Which change wakes which Job, and which pods are looked at because nobody counts them any more (J-10…J-18, J-173). Follows
//! the event handlers of upstream's Job controller.
//!
//! Upstream waits a second after every change of a pod, so that a burst of them costs one turn. Here only those wait that have
//! something to wait for: the end of a Job's last pod that ran is looked at without delay.

use std::sync::Arc;
use std::time::Duration;

use workload_core::cache::{Delta, Store};
use workload_core::id::{Kind, ObjectKey};
use workload_core::mistake::{Mistake, made};

use super::pod::Pod;
use super::spec::Job;
use super::{Manager, Serves};

/// A key and when to look at it.
pub type Due = (ObjectKey, Duration);

const NOW: Duration = Duration::ZERO;

/// How long changes are gathered that are likely to be followed by others (J-12).
const BATCH: Duration = Duration::from_secs(1);

/// A new or removed Job and a changed spec are looked at without delay; a changed status or metadata after a second (J-11). A
/// Job that has finished is not looked at any more.
pub fn of_job(delta: &Delta<Job>) -> Vec<Due> {
    let due = |job: &Job, wait| vec![(job.meta.key.clone(), wait)];
    match delta {
        Delta::Removed { last } => due(last, NOW),
        Delta::Applied { new, .. } if new.is_finished() => Vec::new(),
        Delta::Applied { old: Some(old), new } if old.meta.generation == new.meta.generation => due(new, BATCH),
        Delta::Applied { new, .. } => due(new, NOW),
    }
}

/// A change of a pod wakes the Jobs that own it, have owned it or could adopt it (J-15, J-16). `pods` shows the change already.
pub fn of_pod(delta: &Delta<Pod>, jobs: &Store<Job>, pods: &Store<Pod>) -> Vec<Due> {
    match delta {
        Delta::Removed { last } => owner(last, jobs)
            .map(|job| (key(&job), soon(&job, last, pods)))
            .into_iter()
            .collect(),
        Delta::Applied { old, new } => {
            let old = old.as_deref();
            let left = old.filter(|old| old.meta.controller != new.meta.controller);
            let former = left.and_then(|old| owner(old, jobs)).map(|job| (key(&job), BATCH));
            former.into_iter().chain(current(old, new, jobs, pods)).collect()
        }
    }
}

/// Whoever has to do with the pod as it is now.
fn current(old: Option<&Pod>, new: &Pod, jobs: &Store<Job>, pods: &Store<Pod>) -> Vec<Due> {
    if new.meta.controller.is_some() {
        let Some(job) = owner(new, jobs) else { return Vec::new() };
        let has_ended = is_over(new) && !old.is_some_and(is_over);
        let wait = if has_ended { soon(&job, new, pods) } else { BATCH };
        return vec![(key(&job), wait)];
    }
    let unchanged = |old: &Pod| old.meta.labels == new.meta.labels && old.meta.controller == new.meta.controller;
    if new.meta.is_terminating() || old.is_some_and(unchanged) {
        return Vec::new();
    }
    let could_adopt = |job: &Arc<Job>| {
        let selector = job.spec.selector.as_ref().ok();
        !job.is_finished() && selector.is_some_and(|selector| selector.matches(&new.meta.labels))
    };
    let mut adopters = jobs.in_namespace(&new.meta.key.namespace);
    adopters.retain(could_adopt);
    adopters.iter().map(|job| (key(job), BATCH)).collect()
}

/// Where every other pod has ended there is nothing to gather: after the end of the only one, or of the last of a round. A Job
/// that is being deleted is in no hurry: it may be gone before its status has to be written again.
fn soon(job: &Job, ended: &Pod, pods: &Store<Pod>) -> Duration {
    let is_to_come = |pod: &Pod| !pod.is_finished() && pod.meta.uid != ended.meta.uid;
    if job.meta.is_terminating() || pods.controls_any(&job.meta.uid, is_to_come) {
        BATCH
    } else {
        NOW
    }
}

fn is_over(pod: &Pod) -> bool {
    pod.is_finished() || pod.meta.is_terminating()
}

/// The pods that nobody counts any more because of this change of one of them: to be looked at by the clean-up of finalizers
/// (J-15, J-16, J-173). It decides itself (J-172); a pod named here for nothing costs a look into the caches.
pub fn orphans_of_pod(delta: &Delta<Pod>, jobs: &Store<Job>, serves: &Serves) -> Vec<Due> {
    let pod = match delta {
        Delta::Applied { new, .. } => new,
        Delta::Removed { last } => last,
    };
    let is_of_none = match (&pod.meta.controller, delta) {
        (None, Delta::Applied { .. }) => serves.orphans_of_missing_jobs(),
        (Some(_), Delta::Applied { .. }) => pod.meta.is_terminating() && is_nobodys(pod, jobs, serves),
        (_, Delta::Removed { .. }) => false,
    };
    (pod.has_finalizer() && is_of_none)
        .then(|| (pod.meta.key.clone(), NOW))
        .into_iter()
        .collect()
}

/// The pods that the end of a Job leaves behind: its own and those of nobody that its selector matches and that still wait to be
/// counted (J-173, J-174). Others of the namespace are not looked at: this runs before the next change is taken in.
pub fn orphans_of_job(delta: &Delta<Job>, pods: &Store<Pod>, serves: &Serves) -> Vec<Due> {
    let job = match delta {
        Delta::Removed { last } => last,
        Delta::Applied { old: Some(old), new } if new.is_finished() && !old.is_finished() => new,
        Delta::Applied { .. } => return Vec::new(),
    };
    let Ok(selector) = &job.spec.selector else {
        return Vec::new();
    };
    if !serves.includes(job) {
        return Vec::new();
    }
    let mut left = pods.controlled_by(&job.meta.uid);
    left.extend(pods.orphans_in(&job.meta.key.namespace));
    left.retain(|pod| pod.has_finalizer() && selector.matches(&pod.meta.labels));
    left.iter().map(|pod| (pod.meta.key.clone(), NOW)).collect()
}

/// True if the finalizer of this pod keeps it for nobody: its Job is missing or has finished. Pods of other kinds, of Jobs that
/// go on, and of Jobs that somebody else reconciles are none of our business (J-172).
pub fn is_nobodys(pod: &Pod, jobs: &Store<Job>, serves: &Serves) -> bool {
    let Some(controller) = pod.meta.controller.as_deref() else {
        return serves.orphans_of_missing_jobs();
    };
    if !controller.is_of(Kind::JOB) {
        return false;
    }
    match owner(pod, jobs) {
        Some(job) => serves.includes(&job) && (job.is_finished() || made(Mistake::LiveJobsOrphaned)),
        None => serves.orphans_of_missing_jobs(),
    }
}

impl Serves {
    /// True if pods without a Job are ours: only one controller of a cluster may take care of them.
    pub fn orphans_of_missing_jobs(&self) -> bool {
        match self.0 {
            Manager::BuiltIn => true,
            Manager::Named(_) => false,
        }
    }
}

/// The Job that controls the pod: found by kind and name, and only if it still is the one with that uid (J-17).
pub fn owner(pod: &Pod, jobs: &Store<Job>) -> Option<Arc<Job>> {
    let controller = pod
        .meta
        .controller
        .as_deref()
        .filter(|controller| controller.is_of(Kind::JOB))?;
    let job = jobs.get(&pod.meta.key.sibling(Arc::clone(&controller.name)))?;
    (job.meta.uid == controller.uid).then_some(job)
}

fn key(job: &Job) -> ObjectKey {
    job.meta.key.clone()
}
