//! Which failed calls are tried again, and when. Pure.
//!
//! A call is repeated only where that cannot do anything twice: reads, and writes that the server has certainly not carried
//! out. All other repetitions are up to the caller, who knows whether the write is still wanted.

use std::time::Duration;

use http::{HeaderMap, Method, header};

/// The time that all waits of one call may take together. Callers have deadlines of their own: a server that wants to be
/// left alone for longer is better reported than waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest wait that a server is believed to want, that of a key that fails again and again. Nobody waits for ever
/// because of a mistake in an answer.
const LONGEST: Duration = Duration::from_secs(1000);
/// How often a call without an answer is repeated.
const REPETITIONS: u32 = 3;
/// The wait before the first repetition of a call without an answer; doubles.
const FIRST_WAIT: Duration = Duration::from_millis(100);

/// The wait that a server asks for in the header of an answer.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(header::RETRY_AFTER)?.to_str().ok()?;
    seconds.parse().ok().map(asked_for)
}

/// The wait that a server asks for with so many seconds.
pub(crate) fn asked_for(seconds: u64) -> Duration {
    Duration::from_secs(seconds).min(LONGEST)
}

/// What came of one attempt, as far as repetition is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attempt {
    /// The server answered.
    Answered {
        /// HTTP status.
        code: u16,
        /// The server's `Retry-After`.
        retry_after: Option<Duration>,
    },
    /// No connection could be made: the server has not seen the request.
    NotSent,
    /// The connection broke: the server may have carried the request out.
    Broken,
    /// The time limit passed, or the request could not be prepared: repeating will not help.
    Hopeless,
}

/// What has already been tried.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct History {
    repetitions: u32,
    waited: Duration,
}

impl History {
    /// The wait before the next repetition, or `None` if this attempt was the last.
    pub(super) fn next(&mut self, method: &Method, path: &str, attempt: Attempt) -> Option<Duration> {
        let is_read = method == Method::GET;
        let doubling = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(self.repetitions));
        let quick = (self.repetitions < REPETITIONS).then_some(doubling);
        let wait = match attempt {
            // Refused before anything was done, whatever the verb. An eviction's 429 comes from a disruption budget.
            Attempt::Answered { code: 429, retry_after } if !path.ends_with("/eviction") => retry_after?,
            Attempt::Answered { code: 503, retry_after } if is_read => quick?.max(retry_after.unwrap_or_default()),
            Attempt::NotSent => quick?,
            Attempt::Broken if is_read => quick?,
            Attempt::Answered { .. } | Attempt::Broken | Attempt::Hopeless => return None,
        };
        self.repetitions += 1;
        self.waited += wait;
        (self.waited <= PATIENCE).then_some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn answer(code: u16, seconds: Option<u64>) -> Attempt {
        Attempt::Answered {
            code,
            retry_after: seconds.map(Duration::from_secs),
        }
    }

    #[rstest]
    #[case::throttled_read(Method::GET, "/api/v1/pods", answer(429, Some(1)), 10)]
    #[case::throttled_create(Method::POST, "/api/v1/namespaces/a/pods", answer(429, Some(1)), 10)]
    #[case::throttled_for_long(Method::POST, "/api/v1/namespaces/a/pods", answer(429, Some(11)), 0)]
    #[case::throttled_without_a_time(Method::POST, "/api/v1/namespaces/a/pods", answer(429, None), 0)]
    #[case::eviction(Method::POST, "/api/v1/namespaces/a/pods/p/eviction", answer(429, Some(1)), 0)]
    #[case::unavailable_read(Method::GET, "/api/v1/pods", answer(503, None), 3)]
    #[case::unavailable_write(Method::PATCH, "/api/v1/pods", answer(503, Some(1)), 0)]
    #[case::refused_write(Method::POST, "/api/v1/pods", Attempt::NotSent, 3)]
    #[case::broken_read(Method::GET, "/api/v1/pods", Attempt::Broken, 3)]
    #[case::broken_write(Method::DELETE, "/api/v1/pods/p", Attempt::Broken, 0)]
    #[case::timed_out_read(Method::GET, "/api/v1/pods", Attempt::Hopeless, 0)]
    #[case::gateway_timeout(Method::POST, "/api/v1/pods", answer(504, Some(1)), 0)]
    #[case::conflict(Method::PATCH, "/api/v1/pods/p", answer(409, Some(1)), 0)]
    #[case::success(Method::GET, "/api/v1/pods", answer(200, None), 0)]
    fn calls_are_repeated_only_where_nothing_can_happen_twice(
        #[case] method: Method,
        #[case] path: &str,
        #[case] attempt: Attempt,
        #[case] repetitions: usize,
    ) {
        let mut history = History::default();
        let waits = std::iter::from_fn(|| history.next(&method, path, attempt));
        assert_eq!(waits.count(), repetitions);
    }

    #[test]
    fn nobody_waits_for_ever() {
        let of = |text: &str| retry_after(&HeaderMap::from_iter([(header::RETRY_AFTER, text.parse().unwrap())]));
        assert_eq!(of("5"), Some(Duration::from_secs(5)));
        assert_eq!(of("18446744073709551615"), Some(Duration::from_secs(1000)));
        assert_eq!(of("soon"), None);
        let mut history = History::default();
        let wait = |history: &mut History, seconds| {
            let retry_after = of(seconds);
            history.next(&Method::GET, "/", Attempt::Answered { code: 429, retry_after })
        };
        assert_eq!(wait(&mut history, "1"), Some(Duration::from_secs(1)));
        assert_eq!(wait(&mut history, "18446744073709551615"), None);
    }

    #[test]
    fn waits_without_an_answer_double() {
        let mut history = History::default();
        let waits = std::iter::from_fn(|| history.next(&Method::GET, "/", Attempt::NotSent));
        assert_eq!(waits.map(|wait| wait.as_millis()).collect::<Vec<_>>(), [100, 200, 400]);
    }
}
