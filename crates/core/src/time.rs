//! Time: the only file of the project that reads a clock.
//!
//! Decisions get `now` as a value. Tasks get a [`Clock`], so that a simulation can run them on its own time.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use jiff::Timestamp;

/// Where tasks read the time.
pub trait Clock: fmt::Debug + Send + Sync {
    /// Wall-clock time, for what is written into objects and compared with their time stamps.
    fn now(&self) -> Timestamp;

    /// Monotonic time of the tokio runtime, for delays, leases and back-off. Stands still while tokio's time is paused.
    fn instant(&self) -> Instant;
}

/// A clock that tasks share.
pub type SharedClock = Arc<dyn Clock>;

/// The computer's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods, reason = "the one place that reads the wall clock")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    #[allow(clippy::disallowed_methods, reason = "the one place that reads the monotonic clock")]
    fn instant(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }
}

/// A wall clock that starts at a chosen time and advances with the tokio runtime's (pausable) time.
#[derive(Clone, Copy, Debug)]
pub struct RuntimeClock {
    epoch: Timestamp,
    origin: Instant,
}

impl RuntimeClock {
    /// A clock that reads `epoch` now.
    pub fn starting_at(epoch: Timestamp) -> Self {
        Self {
            epoch,
            origin: SystemClock.instant(),
        }
    }
}

impl Clock for RuntimeClock {
    fn now(&self) -> Timestamp {
        plus(self.epoch, self.instant().saturating_duration_since(self.origin))
    }

    fn instant(&self) -> Instant {
        SystemClock.instant()
    }
}

/// `at` + `by`, staying at the last representable time instead of failing.
pub fn plus(at: Timestamp, by: Duration) -> Timestamp {
    at.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// How long from `now` until `at`; `None` if `at` is not in the future.
pub fn until(at: Timestamp, now: Timestamp) -> Option<Duration> {
    Duration::try_from(at.duration_since(now))
        .ok()
        .filter(|rest| !rest.is_zero())
}

/// `at` as API objects store it: whole seconds, the rest cut off (deployment I-14).
pub fn to_seconds(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

/// `at` in the form of `metav1.Time`: RFC 3339 in UTC with whole seconds.
pub fn to_api(at: Timestamp) -> String {
    to_seconds(at).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    // proves: deployment/I-14
    #[test]
    fn api_times_have_whole_seconds() {
        assert_eq!(to_api(at("2026-01-02T03:04:05.999Z")), "2026-01-02T03:04:05Z");
        assert_eq!(to_seconds(at("2026-01-02T03:04:05.999Z")), at("2026-01-02T03:04:05Z"));
    }

    #[test]
    fn only_a_future_time_is_worth_waiting_for() {
        let now = at("2026-01-02T03:04:05Z");
        assert_eq!(
            until(plus(now, Duration::from_millis(5)), now),
            Some(Duration::from_millis(5))
        );
        assert_eq!(until(now, now), None);
        assert_eq!(until(now, plus(now, Duration::from_secs(1))), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_runtime_clock_follows_paused_time() {
        let clock = RuntimeClock::starting_at(at("2026-01-02T03:04:05Z"));
        tokio::time::advance(Duration::from_secs(90)).await;
        assert_eq!(clock.now(), at("2026-01-02T03:05:35Z"));
    }
}
