//! The conditions of a Job (J-104, J-152): like those of other kinds, but each with the time of its last probe, and replaced
//! where it stands.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use workload_core::condition::Status;
use workload_core::time::{self, Timestamp};

/// The conditions in their order. Those of types that nobody here knows are kept as they came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions(Vec<Value>);

/// Whether something was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is as it was.
    None,
    /// Another status, reason or message.
    Made,
}

/// Why a condition is as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// In one word.
    pub reason: String,
    /// In a sentence.
    pub message: String,
}

impl Conditions {
    /// Why the condition of this type is true; nothing if it is not.
    pub fn holds(&self, kind: &str) -> Option<Cause> {
        let entry = self.find(kind).filter(|entry| word(entry, "status") == "True")?;
        Some(Cause {
            reason: word(entry, "reason").to_owned(),
            message: word(entry, "message").to_owned(),
        })
    }

    /// True if there is a condition of this type, whatever its status.
    pub fn has(&self, kind: &str) -> bool {
        self.find(kind).is_some()
    }

    /// When the condition of this type became what it is.
    pub fn since(&self, kind: &str) -> Option<Timestamp> {
        word(self.find(kind)?, "lastTransitionTime").parse().ok()
    }

    /// Adds a true condition at the end, instead of one of its type that was not true.
    pub fn append(&mut self, kind: &str, cause: &Cause, now: Timestamp) {
        self.0.retain(|entry| word(entry, "type") != kind);
        self.0.push(entry(kind, Status::True, cause, now));
    }

    /// States a condition, in the place of the former one of its type. A false one is never added, only made of a true one
    /// (J-103).
    pub fn state(&mut self, kind: &str, status: Status, cause: &Cause, now: Timestamp) -> Change {
        let new = entry(kind, status, cause, now);
        let same = |old: &Value| {
            ["status", "reason", "message"]
                .iter()
                .all(|key| old.get(key) == new.get(key))
        };
        match self.0.iter_mut().find(|entry| word(entry, "type") == kind) {
            Some(old) if same(old) => Change::None,
            Some(old) => {
                *old = new;
                Change::Made
            }
            None if status == Status::True => {
                self.0.push(new);
                Change::Made
            }
            None => Change::None,
        }
    }

    fn find(&self, kind: &str) -> Option<&Value> {
        self.0.iter().find(|entry| word(entry, "type") == kind)
    }
}

fn word<'a>(entry: &'a Value, key: &str) -> &'a str {
    entry.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn entry(kind: &str, status: Status, cause: &Cause, now: Timestamp) -> Value {
    let now = time::to_api(now);
    let fields = [
        ("type", kind),
        ("status", status.as_str()),
        ("reason", &cause.reason),
        ("message", &cause.message),
        ("lastProbeTime", &now),
        ("lastTransitionTime", &now),
    ];
    let stored = fields.into_iter().filter(|(_, text)| !text.is_empty());
    let fields: Map<String, Value> = stored.map(|(key, text)| (key.to_owned(), text.into())).collect();
    Value::Object(fields)
}

impl Serialize for Conditions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Conditions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries: Option<Vec<Value>> = Option::deserialize(deserializer)?;
        Ok(Self(entries.unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn cause(reason: &str) -> Cause {
        Cause {
            reason: reason.to_owned(),
            message: "why".to_owned(),
        }
    }

    fn at(seconds: u32) -> Timestamp {
        format!("2026-01-02T03:04:{seconds:02}Z").parse().unwrap()
    }

    // proves: job/J-104
    #[test]
    fn a_condition_is_replaced_where_it_stands_and_only_if_it_says_something_else() {
        let mut conditions: Conditions = serde_json::from_value(json!([
            {"type": "Suspended", "status": "True", "reason": "JobSuspended", "message": "why",
             "lastProbeTime": "2026-01-02T03:04:01Z", "lastTransitionTime": "2026-01-02T03:04:01Z"},
            {"type": "example.com/Foreign", "status": "Maybe", "extra": 3},
        ]))
        .unwrap();
        let before = conditions.clone();
        let same = conditions.state("Suspended", Status::True, &cause("JobSuspended"), at(9));
        assert_eq!((same, &conditions), (Change::None, &before));
        let other = conditions.state("Suspended", Status::False, &cause("JobResumed"), at(9));
        assert_eq!(other, Change::Made);
        assert_eq!(
            serde_json::to_value(&conditions).unwrap(),
            json!([
                {"type": "Suspended", "status": "False", "reason": "JobResumed", "message": "why",
                 "lastProbeTime": "2026-01-02T03:04:09Z", "lastTransitionTime": "2026-01-02T03:04:09Z"},
                {"type": "example.com/Foreign", "status": "Maybe", "extra": 3},
            ])
        );
    }

    // proves: job/J-103
    #[test]
    fn a_false_condition_is_never_added() {
        let mut conditions = Conditions::default();
        let change = conditions.state("Suspended", Status::False, &cause("JobResumed"), at(9));
        assert_eq!((change, conditions), (Change::None, Conditions::default()));
    }

    // proves: job/J-32
    #[test]
    fn a_condition_that_is_not_true_does_not_hold() {
        let mut conditions: Conditions =
            serde_json::from_value(json!([{"type": "FailureTarget", "status": "False", "reason": "Hand"}])).unwrap();
        assert_eq!(conditions.holds("FailureTarget"), None);
        conditions.append("FailureTarget", &cause("DeadlineExceeded"), at(9));
        assert_eq!(conditions.holds("FailureTarget"), Some(cause("DeadlineExceeded")));
        assert_eq!(
            serde_json::to_value(&conditions).unwrap().as_array().map(Vec::len),
            Some(1)
        );
    }
}
