//! The timeline of a history, for people, and to compare one run with its repetition.

use std::fmt;

use super::clock::Moment;

/// What happened, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace(Vec<Line>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    at: Moment,
    who: String,
    what: String,
}

impl Trace {
    pub(super) fn add(&mut self, at: Moment, who: impl Into<String>, what: impl Into<String>) {
        self.0.push(Line {
            at,
            who: who.into(),
            what: what.into(),
        });
    }

    /// How many lines there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if nothing happened.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The last `count` lines.
    #[must_use]
    pub fn tail(&self, count: usize) -> Self {
        Self(
            self.0
                .iter()
                .skip(self.0.len().saturating_sub(count))
                .cloned()
                .collect(),
        )
    }

    /// Both traces where they differ first, each with the lines before; `None` if they are equal.
    pub fn first_difference(&self, other: &Self) -> Option<String> {
        let at = (0..self.0.len().max(other.0.len())).find(|at| self.0.get(*at) != other.0.get(*at))?;
        let shown = |trace: &Self| Self(trace.0.iter().skip(at.saturating_sub(5)).take(10).cloned().collect());
        Some(format!("one\n{}\nthe other\n{}", shown(self), shown(other)))
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Line { at, who, what } in &self.0 {
            writeln!(f, "{:>10.3}  {who:<8} {what}", at.as_secs_f64())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(lines: &[&str]) -> Trace {
        let mut trace = Trace::default();
        for (at, line) in lines.iter().enumerate() {
            trace.add(Moment::from_millis(at as u64), "user", *line);
        }
        trace
    }

    #[test]
    fn a_difference_is_shown_where_it_begins() {
        let (one, other) = (trace(&["a", "b", "c"]), trace(&["a", "x"]));
        assert_eq!(one.first_difference(&one), None);
        let shown = one.first_difference(&other).unwrap();
        assert!(
            shown.contains("     0.001  user     b\n") && shown.contains("0.001  user     x\n"),
            "{shown}"
        );
    }
}
