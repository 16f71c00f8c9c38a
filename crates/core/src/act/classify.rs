//! What a server's answer means (pure): the one table from HTTP status and reason to [`FailureClass`].

use std::time::Duration;

use serde::Deserialize;

use crate::client::asked_for;
use crate::outcome::{Failure, FailureClass};

/// What was asked, as far as the meaning of the answer depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A new object.
    Create,
    /// Anything about an existing object.
    Existing,
    /// The removal of an existing pod, unless a disruption budget is against it.
    Eviction,
}

/// The parts of a `Status` answer that decide.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    message: String,
    reason: String,
    details: Details,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Details {
    causes: Vec<Cause>,
    retry_after_seconds: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Cause {
    reason: String,
    field: String,
    message: String,
}

impl Status {
    /// The message, and which budget it is about.
    fn with_causes(&self) -> String {
        let causes = self.details.causes.iter().map(|cause| &*cause.message);
        let said = [&*self.message].into_iter().chain(causes);
        said.filter(|words| !words.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

/// The failure that an answer with this HTTP status and body stands for. `retry_after` is the header's wait.
pub fn failure(asked: Asked, code: u16, body: &[u8], retry_after: Option<Duration>) -> Failure {
    let status: Status = serde_json::from_slice(body).unwrap_or_default();
    let class = class(asked, code, &status, retry_after);
    let message = if class == FailureClass::Protected {
        status.with_causes()
    } else if status.message.is_empty() {
        format!(
            "the server answered {code} {}",
            String::from_utf8_lossy(body.get(..200).unwrap_or(body)).trim()
        )
    } else {
        status.message
    };
    Failure::new(class, message.trim_end())
}

fn class(asked: Asked, code: u16, status: &Status, retry_after: Option<Duration>) -> FailureClass {
    let caused_by = |reason: &str| status.details.causes.iter().any(|cause| cause.reason == reason);
    match (code, asked) {
        (403, _) if caused_by("NamespaceTerminating") => FailureClass::NamespaceEnding,
        (_, Asked::Eviction) if is_against_a_budget(code, status) => FailureClass::Protected,
        (409 | 422, Asked::Existing | Asked::Eviction) if is_about_uid(status) => FailureClass::Replaced,
        (422, Asked::Existing | Asked::Eviction) => FailureClass::Invalid,
        (500, _) if status.message.contains("etcdserver") => FailureClass::Unknown,
        (400..=403 | 405 | 406 | 413 | 415 | 422, _) => FailureClass::Rejected,
        (404 | 410, _) => FailureClass::Missing,
        (409, Asked::Create) if status.reason == "AlreadyExists" => FailureClass::AlreadyExists,
        (409, _) => FailureClass::Conflict,
        (429, _) => FailureClass::Throttled(wait(status, retry_after)),
        (500 | 503, _) => FailureClass::Transient,
        (_, _) => FailureClass::Unknown,
    }
}

/// A patch that carries another uid is invalid at `metadata.uid`; the precondition of a delete, and that of an eviction, says
/// it only in words.
fn is_about_uid(status: &Status) -> bool {
    let named = status.details.causes.iter().any(|cause| cause.field == "metadata.uid");
    let said = |words| status.message.contains(words);
    named || said("UID in precondition") || said("UID in the precondition") || said("metadata.uid")
}

/// What an eviction is answered while a budget does not allow it: 429, also where the server or a webhook only wants to be
/// asked later; 403 while the budget itself is in disorder; 500 if more than one budget is about the pod, with nothing but
/// the words to tell it by.
fn is_against_a_budget(code: u16, status: &Status) -> bool {
    match code {
        429 => true,
        403 => status
            .details
            .causes
            .iter()
            .any(|cause| cause.reason == "DisruptionBudget"),
        500 => status.message.contains("PodDisruptionBudget"),
        _ => false,
    }
}

fn wait(status: &Status, retry_after: Option<Duration>) -> Option<Duration> {
    let seconds = status.details.retry_after_seconds;
    retry_after.or_else(|| (seconds > 0).then(|| asked_for(seconds)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Retry;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case::invalid(Asked::Create, 422, "Invalid", "", FailureClass::Rejected)]
    #[case::invalid_change(Asked::Existing, 422, "Invalid", "", FailureClass::Invalid)]
    #[case::quota(Asked::Create, 403, "Forbidden", "", FailureClass::Rejected)]
    #[case::namespace_ending(
        Asked::Create,
        403,
        "Forbidden",
        "NamespaceTerminating",
        FailureClass::NamespaceEnding
    )]
    #[case::taken(Asked::Create, 409, "AlreadyExists", "", FailureClass::AlreadyExists)]
    #[case::conflict_on_create(Asked::Create, 409, "Conflict", "", FailureClass::Conflict)]
    #[case::conflict(Asked::Existing, 409, "Conflict", "", FailureClass::Conflict)]
    #[case::gone(Asked::Existing, 404, "NotFound", "", FailureClass::Missing)]
    #[case::server_error(Asked::Existing, 500, "InternalError", "", FailureClass::Transient)]
    #[case::overloaded(Asked::Create, 503, "ServiceUnavailable", "", FailureClass::Transient)]
    #[case::maybe_applied(Asked::Create, 504, "Timeout", "", FailureClass::Unknown)]
    #[case::gateway(Asked::Create, 502, "", "", FailureClass::Unknown)]
    fn answers_have_one_meaning(
        #[case] asked: Asked,
        #[case] code: u16,
        #[case] reason: &str,
        #[case] cause: &str,
        #[case] expected: FailureClass,
    ) {
        let body = json!({"message": "m", "reason": reason, "details": {"causes": [{"reason": cause}]}}).to_string();
        assert_eq!(failure(asked, code, body.as_bytes(), None), Failure::new(expected, "m"));
    }

    // proves: deployment/A-8
    #[test]
    fn another_uid_under_the_name_means_replaced() {
        let patch = json!({"message": "Deployment is invalid", "details": {"causes": [{"field": "metadata.uid"}]}});
        assert_eq!(
            failure(Asked::Existing, 422, patch.to_string().as_bytes(), None).class,
            FailureClass::Replaced
        );
        let patch = json!({"message": "Precondition failed: UID in precondition: a, UID in object meta: b"});
        assert_eq!(
            failure(Asked::Existing, 409, patch.to_string().as_bytes(), None).class,
            FailureClass::Replaced
        );
    }

    // proves: deployment/L-4
    #[rstest]
    #[case::budget_used_up(
        429,
        "TooManyRequests",
        "DisruptionBudget",
        "it would violate",
        FailureClass::Protected
    )]
    #[case::budget_not_yet_counted(429, "TooManyRequests", "", "", FailureClass::Protected)]
    #[case::budget_in_disorder(403, "Forbidden", "DisruptionBudget", "", FailureClass::Protected)]
    #[case::two_budgets(
        500,
        "",
        "",
        "This pod has more than one PodDisruptionBudget",
        FailureClass::Protected
    )]
    #[case::no_right(403, "Forbidden", "", "", FailureClass::Rejected)]
    #[case::server_error(500, "InternalError", "", "etcd is slow", FailureClass::Transient)]
    #[case::maybe_applied(504, "Timeout", "", "conflicts", FailureClass::Unknown)]
    #[case::gone(404, "NotFound", "", "", FailureClass::Missing)]
    #[case::another_pod(
        409,
        "Conflict",
        "",
        "the UID in the precondition (a) does not match",
        FailureClass::Replaced
    )]
    #[case::changed(409, "Conflict", "", "the object has been modified", FailureClass::Conflict)]
    fn a_refused_eviction_is_told_from_a_failed_one(
        #[case] code: u16,
        #[case] reason: &str,
        #[case] cause: &str,
        #[case] message: &str,
        #[case] expected: FailureClass,
    ) {
        let body = json!({"message": message, "reason": reason, "details": {"causes": [{"reason": cause}]}});
        let class = |asked| failure(asked, code, body.to_string().as_bytes(), None).class;
        assert_eq!(class(Asked::Eviction), expected);
        assert_ne!(class(Asked::Existing), FailureClass::Protected);
    }

    #[test]
    fn throttling_keeps_the_wait_that_was_asked_for() {
        let five = Some(Duration::from_secs(5));
        let body = json!({"message": "slow down", "details": {"retryAfterSeconds": 3}}).to_string();
        let of = |header| failure(Asked::Create, 429, body.as_bytes(), header).class;
        assert_eq!(of(five), FailureClass::Throttled(five));
        assert_eq!(of(None), FailureClass::Throttled(Some(Duration::from_secs(3))));
        assert_eq!(of(five).retry(), Retry::NotBefore(Duration::from_secs(5)));
        let body = json!({"details": {"retryAfterSeconds": u64::MAX}}).to_string();
        let longest = Duration::from_secs(1000);
        let class = failure(Asked::Create, 429, body.as_bytes(), None).class;
        assert_eq!(class, FailureClass::Throttled(Some(longest)), "nobody waits for ever");
    }

    #[test]
    fn an_answer_without_a_status_is_quoted() {
        assert_eq!(
            failure(Asked::Create, 502, b"bad gateway\n", None).message,
            "the server answered 502 bad gateway"
        );
    }
}
