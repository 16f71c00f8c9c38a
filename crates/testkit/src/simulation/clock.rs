//! Time in a simulation: an epoch and tokio's paused clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use workload_core::time::{Clock, SystemClock, Timestamp, plus};

/// When every history begins.
const EPOCH: i64 = 1_780_000_000;

/// Time since a history began.
pub(super) type Moment = Duration;

/// The time of the world, which is that of its API server.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorldClock {
    epoch: Timestamp,
    origin: Instant,
}

impl WorldClock {
    /// A history begins now.
    pub(super) fn start() -> Self {
        Self {
            epoch: Timestamp::from_second(EPOCH).expect("a time"),
            origin: SystemClock.instant(),
        }
    }

    /// How long the history has lasted.
    pub(super) fn elapsed(&self) -> Moment {
        SystemClock.instant().saturating_duration_since(self.origin)
    }

    /// When a moment comes on tokio's clock.
    pub(super) fn instant_of(&self, moment: Moment) -> tokio::time::Instant {
        tokio::time::Instant::from_std(self.origin + moment)
    }
}

impl Clock for WorldClock {
    fn now(&self) -> Timestamp {
        plus(self.epoch, self.elapsed())
    }

    fn instant(&self) -> Instant {
        SystemClock.instant()
    }
}

/// The clock of one machine, which somebody may set.
#[derive(Clone, Debug)]
pub(super) struct MachineClock {
    world: WorldClock,
    ahead_ms: Arc<AtomicI64>,
}

impl MachineClock {
    /// A clock that is right.
    pub(super) fn of(world: WorldClock) -> Self {
        Self {
            world,
            ahead_ms: Arc::default(),
        }
    }

    /// Sets the wall clock ahead by so many seconds, or back. Monotonic time knows nothing of it.
    pub(super) fn jump(&self, seconds: i64) {
        self.ahead_ms.fetch_add(seconds * 1000, Ordering::Relaxed);
    }
}

impl Clock for MachineClock {
    fn now(&self) -> Timestamp {
        let ahead = self.ahead_ms.load(Ordering::Relaxed);
        let right = self.world.now().as_millisecond();
        Timestamp::from_millisecond(right + ahead).expect("a time")
    }

    fn instant(&self) -> Instant {
        self.world.instant()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_jump_moves_the_wall_clock_of_one_machine_alone() {
        let world = WorldClock::start();
        let (one, other) = (MachineClock::of(world), MachineClock::of(world));
        let (began, instant) = (world.now(), one.instant());
        tokio::time::advance(Duration::from_secs(5)).await;
        one.jump(-60);
        assert_eq!(one.now().as_second(), began.as_second() - 55);
        assert_eq!(other.now().as_second(), began.as_second() + 5);
        assert_eq!((one.instant() - instant).as_secs(), 5);
        assert_eq!(world.elapsed().as_secs(), 5);
    }
}
