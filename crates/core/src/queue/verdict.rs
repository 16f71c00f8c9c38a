//! The contract between a queue and what it drives.

use futures::future::BoxFuture;

use crate::id::ObjectKey;
use crate::outcome::Retry;
use crate::plan::Wake;

/// What becomes of a key after its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The turn succeeded: its back-off is forgotten, and it is looked at again when told.
    Done(Wake),
    /// The turn failed. It wants to be looked at again for its own reasons too, such as a deadline, whatever becomes of the
    /// retries; but not within a second, nor sooner than the server wants.
    Retry(Retry, Wake),
    /// A gate kept the turn from trying anything, such as a cache older than our own last write (deployment C-32): again
    /// soon, without using up a retry.
    Held,
}

impl Verdict {
    /// Label of metrics and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done(_) => "done",
            Self::Retry(..) => "retry",
            Self::Held => "held",
        }
    }
}

/// One turn of one key. Never called for a key that is already having one.
pub trait Turn: Send + Sync + 'static {
    /// Reconciles `key`.
    fn turn(&self, key: ObjectKey) -> BoxFuture<'_, Verdict>;
}
