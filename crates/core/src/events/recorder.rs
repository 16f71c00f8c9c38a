//! The recorder: controllers say what they did, and never wait for it to be written.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use crate::plan::{Note, Target};
use crate::time::{SharedClock, Timestamp};

/// How many notes wait for the sink at most; later ones are dropped and counted (deployment C-75).
pub const CAPACITY: usize = 1000;

/// Takes notes of one component. Clones feed the same queue.
#[derive(Clone, Debug)]
pub struct Recorder {
    queue: mpsc::Sender<Said>,
    clock: SharedClock,
    dropped: Counter,
}

/// Where the notes of a recorder come out.
#[derive(Debug)]
pub struct Feed(mpsc::Receiver<Said>);

/// A note, about what, and when it was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The object it regards.
    pub about: Target,
    /// What was said.
    pub note: Note,
    /// When.
    pub at: Timestamp,
}

/// Counts of notes that never became events.
#[derive(Clone, Debug, Default)]
pub struct EventMetrics {
    /// Dropped because the queue was full.
    pub(super) overflowed: Counter,
    /// Dropped by the limit per object (deployment C-75).
    pub(super) limited: Counter,
    /// Given up because the server would not take them.
    pub(super) failed: Counter,
}

impl EventMetrics {
    /// Metrics that `registry` exports as `events_{overflowed,limited,failed}_total`.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register(
            "events_overflowed",
            "Notes dropped because the event queue was full",
            metrics.overflowed.clone(),
        );
        registry.register(
            "events_limited",
            "Events dropped by the limit per object",
            metrics.limited.clone(),
        );
        registry.register(
            "events_failed",
            "Events that the API server did not take",
            metrics.failed.clone(),
        );
        metrics
    }
}

/// A recorder and the feed that a sink drains.
pub fn recorder(clock: SharedClock, metrics: &EventMetrics) -> (Recorder, Feed) {
    let (queue, feed) = mpsc::channel(CAPACITY);
    let dropped = metrics.overflowed.clone();
    (Recorder { queue, clock, dropped }, Feed(feed))
}

impl Recorder {
    /// Says `note` about `about`. Never waits; a full queue drops the note.
    pub fn say(&self, about: &Target, note: Note) {
        let said = Said {
            about: about.clone(),
            note,
            at: self.clock.now(),
        };
        match self.queue.try_send(said) {
            Ok(()) => {}
            Err(TrySendError::Full(said) | TrySendError::Closed(said)) => {
                self.dropped.inc();
                tracing::warn!(object = %said.about.key, reason = %said.note.reason, "event queue is full, event dropped");
            }
        }
    }
}

impl Feed {
    /// The next note; `None` once every recorder is gone and the queue is empty.
    pub async fn next(&mut self) -> Option<Said> {
        self.0.recv().await
    }

    /// The next note if one is waiting.
    pub fn try_next(&mut self) -> Option<Said> {
        self.0.try_recv().ok()
    }
}
