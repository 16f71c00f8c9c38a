//! What became of a plan: one result for each write that was tried.

use std::time::Duration;

use crate::id::{Kind, ObjectKey, ResourceVersion, Uid};

/// All results of one plan, in the order in which they came in.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Each write that was sent.
    pub attempts: Vec<Attempt>,
}

impl Outcome {
    /// The first failure, if any (deployment C-42).
    pub fn failure(&self) -> Option<&Failure> {
        self.failures().next()
    }

    /// What the queue does, if anything failed.
    pub fn retry(&self) -> Option<Retry> {
        self.failures().map(|failure| failure.class.retry()).max()
    }

    /// All failures.
    pub fn failures(&self) -> impl Iterator<Item = &Failure> {
        self.attempts.iter().filter_map(|attempt| attempt.result.as_ref().err())
    }

    /// The failures of one verb on one kind.
    pub fn failures_of(&self, verb: Verb, kind: Kind) -> impl Iterator<Item = &Failure> {
        self.attempts
            .iter()
            .filter(move |attempt| attempt.verb == verb && attempt.kind == kind)
            .filter_map(|attempt| attempt.result.as_ref().err())
    }

    /// True if the status write found that there is no such object any more, or another one under its name.
    pub fn found_gone(&self) -> bool {
        let mut statuses = self.attempts.iter().filter(|attempt| attempt.verb == Verb::Status);
        statuses.any(|attempt| {
            let failure = attempt.result.as_ref().err();
            failure.is_some_and(|failure| matches!(failure.class, FailureClass::Missing | FailureClass::Replaced))
        })
    }

    /// True if every write of this verb on this object was applied, and there was one.
    pub fn applied(&self, verb: Verb, kind: Kind, key: &ObjectKey) -> bool {
        let mut on_it = self
            .attempts
            .iter()
            .filter(|attempt| attempt.verb == verb && attempt.kind == kind && attempt.key == *key)
            .peekable();
        let done = |attempt: &Attempt| matches!(attempt.result, Ok(Receipt::Stored { .. } | Receipt::Gone));
        on_it.peek().is_some() && on_it.all(done)
    }
}

/// One write that was sent.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// What was tried.
    pub verb: Verb,
    /// On which kind.
    pub kind: Kind,
    /// On which object; for a create the chosen name.
    pub key: ObjectKey,
    /// What came of it.
    pub result: Result<Receipt, Failure>,
}

/// The writes that a plan can contain; also the `verb` label of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verb {
    /// Adoption.
    Adopt,
    /// Release.
    Release,
    /// Status write.
    Status,
    /// Create.
    Create,
    /// Patch of metadata or fields.
    Patch,
    /// Delete.
    Delete,
    /// Removal of a pod that a disruption budget can refuse.
    Evict,
    /// Live read.
    Read,
}

impl Verb {
    /// Lower-case name, for logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Adopt => "adopt",
            Self::Release => "release",
            Self::Status => "status",
            Self::Create => "create",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::Evict => "evict",
            Self::Read => "read",
        }
    }
}

/// What the server made of a write, where that is no failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Receipt {
    /// The object as it is now.
    Stored {
        /// Its uid.
        uid: Uid,
        /// Its version after the write.
        version: ResourceVersion,
    },
    /// The write had nothing left to do: the object, or the owner reference to remove, was already gone.
    Gone,
    /// An eviction that a disruption budget does not allow now. The pod stays as it is.
    Protected {
        /// Why, in the server's words.
        words: String,
        /// When it may be asked again.
        again_in: Duration,
    },
}

/// A write that was not confirmed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// What it means for the controller.
    pub class: FailureClass,
    /// The server's or the client's words, fit for a condition message.
    pub message: String,
}

impl Failure {
    /// A failure of this class.
    pub fn new(class: FailureClass, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
        }
    }
}

/// What a failed write means. The table from server answers to classes is `act::classify`; the table from classes to queue
/// verdicts is [`FailureClass::retry`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureClass {
    /// 409: the object has changed since the cache saw it.
    Conflict,
    /// 409 on a create: the name is taken.
    AlreadyExists,
    /// 404: the object, its namespace or the whole kind is not there.
    Missing,
    /// The object under this name is another one now (a precondition on the uid failed).
    Replaced,
    /// The owner is gone, being deleted or another one: nothing may be adopted (deployment C-12).
    OwnerUnfit,
    /// 422 on an existing object: the change makes it invalid.
    Invalid,
    /// The server will not take it: invalid (400, or 422 on a create), forbidden by a role, a quota or a webhook (403).
    Rejected,
    /// The namespace is being deleted; nothing can be created in it any more.
    NamespaceEnding,
    /// 429, with the wait that the server asked for.
    Throttled(Option<Duration>),
    /// A disruption budget does not allow an eviction. The executor makes a [`Receipt::Protected`] of it: no plan fails by it.
    Protected,
    /// No answer, or one from which it cannot be told whether the write was applied (timeout, 504, broken connection).
    Unknown,
    /// The server could not serve it and has not applied it (500, 503).
    Transient,
    /// Not sent: this process may not write any more (deployment I-4), or not now ([`crate::continuity`]).
    Fenced,
}

/// What the queue does with a key whose sync failed. Of several failures the greatest decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Retry {
    /// Not until something changes.
    OnChange,
    /// Again, with the key's back-off (deployment C-3).
    Backoff,
    /// Again, not before this time and not before the back-off.
    NotBefore(Duration),
}

impl FailureClass {
    /// What the queue does with the key.
    pub fn retry(self) -> Retry {
        match self {
            Self::NamespaceEnding => Retry::OnChange,
            Self::Throttled(Some(wait)) => Retry::NotBefore(wait),
            Self::Throttled(None)
            | Self::Conflict
            | Self::AlreadyExists
            | Self::Missing
            | Self::Replaced
            | Self::OwnerUnfit
            | Self::Invalid
            | Self::Rejected
            | Self::Protected
            | Self::Unknown
            | Self::Transient
            // Harmless if the process ends; and it may have renewed its lease after all.
            | Self::Fenced => Retry::Backoff,
        }
    }

    /// True for what happens in a healthy cluster: somebody else was faster, or the end of something is near.
    pub fn is_expected(self) -> bool {
        matches!(
            self,
            Self::Conflict | Self::Missing | Self::Replaced | Self::NamespaceEnding | Self::Fenced
        )
    }

    /// Label of metrics and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Conflict => "conflict",
            Self::AlreadyExists => "already_exists",
            Self::Missing => "missing",
            Self::Replaced => "replaced",
            Self::OwnerUnfit => "owner_unfit",
            Self::Invalid => "invalid",
            Self::Rejected => "rejected",
            Self::NamespaceEnding => "namespace_ending",
            Self::Throttled(_) => "throttled",
            Self::Protected => "protected",
            Self::Unknown => "unknown",
            Self::Transient => "transient",
            Self::Fenced => "fenced",
        }
    }
}
