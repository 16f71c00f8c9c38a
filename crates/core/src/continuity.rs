//! Whether what the caches show is what the server has.
//!
//! A server that was restored from a backup has another history than before. A cache learns that when it hears the server
//! again, one cache after the other; a turn that saw one kind as it is and another as it was before the restore would make or
//! delete what it should not. So nothing begins and nothing is written
//!
//! - while a cache whose watch failed has not heard yet whether the history is still the one that it shows, and
//! - from the first cache that notices another history until every cache has listed anew and none has noticed anything
//!   meanwhile.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::id::Kind;
use crate::queue::Queue;

/// Where caches say what they have noticed, and where it is asked before a write. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Continuity(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    queues: Vec<Queue>,
    /// Kinds whose caches do not know it.
    doubted: BTreeSet<&'static str>,
    /// A cache has noticed another history, and nothing was done about that yet.
    noticed: bool,
    /// Turns begin unless something above speaks against it.
    working: bool,
}

impl State {
    fn is_certain(&self) -> bool {
        !self.noticed && self.doubted.is_empty()
    }
}

impl Continuity {
    /// Turns of this queue's keys stop too.
    pub(crate) fn concerns(&self, queue: Queue) {
        self.0.state.lock().queues.push(queue);
    }

    /// True if nothing speaks against a write.
    pub(crate) fn is_certain(&self) -> bool {
        self.0.state.lock().is_certain()
    }

    /// The watch of this kind failed: until the server is heard again no turn begins.
    pub(crate) fn doubt(&self, kind: Kind) {
        let mut state = self.0.state.lock();
        state.doubted.insert(kind.kind);
        state.queues.iter().for_each(Queue::hold);
    }

    /// The cache of this kind shows the server's history again, or has noticed another before this.
    pub(crate) fn trust(&self, kind: Kind) {
        let mut state = self.0.state.lock();
        if state.doubted.remove(kind.kind) && state.is_certain() {
            if state.working {
                state.queues.iter().for_each(Queue::open);
            }
            drop(state);
            self.0.changed.notify_waiters();
        }
    }

    /// A cache has noticed another history: from now on no turn begins.
    pub(crate) fn notice(&self) {
        let mut state = self.0.state.lock();
        state.noticed = true;
        state.working = false;
        state.queues.iter().for_each(Queue::hold);
        drop(state);
        self.0.changed.notify_waiters();
    }

    /// Waits until a cache has noticed another history.
    pub(crate) async fn noticed(&self) {
        self.until(|state| state.noticed).await;
    }

    /// Waits until nothing speaks against turns.
    pub(crate) async fn certain(&self) {
        self.until(State::is_certain).await;
    }

    /// What the caches have noticed so far is dealt with by the lists that they begin after this.
    pub(crate) fn is_dealt_with(&self) {
        self.0.state.lock().noticed = false;
    }

    /// Does this, after which turns begin, unless something speaks against it; says whether it did. No cache notices anything
    /// meanwhile.
    pub(crate) fn go_on_if_certain(&self, go_on: impl FnOnce()) -> bool {
        let mut state = self.0.state.lock();
        let certain = state.is_certain();
        if certain {
            state.working = true;
            go_on();
        }
        certain
    }

    async fn until(&self, holds: impl Fn(&State) -> bool) {
        loop {
            let changed = self.0.changed.notified();
            if holds(&self.0.state.lock()) {
                return;
            }
            changed.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    #[test]
    fn what_is_noticed_again_while_the_caches_list_is_not_lost() {
        let continuity = Continuity::default();
        assert_eq!(continuity.noticed().now_or_never(), None);
        continuity.notice();
        assert_eq!(continuity.noticed().now_or_never(), Some(()));
        continuity.is_dealt_with();
        assert_eq!(continuity.noticed().now_or_never(), None);
        continuity.notice();
        assert!(!continuity.go_on_if_certain(|| panic!("the caches may show two histories")));
        assert_eq!(continuity.noticed().now_or_never(), Some(()));
        continuity.is_dealt_with();
        let mut goes_on = false;
        assert!(continuity.go_on_if_certain(|| goes_on = true));
        assert!(goes_on);
    }

    #[test]
    fn nothing_is_certain_until_every_cache_has_heard_the_server_again() {
        let continuity = Continuity::default();
        assert!(continuity.is_certain());
        continuity.doubt(Kind::POD);
        continuity.doubt(Kind::POD);
        continuity.doubt(Kind::DEPLOYMENT);
        continuity.trust(Kind::POD);
        assert!(!continuity.is_certain());
        assert_eq!(continuity.certain().now_or_never(), None);
        assert!(!continuity.go_on_if_certain(|| panic!("a cache may show another history")));
        continuity.trust(Kind::DEPLOYMENT);
        assert_eq!(continuity.certain().now_or_never(), Some(()));
        continuity.doubt(Kind::POD);
        continuity.notice();
        continuity.trust(Kind::POD);
        assert!(!continuity.is_certain(), "what was noticed stays");
    }
}
