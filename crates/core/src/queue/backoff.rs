//! When a failed key is tried again (deployment C-3, C-4).

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::id::ObjectKey;
use crate::queue::bucket::TokenBucket;
use crate::workload::RetryLimit;

/// Wait after the first failure; doubled with each further one.
const FIRST: Duration = Duration::from_millis(5);
/// Longest wait after a failure.
const LONGEST: Duration = Duration::from_secs(1000);
/// Longest wait for a gate: what it waits for arrives through a watch, within moments.
const LONGEST_HOLD: Duration = Duration::from_secs(1);

/// What all keys of a queue have failed so far.
///
/// Differs from client-go in one point: a turn that an event started before the wait of the last failure was over does not
/// count. Otherwise a busy object that fails five times in a second would wait as long as one that failed for a minute,
/// and would use up its retries (kubernetes#132805).
#[derive(Debug)]
pub struct Backoff {
    limit: RetryLimit,
    shared: TokenBucket,
    records: HashMap<ObjectKey, Record>,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    failures: u32,
    holds: u32,
    due: Instant,
}

/// What follows a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Try again then.
    At(Instant),
    /// The key has used up its retries; leave it alone until something changes.
    GiveUp,
}

/// When a turn ran.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// Start.
    pub began: Instant,
    /// End, which is now.
    pub ended: Instant,
}

impl Backoff {
    /// Nothing has failed yet.
    pub fn new(limit: RetryLimit) -> Self {
        Self {
            limit,
            shared: TokenBucket::new(100, Duration::from_millis(100)),
            records: HashMap::new(),
        }
    }

    /// A turn of `key` failed; the next one shall not be earlier than `at_least` from now.
    pub fn failed(&mut self, key: &ObjectKey, turn: Span, at_least: Duration) -> Next {
        let floor = turn.ended + at_least;
        let record = self.records.get(key).copied().unwrap_or_else(|| Record::new(turn));
        if turn.began < record.due {
            return Next::At(record.due.max(floor));
        }
        if matches!(self.limit, RetryLimit::Times(limit) if record.failures >= limit) {
            self.records.remove(key);
            return Next::GiveUp;
        }
        let wait = doubled(record.failures, LONGEST).max(self.shared.reserve(turn.ended));
        let due = floor.max(turn.ended + wait);
        let failures = record.failures.saturating_add(1);
        self.records.insert(
            key.clone(),
            Record {
                failures,
                holds: 0,
                due,
            },
        );
        Next::At(due)
    }

    /// A gate kept the turn of `key` from trying anything. Waits grow as after failures but stay short, and no retry is used up.
    pub fn held(&mut self, key: &ObjectKey, turn: Span) -> Instant {
        let record = self.records.get(key).copied().unwrap_or_else(|| Record::new(turn));
        if turn.began < record.due {
            return record.due;
        }
        let due = turn.ended + doubled(record.holds, LONGEST_HOLD);
        let holds = record.holds.saturating_add(1);
        self.records.insert(key.clone(), Record { holds, due, ..record });
        due
    }

    /// A turn of `key` succeeded, or nothing is to be retried.
    pub fn forget(&mut self, key: &ObjectKey) {
        self.records.remove(key);
    }
}

impl Record {
    fn new(turn: Span) -> Self {
        Self {
            failures: 0,
            holds: 0,
            due: turn.began,
        }
    }
}

/// 5 ms · 2ⁿ, at most `longest`.
fn doubled(n: u32, longest: Duration) -> Duration {
    let factor = 1_u32.checked_shl(n).unwrap_or(u32::MAX);
    FIRST.saturating_mul(factor).min(longest)
}
