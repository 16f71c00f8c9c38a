//! Sets of completion indexes and their text form (J-74).

use std::fmt;

/// A set of indexes, kept as runs: a Job may have a hundred thousand of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Indexes {
    /// Ascending; between two runs at least one index is missing.
    runs: Vec<Run>,
}

/// The indexes from `first` to `last`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    first: u32,
    last: u32,
}

impl Indexes {
    /// The indexes below `completions` that `text` names. What cannot be read is left out, an interval is cut off.
    pub fn parse(text: &str, completions: u32) -> Self {
        let runs = text.split(',').filter_map(|item| Run::parse(item, completions));
        Self::of_runs(runs.collect())
    }

    /// True if `index` is one of them.
    pub fn contains(&self, index: u32) -> bool {
        let after = self.runs.partition_point(|run| run.last < index);
        self.runs.get(after).is_some_and(|run| run.first <= index)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.runs.iter().map(|run| run.len()).sum()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// All of them, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.runs.iter().flat_map(|run| run.first..=run.last)
    }

    /// These and those of `other`.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self::of_runs(self.runs.iter().chain(&other.runs).copied().collect())
    }

    /// These without those of `other`.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        self.iter().filter(|index| !other.contains(*index)).collect()
    }

    /// How many of them `other` has too.
    pub fn shared_with(&self, other: &Self) -> usize {
        let mut theirs = other.runs.as_slice();
        let mut shared = 0;
        for run in &self.runs {
            while let Some((first, rest)) = theirs.split_first() {
                shared += run.overlap(*first);
                if first.last > run.last {
                    break;
                }
                theirs = rest;
            }
        }
        shared
    }

    /// The indexes below `completions` that are missing, ascending.
    pub fn missing(&self, completions: u32) -> impl Iterator<Item = u32> + '_ {
        let starts = [0]
            .into_iter()
            .chain(self.runs.iter().map(|run| run.last.saturating_add(1)));
        let ends = self.runs.iter().map(|run| run.first).chain([completions]);
        starts
            .zip(ends)
            .flat_map(move |(start, end)| start..end.min(completions))
    }

    fn of_runs(mut runs: Vec<Run>) -> Self {
        runs.sort_unstable_by_key(|run| run.first);
        let mut merged: Vec<Run> = Vec::with_capacity(runs.len());
        for run in runs {
            match merged.last_mut() {
                Some(before) if run.first <= before.last.saturating_add(1) => before.last = before.last.max(run.last),
                Some(_) | None => merged.push(run),
            }
        }
        Self { runs: merged }
    }
}

impl FromIterator<u32> for Indexes {
    fn from_iter<I: IntoIterator<Item = u32>>(indexes: I) -> Self {
        let single = |index| Run {
            first: index,
            last: index,
        };
        Self::of_runs(indexes.into_iter().map(single).collect())
    }
}

/// Runs of three and more as `a-b`, everything else by commas, as the API has it.
impl fmt::Display for Indexes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, run) in self.runs.iter().enumerate() {
            if position > 0 {
                f.write_str(",")?;
            }
            match run.len() {
                1 => write!(f, "{}", run.first)?,
                2 => write!(f, "{},{}", run.first, run.last)?,
                _ => write!(f, "{}-{}", run.first, run.last)?,
            }
        }
        Ok(())
    }
}

impl Run {
    fn parse(item: &str, completions: u32) -> Option<Self> {
        let highest = completions.checked_sub(1)?;
        let number = |text: &str| text.trim().parse::<u32>().ok();
        let (first, last) = match item.split_once('-') {
            None => {
                let index = number(item)?;
                (index, index)
            }
            Some((first, last)) => (number(first)?, number(last)?),
        };
        (first <= last && first <= highest).then(|| Self {
            first,
            last: last.min(highest),
        })
    }

    fn len(self) -> usize {
        usize::try_from(self.last - self.first).map_or(usize::MAX, |distance| distance.saturating_add(1))
    }

    fn overlap(self, other: Self) -> usize {
        let (first, last) = (self.first.max(other.first), self.last.min(other.last));
        if first <= last { Self { first, last }.len() } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: job/J-74
    #[test]
    fn the_text_is_that_of_the_api() {
        let text = |indexes: &[u32]| indexes.iter().copied().collect::<Indexes>().to_string();
        assert_eq!(text(&[1, 3, 4, 5, 7]), "1,3-5,7");
        assert_eq!(text(&[1, 0]), "0,1");
        assert_eq!(text(&[]), "");
        assert_eq!(text(&[2, 2]), "2");
        assert_eq!(text(&[0, 1, 3, 4, 5]), "0,1,3-5");
    }

    // proves: job/J-74
    #[test]
    fn reading_drops_what_is_out_of_range_or_makes_no_sense() {
        let read = |text| Indexes::parse(text, 6).to_string();
        assert_eq!(read("0-2,4"), "0-2,4");
        assert_eq!(read("4-9"), "4,5");
        assert_eq!(read("6,7-9"), "");
        assert_eq!(read("x,1,3-y,-2,5-3"), "1");
        assert_eq!(read(""), "");
        assert_eq!(Indexes::parse("0", 0), Indexes::default());
    }

    #[test]
    fn huge_runs_cost_nothing() {
        let all = Indexes::parse("0-2147483646", 2_147_483_647);
        assert_eq!(all.len(), 2_147_483_647);
        assert!(all.contains(2_000_000_000));
        assert_eq!(all.missing(2_147_483_647).next(), None);
        assert_eq!(all.shared_with(&Indexes::parse("5,7-9", 10)), 4);
    }

    #[test]
    fn missing_ones_come_in_order() {
        let some = Indexes::parse("1,2,5", 8);
        assert_eq!(some.missing(8).collect::<Vec<_>>(), [0, 3, 4, 6, 7]);
        assert_eq!(some.missing(2).collect::<Vec<_>>(), [0]);
        assert_eq!(Indexes::default().missing(2).collect::<Vec<_>>(), [0, 1]);
    }
}
