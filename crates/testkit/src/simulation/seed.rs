//! One number from which all chance of a history follows.

use std::ops::RangeInclusive;
use std::time::Duration;

use workload_core::chance::Chance;

/// The seed of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// The stream of numbers for one purpose. How much is drawn from one does not change another.
    pub fn stream(self, purpose: &str) -> Stream {
        Stream(Chance::seeded(self.mixed(purpose)))
    }

    /// A number for one purpose.
    pub fn mixed(self, purpose: &str) -> u64 {
        // Fowler, Noll & Vo: FNV-1a.
        let basis = self.0 ^ 0xcbf2_9ce4_8422_2325;
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        purpose.bytes().fold(basis, mix)
    }
}

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Stream(Chance);

impl Stream {
    /// The source itself, for a process.
    pub fn chance(&self) -> Chance {
        self.0.clone()
    }

    /// A number of this range.
    pub fn between(&self, range: &RangeInclusive<u64>) -> u64 {
        let width = range.end().saturating_sub(*range.start()).saturating_add(1);
        range.start() + self.0.number() % width.max(1)
    }

    /// A time of this range of milliseconds.
    pub fn millis(&self, range: &RangeInclusive<u64>) -> Duration {
        Duration::from_millis(self.between(range))
    }

    /// True once in `times` on average.
    pub fn one_in(&self, times: u64) -> bool {
        self.between(&(1..=times)) == 1
    }

    /// One of these.
    pub fn pick<'i, T>(&self, items: &'i [T]) -> &'i T {
        self.0.pick(items).expect("something to pick from")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_follow_from_the_seed_and_not_from_each_other() {
        let drawn = |seed, purpose| {
            let stream = Seed(seed).stream(purpose);
            (0..9).map(|_| stream.between(&(3..=900))).collect::<Vec<_>>()
        };
        assert_eq!(drawn(1, "network"), drawn(1, "network"));
        assert_ne!(drawn(1, "network"), drawn(2, "network"));
        assert_ne!(drawn(1, "network"), drawn(1, "nodes"));
        assert!(drawn(1, "network").iter().all(|number| (3..=900).contains(number)));
    }
}
