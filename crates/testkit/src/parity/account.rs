//! What one half of a comparison came to.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;
use workload_core::id::Kind;

use super::Pace;
use super::facts::facts_of;
use super::mask::mask;
use super::names::Names;
use crate::api::EVENT;
use crate::object::Stored;
use crate::record::{Change, State, Version};

/// Before the message of an event that stands for several.
const COMBINED: &str = "(combined from similar events): ";

/// Reasons of events that only we tell: explanations beside what upstream tells.
pub(super) const EXPLANATIONS: [&str; 1] = ["RolloutStuck"];

/// Reasons of events whose messages nobody parses; everybody says them in words of their own.
const OWN_WORDS: [&str; 2] = [
    "DeploymentRollbackRevisionNotFound",
    "DeploymentRollbackTemplateUnchanged",
];

/// What is held against the other half, all of it masked.
#[derive(Clone, Debug, Default)]
pub(super) struct Account {
    /// The workload objects and pods that are left, by kind and name. Pods of one set share a name.
    pub(super) objects: Vec<(String, Value)>,
    /// What single facts of an object have been: `ReplicaSet web-HASH1 size` -> 0, 3.
    pub(super) histories: BTreeMap<String, Vec<String>>,
    /// All events that were told, each once.
    pub(super) events: BTreeSet<String>,
    /// How often the server stored something for anybody.
    pub(super) writes: BTreeMap<Written, usize>,
}

/// A sort of write.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Written {
    pub(super) kind: String,
    pub(super) part: Part,
}

/// What a write changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// It made the object.
    Birth,
    /// Spec or metadata.
    Object,
    /// The status, perhaps with an annotation.
    Status,
    /// It removed the object.
    End,
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = match self.part {
            Part::Birth => "creates",
            Part::Object => "changes of spec or metadata",
            Part::Status => "status writes",
            Part::End => "removals",
        };
        write!(f, "{part} of {}s", self.kind)
    }
}

impl Account {
    /// Of all that was recorded in `namespace` while a script was played at this pace.
    pub(super) fn of(state: &State, namespace: &str, pace: Pace) -> Self {
        let names = Names::of(state, namespace);
        let mut account = Self::default();
        for kind in [Kind::DEPLOYMENT, Kind::REPLICA_SET, Kind::JOB, Kind::POD] {
            account.add_objects(&names, &state.all(kind));
        }
        let counts =
            |write: &&Version| write.change != Change::Deleted && !EXPLANATIONS.contains(&write.object.text("/reason"));
        for event in state.writes(EVENT).filter(counts) {
            account.events.insert(told(&names, &event.object));
        }
        for write in state.in_order() {
            account.add_write(write, pace);
            account.add_facts(&names, write, pace);
        }
        account
    }

    fn add_objects(&mut self, names: &Names, objects: &[&Stored]) {
        let mut masked: Vec<_> = objects
            .iter()
            .map(|object| {
                let key = format!("{} {}", object.kind(), names.text(object.name()));
                (key, mask(names, object.json()))
            })
            .collect();
        masked.sort_by_cached_key(|(key, object)| (key.clone(), object.to_string()));
        self.objects.extend(masked);
    }

    fn add_write(&mut self, write: &Version, pace: Pace) {
        let kind = write.object.kind();
        let part = part(write);
        // A pod's status is written by the kubelet alone. For the others, who is faster sees more of what happens in between.
        let counts = part != Part::Status || (kind != Kind::POD.kind && pace == Pace::Stepwise);
        if kind == EVENT.kind || !counts {
            return;
        }
        let written = Written {
            kind: kind.to_owned(),
            part,
        };
        *self.writes.entry(written).or_default() += 1;
    }

    fn add_facts(&mut self, names: &Names, write: &Version, pace: Pace) {
        let object = &write.object;
        let determined = facts_of(object.kind())
            .iter()
            .filter(|fact| fact.is_determined_by(pace));
        for fact in determined {
            let key = format!("{} {} {}", object.kind(), names.text(object.name()), fact.name);
            let value = match write.change {
                Change::Added | Change::Modified => (fact.of)(object),
                Change::Deleted => Some("gone".to_owned()),
            };
            if let Some(value) = value {
                fact.add(self.histories.entry(key).or_default(), value);
            }
        }
    }
}

fn told(names: &Names, event: &Stored) -> String {
    let about = format!(
        "{} {}",
        event.text("/involvedObject/kind"),
        names.text(event.text("/involvedObject/name"))
    );
    let reason = event.text("/reason");
    // From which one on similar events are combined depends on their order.
    let message = event.text("/message");
    let message = message.strip_prefix(COMBINED).unwrap_or(message);
    let message = if OWN_WORDS.contains(&reason) {
        "(in its own words)".to_owned()
    } else {
        names.text(message)
    };
    format!(
        "{} {reason} by {} about {about}: {message}",
        event.text("/type"),
        event.text("/source/component"),
    )
}

fn part(write: &Version) -> Part {
    match write.change {
        Change::Added => Part::Birth,
        Change::Deleted => Part::End,
        Change::Modified if write.changed("/status") => Part::Status,
        Change::Modified => Part::Object,
    }
}
