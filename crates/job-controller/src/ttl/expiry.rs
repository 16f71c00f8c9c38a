//! When a Job is to go (TTL-1…TTL-3, TTL-7).

use std::time::Duration;

use workload_core::time::{self, Timestamp};

use crate::job::spec::Job;

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
        let ttl = job.spec.ttl_after_finished?;
        if job.meta.is_terminating() {
            return None;
        }
        Some(Self {
            ended: job.finished_at()?,
            ttl: Duration::from_secs(u64::try_from(ttl).unwrap_or_default()),
        })
    }

    /// How long it still has; nothing if its time has come.
    pub fn rest(self, now: Timestamp) -> Option<Duration> {
        time::until(self.at(), now)
    }

    /// How long ago its time has come.
    pub fn late_by(self, now: Timestamp) -> Duration {
        time::until(now, self.at()).unwrap_or_default()
    }

    fn at(self) -> Timestamp {
        time::plus(self.ended, self.ttl)
    }
}
