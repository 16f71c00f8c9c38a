//! Status conditions: a list that controllers share, each changing only entries of its own types.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::template::Json;
use crate::time::{self, Timestamp};

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// It does.
    True,
    /// It does not.
    False,
    /// Nobody can tell.
    Unknown,
}

impl Status {
    /// The word in a condition's `status`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }

    /// The status that a condition's word stands for; any other word says as little as `Unknown`.
    pub fn of(word: &str) -> Self {
        match word {
            "True" => Self::True,
            "False" => Self::False,
            _ => Self::Unknown,
        }
    }
}

/// One condition as a controller states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Its type, unique in a list.
    pub kind: String,
    /// Whether it holds.
    pub status: Status,
    /// Machine-readable reason.
    pub reason: String,
    /// Explanation for people.
    pub message: String,
    /// When it was last confirmed; absent for kinds whose conditions lack this field (deployment RS-22).
    pub last_update: Option<Timestamp>,
    /// When its status last changed.
    pub last_transition: Option<Timestamp>,
}

impl Condition {
    /// A condition first stated `now`, with both times.
    pub fn new(kind: &str, status: Status, reason: &str, message: impl Into<String>, now: Timestamp) -> Self {
        let now = time::to_seconds(now);
        Self {
            kind: kind.to_owned(),
            status,
            reason: reason.to_owned(),
            message: message.into(),
            last_update: Some(now),
            last_transition: Some(now),
        }
    }

    /// The same condition for a kind that has no `lastUpdateTime`.
    #[must_use]
    pub fn without_update_time(mut self) -> Self {
        self.last_update = None;
        self
    }

    fn to_json(&self) -> Json {
        let mut entry = serde_json::Map::new();
        let texts = [("reason", &self.reason), ("message", &self.message)];
        let times = [
            ("lastUpdateTime", self.last_update),
            ("lastTransitionTime", self.last_transition),
        ];
        entry.insert("type".to_owned(), self.kind.as_str().into());
        entry.insert("status".to_owned(), self.status.as_str().into());
        for (field, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
            entry.insert(field.to_owned(), text.as_str().into());
        }
        for (field, at) in times {
            if let Some(at) = at {
                entry.insert(field.to_owned(), time::to_api(at).into());
            }
        }
        Json::of(&Value::Object(entry))
    }
}

/// The conditions of an object, in their order. Entries of other controllers are kept as they came, whatever fields they
/// have. Two lists are equal if the server would store the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions(Vec<Entry>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    kind: Arc<str>,
    json: Json,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Fields<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow)]
    status: Cow<'a, str>,
    #[serde(borrow)]
    reason: Cow<'a, str>,
    #[serde(borrow)]
    message: Cow<'a, str>,
    last_update_time: Option<Timestamp>,
    last_transition_time: Option<Timestamp>,
}

impl Conditions {
    /// The condition of this type.
    pub fn get(&self, kind: &str) -> Option<Condition> {
        let entry = self.0.iter().find(|entry| *entry.kind == *kind)?;
        entry.read()
    }

    /// States a condition (deployment D-63). An entry with the same status and reason stays untouched, its message and
    /// times too. Any other is replaced by a new one at the end of the list, which keeps the old transition time if the
    /// status is the same.
    pub fn set(&mut self, condition: Condition) {
        let former = self.get(&condition.kind);
        let same = |former: &Condition| former.status == condition.status && former.reason == condition.reason;
        if !former.as_ref().is_some_and(same) {
            self.put(condition, former);
        }
    }

    /// States a condition anew even if status and reason are the same: message and update time change, the transition
    /// time only with the status (deployment D-73).
    pub fn refresh(&mut self, condition: Condition) {
        let former = self.get(&condition.kind);
        self.put(condition, former);
    }

    /// Takes a condition away; nothing happens if there is none of this type.
    pub fn remove(&mut self, kind: &str) {
        self.0.retain(|entry| *entry.kind != *kind);
    }

    fn put(&mut self, mut condition: Condition, former: Option<Condition>) {
        if let Some(former) = former.filter(|former| former.status == condition.status) {
            condition.last_transition = former.last_transition;
        }
        self.remove(&condition.kind);
        self.0.push(Entry {
            kind: condition.kind.as_str().into(),
            json: condition.to_json(),
        });
    }
}

impl Entry {
    fn read(&self) -> Option<Condition> {
        let fields: Fields<'_> = serde_json::from_str(self.json.as_str()).ok()?;
        Some(Condition {
            kind: fields.r#type.into_owned(),
            status: Status::of(&fields.status),
            reason: fields.reason.into_owned(),
            message: fields.message.into_owned(),
            last_update: fields.last_update_time,
            last_transition: fields.last_transition_time,
        })
    }
}

impl Serialize for Conditions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|entry| &entry.json))
    }
}

impl<'de> Deserialize<'de> for Conditions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries: Option<Vec<Value>> = Option::deserialize(deserializer)?;
        let entry = |json: Value| Entry {
            kind: json.get("type").and_then(Value::as_str).unwrap_or_default().into(),
            json: Json::of(&json),
        };
        Ok(Self(entries.unwrap_or_default().into_iter().map(entry).collect()))
    }
}
