//! Chance: the only file of the project that draws random numbers.
//!
//! Names, jitters and identities are drawn from a [`Chance`] that the process is given, so that a simulation can replay a
//! run from its seed.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

/// A source of random numbers that tasks share.
#[derive(Clone, Default)]
pub struct Chance(Source);

#[derive(Clone, Default)]
enum Source {
    /// The thread's generator, seeded by the operating system.
    #[default]
    System,
    /// One stream that a seed determines.
    Seeded(Arc<Mutex<Xoshiro256PlusPlus>>),
}

impl Chance {
    /// Unpredictable numbers.
    pub fn system() -> Self {
        Self::default()
    }

    /// The numbers that follow from `seed`. Clones draw from one stream.
    pub fn seeded(seed: u64) -> Self {
        Self(Source::Seeded(Arc::new(Mutex::new(Xoshiro256PlusPlus::seed_from_u64(
            seed,
        )))))
    }

    /// Any number.
    pub fn number(&self) -> u64 {
        match &self.0 {
            Source::System => rand::random(),
            Source::Seeded(stream) => stream.lock().random(),
        }
    }

    /// From 0 up to, but not including, 1.
    pub fn fraction(&self) -> f64 {
        match &self.0 {
            Source::System => rand::random(),
            Source::Seeded(stream) => stream.lock().random(),
        }
    }

    /// One of `items`; `None` if there are none.
    pub fn pick<'i, T>(&self, items: &'i [T]) -> Option<&'i T> {
        if items.is_empty() {
            return None;
        }
        let at = match &self.0 {
            Source::System => rand::random_range(0..items.len()),
            Source::Seeded(stream) => stream.lock().random_range(0..items.len()),
        };
        items.get(at)
    }
}

impl fmt::Debug for Chance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Source::System => "Chance(system)",
            Source::Seeded(_) => "Chance(seeded)",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(chance: &Chance) -> (u64, f64, Vec<u8>) {
        let letters = (0..20).filter_map(|_| chance.pick(b"abcdefgh").copied()).collect();
        (chance.number(), chance.fraction(), letters)
    }

    #[test]
    fn a_seed_determines_all_that_follows() {
        assert_eq!(drawn(&Chance::seeded(7)), drawn(&Chance::seeded(7)));
        assert_ne!(drawn(&Chance::seeded(7)), drawn(&Chance::seeded(8)));
        let shared = Chance::seeded(7);
        assert_ne!(drawn(&shared.clone()), drawn(&shared), "clones draw from one stream");
    }

    #[test]
    fn the_systems_numbers_differ() {
        assert_ne!(drawn(&Chance::system()), drawn(&Chance::system()));
        assert_eq!(Chance::system().pick::<u8>(&[]), None);
    }
}
