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

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Fields<'a> {
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
            kind: (*self.kind).to_owned(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    fn at(text: &str) -> Timestamp {
        format!("2026-01-02T03:04:{text}Z").parse().unwrap()
    }

    fn list(entries: &Value) -> Conditions {
        serde_json::from_value(entries.clone()).unwrap()
    }

    fn json(conditions: &Conditions) -> Value {
        serde_json::to_value(conditions).unwrap()
    }

    fn stored() -> Value {
        json!([
            {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable", "message": "old",
             "lastUpdateTime": "2026-01-02T03:04:01Z", "lastTransitionTime": "2026-01-02T03:04:01Z"},
            {"type": "example.com/Foreign", "status": "Maybe", "observedGeneration": 3, "zone": {"b": 1, "a": null}},
        ])
    }

    fn available(status: Status, reason: &str) -> Condition {
        Condition::new("Available", status, reason, "new", at("09.75"))
    }

    // proves: deployment/D-63
    #[test]
    fn a_condition_with_the_same_status_and_reason_stays_untouched() {
        let mut conditions = list(&stored());
        conditions.set(available(Status::True, "MinimumReplicasAvailable"));
        assert_eq!(conditions, list(&stored()));
        assert_eq!(json(&conditions), stored());
    }

    // proves: deployment/D-63, deployment/I-14
    #[rstest]
    #[case::other_reason(Status::True, "Other", "2026-01-02T03:04:01Z")]
    #[case::other_status(Status::False, "MinimumReplicasAvailable", "2026-01-02T03:04:09Z")]
    #[case::unknown_status(Status::Unknown, "MinimumReplicasAvailable", "2026-01-02T03:04:09Z")]
    fn a_changed_condition_moves_to_the_end(#[case] status: Status, #[case] reason: &str, #[case] transition: &str) {
        let mut conditions = list(&stored());
        conditions.set(available(status, reason));
        let expected = json!([
            stored()[1],
            {"type": "Available", "status": status.as_str(), "reason": reason, "message": "new",
             "lastUpdateTime": "2026-01-02T03:04:09Z", "lastTransitionTime": transition},
        ]);
        assert_eq!(json(&conditions), expected);
        assert_ne!(conditions, list(&stored()));
    }

    // proves: deployment/D-73
    #[rstest]
    #[case::same_status(Status::True, "01")]
    #[case::other_status(Status::False, "09")]
    fn a_refreshed_condition_keeps_only_its_transition(#[case] status: Status, #[case] transition: &str) {
        let mut conditions = list(&stored());
        conditions.refresh(available(status, "MinimumReplicasAvailable"));
        let refreshed = conditions.get("Available").unwrap();
        assert_eq!(refreshed.message, "new");
        assert_eq!(refreshed.last_update, Some(at("09")));
        assert_eq!(refreshed.last_transition, Some(at(transition)));
    }

    // proves: deployment/RS-22
    #[test]
    fn a_kind_without_update_times_gets_none() {
        let mut conditions = Conditions::default();
        let failure = Condition::new("ReplicaFailure", Status::True, "FailedCreate", "quota", at("09"));
        conditions.set(failure.without_update_time());
        let expected = json!([{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "quota",
            "lastTransitionTime": "2026-01-02T03:04:09Z"}]);
        assert_eq!(json(&conditions), expected);
    }

    // proves: deployment/D-63, deployment/RS-23
    #[test]
    fn foreign_conditions_are_kept_whole_and_in_order() {
        let mut conditions = list(&stored());
        conditions.remove("Available");
        assert_eq!(json(&conditions), json!([stored()[1]]));
        conditions.remove("Available");
        assert_eq!(json(&conditions), json!([stored()[1]]));
    }

    #[test]
    fn a_stored_condition_is_read() {
        let conditions = list(&stored());
        let expected = Condition {
            kind: "Available".to_owned(),
            status: Status::True,
            reason: "MinimumReplicasAvailable".to_owned(),
            message: "old".to_owned(),
            last_update: Some(at("01")),
            last_transition: Some(at("01")),
        };
        assert_eq!(conditions.get("Available"), Some(expected));
        assert_eq!(conditions.get("example.com/Foreign").unwrap().status, Status::Unknown);
        assert_eq!(conditions.get("Progressing"), None);
    }

    #[rstest]
    #[case::absent(json!(null))]
    #[case::empty(json!([]))]
    fn no_list_is_an_empty_list(#[case] stored: Value) {
        assert_eq!(list(&stored), Conditions::default());
        assert_eq!(json(&list(&stored)), json!([]));
    }

    #[test]
    fn empty_texts_are_left_out_as_the_server_does() {
        let mut conditions = Conditions::default();
        let mut bare = Condition::new("Bare", Status::True, "", "", at("09")).without_update_time();
        bare.last_transition = None;
        conditions.set(bare);
        assert_eq!(json(&conditions), json!([{"type": "Bare", "status": "True"}]));
    }
}
