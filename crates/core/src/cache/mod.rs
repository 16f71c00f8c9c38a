//! Caches: what the API server holds of a kind, kept current by a list/watch machine.
//!
//! - [`Store`] holds the objects with their indexes; controllers read it and never wait.
//! - [`Cache`] is the task that fills a store: for every event it first updates the store, then calls the subscribers
//!   (which settle expectations and wake keys). A subscriber that reads the store finds the event in it.

mod index;
#[cfg(test)]
mod sample;
mod store;
mod unread;
mod watch;

use std::sync::Arc;

use crate::id::ResourceVersion;

pub use store::{Identity, Source, Store};
pub use watch::{Cache, CacheAids, CacheMetrics, Feed, Notice, Scope, Subscriber};

/// What a watch event did to a cache.
#[derive(Debug)]
pub enum Delta<T> {
    /// An object is new or has changed.
    Applied {
        /// The copy that was there before, if any (of the same uid: a replaced object is `Removed` first).
        old: Option<Arc<T>>,
        /// The copy that is there now.
        new: Arc<T>,
    },
    /// An object is gone; `last` is the last state known.
    Removed {
        /// The last state known.
        last: Arc<T>,
    },
}

/// How far a cache has come, whatever it holds.
pub trait Progress: Send + Sync {
    /// The newest version that the cache has processed (list, event or bookmark); `None` before the first list.
    fn seen(&self) -> Option<ResourceVersion>;
}
