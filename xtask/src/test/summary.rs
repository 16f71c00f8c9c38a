//! The lines in which Rust's test runner tells how many tests passed.

use std::fmt;
use std::ops::Add;

/// Tests that passed and failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) passed: u64,
    pub(super) failed: u64,
}

impl Tally {
    /// Read a line like `test result: ok. 3 passed; 0 failed; ...`. None: it is some other line.
    pub(super) fn in_line(line: &str) -> Option<Self> {
        let (_, counts) = line.trim().strip_prefix("test result: ")?.split_once(". ")?;
        let count = |what: &str| {
            counts
                .split(';')
                .find_map(|part| part.trim().strip_suffix(what)?.trim().parse().ok())
        };
        Some(Self {
            passed: count("passed")?,
            failed: count("failed")?,
        })
    }
}

impl Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_outcomes_are_read() {
        let line = "test result: ok. 21 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.06s";
        assert_eq!(Tally::in_line(line), Some(Tally { passed: 21, failed: 0 }));
        let line = "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.00s";
        assert_eq!(Tally::in_line(line), Some(Tally { passed: 3, failed: 2 }));
    }

    #[test]
    fn other_lines_count_nothing() {
        for line in ["", "test a::b ... ok", "test result: unknown", "running 3 tests"] {
            assert_eq!(Tally::in_line(line), None, "{line}");
        }
    }

    #[test]
    fn the_last_line_is_the_sum() {
        let sum = Tally { passed: 1, failed: 2 } + Tally { passed: 3, failed: 4 };
        assert_eq!(sum.to_string(), "4 passed, 6 failed");
    }
}
