//! When a Job is to go (TTL-1…TTL-3, TTL-7).

use std::time::Duration;

use workload_core::time::{self, Timestamp};

use crate::job::spec::Job;
use crate::job::words;

/// When a Job has ended and when it is to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiry {
    ended: Timestamp,
    ttl: Duration,
}

impl Expiry {
    /// Nothing unless the Job has ended, has a time to go and was not asked to go already. One that does not say when it ended
    /// has no such time: only a change of it could help, and that is looked at.
    pub fn of(job: &Job) -> Option<Self> {
        let ended = job.finished_at()?;
        let ttl = ttl(job)?;
        if job.meta.is_terminating() {
            return None;
        }
        Some(Self {
            ended,
            ttl: Duration::from_secs(u64::try_from(ttl).unwrap_or_default()),
        })
    }

    /// How long it still has; nothing if its time has come.
    pub fn rest(self, now: Timestamp) -> Option<Duration> {
        time::until(self.at(), now)
    }

    /// True if it has ended in the future: somebody's clock is wrong, and it goes later than its user wants (TTL-7).
    pub fn is_ahead(self, now: Timestamp) -> bool {
        self.ended > now
    }

    /// How long ago its time has come.
    pub fn late_by(self, now: Timestamp) -> Duration {
        time::until(now, self.at()).unwrap_or_default()
    }

    fn at(self) -> Timestamp {
        time::plus(self.ended, self.ttl)
    }
}

/// How many seconds after its end the Job is to go: what its user wants for this outcome, else for both (L-8).
fn ttl(job: &Job) -> Option<i64> {
    let is_complete = job.status.conditions.holds(words::COMPLETE).is_some();
    let of_outcome = if is_complete {
        job.opt_ins.ttl_complete
    } else {
        job.opt_ins.ttl_failed
    };
    of_outcome.map(|seconds| seconds.0).or(job.spec.ttl_after_finished)
}
