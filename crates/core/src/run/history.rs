//! A server that turns out to have another history than before, as after a restore from a backup.
//!
//! The caches notice it one after the other. A turn that saw one kind as it is and another as it was before the restore would
//! make or delete what it should not, so all turns stop with the first cache that notices, and go on when every cache has
//! listed anew.

use std::sync::Arc;

use futures::FutureExt as _;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::queue::Queue;

/// Where caches say what they have noticed. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct OtherHistory(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    queues: Mutex<Vec<Queue>>,
    noticed: Notify,
}

impl OtherHistory {
    /// Turns of this queue's keys stop too.
    pub(super) fn concerns(&self, queue: Queue) {
        self.0.queues.lock().push(queue);
    }

    /// A cache has noticed it: from now on no turn begins.
    pub(super) fn notice(&self) {
        self.0.queues.lock().iter().for_each(Queue::hold);
        self.0.noticed.notify_one();
    }

    /// Waits until a cache has noticed it.
    pub(super) async fn noticed(&self) {
        self.0.noticed.notified().await;
    }

    /// What the caches have noticed so far is dealt with.
    pub(super) fn is_dealt_with(&self) {
        let _ = self.0.noticed.notified().now_or_never();
    }
}
