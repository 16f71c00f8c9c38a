//! Every version of every object.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde_json::Value;
use workload_core::id::{Kind, ObjectKey};
use workload_core::plan::Address;
use workload_core::time::Timestamp;

use super::kinds::{Origin, Resource};
use crate::object::Stored;

/// One version of one object, and its JSON once somebody has read it.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) object: Stored,
    pub(super) version: u64,
    /// All fields but `kind` and `apiVersion`, each behind a comma.
    fields: OnceLock<Bytes>,
}

impl Entry {
    pub(super) fn new(object: Value, version: u64) -> Self {
        Self {
            object: object.into(),
            version,
            fields: OnceLock::new(),
        }
    }

    /// The object as an answer has it.
    pub(super) fn json(&self, kind: Kind) -> Bytes {
        let mut json = Vec::new();
        self.write(kind, &mut json);
        json.into()
    }

    pub(super) fn write(&self, kind: Kind, to: &mut Vec<u8>) {
        let head = format!(r#"{{"kind":"{}","apiVersion":"{}""#, kind.kind, kind.api_version());
        to.extend(head.as_bytes());
        to.extend(self.fields());
        to.push(b'}');
    }

    /// The object as it stands in a list: those of built-in kinds do not say what they are.
    pub(super) fn write_item(&self, resource: &Resource, to: &mut Vec<u8>) {
        if resource.origin == Origin::Custom {
            return self.write(resource.kind, to);
        }
        to.push(b'{');
        to.extend(self.fields().get(1..).unwrap_or_default());
        to.push(b'}');
    }

    fn fields(&self) -> &Bytes {
        self.fields.get_or_init(|| {
            let mut json = Vec::with_capacity(1024);
            for (field, value) in self.object.json().as_object().into_iter().flatten() {
                if !matches!(field.as_str(), "kind" | "apiVersion") {
                    json.extend(b",\"");
                    json.extend(field.as_bytes());
                    json.extend(b"\":");
                    serde_json::to_writer(&mut json, value).expect("JSON");
                }
            }
            json.into()
        })
    }
}

/// One accepted write.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) version: u64,
    pub(super) at: Timestamp,
    pub(super) key: Key,
    /// The object before it; none if it was created.
    pub(super) before: Option<Arc<Entry>>,
    /// The object after it. A deleted one is in its last state, with the version of its deletion.
    pub(super) after: Arc<Entry>,
    pub(super) deleted: bool,
}

/// `namespace/name`: the order in which the server lists objects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key(Arc<str>);

impl Key {
    pub(super) fn new(namespace: &str, name: &str) -> Self {
        Self(format!("{namespace}/{name}").into())
    }

    pub(super) fn of(key: &ObjectKey) -> Self {
        Self::new(&key.namespace, &key.name)
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn namespace(&self) -> &str {
        self.0.split_once('/').map_or("", |(namespace, _)| namespace)
    }

    pub(super) fn name(&self) -> &str {
        self.0.split_once('/').map_or("", |(_, name)| name)
    }
}

#[derive(Debug, Default)]
struct Table {
    present: BTreeMap<Key, Arc<Entry>>,
    changes: Vec<Change>,
}

/// All objects, now and at every version that is not forgotten.
#[derive(Debug, Default)]
pub(super) struct Store {
    version: u64,
    forgotten: u64,
    tables: BTreeMap<Kind, Table>,
    places: BTreeMap<String, Address>,
}

impl Store {
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// The oldest version from which changes are known.
    pub(super) fn forgotten(&self) -> u64 {
        self.forgotten
    }

    pub(super) fn compact(&mut self, version: u64) {
        self.forgotten = self.forgotten.max(version.min(self.version));
    }

    pub(super) fn get(&self, address: &Address) -> Option<&Arc<Entry>> {
        self.at(address.kind, &Key::of(&address.key))
    }

    pub(super) fn at(&self, kind: Kind, key: &Key) -> Option<&Arc<Entry>> {
        self.tables.get(&kind)?.present.get(key)
    }

    /// Where the object with this uid is.
    pub(super) fn place_of(&self, uid: &str) -> Option<&Address> {
        self.places.get(uid)
    }

    /// All objects of a kind in the order of their keys.
    pub(super) fn all(&self, kind: Kind) -> impl Iterator<Item = (&Key, &Arc<Entry>)> {
        self.tables.get(&kind).into_iter().flat_map(|table| &table.present)
    }

    /// All objects of a kind as they were at `version`.
    pub(super) fn all_at(&self, kind: Kind, version: u64) -> BTreeMap<Key, Arc<Entry>> {
        let mut all: BTreeMap<_, _> = self
            .all(kind)
            .map(|(key, entry)| (key.clone(), Arc::clone(entry)))
            .collect();
        for change in self.changes_after(kind, version).iter().rev() {
            match &change.before {
                Some(before) => all.insert(change.key.clone(), Arc::clone(before)),
                None => all.remove(&change.key),
            };
        }
        all
    }

    /// What happened to a kind after `version`, in order.
    pub(super) fn changes_after(&self, kind: Kind, version: u64) -> &[Change] {
        let Some(table) = self.tables.get(&kind) else {
            return &[];
        };
        let from = table.changes.partition_point(|change| change.version <= version);
        table.changes.get(from..).unwrap_or_default()
    }

    /// Stores an object under a new version.
    pub(super) fn put(&mut self, kind: Kind, key: &Key, mut object: Value, at: Timestamp) -> Arc<Entry> {
        self.version += 1;
        let version = self.version;
        object["metadata"]["resourceVersion"] = version.to_string().into();
        let entry = Arc::new(Entry::new(object, version));
        let address = Address {
            kind,
            key: ObjectKey::new(key.namespace(), key.name()),
        };
        self.places.insert(entry.object.uid().to_owned(), address);
        let table = self.tables.entry(kind).or_default();
        let before = table.present.insert(key.clone(), Arc::clone(&entry));
        table.changes.push(Change {
            version,
            at,
            key: key.clone(),
            before,
            after: Arc::clone(&entry),
            deleted: false,
        });
        entry
    }

    /// Removes an object; returns its last state, with the version of the removal.
    pub(super) fn remove(&mut self, kind: Kind, key: &Key, at: Timestamp) -> Option<Arc<Entry>> {
        let table = self.tables.get_mut(&kind)?;
        let before = table.present.remove(key)?;
        self.version += 1;
        let version = self.version;
        let mut last = before.object.json().clone();
        last["metadata"]["resourceVersion"] = version.to_string().into();
        self.places.remove(before.object.uid());
        let after = Arc::new(Entry::new(last, version));
        table.changes.push(Change {
            version,
            at,
            key: key.clone(),
            before: Some(before),
            after: Arc::clone(&after),
            deleted: true,
        });
        Some(after)
    }
}
