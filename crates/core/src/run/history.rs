//! A server that turns out to have another history than before, as after a restore from a backup.
//!
//! The caches notice it one after the other. A turn that saw one kind as it is and another as it was before the restore would
//! make or delete what it should not, so all turns stop with the first cache that notices, and go on when every cache has
//! listed anew and none has noticed anything meanwhile.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::queue::Queue;

/// Where caches say what they have noticed. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct OtherHistory(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    queues: Vec<Queue>,
    /// A cache has noticed it, and nothing was done about that yet.
    noticed: bool,
}

impl OtherHistory {
    /// Turns of this queue's keys stop too.
    pub(super) fn concerns(&self, queue: Queue) {
        self.0.state.lock().queues.push(queue);
    }

    /// A cache has noticed it: from now on no turn begins.
    pub(super) fn notice(&self) {
        let mut state = self.0.state.lock();
        state.noticed = true;
        state.queues.iter().for_each(Queue::hold);
        drop(state);
        self.0.changed.notify_waiters();
    }

    /// Waits until a cache has noticed it.
    pub(super) async fn noticed(&self) {
        loop {
            let changed = self.0.changed.notified();
            if self.0.state.lock().noticed {
                return;
            }
            changed.await;
        }
    }

    /// What the caches have noticed so far is dealt with by the lists that they begin after this.
    pub(super) fn is_dealt_with(&self) {
        self.0.state.lock().noticed = false;
    }

    /// Does this unless a cache has noticed something that is not dealt with, and says whether it did. No cache notices
    /// anything meanwhile.
    pub(super) fn unless_noticed(&self, go_on: impl FnOnce()) -> bool {
        let state = self.0.state.lock();
        if !state.noticed {
            go_on();
        }
        !state.noticed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    #[test]
    fn what_is_noticed_again_while_the_caches_list_is_not_lost() {
        let history = OtherHistory::default();
        assert_eq!(history.noticed().now_or_never(), None);
        history.notice();
        assert_eq!(history.noticed().now_or_never(), Some(()));
        history.is_dealt_with();
        assert_eq!(history.noticed().now_or_never(), None);
        history.notice();
        assert!(!history.unless_noticed(|| panic!("the caches may show two histories")));
        assert_eq!(history.noticed().now_or_never(), Some(()));
        history.is_dealt_with();
        let mut goes_on = false;
        assert!(history.unless_noticed(|| goes_on = true));
        assert!(goes_on);
    }
}
