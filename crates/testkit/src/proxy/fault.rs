//! What a proxy does to requests instead of simply passing them on.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;

use super::asked::{Asked, Which};

/// The longest that a test waits for a fault to happen.
const WITHIN: Duration = Duration::from_mins(2);

/// One kind of trouble.
#[derive(Clone)]
pub enum Fault {
    /// The request waits at the proxy until the fault is lifted.
    Hold,
    /// The server carries the request out; its answer waits until the fault is lifted.
    HoldAnswer,
    /// The request waits for that long.
    Delay(Duration),
    /// The connection is closed; the server never sees the request.
    Lose,
    /// The server carries the request out, then the connection is closed.
    LoseAnswer,
    /// The proxy answers in the server's place.
    Refuse(Refusal),
    /// Lines of watches wait until the fault is lifted, also those of watches that are already open.
    Freeze,
    /// Lines of watches, and whole answers of other requests, are changed on their way to the controller.
    Edit(Arc<dyn Fn(&mut Value) + Send + Sync>),
}

impl Fault {
    /// Changes what the server says.
    pub fn edit(change: impl Fn(&mut Value) + Send + Sync + 'static) -> Self {
        Self::Edit(Arc::new(change))
    }

    fn is_about_content(&self) -> bool {
        matches!(self, Self::Freeze | Self::Edit(_))
    }
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hold => "Hold",
            Self::HoldAnswer => "HoldAnswer",
            Self::Delay(_) => "Delay",
            Self::Lose => "Lose",
            Self::LoseAnswer => "LoseAnswer",
            Self::Refuse(_) => "Refuse",
            Self::Freeze => "Freeze",
            Self::Edit(_) => "Edit",
        })
    }
}

/// An answer of a server that does not do what it is asked to.
#[derive(Clone, Copy, Debug)]
pub struct Refusal {
    /// HTTP status.
    pub code: u16,
    /// Machine-readable reason.
    pub reason: &'static str,
    /// `Retry-After` in seconds.
    pub retry_after: Option<u32>,
}

impl Refusal {
    /// A refusal without a time to wait.
    pub fn new(code: u16, reason: &'static str) -> Self {
        Self {
            code,
            reason,
            retry_after: None,
        }
    }

    /// 429 with a time to wait.
    pub fn throttled(seconds: u32) -> Self {
        Self {
            retry_after: Some(seconds),
            ..Self::new(429, "TooManyRequests")
        }
    }

    /// The answer's body, as the API server writes it.
    pub fn status(&self) -> Value {
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "refused by the test", "reason": self.reason, "code": self.code,
        })
    }
}

/// A fault at work. It stays until it is lifted, whether or not the test keeps this.
#[derive(Clone, Debug)]
pub struct Rule(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    which: Which,
    fault: Fault,
    left: AtomicUsize,
    hits: watch::Sender<usize>,
    lifted: watch::Sender<bool>,
}

impl Rule {
    fn new(which: Which, fault: Fault, times: usize) -> Self {
        Self(Arc::new(Inner {
            which,
            fault,
            left: AtomicUsize::new(times),
            hits: watch::Sender::new(0),
            lifted: watch::Sender::new(false),
        }))
    }

    /// Ends the fault. Whatever waits because of it goes on.
    pub fn lift(&self) {
        self.0.lifted.send_replace(true);
    }

    /// How often it has struck.
    pub fn hits(&self) -> usize {
        *self.0.hits.borrow()
    }

    /// Waits until it has struck that often.
    pub async fn struck(&self, times: usize) {
        let mut hits = self.0.hits.subscribe();
        let struck = tokio::time::timeout(WITHIN, hits.wait_for(|hits| *hits >= times)).await;
        let Inner { which, fault, .. } = &*self.0;
        assert!(
            struck.is_ok(),
            "{fault:?} struck {} times, not {times}: {which:?}",
            self.hits()
        );
    }

    pub(super) fn fault(&self) -> &Fault {
        &self.0.fault
    }

    pub(super) async fn lifted(&self) {
        let mut lifted = self.0.lifted.subscribe();
        // The sender lives in `self`.
        let _ = lifted.wait_for(|lifted| *lifted).await;
    }

    /// Strikes if it is at work, about this request and not yet used up.
    fn strikes(&self, asked: &Asked) -> bool {
        let inner = &*self.0;
        if *inner.lifted.borrow() || !inner.which.fits(asked) {
            return false;
        }
        let left = |left: usize| left.checked_sub(1);
        let strikes = inner
            .left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, left)
            .is_ok();
        if strikes {
            inner.hits.send_modify(|hits| *hits += 1);
        }
        strikes
    }
}

/// The faults of one proxy, in the order in which they were set.
#[derive(Debug, Default)]
pub(super) struct Rules(Mutex<Vec<Rule>>);

impl Rules {
    pub(super) fn add(&self, which: Which, fault: Fault, times: usize) -> Rule {
        let rule = Rule::new(which, fault, times);
        self.lock().push(rule.clone());
        rule
    }

    /// The first fault that strikes a request.
    pub(super) fn for_request(&self, asked: &Asked) -> Option<Rule> {
        self.first(asked, |fault| !fault.is_about_content())
    }

    /// The first fault that strikes one line, or one answer, to a request.
    pub(super) fn for_content(&self, asked: &Asked) -> Option<Rule> {
        self.first(asked, Fault::is_about_content)
    }

    fn first(&self, asked: &Asked, kind: impl Fn(&Fault) -> bool) -> Option<Rule> {
        let strikes = |rule: &&Rule| kind(rule.fault()) && rule.strikes(asked);
        self.lock().iter().find(strikes).cloned()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Rule>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Method;
    use workload_core::id::Kind;

    #[test]
    fn a_fault_strikes_what_it_is_about_as_often_as_it_may() {
        let rules = Rules::default();
        let create = Asked::of(&Method::POST, &"/api/v1/namespaces/a/pods".parse().unwrap());
        let delete = Asked::of(&Method::DELETE, &"/api/v1/namespaces/a/pods/p".parse().unwrap());
        let twice = rules.add(Which::creates().of(Kind::POD), Fault::Lose, 2);
        let later = rules.add(Which::all(), Fault::Hold, usize::MAX);
        assert!(matches!(rules.for_request(&create).unwrap().fault(), Fault::Lose));
        assert!(matches!(rules.for_request(&delete).unwrap().fault(), Fault::Hold));
        assert!(matches!(rules.for_request(&create).unwrap().fault(), Fault::Lose));
        assert!(matches!(rules.for_request(&create).unwrap().fault(), Fault::Hold));
        assert_eq!((twice.hits(), later.hits()), (2, 2));
        later.lift();
        assert!(rules.for_request(&create).is_none());
    }
}
