//! How long a Job whose pods fail waits before it makes others (J-111…J-115).

use std::time::Duration;

use workload_core::opt_in::Backoff;
use workload_core::time::{self, Timestamp};

/// 10 s after the first failure, doubled with each further one, at most 10 min (J-113).
const WAITS: Backoff = Backoff {
    base: Duration::from_secs(10),
    cap: Duration::from_mins(10),
};

/// The least time until a Job that waits is looked at again (J-14).
const LEAST: Duration = Duration::from_secs(1);

/// Failures since the last success (J-111).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// How many.
    pub failures: u32,
    /// When the last of them was.
    pub last: Option<Timestamp>,
}

impl Record {
    /// The record after these further ends of pods. A success at the very time of a failure wins.
    #[must_use]
    pub fn after(self, failed: &[Timestamp], succeeded: &[Timestamp]) -> Self {
        let success = succeeded.iter().max();
        let since: Vec<Timestamp> = failed
            .iter()
            .copied()
            .filter(|failure| success.is_none_or(|success| failure > success))
            .collect();
        let former = if success.is_some() { Self::default() } else { self };
        Self {
            failures: former
                .failures
                .saturating_add(u32::try_from(since.len()).unwrap_or(u32::MAX)),
            last: since.into_iter().chain(former.last).max(),
        }
    }

    /// How long no pod is to be made; nothing if one may be made now. The end of a pod that lies in the future makes the wait
    /// longer, for clocks differ.
    pub fn remaining(&self, now: Timestamp) -> Option<Duration> {
        remaining(self.failures, self.last?, now)
    }
}

/// What is left of the wait after this many failures, the last of them then.
pub(super) fn remaining(failures: u32, last: Timestamp, now: Timestamp) -> Option<Duration> {
    time::until(time::plus(last, WAITS.after(failures)), now)
}

/// When a Job with this wait is looked at again.
pub fn look_again(remaining: Duration) -> Duration {
    remaining.max(LEAST)
}
