//! What the record of a namespace knows.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;
use workload_core::id::Kind;

use crate::api::EVENT;
use crate::object::Stored;

/// How an object came to a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It was created.
    Added,
    /// It was written.
    Modified,
    /// It went; the version is its last state.
    Deleted,
}

/// One write that the server accepted.
#[derive(Clone, Debug)]
pub struct Version {
    /// What happened.
    pub change: Change,
    /// The object after it.
    pub object: Stored,
    /// The object before it; none for a new one.
    pub before: Option<Stored>,
}

impl Version {
    /// True if this write gave the value at `pointer` another content.
    pub fn changed(&self, pointer: &str) -> bool {
        self.before
            .as_ref()
            .is_none_or(|before| before.at(pointer) != self.object.at(pointer))
    }
}

/// What the record knows: the namespace as it is now, and how it came to that.
#[derive(Default)]
pub struct State {
    present: BTreeMap<(&'static str, String), (usize, Stored)>,
    history: Vec<Version>,
    /// Uids of deleted objects.
    pub(crate) gone: HashSet<String>,
    born: usize,
    pub(crate) broken: Option<String>,
}

impl State {
    /// The object of that name, if it exists.
    pub fn get(&self, kind: Kind, name: &str) -> Option<&Stored> {
        self.present
            .get(&(kind.kind, name.to_owned()))
            .map(|(_, object)| object)
    }

    /// All objects of a kind, in the order in which they were created.
    pub fn all(&self, kind: Kind) -> Vec<&Stored> {
        let mut found: Vec<_> = self
            .present
            .iter()
            .filter(|((of, _), _)| *of == kind.kind)
            .map(|(_, entry)| entry)
            .collect();
        found.sort_by_key(|(born, _)| *born);
        found.into_iter().map(|(_, object)| object).collect()
    }

    /// The Deployment of that name.
    pub fn deployment(&self, name: &str) -> Option<&Stored> {
        self.get(Kind::DEPLOYMENT, name)
    }

    /// All ReplicaSets, oldest first.
    pub fn replica_sets(&self) -> Vec<&Stored> {
        self.all(Kind::REPLICA_SET)
    }

    /// Sizes of all ReplicaSets, oldest first.
    pub fn sizes(&self) -> Vec<i64> {
        self.replica_sets().iter().map(|set| set.size()).collect()
    }

    /// All pods, oldest first, whatever their state.
    pub fn pods(&self) -> Vec<&Stored> {
        self.all(Kind::POD)
    }

    /// Pods that are neither finished nor about to be deleted, oldest first.
    pub fn active_pods(&self) -> Vec<&Stored> {
        self.pods().into_iter().filter(|pod| pod.is_active()).collect()
    }

    /// All pods that `owner` controls, oldest first.
    pub fn pods_of(&self, owner: &Stored) -> Vec<&Stored> {
        self.pods()
            .into_iter()
            .filter(|pod| pod.is_controlled_by(owner))
            .collect()
    }

    /// Events about the object of that name with that reason.
    pub fn events(&self, about: &str, reason: &str) -> Vec<&Stored> {
        let fits = |event: &&Stored| event.text("/involvedObject/name") == about && event.text("/reason") == reason;
        self.all(EVENT).into_iter().filter(fits).collect()
    }

    /// Every recorded write of a kind, in order.
    pub fn writes(&self, kind: Kind) -> impl Iterator<Item = &Version> {
        self.history
            .iter()
            .filter(move |version| version.object.kind() == kind.kind)
    }

    /// Every recorded write, in the order in which the server accepted them.
    pub fn in_order(&self) -> Vec<&Version> {
        let mut all: Vec<_> = self.history.iter().collect();
        all.sort_by_key(|version| version.object.version());
        all
    }

    /// Every size that a ReplicaSet was given, in order: which ReplicaSet, counted from 1 by birth, and the size.
    pub fn sizes_given(&self) -> Vec<(usize, i64)> {
        let mut born: Vec<&str> = Vec::new();
        let mut given = Vec::new();
        for write in self
            .writes(Kind::REPLICA_SET)
            .filter(|write| write.change != Change::Deleted)
        {
            let uid = write.object.uid();
            let at = born.iter().position(|known| *known == uid).unwrap_or_else(|| {
                born.push(uid);
                born.len() - 1
            });
            if write.changed("/spec/replicas") {
                given.push((at + 1, write.object.size()));
            }
        }
        given
    }

    /// The version up to which the record of `object` reaches, also after it is gone.
    pub(crate) fn reached(&self, object: &Stored) -> bool {
        let same = |version: &&Version| version.object.kind() == object.kind() && version.object.uid() == object.uid();
        self.history
            .iter()
            .rev()
            .find(same)
            .is_some_and(|version| version.object.version() >= object.version())
    }

    pub(crate) fn apply(&mut self, kind: Kind, change: Change, mut object: Value) {
        object["kind"] = kind.kind.into();
        let object = Stored::from(object);
        let key = (kind.kind, object.name().to_owned());
        let (born, before) = match self.present.remove(&key) {
            Some((born, before)) => (born, Some(before)),
            None => (self.born, None),
        };
        self.born += 1;
        if change == Change::Deleted {
            self.gone.insert(object.uid().to_owned());
        } else {
            self.present.insert(key, (born, object.clone()));
        }
        self.history.push(Version { change, object, before });
    }
}
