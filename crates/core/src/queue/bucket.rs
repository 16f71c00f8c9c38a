//! A token bucket that needs no clock and no timer of its own.

use std::time::{Duration, Instant};

/// Lets `burst` units pass at once and one more every `interval`.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    interval: Duration,
    slack: Duration,
    /// When the bucket is full again; `None` while it is full.
    full_at: Option<Instant>,
}

impl TokenBucket {
    /// A full bucket of `burst` units that gains one every `interval`.
    pub fn new(burst: u32, interval: Duration) -> Self {
        Self {
            interval,
            slack: interval.saturating_mul(burst),
            full_at: None,
        }
    }

    /// Takes a unit, on credit if need be, and says how long from `now` it has to be waited for.
    pub fn reserve(&mut self, now: Instant) -> Duration {
        let full_at = self.after_one(now);
        self.full_at = Some(full_at);
        full_at.saturating_duration_since(now).saturating_sub(self.slack)
    }

    /// Takes a unit if one is there now.
    pub fn take(&mut self, now: Instant) -> bool {
        let full_at = self.after_one(now);
        let there = full_at.saturating_duration_since(now) <= self.slack;
        if there {
            self.full_at = Some(full_at);
        }
        there
    }

    /// When the bucket would be full again if a unit were taken now.
    fn after_one(&self, now: Instant) -> Instant {
        self.full_at.map_or(now, |full_at| full_at.max(now)) + self.interval
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::{Clock, SystemClock};

    #[test]
    fn a_burst_passes_and_then_one_per_interval() {
        let start = SystemClock.instant();
        let mut bucket = TokenBucket::new(3, Duration::from_secs(10));
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        assert_eq!([0, 0, 0, 0].map(|now| bucket.take(at(now))), [true, true, true, false]);
        assert_eq!(
            [9, 10, 10, 19, 20].map(|now| bucket.take(at(now))),
            [false, true, false, false, true]
        );
        assert_eq!(
            [900, 900, 900, 900].map(|now| bucket.take(at(now))),
            [true, true, true, false],
            "it never holds more than its burst"
        );
    }

    #[test]
    fn reservations_queue_up() {
        let start = SystemClock.instant();
        let mut bucket = TokenBucket::new(2, Duration::from_millis(100));
        let waits: Vec<u128> = (0..5).map(|_| bucket.reserve(start).as_millis()).collect();
        assert_eq!(waits, [0, 0, 100, 200, 300]);
        assert_eq!(bucket.reserve(start + Duration::from_millis(250)).as_millis(), 150);
    }
}
