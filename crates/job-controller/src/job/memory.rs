//! What must be remembered of a Job between turns because no cache tells it: the failures that its back-off counts (J-111,
//! J-112), finalizers that were removed while the cache still shows them (J-50), whether a kill has
//! failed (J-33), and whether any pod may have run (opt-in `job.start-deadline`).
//!
//! All of it may be lost, as upstream loses it too: after a restart a Job does not wait for failures of before.

use std::collections::{BTreeSet, HashMap};

use parking_lot::Mutex;
use workload_core::cache::Delta;
use workload_core::id::{ObjectKey, Uid};
use workload_core::time::Timestamp;

use super::policy::backoff::Record;
use super::spec::Job;

/// What is remembered of all Jobs.
#[derive(Debug, Default)]
pub struct Memory(Mutex<HashMap<ObjectKey, Remembered>>);

#[derive(Debug)]
struct Remembered {
    job: Uid,
    record: Record,
    released: BTreeSet<Uid>,
    kill: Kill,
    idle_since: Option<Timestamp>,
    ran_since: Option<Timestamp>,
}

/// What a turn is told of its Job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recalled {
    /// Failures since the last success.
    pub record: Record,
    /// Pods whose finalizer is gone although the cache may show it.
    pub released: BTreeSet<Uid>,
    /// How the last kill of its pods went.
    pub kill: Kill,
    /// The start time of the Job if it is known that no pod has run since then; always nothing without the opt-in
    /// `job.start-deadline`, and for a Job that has begun under another process.
    pub idle_since: Option<Timestamp>,
    /// The start time of the Job if it is known that a pod may have run since then, though none may be left that did; always
    /// nothing without that opt-in.
    pub ran_since: Option<Timestamp>,
}

/// What a turn has learnt of its Job.
#[derive(Clone, Debug, Default)]
pub struct Learnt {
    /// Failures since the last success.
    pub record: Record,
    /// Pods that it took the finalizer from.
    pub released: Vec<Uid>,
    /// How its kill went; nothing if it cannot tell.
    pub kill: Option<Kill>,
    /// The start time that the turn has chosen, if no pod has run and the Job has a start deadline.
    pub begun: Option<Timestamp>,
    /// The start time of the Job if one of its pods has run, or was let go of with whatever it did, and the Job has a start
    /// deadline.
    pub ran: Option<Timestamp>,
    /// Whether pods were removed that are not counted: nobody knows whether they had begun to run by then.
    pub has_dropped: bool,
}

/// How the kill of all pods of a Job that ends went (J-33).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kill {
    /// No pod withstands it.
    #[default]
    Complete,
    /// The server has not let some pod go.
    Refused,
}

impl Memory {
    /// What is known of this Job. Of released pods only those that `tracked` says the cache still shows with their finalizer
    /// are kept. `has_run` says whether the cache shows a pod that has run.
    pub fn recall(&self, job: &Job, tracked: impl Fn(&Uid) -> bool, has_run: bool) -> Recalled {
        let mut all = self.0.lock();
        let Some(known) = all.get_mut(&job.meta.key) else {
            return Recalled::default();
        };
        if known.job != job.meta.uid {
            all.remove(&job.meta.key);
            return Recalled::default();
        }
        known.idle_since = known.idle_since.filter(|_| !has_run);
        known.released.retain(tracked);
        Recalled {
            record: known.record,
            released: known.released.clone(),
            kill: known.kill,
            idle_since: known.idle_since,
            ran_since: known.ran_since,
        }
    }

    /// Remembers what a turn has learnt.
    pub fn keep(&self, job: &Job, learnt: Learnt) {
        let Learnt {
            record,
            released,
            kill,
            begun,
            ran,
            has_dropped,
        } = learnt;
        let mut all = self.0.lock();
        let is_nothing = record == Record::default() && released.is_empty() && kill != Some(Kill::Refused);
        if is_nothing && begun.is_none() && ran.is_none() && !all.contains_key(&job.meta.key) {
            return;
        }
        let fresh = || Remembered {
            job: job.meta.uid.clone(),
            record: Record::default(),
            released: BTreeSet::new(),
            kill: Kill::default(),
            idle_since: None,
            ran_since: None,
        };
        let known = all.entry(job.meta.key.clone()).or_insert_with(fresh);
        if known.job != job.meta.uid {
            *known = fresh();
        }
        known.record = record;
        known.released.extend(released);
        known.kill = kill.unwrap_or(known.kill);
        known.ran_since = ran.or(known.ran_since);
        known.idle_since = begun.or(known.idle_since).filter(|_| !has_dropped);
    }

    /// Forgets what was done to pods and seen of them, in a history that the server may not know; failures count on.
    pub fn start_over(&self) {
        for known in self.0.lock().values_mut() {
            known.released.clear();
            known.kill = Kill::default();
            known.idle_since = None;
        }
    }

    /// Forgets a Job that has ended or is gone (J-112).
    pub fn forget(&self, job: &ObjectKey) {
        self.0.lock().remove(job);
    }

    /// Takes in a change of a Job's cache: one that is gone is forgotten at once, so that its successor of the same name waits
    /// for nothing (J-175).
    pub fn observe(&self, delta: &Delta<Job>) {
        match delta {
            Delta::Removed { last } => self.forget(&last.meta.key),
            Delta::Applied { new, .. } if new.is_finished() => self.forget(&new.meta.key),
            Delta::Applied { .. } => {}
        }
    }

    /// How many Jobs something is remembered of.
    pub fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// True if nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
