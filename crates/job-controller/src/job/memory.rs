//! What must be remembered of a Job between turns because no cache tells it: the failures that its back-off counts (J-111,
//! J-112), and finalizers that were removed while the cache still shows them (J-50).
//!
//! All of it may be lost, as upstream loses it too: after a restart a Job does not wait for failures of before.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use parking_lot::Mutex;
use workload_core::cache::Delta;
use workload_core::id::{ObjectKey, Uid};
use workload_core::time::{self, Timestamp};

use super::policy::backoff::Record;
use super::spec::Job;

/// For how long a removed finalizer is believed to be gone although the cache shows it. A cache is never that late; but a
/// server restored from a backup may have the finalizer again.
const BELIEVED: Duration = Duration::from_mins(10);

/// What is remembered of all Jobs.
#[derive(Debug, Default)]
pub struct Memory(Mutex<HashMap<ObjectKey, Remembered>>);

#[derive(Debug)]
struct Remembered {
    job: Uid,
    record: Record,
    released: HashMap<Uid, Timestamp>,
}

/// What a turn is told of its Job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recalled {
    /// Failures since the last success.
    pub record: Record,
    /// Pods whose finalizer is gone although the cache may show it.
    pub released: BTreeSet<Uid>,
}

impl Memory {
    /// What is known of this Job. Of released pods only those that `tracked` says the cache still shows with their finalizer
    /// are kept.
    pub fn recall(&self, job: &Job, tracked: impl Fn(&Uid) -> bool, now: Timestamp) -> Recalled {
        let mut all = self.0.lock();
        let Some(known) = all.get_mut(&job.meta.key) else {
            return Recalled::default();
        };
        if known.job != job.meta.uid {
            all.remove(&job.meta.key);
            return Recalled::default();
        }
        known
            .released
            .retain(|pod, at| tracked(pod) && time::plus(*at, BELIEVED) > now);
        Recalled {
            record: known.record,
            released: known.released.keys().cloned().collect(),
        }
    }

    /// Remembers what a turn has learnt: the record as it is now, and pods that it took the finalizer from.
    pub fn keep(&self, job: &Job, record: Record, released: impl IntoIterator<Item = Uid>, now: Timestamp) {
        let mut all = self.0.lock();
        let released: Vec<(Uid, Timestamp)> = released.into_iter().map(|pod| (pod, now)).collect();
        if record == Record::default() && released.is_empty() && !all.contains_key(&job.meta.key) {
            return;
        }
        let fresh = || Remembered {
            job: job.meta.uid.clone(),
            record: Record::default(),
            released: HashMap::new(),
        };
        let known = all.entry(job.meta.key.clone()).or_insert_with(fresh);
        if known.job != job.meta.uid {
            *known = fresh();
        }
        known.record = record;
        known.released.extend(released);
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
