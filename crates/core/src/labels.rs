//! Labels and annotations: small sorted maps that many objects share.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::meta::ControllerRef;

/// An immutable map of strings, sorted by key. Cloning shares it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Labels(Arc<[(Arc<str>, Arc<str>)]>);

impl Labels {
    /// The value under `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        let at = self.0.binary_search_by(|(known, _)| (**known).cmp(key)).ok()?;
        self.0.get(at).map(|(_, value)| &**value)
    }

    /// True if `key` is present with this value.
    pub fn has(&self, key: &str, value: &str) -> bool {
        self.get(key) == Some(value)
    }

    /// All pairs, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (&**key, &**value))
    }

    /// True if there is no pair.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if every pair of `other` is also here.
    pub fn contains(&self, other: &Self) -> bool {
        other.iter().all(|(key, value)| self.has(key, value))
    }

    /// The same pairs with `key` set to `value`.
    #[must_use]
    pub fn with(&self, key: &str, value: &str) -> Self {
        self.iter()
            .filter(|(known, _)| *known != key)
            .chain([(key, value)])
            .collect()
    }

    /// The same pairs without `key`.
    #[must_use]
    pub fn without(&self, key: &str) -> Self {
        self.iter().filter(|(known, _)| *known != key).collect()
    }
}

impl<'a> FromIterator<(&'a str, &'a str)> for Labels {
    /// Of two pairs with one key the later stays.
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a str)>>(pairs: I) -> Self {
        let sorted: BTreeMap<&str, &str> = pairs.into_iter().collect();
        if sorted.is_empty() {
            // Needs no allocation, unlike an empty collection.
            return Self::default();
        }
        Self(
            sorted
                .into_iter()
                .map(|(key, value)| (key.into(), value.into()))
                .collect(),
        )
    }
}

impl Serialize for Labels {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in self.iter() {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// Pairs of texts, in an order of their own.
pub type Pairs = Arc<[(Arc<str>, Arc<str>)]>;

/// Gives equal values one shared allocation: the pods of one ReplicaSet carry one set of labels and one controller.
#[derive(Debug, Default)]
pub struct Interner {
    strings: Table<Arc<str>>,
    lists: Table<Arc<[Arc<str>]>>,
    pairs: Table<Pairs>,
    labels: Table<Labels>,
    controllers: Table<Arc<ControllerRef>>,
}

impl Interner {
    /// The shared copy of `text`.
    pub fn string(&self, text: &str) -> Arc<str> {
        self.strings.shared(text, || text.into())
    }

    /// The shared copy of the list of these texts.
    pub fn list<'a>(&self, texts: impl IntoIterator<Item = &'a str>) -> Arc<[Arc<str>]> {
        let fresh: Vec<Arc<str>> = texts.into_iter().map(|text| self.string(text)).collect();
        self.lists.shared(fresh.as_slice(), || fresh.as_slice().into())
    }

    /// The shared copy of the list of these pairs.
    pub fn pairs<'a>(&self, pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Pairs {
        let fresh = pairs
            .into_iter()
            .map(|(one, other)| (self.string(one), self.string(other)));
        let fresh: Vec<_> = fresh.collect();
        self.pairs.shared(fresh.as_slice(), || fresh.as_slice().into())
    }

    /// The shared copy of the label set with these pairs.
    pub fn labels<'a>(&self, pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Labels {
        let fresh: Labels = pairs.into_iter().collect();
        self.labels.shared(&fresh, || fresh.clone())
    }

    /// The shared copy of `reference`.
    pub fn controller(&self, reference: &ControllerRef) -> Arc<ControllerRef> {
        self.controllers.shared(reference, || Arc::new(reference.clone()))
    }
}

/// Handles of shared values.
#[derive(Debug)]
struct Table<H>(Mutex<HashSet<H>>);

impl<H> Default for Table<H> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

/// A handle that knows whether there are others of the same value.
trait Handle: Clone + Eq + Hash {
    fn is_the_only_one(&self) -> bool;
}

impl<T: Eq + Hash + ?Sized> Handle for Arc<T> {
    fn is_the_only_one(&self) -> bool {
        Self::strong_count(self) == 1
    }
}

impl Handle for Labels {
    fn is_the_only_one(&self) -> bool {
        self.0.is_the_only_one()
    }
}

impl<H: Handle> Table<H> {
    /// How many entries a table may reach before those that nobody else holds are dropped.
    const SWEEP_AT: usize = 4096;

    fn shared<V: Eq + Hash + ?Sized>(&self, value: &V, fresh: impl FnOnce() -> H) -> H
    where
        H: Borrow<V>,
    {
        let mut known = self.0.lock();
        if let Some(handle) = known.get(value) {
            return handle.clone();
        }
        if known.len() >= Self::SWEEP_AT && known.len().is_power_of_two() {
            known.retain(|handle| !handle.is_the_only_one());
        }
        let handle = fresh();
        known.insert(handle.clone());
        handle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_found_by_key_whatever_the_order_they_came_in() {
        let labels: Labels = [("b", "2"), ("a", "1"), ("b", "3")].into_iter().collect();
        assert_eq!(labels.get("a"), Some("1"));
        assert_eq!(labels.get("b"), Some("3"));
        assert_eq!(labels.get("c"), None);
        assert_eq!(
            labels.with("c", "4").without("a").iter().collect::<Vec<_>>(),
            [("b", "3"), ("c", "4")]
        );
    }

    #[test]
    fn equal_label_sets_share_one_allocation() {
        let interner = Interner::default();
        let one = interner.labels([("app", "web"), ("tier", "front")]);
        let two = interner.labels([("tier", "front"), ("app", "web")]);
        assert!(Arc::ptr_eq(&one.0, &two.0));
        assert!(Arc::ptr_eq(&interner.string("default"), &interner.string("default")));
        assert!(Arc::ptr_eq(
            &interner.pairs([("a", "b")]),
            &interner.pairs([("a", "b")])
        ));
        assert!(Arc::ptr_eq(&interner.list(["a", "b"]), &interner.list(["a", "b"])));
        assert!(!Arc::ptr_eq(&interner.list(["a", "b"]), &interner.list(["b", "a"])));
    }

    #[test]
    fn values_that_nobody_holds_are_dropped_in_time() {
        let interner = Interner::default();
        let held = interner.string("held");
        for number in 0..2 * Table::<Arc<str>>::SWEEP_AT {
            interner.string(&number.to_string());
        }
        assert!(interner.strings.0.lock().len() <= Table::<Arc<str>>::SWEEP_AT + 1);
        assert!(Arc::ptr_eq(&interner.string("held"), &held));
    }
}
