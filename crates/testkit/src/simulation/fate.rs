//! What becomes of pods that work and come to an end: the script of a scenario.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::seed::Stream;
use crate::object::Stored;

/// The annotation that says which part of indexed work a pod does.
const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// What becomes of a pod once it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its containers exit with this code after so long. Those that are restarted on failure meet the next fate.
    Exit(Duration, u8),
    /// It is evicted after so long: it is told that it is the target of a disruption, and deleted.
    Evicted(Duration),
    /// A user deletes it after so long.
    Deleted(Duration),
    /// Its node does not take it.
    Rejected,
    /// It runs until somebody ends it.
    Stays,
}

/// A pod that begins to run.
#[derive(Clone, Copy, Debug)]
pub struct Beginning<'a> {
    /// The pod.
    pub pod: &'a Stored,
    /// How many pods of its owner were made before it.
    pub number: usize,
    /// How many pods of its owner with its index were made before it.
    pub attempt: usize,
    /// How often its containers have been restarted.
    pub restarts: u64,
}

impl Beginning<'_> {
    /// The part of indexed work that the pod does.
    pub fn index(&self) -> Option<u64> {
        self.pod.annotation(INDEX)?.parse().ok()
    }
}

/// What gives each pod its fate.
type Script = dyn Fn(&Beginning<'_>, &Stream) -> Fate + Send + Sync;

/// The fate of each pod that is not restarted for ever.
#[derive(Clone)]
pub struct Fates(Arc<Script>);

impl Fates {
    /// Fates by a script. What it draws from the stream follows from the seed of the history.
    pub fn by(script: impl Fn(&Beginning<'_>, &Stream) -> Fate + Send + Sync + 'static) -> Self {
        Self(Arc::new(script))
    }

    pub(super) fn of(&self, beginning: &Beginning<'_>, stream: &Stream) -> Fate {
        (self.0)(beginning, stream)
    }
}

impl fmt::Debug for Fates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fates")
    }
}
