//! How often a write whose fate is unknown is sent again.
//!
//! Creates name the object and deletes its uid, so repeating them is harmless, and their answer is the proof that ends the
//! doubt. Without it the owner would have to wait until no late effect of the write can be expected any more.

use std::time::{Duration, Instant};

use crate::outcome::FailureClass;
use crate::time::SharedClock;

/// The first repetitions follow at once: most often a connection broke that the server had closed while it was idle.
const AT_ONCE: u32 = 2;
/// The wait before the next one; doubles.
const FIRST: Duration = Duration::from_secs(1);
/// The longest wait.
const LONGEST: Duration = Duration::from_secs(8);
/// No repetition is begun later than this after the first attempt, beyond those that follow at once: a restart of the API
/// server is sat out, while a server that answers nothing for half a minute each time keeps a worker no longer than before.
const LIMIT: Duration = Duration::from_mins(1);

/// The repetitions of one write.
#[derive(Debug)]
pub(super) struct Patience {
    began: Instant,
    repetitions: u32,
}

impl Patience {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            began: now,
            repetitions: 0,
        }
    }

    /// The wait before the next repetition; `None` if there is to be none.
    fn next(&mut self, now: Instant) -> Option<Duration> {
        self.repetitions += 1;
        let Some(later) = self.repetitions.checked_sub(AT_ONCE + 1) else {
            return Some(Duration::ZERO);
        };
        let wait = FIRST.saturating_mul(2_u32.saturating_pow(later)).min(LONGEST);
        (now + wait <= self.began + LIMIT).then_some(wait)
    }

    /// Waits before the next repetition; false if there is to be none.
    pub(super) async fn lasts(&mut self, clock: &SharedClock) -> bool {
        let Some(wait) = self.next(clock.instant()) else {
            return false;
        };
        tokio::time::sleep(wait).await;
        true
    }
}

/// True if a repetition may clear up what became of a write that is in doubt: this failure says nothing about it, and is one
/// that passes.
pub(super) fn leaves_doubt(class: FailureClass) -> bool {
    matches!(
        class,
        FailureClass::Unknown | FailureClass::Transient | FailureClass::Throttled(_)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::{Clock, SystemClock};

    /// The waits, in seconds, if each attempt takes so long.
    fn waits(attempt: Duration) -> Vec<u64> {
        let mut now = SystemClock.instant();
        let mut patience = Patience::new(now);
        let mut waits = Vec::new();
        loop {
            now += attempt;
            let Some(wait) = patience.next(now) else {
                return waits;
            };
            now += wait;
            waits.push(wait.as_secs());
        }
    }

    #[test]
    fn quick_failures_are_repeated_for_a_minute_and_slow_ones_twice() {
        assert_eq!(waits(Duration::ZERO), [0, 0, 1, 2, 4, 8, 8, 8, 8, 8, 8]);
        assert_eq!(waits(Duration::from_secs(30)), [0, 0]);
    }
}
