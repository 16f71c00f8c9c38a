//! Which notes become events, which raise the count of an earlier one, and which are too many (deployment C-75).
//!
//! The limits are those of client-go's correlator, so a controller that reports the same trouble for hours costs the API
//! server as much as upstream's would.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::events::recent::Recent;
use crate::events::recorder::Said;
use crate::id::{Kind, ObjectKey, Uid};
use crate::plan::{Severity, Target};
use crate::queue::bucket::TokenBucket;
use crate::time::Timestamp;

/// How many series, groups and budgets are remembered.
const REMEMBERED: usize = 4096;
/// From this many different messages on, those of one object, severity and reason become one event.
const COLLAPSE_AT: usize = 10;
/// A group that was silent for longer starts anew.
const GROUP_MEMORY: Duration = Duration::from_mins(10);
/// Events that one object may have at once.
const BURST: u32 = 25;
/// How long until one more may follow.
const REFILL: Duration = Duration::from_mins(5);
/// What a message begins with that stands for several.
const COMBINED: &str = "(combined from similar events): ";
/// Longest name of an object on the API server.
const LONGEST_NAME: usize = 253;

/// The notes of one component so far.
#[derive(Debug)]
pub struct Series {
    groups: Recent<Group, Messages>,
    written: Recent<Identity, Option<Written>>,
    budgets: Recent<Subject, TokenBucket>,
    last_stamp: u64,
}

/// An event to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Name of the event, in the namespace of its object.
    pub name: Arc<str>,
    /// What it regards.
    pub about: Target,
    /// Normal or Warning.
    pub severity: Severity,
    /// Machine-readable reason.
    pub reason: Cow<'static, str>,
    /// Text for people.
    pub message: String,
    /// When it was first said.
    pub first: Timestamp,
    /// When it was last said.
    pub last: Timestamp,
    /// How often it was said. From 2 on the event should exist already.
    pub count: i32,
}

/// An object and a severity: what has a budget.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Subject {
    kind: Kind,
    key: ObjectKey,
    uid: Uid,
    severity: Severity,
}

/// Notes that differ only in their message.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Group {
    subject: Subject,
    reason: Cow<'static, str>,
}

/// Notes that are counted in one event: equal ones, or all further ones of a collapsed group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Identity {
    group: Group,
    message: Option<String>,
}

#[derive(Debug)]
struct Messages {
    different: HashSet<String>,
    last: Instant,
}

#[derive(Debug)]
struct Written {
    name: Arc<str>,
    first: Timestamp,
    count: i32,
}

/// More events about one object than its budget allows; this one is not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverBudget;

impl Default for Series {
    fn default() -> Self {
        Self {
            groups: Recent::with_capacity(REMEMBERED),
            written: Recent::with_capacity(REMEMBERED),
            budgets: Recent::with_capacity(REMEMBERED),
            last_stamp: 0,
        }
    }
}

impl Series {
    /// What is to be written because of a note. `salt` makes names of events that several processes write at the same time
    /// different.
    pub fn correlate(&mut self, said: Said, now: Instant, salt: u64) -> Result<Entry, OverBudget> {
        let Said { about, note, at } = said;
        let subject = Subject {
            kind: about.kind,
            key: about.key.clone(),
            uid: about.uid.clone(),
            severity: note.severity,
        };
        let group = Group {
            subject: subject.clone(),
            reason: note.reason.clone(),
        };
        let (message, alone) = if self.collapses(&group, &note.message, now) {
            (format!("{COMBINED}{}", note.message), None)
        } else {
            (note.message.clone(), Some(note.message))
        };
        let name = self.new_name(&about, at, salt);
        let written = self.written.entry(&Identity { group, message: alone }, || None);
        let written = written.get_or_insert(Written {
            name,
            first: at,
            count: 0,
        });
        written.count = written.count.saturating_add(1);
        let entry = Entry {
            name: Arc::clone(&written.name),
            about,
            severity: note.severity,
            reason: note.reason,
            message,
            first: written.first,
            last: at,
            count: written.count,
        };
        let budget = self.budgets.entry(&subject, || TokenBucket::new(BURST, REFILL));
        if budget.take(now) { Ok(entry) } else { Err(OverBudget) }
    }

    /// True if the group already has as many different messages as it may, and this is another one.
    fn collapses(&mut self, group: &Group, message: &str, now: Instant) -> bool {
        let messages = self.groups.entry(group, || Messages {
            different: HashSet::new(),
            last: now,
        });
        if now.saturating_duration_since(messages.last) > GROUP_MEMORY {
            messages.different.clear();
        }
        messages.last = now;
        if messages.different.contains(message) {
            return false;
        }
        if messages.different.len() + 1 >= COLLAPSE_AT {
            return true;
        }
        messages.different.insert(message.to_owned());
        false
    }

    /// The object's name and a number in hex, as upstream's events have it: the nanoseconds of the time, the last of which
    /// no clock tells and `salt` replaces. Never the same twice.
    fn new_name(&mut self, about: &Target, at: Timestamp, salt: u64) -> Arc<str> {
        let nanos = u64::try_from(at.as_nanosecond()).unwrap_or_default();
        let stamp = (nanos & !0x3ff) | (salt & 0x3ff);
        self.last_stamp = stamp.max(self.last_stamp + 1);
        let suffix = format!(".{:x}", self.last_stamp);
        let base: String = about.key.name.chars().take(LONGEST_NAME - suffix.len()).collect();
        format!("{}{suffix}", base.trim_end_matches(['-', '.'])).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::ResourceVersion;
    use crate::plan::Note;
    use crate::time::{self, Clock, SystemClock};

    struct Bench {
        series: Series,
        start: Instant,
        second: u64,
        name: String,
    }

    fn bench() -> Bench {
        Bench {
            series: Series::default(),
            start: SystemClock.instant(),
            second: 0,
            name: "web".to_owned(),
        }
    }

    impl Bench {
        fn at(&self) -> Timestamp {
            time::plus(
                "2026-01-02T03:04:05Z".parse().unwrap(),
                Duration::from_secs(self.second),
            )
        }

        fn say(&mut self, note: Note) -> Result<Entry, OverBudget> {
            let about = Target {
                kind: Kind::REPLICA_SET,
                key: ObjectKey::new("shop", self.name.as_str()),
                uid: Uid::new("u1"),
                version: ResourceVersion::new("7"),
            };
            let (at, now) = (self.at(), self.start + Duration::from_secs(self.second));
            self.series.correlate(Said { about, note, at }, now, 0x2a)
        }

        fn normal(&mut self, message: &str) -> Entry {
            self.say(Note::normal("SuccessfulCreate", message)).unwrap()
        }
    }

    // proves: deployment/C-75
    #[test]
    fn equal_notes_raise_the_count_of_one_event() {
        let mut bench = bench();
        let first = bench.normal("Created pod: a");
        bench.second = 30;
        let second = bench.normal("Created pod: a");
        let other = bench.normal("Created pod: b");
        assert_eq!((first.count, second.count, other.count), (1, 2, 1));
        assert_eq!(first.name, second.name);
        assert_eq!((second.first, second.last), (first.first, bench.at()));
        assert_ne!(first.name, other.name);
    }

    // proves: deployment/C-75
    #[test]
    fn from_the_tenth_different_message_on_they_become_one_event() {
        let mut bench = bench();
        let singles: Vec<Entry> = (0..9).map(|n| bench.normal(&format!("pod {n}"))).collect();
        assert!(
            singles
                .iter()
                .all(|entry| entry.count == 1 && !entry.message.starts_with('('))
        );
        let tenth = bench.normal("pod 9");
        assert_eq!(
            (&*tenth.message, tenth.count),
            ("(combined from similar events): pod 9", 1)
        );
        let eleventh = bench.normal("pod 10");
        assert_eq!(
            (&*eleventh.message, eleventh.count),
            ("(combined from similar events): pod 10", 2)
        );
        assert_eq!(tenth.name, eleventh.name);
        assert_eq!(
            bench.normal("pod 3").message,
            "pod 3",
            "a known message keeps its own event"
        );
        bench.second = 600;
        assert!(
            bench.normal("pod 11").message.starts_with("(combined"),
            "within ten minutes"
        );
        bench.second = 1201;
        assert_eq!(
            bench.normal("pod 12").message,
            "pod 12",
            "after ten silent minutes it starts anew"
        );
    }

    #[test]
    fn messages_of_different_reasons_are_not_combined() {
        let mut bench = bench();
        for n in 0..9 {
            bench.normal(&format!("pod {n}"));
        }
        let other = bench.say(Note::normal("SuccessfulDelete", "pod x")).unwrap();
        assert_eq!(other.message, "pod x");
    }

    // proves: deployment/C-75
    #[test]
    fn one_object_has_twenty_five_events_at_once_and_one_more_every_five_minutes() {
        let mut bench = bench();
        let written = |bench: &mut Bench, tries: usize| {
            (0..tries)
                .filter(|_| bench.say(Note::normal("SuccessfulCreate", "again")).is_ok())
                .count()
        };
        assert_eq!(written(&mut bench, 40), 25);
        bench.second = 299;
        assert_eq!(written(&mut bench, 5), 0);
        bench.second = 300;
        assert_eq!(written(&mut bench, 5), 1);
        assert!(
            bench.say(Note::warning("FailedCreate", "no")).is_ok(),
            "warnings have a budget of their own"
        );
        bench.second = 600;
        let next = bench.normal("again");
        assert_eq!(next.count, 51, "dropped ones are counted");
    }

    #[test]
    fn names_are_the_objects_and_a_number_that_never_repeats() {
        let mut bench = bench();
        let names: HashSet<Arc<str>> = (0..5).map(|n| bench.normal(&format!("pod {n}")).name).collect();
        assert_eq!(names.len(), 5, "at one moment, with one salt");
        assert!(
            names
                .iter()
                .all(|name| name.starts_with("web.") && name.len() == "web.".len() + 16),
            "{names:?}"
        );
        bench.name = format!("{}.{}", "x".repeat(235), "y".repeat(17));
        let name = bench.normal("long").name;
        assert!(
            name.len() <= 253 && name.starts_with(&"x".repeat(235)) && !name.contains(".."),
            "{name}"
        );
    }
}
