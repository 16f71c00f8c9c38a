//! The objects of one kind, as far as the cache has come.
//!
//! A store and its newest version change under one lock: who reads [`Store::seen`] and then an object finds it at least
//! that new. Reads never wait for the network; all results share the stored objects.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::RwLock;

use super::index::{Index, Shelf};
use super::{Delta, Progress};
use crate::id::{ObjectKey, ResourceVersion, Uid};
use crate::meta::Object;

/// The objects of one kind, indexed by controlling owner and by namespace. Results come in no particular order.
#[derive(Debug)]
pub struct Store<T> {
    shelves: RwLock<Shelves<T>>,
}

/// Where an object comes from, which decides what an older version than the stored one means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A list: it says what the server holds now, even if that is older (a server restored from a backup).
    List,
    /// A watch: its events come in order, so an older version is an echo and changes nothing.
    Watch,
}

/// Which object, and in which version: all that is needed of an object that is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its key.
    pub key: ObjectKey,
    /// Its uid.
    pub uid: Uid,
    /// The version of the event.
    pub version: ResourceVersion,
}

#[derive(Debug)]
struct Shelves<T> {
    objects: Shelf<T>,
    by_namespace: Index<Arc<str>, T>,
    by_controller: Index<Uid, T>,
    orphans: Index<Arc<str>, T>,
    seen: Option<ResourceVersion>,
}

impl<T: Object> Store<T> {
    /// The object under `key`.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<T>> {
        self.shelves.read().objects.get(key).cloned()
    }

    /// All objects whose controller has this uid, whatever their namespace.
    pub fn controlled_by(&self, owner: &Uid) -> Vec<Arc<T>> {
        self.shelves.read().by_controller.members(owner)
    }

    /// All objects of the namespace without a controller.
    pub fn orphans_in(&self, namespace: &str) -> Vec<Arc<T>> {
        self.shelves.read().orphans.members(namespace)
    }

    /// All objects of the namespace.
    pub fn in_namespace(&self, namespace: &str) -> Vec<Arc<T>> {
        self.shelves.read().by_namespace.members(namespace)
    }

    /// Every key.
    pub fn keys(&self) -> Vec<ObjectKey> {
        let shelves = self.shelves.read();
        shelves.objects.iter().map(|object| object.meta().key.clone()).collect()
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.shelves.read().objects.len()
    }

    /// True if there is no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes in an object and says what that changed: nothing for a version already stored; `Removed`, then `Applied` for
    /// another uid under the same key.
    pub fn apply(&self, object: T, source: Source) -> Vec<Delta<T>> {
        let mut shelves = self.shelves.write();
        shelves.reach(&object.meta().version, source);
        shelves.apply(Arc::new(object), source)
    }

    /// Takes out the object under this key, if it still is the one with this uid. An object that was replaced was already
    /// reported as `Removed` when its successor came.
    pub fn remove(&self, gone: &Identity, source: Source) -> Option<Delta<T>> {
        let mut shelves = self.shelves.write();
        shelves.reach(&gone.version, source);
        shelves.remove_if(&gone.key, |stored| *stored == gone.uid)
    }

    /// Takes note of an object that could not be decoded. An earlier copy of it stays as last known; a copy of another
    /// object under the same key is gone for certain and taken out.
    pub fn keep(&self, unreadable: &Identity, source: Source) -> Option<Delta<T>> {
        let mut shelves = self.shelves.write();
        shelves.reach(&unreadable.version, source);
        shelves.remove_if(&unreadable.key, |stored| *stored != unreadable.uid)
    }

    /// Ends a list: takes out every object whose key is not among those `present` on the server, and sets the newest
    /// version to that of the list (which may be lower than before, if the server was restored from a backup).
    pub fn finish_list(&self, present: &HashSet<ObjectKey>, version: ResourceVersion) -> Vec<Delta<T>> {
        let mut shelves = self.shelves.write();
        let mut missing: Vec<ObjectKey> = shelves
            .objects
            .iter()
            .map(|object| &object.meta().key)
            .filter(|key| !present.contains(*key))
            .cloned()
            .collect();
        missing.sort_unstable();
        shelves.seen = Some(version);
        missing.iter().filter_map(|key| shelves.remove(key)).collect()
    }

    /// Records that everything up to `version` has been processed. An older version changes nothing.
    pub fn advance(&self, version: &ResourceVersion) {
        self.shelves.write().reach(version, Source::Watch);
    }
}

impl<T: Object> Shelves<T> {
    fn apply(&mut self, new: Arc<T>, source: Source) -> Vec<Delta<T>> {
        let Some(old) = self.objects.get(&new.meta().key).cloned() else {
            self.put(&new);
            return vec![Delta::Applied { old: None, new }];
        };
        if old.meta().version == new.meta().version && old.meta().uid == new.meta().uid {
            return Vec::new();
        }
        if source == Source::Watch && new.meta().version.compare(&old.meta().version) == Some(Ordering::Less) {
            return Vec::new();
        }
        self.unlink(&old);
        self.put(&new);
        if old.meta().uid == new.meta().uid {
            vec![Delta::Applied { old: Some(old), new }]
        } else {
            vec![Delta::Removed { last: old }, Delta::Applied { old: None, new }]
        }
    }

    /// A watch's events come in order; those of a list do not, so a list counts only when it is complete.
    fn reach(&mut self, version: &ResourceVersion, source: Source) {
        let older = self.seen.as_ref().and_then(|seen| version.compare(seen)) == Some(Ordering::Less);
        if source == Source::Watch && !older {
            self.seen = Some(version.clone());
        }
    }

    fn remove_if(&mut self, key: &ObjectKey, applies: impl FnOnce(&Uid) -> bool) -> Option<Delta<T>> {
        self.objects.get(key).filter(|stored| applies(&stored.meta().uid))?;
        self.remove(key)
    }

    fn remove(&mut self, key: &ObjectKey) -> Option<Delta<T>> {
        let last = self.objects.take(key)?;
        self.unlink(&last);
        Some(Delta::Removed { last })
    }

    fn put(&mut self, object: &Arc<T>) {
        let meta = object.meta();
        let namespace = || Arc::clone(&meta.key.namespace);
        self.objects.put(Arc::clone(object));
        self.by_namespace.put(namespace(), Arc::clone(object));
        match meta.controller_uid() {
            Some(owner) => self.by_controller.put(owner.clone(), Arc::clone(object)),
            None => self.orphans.put(namespace(), Arc::clone(object)),
        }
    }

    /// Takes `object` out of every index, not out of `objects`.
    fn unlink(&mut self, object: &Arc<T>) {
        let meta = object.meta();
        self.by_namespace.take(&meta.key.namespace, &meta.key);
        match meta.controller_uid() {
            Some(owner) => self.by_controller.take(owner, &meta.key),
            None => self.orphans.take(&meta.key.namespace, &meta.key),
        }
    }
}

impl<T: Object> Default for Store<T> {
    fn default() -> Self {
        Self {
            shelves: RwLock::new(Shelves {
                objects: Shelf::default(),
                by_namespace: Index::default(),
                by_controller: Index::default(),
                orphans: Index::default(),
                seen: None,
            }),
        }
    }
}

impl<T: Object> Progress for Store<T> {
    fn seen(&self) -> Option<ResourceVersion> {
        self.shelves.read().seen.clone()
    }
}
