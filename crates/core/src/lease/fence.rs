//! The fence: until when this process may write, judged by its own monotonic clock.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::mistake::{Mistake, made};

/// No write is given longer than this.
pub const LONGEST_WRITE: Duration = Duration::from_secs(30);

/// How long a write may still be on its way after the hold has ended. Below the gap between renew deadline and lease
/// duration (15 s − 10 s), so that it has ended before a successor may write.
pub const OVERHANG: Duration = Duration::from_secs(3);

/// Asked before every write. Clones share one state; asking is cheap.
#[derive(Clone, Debug)]
pub struct Fence(Arc<Mutex<Hold>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    /// No election: always held.
    Open,
    /// Held until then.
    Until(Instant),
    /// Not held.
    Closed,
}

/// This process may not write: it does not hold its lease, or cannot know that it still does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this process does not hold its lease")]
pub struct Fenced;

impl Fence {
    /// A fence that lets every write pass, for `--leader-elect=false`.
    pub fn open() -> Self {
        Self::of(Hold::Open)
    }

    /// A fence that lets nothing pass until the lease is held.
    pub fn closed() -> Self {
        Self::of(Hold::Closed)
    }

    fn of(hold: Hold) -> Self {
        Self(Arc::new(Mutex::new(hold)))
    }

    /// How long a write sent now may take; an error if it must not be sent.
    pub fn check(&self, now: Instant) -> Result<Duration, Fenced> {
        match *self.0.lock() {
            Hold::Open => Ok(LONGEST_WRITE),
            Hold::Until(_) | Hold::Closed if made(Mistake::FenceOpen) => Ok(LONGEST_WRITE),
            Hold::Until(end) if now < end => Ok((end + OVERHANG).saturating_duration_since(now).min(LONGEST_WRITE)),
            Hold::Until(_) | Hold::Closed => Err(Fenced),
        }
    }

    /// Lets writes pass until `end`. Only the election calls this.
    pub(super) fn hold_until(&self, end: Instant) {
        *self.0.lock() = Hold::Until(end);
    }

    /// Lets nothing pass any more.
    pub(super) fn close(&self) {
        *self.0.lock() = Hold::Closed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::{Clock, SystemClock};

    // proves: deployment/I-4
    #[test]
    fn writes_pass_only_while_the_lease_is_held_and_end_shortly_after() {
        let now = SystemClock.instant();
        let fence = Fence::closed();
        let check = |after: u64| fence.check(now + Duration::from_secs(after)).map(|rest| rest.as_secs());
        assert_eq!(check(0), Err(Fenced));
        fence.hold_until(now + Duration::from_secs(10));
        assert_eq!(check(0), Ok(13));
        assert_eq!(check(9), Ok(4));
        assert_eq!(check(10), Err(Fenced));
        fence.hold_until(now + Duration::from_mins(1));
        assert_eq!(check(10), Ok(30), "never longer than the longest write");
        fence.clone().close();
        assert_eq!(check(10), Err(Fenced), "clones share the state");
    }

    #[test]
    fn an_open_fence_never_closes() {
        assert_eq!(Fence::open().check(SystemClock.instant()), Ok(LONGEST_WRITE));
    }
}
