//! The TTL controller: deletes a Job some time after its end, if its user wants so (TTL-1…TTL-11).

pub mod expiry;
pub mod metrics;

use std::fmt;
use std::sync::Arc;

use workload_core::cache::{Delta, Store};
use workload_core::id::{Kind, ObjectKey};
use workload_core::labels::Interner;
use workload_core::meta::{DecodeError, Object as _};
use workload_core::outcome::{Outcome, Verb};
use workload_core::plan::{Address, Delete, DeleteGuard, Plan, Stage, Target, Wake};
use workload_core::time::Timestamp;
use workload_core::workload::{Aids, Conclusion, LiveRead, Observation, RetryLimit, Workload};

use self::expiry::Expiry;
use self::metrics::Lateness;
use crate::job::spec::Job;

/// The TTL controller on its cache.
pub struct Ttl {
    /// All Jobs.
    pub jobs: Arc<Store<Job>>,
    /// How late it is.
    pub lateness: Lateness,
}

/// A Job that has ended and has a time to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// The Job: as the server has it, once it was asked, before that as the cache does.
    pub job: Target,
    /// When it is to go.
    pub expiry: Expiry,
    /// Whether the server was asked in this turn.
    pub knowledge: Knowledge,
}

/// Where something is known from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knowledge {
    /// From the cache, which may be behind.
    Cached,
    /// From the server, a moment ago.
    Live,
}

/// Which change of a Job makes it worth a look (TTL-1, TTL-8).
pub fn of_job(delta: &Delta<Job>) -> Option<ObjectKey> {
    match delta {
        Delta::Applied { new, .. } => Expiry::of(new).map(|_| new.meta.key.clone()),
        // For what is remembered of it.
        Delta::Removed { last } => Some(last.meta.key.clone()),
    }
}

impl Workload for Ttl {
    type Observed = Observed;
    /// When the Job was to go, if it goes now.
    type Intent = Option<Expiry>;

    const KIND: Kind = Kind::JOB;
    const QUEUE: &'static str = "ttl_jobs_to_delete";
    const COMPONENT: &'static str = "ttl-after-finished-controller";
    const RETRIES: RetryLimit = RetryLimit::Unlimited;

    fn root(&self, key: &ObjectKey) -> Option<Target> {
        self.jobs.get(key).map(|job| Target::of(Kind::JOB, &job.meta))
    }

    fn concerns(&self, key: &ObjectKey) -> bool {
        self.jobs.get(key).is_some_and(|job| Expiry::of(&job).is_some())
    }

    fn observe(&self, key: &ObjectKey, aids: &Aids<'_>) -> Observation<Observed> {
        let address = Address {
            kind: Kind::JOB,
            key: key.clone(),
        };
        let live = match aids.live.get(&address) {
            Some(LiveRead::Missing) => return Observation::Absent,
            Some(LiveRead::Found(json)) => Some(decode(json)),
            None => None,
        };
        let (job, knowledge) = match live {
            Some(Ok(job)) => (Some(Arc::new(job)), Knowledge::Live),
            Some(Err(_)) => return Observation::Ignored("the server's copy cannot be decoded"),
            None => (self.jobs.get(key), Knowledge::Cached),
        };
        let Some(job) = job else {
            return Observation::Absent;
        };
        let Some(expiry) = Expiry::of(&job) else {
            return Observation::Ignored("it has no time to go");
        };
        Observation::Ready(Observed {
            job: Target::of(Kind::JOB, &job.meta),
            expiry,
            knowledge,
        })
    }

    fn decide(&self, seen: &Observed, now: Timestamp) -> Plan<Option<Expiry>> {
        if seen.expiry.is_ahead(now) {
            tracing::warn!(job = %seen.job.key, "the Job has ended in the future, it goes later: clocks differ");
        }
        decide(seen, now)
    }

    fn conclude(&self, seen: &Observed, expiry: &Option<Expiry>, outcome: &Outcome, now: Timestamp) -> Conclusion {
        if let Some(expiry) = expiry
            && outcome.applied(Verb::Delete, Kind::JOB, &seen.job.key)
        {
            self.lateness.observe(expiry.late_by(now));
        }
        Conclusion::default()
    }
}

/// What is due: nothing yet, a look at the server's copy, or the end (TTL-3…TTL-5).
pub fn decide(seen: &Observed, now: Timestamp) -> Plan<Option<Expiry>> {
    if let Some(rest) = seen.expiry.rest(now) {
        return Plan {
            wake: Wake::After(rest),
            ..Plan::quiet(None)
        };
    }
    let (stage, goes) = match seen.knowledge {
        Knowledge::Cached => {
            let address = Address {
                kind: Kind::JOB,
                key: seen.job.key.clone(),
            };
            (Stage::Read(vec![address]), None)
        }
        Knowledge::Live => {
            let delete = Delete {
                target: seen.job.clone(),
                guard: DeleteGuard::Uid,
                note: None,
            };
            (Stage::DeleteForeground(vec![delete]), Some(seen.expiry))
        }
    };
    Plan {
        stages: vec![stage],
        ..Plan::quiet(goes)
    }
}

fn decode(json: &[u8]) -> Result<Job, DecodeError> {
    Job::decode(json, &Interner::default())
}

impl fmt::Debug for Ttl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ttl").finish_non_exhaustive()
    }
}
