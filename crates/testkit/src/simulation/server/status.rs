//! Refusals, in the words of the real server.

use serde_json::{Map, Value, json};

use super::kinds::Resource;

/// The server's refusal of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// HTTP status.
    pub code: u16,
    /// Machine-readable reason such as `AlreadyExists`; empty for none.
    pub reason: String,
    /// Text for people.
    pub message: String,
    /// What it is about, and its causes.
    pub details: Value,
    /// `Retry-After` in seconds.
    pub retry_after: Option<u32>,
}

/// One thing that is wrong with an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) field: String,
    pub(super) reason: &'static str,
    pub(super) words: String,
}

impl Fault {
    /// A value that cannot be.
    pub(super) fn invalid(field: &str, value: &Value, why: &str) -> Self {
        Self {
            field: field.to_owned(),
            reason: "FieldValueInvalid",
            words: format!("Invalid value: {value}: {why}"),
        }
    }

    /// A value that must not be given.
    pub(super) fn forbidden(field: &str, why: &str) -> Self {
        Self {
            field: field.to_owned(),
            reason: "FieldValueForbidden",
            words: format!("Forbidden: {why}"),
        }
    }

    /// A value that must be given.
    pub(super) fn required(field: &str, why: &str) -> Self {
        let words = if why.is_empty() {
            "Required value".to_owned()
        } else {
            format!("Required value: {why}")
        };
        Self {
            field: field.to_owned(),
            reason: "FieldValueRequired",
            words,
        }
    }
}

impl Status {
    /// A refusal with this code, reason and message.
    pub fn new(code: u16, reason: &str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: reason.to_owned(),
            message: message.into(),
            details: Value::Null,
            retry_after: None,
        }
    }

    /// The body of the answer.
    pub fn body(&self) -> Value {
        let mut body = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code,
        });
        if !self.reason.is_empty() {
            body["reason"] = self.reason.as_str().into();
        }
        if !self.details.is_null() {
            body["details"] = self.details.clone();
        }
        body
    }

    /// 410: the version asked for is forgotten.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// 501: no controller is known to ask that.
    pub(super) fn unknown(asked: &str) -> Self {
        Self::new(501, "NotImplemented", format!("unknown shape of request: {asked}"))
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    pub(super) fn unsupported_patch() -> Self {
        Self::new(
            415,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: \
             application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml, application/apply-patch+cbor",
        )
    }

    pub(super) fn not_found(resource: &Resource, name: &str) -> Self {
        let message = format!("{} {name:?} not found", resource.plural());
        Self::new(404, "NotFound", message).about(resource, resource.kind.plural, name)
    }

    pub(super) fn already_exists(resource: &Resource, name: &str, is_terminating: bool) -> Self {
        let state = if is_terminating {
            "object is being deleted: "
        } else {
            ""
        };
        let message = format!("{state}{} {name:?} already exists", resource.plural());
        Self::new(409, "AlreadyExists", message).about(resource, resource.kind.plural, name)
    }

    /// 409: the object is not in the version that the writer has seen.
    pub(super) fn modified(resource: &Resource, name: &str) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource, resource.kind.plural, name, why)
    }

    /// 409. Some conflicts are about the plural of the kind, some about the kind.
    pub(super) fn conflict(resource: &Resource, what: &str, name: &str, why: &str) -> Self {
        let group = resource.kind.group;
        let qualified = if group.is_empty() {
            what.to_owned()
        } else {
            format!("{what}.{group}")
        };
        let message = format!("Operation cannot be fulfilled on {qualified} {name:?}: {why}");
        Self::new(409, "Conflict", message).about(resource, what, name)
    }

    pub(super) fn forbidden(resource: &Resource, name: &str, why: &str) -> Self {
        let message = format!("{} {name:?} is forbidden: {why}", resource.plural());
        Self::new(403, "Forbidden", message).about(resource, resource.kind.plural, name)
    }

    /// 422 with one cause per fault.
    pub(super) fn invalid(resource: &Resource, name: &str, faults: &[Fault]) -> Self {
        let said: Vec<_> = faults
            .iter()
            .map(|fault| format!("{}: {}", fault.field, fault.words))
            .collect();
        let said = match said.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let causes = faults
            .iter()
            .map(|fault| json!({"reason": fault.reason, "message": fault.words, "field": fault.field}));
        let message = format!("{} {name:?} is invalid: {said}", resource.singular());
        Self::new(422, "Invalid", message)
            .about(resource, resource.kind.kind, name)
            .caused_by(causes.collect())
    }

    /// What the refusal is about.
    fn about(mut self, resource: &Resource, kind: &str, name: &str) -> Self {
        let mut details = Map::new();
        let words = [("name", name), ("group", resource.kind.group), ("kind", kind)];
        for (field, word) in words.into_iter().filter(|(_, word)| !word.is_empty()) {
            details.insert(field.to_owned(), word.into());
        }
        self.details = details.into();
        self
    }

    pub(super) fn caused_by(mut self, causes: Vec<Value>) -> Self {
        if self.details.is_null() {
            self.details = json!({});
        }
        self.details["causes"] = causes.into();
        self
    }

    pub(super) fn after(mut self, seconds: u32) -> Self {
        if seconds > 0 {
            if self.details.is_null() {
                self.details = json!({});
            }
            self.details["retryAfterSeconds"] = seconds.into();
        }
        self.retry_after = Some(seconds);
        self
    }
}
