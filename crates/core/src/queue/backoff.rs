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

/// Failures and holds are waited for apart: a gate that holds a turn back in the middle of a long wait for a retry still
/// lets go within moments.
#[derive(Clone, Copy, Debug, Default)]
struct Record {
    failures: Tries,
    holds: Tries,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tries {
    count: u32,
    /// The end of the last wait.
    due: Option<Instant>,
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
        let failures = self.records.get(key).copied().unwrap_or_default().failures;
        if let Some(due) = failures.still_due(turn) {
            return Next::At(due.max(floor));
        }
        if matches!(self.limit, RetryLimit::Times(limit) if failures.count >= limit) {
            self.records.remove(key);
            return Next::GiveUp;
        }
        let wait = self.wait(failures.count, turn.ended);
        let due = floor.max(turn.ended + wait);
        let record = Record {
            failures: failures.one_more(due),
            holds: Tries::default(),
        };
        self.records.insert(key.clone(), record);
        Next::At(due)
    }

    fn wait(&mut self, failures: u32, now: Instant) -> Duration {
        match self.limit {
            RetryLimit::Unlimited | RetryLimit::Times(_) => {
                doubled(FIRST, failures, LONGEST).max(self.shared.reserve(now))
            }
            RetryLimit::Paced { first, longest } => doubled(first, failures, longest),
        }
    }

    /// A gate kept the turn of `key` from trying anything. Waits grow as after failures but stay short, and no retry is used up.
    pub fn held(&mut self, key: &ObjectKey, turn: Span) -> Instant {
        let record = self.records.entry(key.clone()).or_default();
        if let Some(due) = record.holds.still_due(turn) {
            return due;
        }
        let due = turn.ended + doubled(FIRST, record.holds.count, LONGEST_HOLD);
        record.holds = record.holds.one_more(due);
        due
    }

    /// A turn of `key` succeeded, or nothing is to be retried.
    pub fn forget(&mut self, key: &ObjectKey) {
        self.records.remove(key);
    }
}

impl Tries {
    /// The end of the last wait, if `turn` began before it.
    fn still_due(self, turn: Span) -> Option<Instant> {
        self.due.filter(|due| turn.began < *due)
    }

    fn one_more(self, due: Instant) -> Self {
        Self {
            count: self.count.saturating_add(1),
            due: Some(due),
        }
    }
}

/// `first` · 2ⁿ, at most `longest`.
fn doubled(first: Duration, n: u32, longest: Duration) -> Duration {
    let factor = 1_u32.checked_shl(n).unwrap_or(u32::MAX);
    first.saturating_mul(factor).min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::{Clock, SystemClock};

    /// A key that fails as soon as it is tried, and is tried as soon as it may be.
    struct Failing {
        backoff: Backoff,
        key: ObjectKey,
        now: Instant,
    }

    impl Failing {
        fn with(limit: RetryLimit) -> Self {
            Self {
                backoff: Backoff::new(limit),
                key: ObjectKey::new("ns", "a"),
                now: SystemClock.instant(),
            }
        }

        fn turn(&self) -> Span {
            Span {
                began: self.now,
                ended: self.now,
            }
        }

        /// Milliseconds until the next try; `None` if it gave up.
        fn fail(&mut self) -> Option<u128> {
            let turn = self.turn();
            match self.backoff.failed(&self.key, turn, Duration::ZERO) {
                Next::At(due) => {
                    let wait = due - self.now;
                    self.now = due;
                    Some(wait.as_millis())
                }
                Next::GiveUp => None,
            }
        }
    }

    // proves: deployment/C-3
    #[test]
    fn waits_double_up_to_the_cap_and_start_anew_after_a_success() {
        let mut key = Failing::with(RetryLimit::Unlimited);
        let waits: Vec<u128> = (0..20).map_while(|_| key.fail()).collect();
        assert_eq!(waits[..9], [5, 10, 20, 40, 80, 160, 320, 640, 1280]);
        assert_eq!(waits[17..], [655_360, 1_000_000, 1_000_000]);
        key.backoff.forget(&key.key);
        assert_eq!(key.fail(), Some(5));
    }

    // proves: job/J-10
    #[test]
    fn a_paced_key_waits_as_long_as_it_is_told_and_for_no_other() {
        let [first, longest] = [1, 60].map(Duration::from_secs);
        let mut key = Failing::with(RetryLimit::Paced { first, longest });
        let waits: Vec<u128> = (0..8).map_while(|_| key.fail()).collect();
        assert_eq!(waits, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
        for other in 0..1000 {
            key.key = ObjectKey::new("ns", other.to_string());
            assert_eq!(key.fail(), Some(1_000));
        }
    }

    // proves: deployment/C-4
    #[test]
    fn a_limited_key_is_left_alone_after_its_last_retry_and_then_starts_anew() {
        let mut key = Failing::with(RetryLimit::Times(15));
        let waits: Vec<u128> = std::iter::from_fn(|| key.fail()).collect();
        assert_eq!((waits.len(), waits.last()), (15, Some(&81_920)));
        assert_eq!(key.fail(), Some(5));
    }

    // proves: deployment/C-3
    #[test]
    fn many_failing_keys_share_ten_tries_a_second() {
        let now = SystemClock.instant();
        let mut backoff = Backoff::new(RetryLimit::Unlimited);
        let turn = Span { began: now, ended: now };
        let waits: Vec<u128> = (0..103)
            .map(
                |n| match backoff.failed(&ObjectKey::new("ns", n.to_string()), turn, Duration::ZERO) {
                    Next::At(due) => (due - now).as_millis(),
                    Next::GiveUp => 0,
                },
            )
            .collect();
        assert_eq!((waits[99], &waits[100..]), (5, &[100, 200, 300][..]));
    }

    #[test]
    fn a_turn_that_an_event_started_within_the_wait_does_not_count() {
        let mut key = Failing::with(RetryLimit::Times(2));
        let first = key.now;
        key.fail();
        let due = key.now;
        for millis in 0..5 {
            let early = Span {
                began: first + Duration::from_millis(millis),
                ended: first + Duration::from_millis(millis + 1),
            };
            assert_eq!(key.backoff.failed(&key.key, early, Duration::ZERO), Next::At(due));
        }
        assert_eq!((key.fail(), key.fail()), (Some(10), None));
    }

    #[test]
    fn a_wait_that_the_server_asked_for_is_kept() {
        let mut key = Failing::with(RetryLimit::Unlimited);
        let turn = key.turn();
        let asked = key.backoff.failed(&key.key, turn, Duration::from_secs(7));
        assert_eq!(asked, Next::At(key.now + Duration::from_secs(7)));
        let early = key.backoff.failed(&key.key, turn, Duration::from_secs(9));
        assert_eq!(early, Next::At(key.now + Duration::from_secs(9)));
    }

    #[test]
    fn holds_stay_short_and_use_up_no_retry() {
        let mut key = Failing::with(RetryLimit::Times(1));
        let mut waits = Vec::new();
        for _ in 0..12 {
            let turn = key.turn();
            let due = key.backoff.held(&key.key, turn);
            waits.push((due - key.now).as_millis());
            key.now = due;
        }
        assert_eq!((&waits[..3], &waits[7..10]), (&[5, 10, 20][..], &[640, 1000, 1000][..]));
        assert_eq!((key.fail(), key.fail()), (Some(5), None));
    }

    #[test]
    fn a_hold_within_the_wait_for_a_retry_is_short_and_leaves_that_wait_alone() {
        let mut key = Failing::with(RetryLimit::Unlimited);
        for _ in 0..12 {
            key.fail();
        }
        let turn = key.turn();
        let Next::At(retry) = key.backoff.failed(&key.key, turn, Duration::ZERO) else {
            panic!()
        };
        assert!(retry > key.now + Duration::from_secs(10));
        let event = key.turn();
        assert_eq!(key.backoff.held(&key.key, event), key.now + Duration::from_millis(5));
        assert_eq!(key.backoff.failed(&key.key, event, Duration::ZERO), Next::At(retry));
    }
}
