//! The Job controller: runs pods until their work is done, and counts each of them exactly once.

mod account;
pub mod conclude;
pub mod conditions;
pub mod decide;
mod done;
mod facts;
pub mod indexes;
mod learnt;
pub mod memory;
pub mod observe;
pub mod opt_ins;
pub mod pod;
pub mod policy;
pub mod spec;
pub mod status;
pub mod tally;
pub mod watches;
pub mod words;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use workload_core::cache::Store;
use workload_core::id::{Kind, ObjectKey};
use workload_core::opt_in::Rejected;
use workload_core::outcome::Outcome;
use workload_core::plan::{Plan, Target};
use workload_core::time::Timestamp;
use workload_core::workload::{Aids, Conclusion, Observation, RetryLimit, Workload};

use self::decide::{Bounds, Intent};
use self::memory::Memory;
use self::observe::Observed;
use self::pod::Pod;
use self::spec::Job;
use self::tally::Tally;

/// The Job controller on its caches.
pub struct Jobs {
    /// All Jobs.
    pub jobs: Arc<Store<Job>>,
    /// All pods.
    pub pods: Arc<Store<Pod>>,
    /// Which Jobs it reconciles.
    pub serves: Serves,
    /// What it remembers between turns.
    pub memory: Arc<Memory>,
    /// Upper bounds of one turn.
    pub bounds: Bounds,
    /// Takes what each turn has done.
    pub counter: Box<dyn Fn(&Tally) + Send + Sync>,
}

/// Which Jobs a process reconciles (J-160).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Serves(pub Manager);

/// Who a Job can name as its controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Manager {
    /// Nobody, or upstream's controller, in whose place this one stands.
    BuiltIn,
    /// Exactly this one, which stands beside upstream's.
    Named(Arc<str>),
}

impl Serves {
    /// True if this process reconciles the Job.
    pub fn includes(&self, job: &Job) -> bool {
        let named = job.spec.managed_by.as_deref();
        match &self.0 {
            Manager::BuiltIn => named.is_none_or(|name| name == words::BUILT_IN),
            Manager::Named(own) => named == Some(own),
        }
    }
}

impl Workload for Jobs {
    type Observed = Observed;
    type Intent = Intent;

    const KIND: Kind = Kind::JOB;
    const QUEUE: &'static str = "job";
    const COMPONENT: &'static str = "job-controller";
    const RETRIES: RetryLimit = RetryLimit::Paced {
        first: Duration::from_secs(1),
        longest: Duration::from_mins(1),
    };

    fn root(&self, key: &ObjectKey) -> Option<Target> {
        let job = self.jobs.get(key);
        if job.is_none() {
            self.memory.forget(key);
        }
        job.map(|job| Target::of(Kind::JOB, &job.meta))
    }

    fn observe(&self, key: &ObjectKey, aids: &Aids<'_>) -> Observation<Observed> {
        observe::observe(self, key, aids)
    }

    fn rejected_opt_ins<'a>(&self, seen: &'a Observed) -> &'a [Rejected] {
        &seen.job.opt_ins.rejected
    }

    fn decide(&self, seen: &Observed, now: Timestamp) -> Plan<Intent> {
        decide::decide(seen, self.bounds, now)
    }

    fn conclude(&self, seen: &Observed, intent: &Intent, outcome: &Outcome, now: Timestamp) -> Conclusion {
        let Intent::Act(action) = intent else {
            return Conclusion::default();
        };
        self.memory.keep(&seen.job, learnt::learnt(seen, action, outcome));
        conclude::conclude(seen, action, outcome, now)
    }

    fn settled(&self, seen: &Observed, intent: &Intent, outcome: &Outcome, now: Timestamp) {
        if let Intent::Act(action) = intent {
            (self.counter)(&account::tally(seen, action, outcome, now));
        }
    }

    fn start_over(&self) {
        self.memory.start_over();
    }
}

impl fmt::Debug for Jobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jobs")
            .field("serves", &self.serves)
            .finish_non_exhaustive()
    }
}
