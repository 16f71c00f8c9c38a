//! The objects of one kind, as far as the cache has come.
//!
//! A store and its newest version change under one lock: who reads [`Store::seen`] and then an object finds it at least
//! that new. Reads never wait for the network; all results share the stored objects.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::RwLock;

use super::index::{Index, Shelf};
use super::unread::Unread;
use super::{Delta, Progress};
use crate::id::{ObjectKey, ResourceVersion, Uid};
use crate::meta::Object;
use crate::mistake::{Mistake, made};

/// The objects of one kind, indexed by controlling owner and by namespace. Results come in no particular order.
#[derive(Debug)]
pub struct Store<T> {
    shelves: RwLock<Shelves<T>>,
}

/// Where an object comes from, which decides what an old version means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A list: it says what the server holds now, even if that is older (a server restored from a backup).
    List,
    /// A watch: its events come in order, so one that is older than what was already processed is an echo and changes
    /// nothing.
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
    /// The uid of its controller, if it names one.
    pub controller: Option<Uid>,
}

#[derive(Debug)]
struct Shelves<T> {
    objects: Shelf<T>,
    by_namespace: Index<Arc<str>, T>,
    by_controller: Index<Uid, T>,
    orphans: Index<Arc<str>, T>,
    unread: Unread,
    seen: Option<ResourceVersion>,
}

impl<T: Object> Store<T> {
    /// The object under `key`.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<T>> {
        self.shelves.read().objects.get(key).cloned()
    }

    /// All objects whose controller has this uid, whatever their namespace, in the order of their keys.
    pub fn controlled_by(&self, owner: &Uid) -> Vec<Arc<T>> {
        self.shelves.read().by_controller.members(owner)
    }

    /// True if such an object has a controller with this uid.
    pub fn controls_any(&self, owner: &Uid, such: impl FnMut(&T) -> bool) -> bool {
        self.shelves.read().by_controller.any(owner, such)
    }

    /// How many objects with this controller exist of which no state is known, because none could be decoded. Who counts an
    /// owner's objects does not see them; to replace them would be to make another with every look.
    pub fn unread_of(&self, owner: &Uid) -> usize {
        self.shelves.read().unread.of(owner)
    }

    /// All objects of the namespace without a controller, in the order of their keys.
    pub fn orphans_in(&self, namespace: &str) -> Vec<Arc<T>> {
        self.shelves.read().orphans.members(namespace)
    }

    /// All objects of the namespace in the order of their keys.
    pub fn in_namespace(&self, namespace: &str) -> Vec<Arc<T>> {
        self.shelves.read().by_namespace.members(namespace)
    }

    /// Every key, in order.
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
        if source == Source::Watch && shelves.is_past(&object.meta().version) {
            return Vec::new();
        }
        shelves.reach(&object.meta().version, source);
        shelves.unread.take(&object.meta().key);
        shelves.apply(Arc::new(object))
    }

    /// Takes out the object under this key, if it still is the one with this uid. An object that was replaced was already
    /// reported as `Removed` when its successor came.
    pub fn remove(&self, gone: &Identity, source: Source) -> Option<Delta<T>> {
        let mut shelves = self.shelves.write();
        shelves.reach(&gone.version, source);
        shelves.unread.take(&gone.key);
        shelves.remove_if(&gone.key, |stored| *stored == gone.uid)
    }

    /// Takes note of an object that could not be decoded. An earlier copy of it stays as last known; a copy of another
    /// object under the same key is gone for certain and taken out. Without a copy it counts for [`Store::unread_of`].
    pub fn keep(&self, unreadable: &Identity, source: Source) -> Option<Delta<T>> {
        let mut shelves = self.shelves.write();
        shelves.reach(&unreadable.version, source);
        let replaced = shelves.remove_if(&unreadable.key, |stored| *stored != unreadable.uid);
        if shelves.objects.get(&unreadable.key).is_none() {
            shelves.unread.put(&unreadable.key, unreadable.controller.as_ref());
        }
        replaced
    }

    /// Ends a list: takes out every object whose key is not among those `present` on the server, and sets the newest
    /// version to that of the list (which may be lower than before, if the server was restored from a backup).
    pub fn finish_list(&self, present: &HashSet<ObjectKey>, version: ResourceVersion) -> Vec<Delta<T>> {
        let mut shelves = self.shelves.write();
        let missing: Vec<ObjectKey> = shelves
            .objects
            .iter()
            .map(|object| &object.meta().key)
            .filter(|key| !present.contains(*key) && !made(Mistake::DeletionsMissedByLists))
            .cloned()
            .collect();
        shelves.unread.retain(present);
        shelves.seen = Some(version);
        missing.iter().filter_map(|key| shelves.remove(key)).collect()
    }

    /// Records that everything up to `version` has been processed. An older version changes nothing.
    pub fn advance(&self, version: &ResourceVersion) {
        self.shelves.write().reach(version, Source::Watch);
    }
}

impl<T: Object> Shelves<T> {
    fn apply(&mut self, new: Arc<T>) -> Vec<Delta<T>> {
        let Some(old) = self.objects.get(&new.meta().key).cloned() else {
            self.put(&new);
            return vec![Delta::Applied { old: None, new }];
        };
        if old.meta().version == new.meta().version && old.meta().uid == new.meta().uid {
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
        if source == Source::Watch && !self.is_past(version) {
            self.seen = Some(version.clone());
        }
    }

    /// True for a version older than the newest one processed.
    fn is_past(&self, version: &ResourceVersion) -> bool {
        self.seen.as_ref().and_then(|seen| version.compare(seen)) == Some(Ordering::Less)
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
                unread: Unread::default(),
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::cache::sample::{Thing, key, thing};

    fn owned(name: &str, version: u64, owner: Option<&str>) -> Value {
        let mut thing = thing(name, name, version);
        if let Some(uid) = owner {
            let reference = json!({"apiVersion": "v1", "kind": "Owner", "name": "o", "uid": uid, "controller": true});
            thing["metadata"]["ownerReferences"] = json!([reference]);
        }
        thing
    }

    fn apply(store: &Store<Thing>, object: &Value, source: Source) -> Vec<String> {
        store.apply(Thing::from_json(object), source).iter().map(text).collect()
    }

    fn text(delta: &Delta<Thing>) -> String {
        match delta {
            Delta::Applied { old: None, new } => format!("+{}", new.text()),
            Delta::Applied { old: Some(old), new } => format!("{}->{}", old.text(), new.text()),
            Delta::Removed { last } => format!("-{}", last.text()),
        }
    }

    fn names(mut found: Vec<Arc<Thing>>) -> Vec<String> {
        found.sort_by(|a, b| a.meta().key.cmp(&b.meta().key));
        found.iter().map(|thing| thing.text()).collect()
    }

    fn seen(store: &Store<Thing>) -> Option<String> {
        store.seen().map(|version| version.to_string())
    }

    fn identity(name: &str, uid: &str, version: u64) -> Identity {
        Identity {
            key: key(name),
            uid: Uid::new(uid),
            version: ResourceVersion::new(version.to_string()),
            controller: Some(Uid::new("o1")),
        }
    }

    // proves: deployment/C-6
    #[test]
    fn a_version_that_is_already_stored_changes_nothing() {
        let store = Store::default();
        assert_eq!(apply(&store, &thing("a", "u1", 5), Source::Watch), ["+a/u1@5"]);
        assert_eq!(apply(&store, &thing("a", "u1", 5), Source::List), [""; 0]);
        assert_eq!(apply(&store, &thing("a", "u1", 6), Source::Watch), ["a/u1@5->a/u1@6"]);
    }

    #[test]
    fn another_uid_under_the_same_key_is_another_object() {
        let store = Store::default();
        apply(&store, &thing("a", "u1", 5), Source::List);
        assert_eq!(
            apply(&store, &thing("a", "u2", 7), Source::List),
            ["-a/u1@5", "+a/u2@7"]
        );
        assert!(store.remove(&identity("a", "u1", 8), Source::Watch).is_none());
        assert_eq!(names(store.in_namespace("shop")), ["a/u2@7"]);
    }

    #[test]
    fn a_watch_event_from_before_what_was_processed_is_an_echo() {
        let store = Store::default();
        apply(&store, &thing("a", "u1", 9), Source::Watch);
        assert_eq!(apply(&store, &thing("a", "u1", 8), Source::Watch), [""; 0]);
        assert_eq!(apply(&store, &thing("a", "u1", 8), Source::List), ["a/u1@9->a/u1@8"]);
        store.finish_list(&HashSet::from([key("a")]), ResourceVersion::new("3"));
        let later = apply(&store, &thing("a", "u1", 4), Source::Watch);
        assert_eq!(
            later,
            ["a/u1@8->a/u1@4"],
            "after a list with a lower version, older is what precedes that list"
        );
    }

    #[test]
    fn indexes_follow_the_controller() {
        let store = Store::default();
        apply(&store, &owned("a", 1, Some("o1")), Source::List);
        apply(&store, &owned("b", 2, Some("o1")), Source::List);
        apply(&store, &owned("c", 3, None), Source::List);
        let owned_by = |owner: &str| names(store.controlled_by(&Uid::new(owner)));
        assert_eq!(owned_by("o1"), ["a/a@1", "b/b@2"]);
        assert_eq!(names(store.orphans_in("shop")), ["c/c@3"]);

        apply(&store, &owned("a", 4, Some("o2")), Source::Watch);
        apply(&store, &owned("b", 5, None), Source::Watch);
        store.remove(&identity("c", "c", 6), Source::Watch).unwrap();
        assert_eq!(owned_by("o1"), [""; 0]);
        assert_eq!(owned_by("o2"), ["a/a@4"]);
        assert_eq!(names(store.orphans_in("shop")), ["b/b@5"]);
        assert_eq!(names(store.in_namespace("shop")), ["a/a@4", "b/b@5"]);
        assert_eq!(store.orphans_in("other").len(), 0);
        assert_eq!(
            store.shelves.read().by_controller.len(),
            1,
            "an owner without children takes no room"
        );
    }

    // proves: deployment/C-32
    #[test]
    fn events_bookmarks_and_whole_lists_move_the_newest_version() {
        let store = Store::default();
        apply(&store, &thing("a", "u1", 5), Source::List);
        assert_eq!(seen(&store), None, "a list counts when it is complete");
        store.finish_list(&HashSet::from([key("a")]), ResourceVersion::new("7"));
        assert_eq!(seen(&store).as_deref(), Some("7"));
        apply(&store, &thing("a", "u1", 8), Source::Watch);
        assert_eq!(seen(&store).as_deref(), Some("8"));
        store.remove(&identity("a", "u1", 9), Source::Watch).unwrap();
        assert_eq!(seen(&store).as_deref(), Some("9"));
        store.keep(&identity("b", "u2", 10), Source::Watch);
        assert_eq!(seen(&store).as_deref(), Some("10"));
        store.advance(&ResourceVersion::new("12"));
        store.advance(&ResourceVersion::new("11"));
        assert_eq!(seen(&store).as_deref(), Some("12"));
        store.finish_list(&HashSet::new(), ResourceVersion::new("3"));
        assert_eq!(
            seen(&store).as_deref(),
            Some("3"),
            "a list is right even if it is older"
        );
    }

    #[test]
    fn what_a_list_does_not_contain_is_reported_as_removed() {
        let store = Store::default();
        for name in ["a", "b", "c"] {
            apply(&store, &thing(name, name, 1), Source::List);
        }
        let deltas = store.finish_list(&HashSet::from([key("b")]), ResourceVersion::new("9"));
        assert_eq!(deltas.iter().map(text).collect::<Vec<_>>(), ["-a/a@1", "-c/c@1"]);
        assert_eq!(store.keys(), [key("b")]);
    }

    #[test]
    fn an_unreadable_object_keeps_its_last_known_copy_but_no_copy_of_another() {
        let store = Store::default();
        apply(&store, &thing("a", "u1", 5), Source::Watch);
        assert!(store.keep(&identity("a", "u1", 6), Source::Watch).is_none());
        assert_eq!(names(store.in_namespace("shop")), ["a/u1@5"]);
        let delta = store.keep(&identity("a", "u2", 7), Source::Watch).unwrap();
        assert_eq!(text(&delta), "-a/u1@5");
        assert!(store.is_empty());
    }

    #[test]
    fn an_unreadable_object_without_a_copy_is_counted_for_its_controller_until_it_is_read_or_gone() {
        let store = Store::default();
        let unread = |store: &Store<Thing>| store.unread_of(&Uid::new("o1"));
        apply(&store, &thing("known", "u0", 4), Source::Watch);
        store.keep(&identity("known", "u0", 5), Source::Watch);
        assert_eq!(unread(&store), 0, "its last known state counts");
        for name in ["read", "gone", "lost"] {
            store.keep(&identity(name, name, 6), Source::Watch);
            store.keep(&identity(name, name, 7), Source::Watch);
        }
        assert_eq!((unread(&store), store.unread_of(&Uid::new("o2"))), (3, 0));
        apply(&store, &thing("read", "read", 8), Source::Watch);
        assert_eq!(unread(&store), 2);
        assert!(store.remove(&identity("gone", "gone", 9), Source::Watch).is_none());
        assert_eq!(unread(&store), 1);
        store.finish_list(&HashSet::from([key("known"), key("read")]), ResourceVersion::new("10"));
        assert_eq!(unread(&store), 0);
    }
}
