//! What the record of a namespace knows.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

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

impl fmt::Display for Version {
    /// One line for people who look for the reason of a failure: what has changed, and who has written last.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = ["/metadata/finalizers", "/metadata/ownerReferences", "/spec", "/status"];
        let changed: Vec<_> = parts.into_iter().filter(|part| self.changed(part)).collect();
        let writers = self.object.at("/metadata/managedFields").as_array();
        let last = writers
            .into_iter()
            .flatten()
            .max_by_key(|writer| writer["time"].as_str());
        let who = last.map_or("nobody", |writer| writer["manager"].as_str().unwrap_or_default());
        let (version, change) = (self.object.version(), self.change);
        write!(
            f,
            "{version} {change:?} {} by {who}, {}",
            changed.join(" "),
            self.object
        )
    }
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

    /// The Job of that name.
    pub fn job(&self, name: &str) -> Option<&Stored> {
        self.get(Kind::JOB, name)
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

    /// How many recorded writes are such ones.
    pub(crate) fn count_writes(&self, counts: impl Fn(&Version) -> bool) -> usize {
        self.history.iter().filter(|write| counts(write)).count()
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

    /// Makes `stored` all that there is of a kind. What has changed since counts as one write.
    pub(crate) fn take_up(&mut self, kind: Kind, stored: Vec<Value>) {
        let stored: Vec<_> = stored.into_iter().map(Stored::from).collect();
        let known: Vec<_> = self.all(kind).into_iter().cloned().collect();
        // A server that was restored has objects again that were gone.
        for object in &stored {
            self.gone.remove(object.uid());
        }
        for gone in known
            .iter()
            .filter(|object| !stored.iter().any(|other| other.uid() == object.uid()))
        {
            self.apply(kind, Change::Deleted, gone.json().clone());
        }
        for object in stored {
            let change = match known.iter().find(|other| other.uid() == object.uid()) {
                Some(same) if same.version() == object.version() => continue,
                Some(_) => Change::Modified,
                None => Change::Added,
            };
            self.apply(kind, change, object.json().clone());
        }
    }

    /// The write that was recorded last.
    pub fn newest(&self) -> Option<&Version> {
        self.history.last()
    }

    pub(crate) fn apply(&mut self, kind: Kind, change: Change, mut object: Value) {
        object["kind"] = kind.kind.into();
        self.record(kind, change, Stored::from(object));
    }

    pub(crate) fn record(&mut self, kind: Kind, change: Change, object: Stored) {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str, uid: &str, version: &str) -> Value {
        json!({"metadata": {"name": name, "uid": uid, "resourceVersion": version}})
    }

    #[test]
    fn after_an_outage_the_record_shows_what_is_stored_and_how_that_differs() {
        let mut state = State::default();
        for name in ["kept", "changed", "reborn", "gone"] {
            state.apply(Kind::POD, Change::Added, pod(name, name, "5"));
        }
        let before = state.history.len();
        let stored = vec![
            pod("kept", "kept", "5"),
            pod("changed", "changed", "4"),
            pod("reborn", "other", "7"),
            pod("new", "new", "6"),
        ];
        state.take_up(Kind::POD, stored);
        let written: Vec<_> = state.history[before..]
            .iter()
            .map(|write| (write.change, write.object.name()))
            .collect();
        let expected = [
            (Change::Deleted, "reborn"),
            (Change::Deleted, "gone"),
            (Change::Modified, "changed"),
            (Change::Added, "reborn"),
            (Change::Added, "new"),
        ];
        assert_eq!(written, expected);
        assert_eq!(state.pods().len(), 4);
        assert_eq!(state.get(Kind::POD, "changed").map(Stored::version), Some(4));
    }
}
