//! How long a watch waits before it asks again.

use std::time::Duration;

/// The wait after the first failure.
const FIRST: Duration = Duration::from_millis(800);
/// The longest wait.
const LONGEST: Duration = Duration::from_secs(30);
/// An attempt that lasted this long was a success, whatever ended it.
const HEALTHY: Duration = Duration::from_mins(1);

/// Waits of one watch: 0.8 s, doubling to 30 s, each up to half as much again by chance, so that the watches of many
/// processes do not come back all at once.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
}

/// Whether the end of an attempt was to be expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Servers do this now and then: they close streams and forget old versions.
    Usual,
    /// Something is wrong.
    Failure,
}

impl Backoff {
    /// The wait after an attempt that took `lasted`. `chance` is between 0 and 1. The first usual end costs no wait, but
    /// counts, so a server that ends everything at once is not asked in a tight loop.
    pub(super) fn after(&mut self, end: End, lasted: Duration, chance: f64) -> Duration {
        if lasted >= HEALTHY {
            self.failures = 0;
        }
        let earlier = self.failures;
        self.failures = earlier.saturating_add(1);
        match (end, earlier) {
            (End::Usual, 0) => Duration::ZERO,
            (End::Usual, _) => spread(earlier - 1, chance),
            (End::Failure, _) => spread(earlier, chance),
        }
    }
}

fn spread(doublings: u32, chance: f64) -> Duration {
    let wait = FIRST.saturating_mul(2_u32.saturating_pow(doublings)).min(LONGEST);
    wait.mul_f64(1.0 + chance.clamp(0.0, 1.0) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(1);

    fn waits(end: End, count: usize) -> Vec<u128> {
        let mut backoff = Backoff::default();
        (0..count).map(|_| backoff.after(end, SOON, 0.0).as_millis()).collect()
    }

    #[test]
    fn waits_double_up_to_half_a_minute() {
        assert_eq!(
            waits(End::Failure, 8),
            [800, 1600, 3200, 6400, 12800, 25600, 30000, 30000]
        );
    }

    #[test]
    fn a_usual_end_is_forgiven_once() {
        assert_eq!(waits(End::Usual, 4), [0, 800, 1600, 3200]);
    }

    #[test]
    fn a_healthy_minute_starts_over() {
        let mut backoff = Backoff::default();
        backoff.after(End::Failure, SOON, 0.0);
        backoff.after(End::Failure, SOON, 0.0);
        assert_eq!(backoff.after(End::Failure, HEALTHY, 0.0), FIRST);
    }

    #[test]
    fn chance_adds_up_to_half() {
        assert_eq!(Backoff::default().after(End::Failure, SOON, 1.0), FIRST.mul_f64(1.5));
    }
}
