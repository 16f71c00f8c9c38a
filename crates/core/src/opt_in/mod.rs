//! Opt-ins: annotations with which the user of an object asks for behaviour that upstream does not have.
//!
//! A key is `opt-in.workload-controllers/<kind>.<name>`. A controller reads those of its own kind from the object itself,
//! anew in every turn; unset means upstream's behaviour. A value that cannot be read counts as unset and is [`Rejected`]:
//! the loop says so once.

mod values;

use std::fmt::{self, Display};
use std::str::FromStr;

use crate::labels::Labels;

pub use self::values::{Amount, Backoff, Switch, Wait};

/// What the key of every opt-in begins with.
pub const PREFIX: &str = "opt-in.workload-controllers/";

/// How an unknown opt-in is called in metrics, whose labels must not take what users write.
const UNKNOWN: &str = "unknown";

/// Longest part of a value that is kept and shown to people, in characters.
const SHOWN: usize = 64;

/// So many that nobody knows are named one by one; an object can carry thousands.
const NAMED: usize = 8;

/// Reads the opt-ins that an object carries for the controller of its kind.
#[derive(Debug)]
pub struct Reader<'a> {
    annotations: &'a Labels,
    prefix: &'static str,
    known: Vec<&'static str>,
    rejected: Vec<Rejected>,
}

/// An opt-in that has no effect, because nobody knows it or its value cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rejected {
    /// Its name, such as `deployment.hold-at`; `unknown` if there is none of this name.
    pub name: &'static str,
    /// The annotation's key.
    pub key: String,
    /// The annotation's value, cut to 64 characters.
    pub value: String,
    /// What is wrong with it.
    pub why: String,
}

impl<'a> Reader<'a> {
    /// Reads what `annotations` hold for the controller whose opt-ins begin with `prefix`, such as `deployment.`.
    pub fn new(annotations: &'a Labels, prefix: &'static str) -> Self {
        Self {
            annotations,
            prefix,
            known: Vec::new(),
            rejected: Vec::new(),
        }
    }

    /// The value of the opt-in `name`, such as `deployment.hold-at`; nothing if it is unset or cannot be read.
    pub fn read<T: FromStr<Err: Display>>(&mut self, name: &'static str) -> Option<T> {
        self.known.push(name);
        let text = self.annotations.get(&format!("{PREFIX}{name}"))?;
        text.parse()
            .map_err(|why: T::Err| self.rejected.push(Rejected::new(name, text, why)))
            .ok()
    }

    /// What was rejected. Of the opt-ins that nobody has read the first eight are named; how many more there are is said in
    /// one entry.
    pub fn finish(mut self) -> Vec<Rejected> {
        let named = |key: &'a str| key.strip_prefix(PREFIX).filter(|name| name.starts_with(self.prefix));
        let unknown = |key: &'a str| named(key).filter(|name| !self.known.contains(name));
        let mut unknown = self
            .annotations
            .iter()
            .filter_map(|(key, value)| Some((unknown(key)?, value)));
        let first = unknown.by_ref().take(NAMED);
        let first: Vec<_> = first
            .map(|(name, value)| Rejected::unknown(name, value, format!("there is no opt-in {name}")))
            .collect();
        let others = unknown.count();
        self.rejected.extend(first);
        if others > 0 {
            let (all, more) = (format!("{}*", self.prefix), format!("{others} more"));
            let why = format!("only the first {NAMED} opt-ins that do not exist are named");
            self.rejected.push(Rejected::unknown(&all, &more, why));
        }
        self.rejected
    }
}

impl Rejected {
    /// The opt-in `name` with the value `text`, which has no effect because of `why`.
    pub fn new(name: &'static str, text: &str, why: impl Display) -> Self {
        Self {
            name,
            ..Self::unknown(name, text, why.to_string())
        }
    }

    fn unknown(name: &str, text: &str, why: String) -> Self {
        Self {
            name: UNKNOWN,
            key: format!("{PREFIX}{name}"),
            value: text.chars().take(SHOWN).collect(),
            why,
        }
    }
}

impl Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?} has no effect: {}", self.key, self.value, self.why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().copied().collect()
    }

    #[test]
    fn an_opt_in_is_read_by_its_name() {
        let annotations = labels(&[
            ("opt-in.workload-controllers/deployment.never-grow-old", "true"),
            ("opt-in.workload-controllers/job.never-grow-old", "nonsense for others"),
            ("deployment.never-grow-old", "nonsense"),
        ]);
        let mut reader = Reader::new(&annotations, "deployment.");
        assert_eq!(reader.read("deployment.never-grow-old"), Some(Switch::On));
        assert_eq!(reader.read::<Amount>("deployment.hold-at"), None);
        assert_eq!(reader.finish(), []);
    }

    #[test]
    fn a_value_that_cannot_be_read_is_rejected_and_named() {
        let annotations = labels(&[("opt-in.workload-controllers/deployment.hold-at", "some")]);
        let mut reader = Reader::new(&annotations, "deployment.");
        assert_eq!(reader.read::<Amount>("deployment.hold-at"), None);
        let rejected = reader.finish();
        let texts: Vec<_> = rejected.iter().map(ToString::to_string).collect();
        assert_eq!(rejected[0].name, "deployment.hold-at");
        assert_eq!(
            texts,
            [
                "opt-in.workload-controllers/deployment.hold-at: \"some\" has no effect: neither a number nor a percentage up to 100%"
            ]
        );
    }

    #[test]
    fn an_unknown_name_of_the_own_kind_is_rejected() {
        let annotations = labels(&[("opt-in.workload-controllers/deployment.hold-it", "3")]);
        let mut reader = Reader::new(&annotations, "deployment.");
        assert_eq!(reader.read::<Amount>("deployment.hold-at"), None);
        let rejected = reader.finish();
        assert_eq!((rejected.len(), rejected[0].name), (1, "unknown"));
        assert!(
            rejected[0]
                .to_string()
                .contains("there is no opt-in deployment.hold-it")
        );
    }

    #[test]
    fn of_many_unknown_names_the_first_are_named_and_the_others_counted() {
        let key = |at: usize| format!("opt-in.workload-controllers/deployment.x{at:04}");
        let pairs: Vec<_> = (0..6000).map(|at| (key(at), "1".repeat(at))).collect();
        let annotations: Labels = pairs.iter().map(|(key, value)| (&**key, &**value)).collect();
        let rejected = Reader::new(&annotations, "deployment.").finish();
        assert_eq!(rejected.len(), 9);
        assert!(rejected[7].to_string().contains("there is no opt-in deployment.x0007"));
        assert_eq!(
            rejected[8].to_string(),
            "opt-in.workload-controllers/deployment.*: \"5992 more\" has no effect: only the first 8 opt-ins that do not exist are named"
        );
    }

    #[test]
    fn a_long_value_is_shown_in_part() {
        let rejected = Rejected::new("deployment.hold-at", &"ä".repeat(1000), "too long");
        assert_eq!(rejected.value, "ä".repeat(64));
        assert!(rejected.to_string().chars().count() < 200, "{rejected}");
    }
}
