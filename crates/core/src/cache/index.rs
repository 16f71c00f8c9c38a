//! Sets of shared objects, found by key or by something that many of them have in common.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::sync::Arc;

use crate::id::ObjectKey;
use crate::meta::Object;

/// A set of shared objects with at most one per key, in the order of their keys. It costs about a dozen bytes per member:
/// the keys are those that the objects carry themselves.
#[derive(Debug)]
pub(super) struct Shelf<T>(BTreeSet<Entry<T>>);

impl<T: Object> Shelf<T> {
    /// The member under `key`.
    pub(super) fn get(&self, key: &ObjectKey) -> Option<&Arc<T>> {
        self.0.get(key).map(|entry| &entry.0)
    }

    /// Puts `object` in, in place of the one with the same key, which is returned.
    pub(super) fn put(&mut self, object: Arc<T>) -> Option<Arc<T>> {
        self.0.replace(Entry(object)).map(|entry| entry.0)
    }

    /// Takes the member under `key` out.
    pub(super) fn take(&mut self, key: &ObjectKey) -> Option<Arc<T>> {
        self.0.take(key).map(|entry| entry.0)
    }

    /// All members in the order of their keys.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.0.iter().map(|entry| &entry.0)
    }

    /// How many members there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Self(BTreeSet::new())
    }
}

/// Objects grouped by something they have in common.
#[derive(Debug)]
pub(super) struct Index<G, T>(HashMap<G, Shelf<T>>);

impl<G: Eq + Hash, T: Object> Index<G, T> {
    /// Puts `object` into `group`, in place of the one with the same key.
    pub(super) fn put(&mut self, group: G, object: Arc<T>) {
        self.0.entry(group).or_default().put(object);
    }

    /// Takes the object under `key` out of `group`; an empty group takes no room.
    pub(super) fn take<Q>(&mut self, group: &Q, key: &ObjectKey)
    where
        G: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        if let Some(shelf) = self.0.get_mut(group) {
            shelf.take(key);
            if shelf.len() == 0 {
                self.0.remove(group);
            }
        }
    }

    /// True if `group` has such an object.
    pub(super) fn any<Q>(&self, group: &Q, mut such: impl FnMut(&T) -> bool) -> bool
    where
        G: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let mut members = self.0.get(group).into_iter().flat_map(Shelf::iter);
        members.any(|member| such(member))
    }

    /// All objects of `group` in the order of their keys.
    pub(super) fn members<Q>(&self, group: &Q) -> Vec<Arc<T>>
    where
        G: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.0
            .get(group)
            .map(|shelf| shelf.iter().cloned().collect())
            .unwrap_or_default()
    }

    /// How many groups have a member.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

impl<G, T> Default for Index<G, T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

/// A shared object that stands for its key in a set.
#[derive(Debug)]
struct Entry<T>(Arc<T>);

impl<T: Object> Entry<T> {
    fn key(&self) -> &ObjectKey {
        &self.0.meta().key
    }
}

impl<T: Object> Borrow<ObjectKey> for Entry<T> {
    fn borrow(&self) -> &ObjectKey {
        self.key()
    }
}

impl<T: Object> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T: Object> Eq for Entry<T> {}

impl<T: Object> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Object> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(other.key())
    }
}
