//! Caches: what the API server holds of a kind, kept current by a list/watch machine.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::id::{ObjectKey, ResourceVersion, Uid};
use crate::meta::Object;

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

/// The objects of one kind, indexed by controlling owner and by namespace.
#[derive(Debug)]
pub struct Store<T> {
    objects: PhantomData<T>,
}

#[allow(clippy::unused_self, reason = "signatures ahead of the implementation")]
impl<T: Object> Store<T> {
    /// The object under `key`.
    pub fn get(&self, _key: &ObjectKey) -> Option<Arc<T>> {
        None
    }

    /// All objects whose controller has this uid.
    pub fn controlled_by(&self, _owner: &Uid) -> Vec<Arc<T>> {
        Vec::new()
    }

    /// All objects of the namespace without a controller.
    pub fn orphans_in(&self, _namespace: &str) -> Vec<Arc<T>> {
        Vec::new()
    }

    /// All objects of the namespace.
    pub fn in_namespace(&self, _namespace: &str) -> Vec<Arc<T>> {
        Vec::new()
    }
}

/// How far a cache has come, whatever it holds.
pub trait Progress: Send + Sync {
    /// The newest version that the cache has processed (list, event or bookmark); `None` before the first list.
    fn seen(&self) -> Option<ResourceVersion>;
}

impl<T: Object> Progress for Store<T> {
    fn seen(&self) -> Option<ResourceVersion> {
        None
    }
}
