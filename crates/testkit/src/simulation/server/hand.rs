//! The direct hand of whoever is no controller: users, scheduler and kubelet, oracles. The same rules hold as over HTTP, but
//! nothing is refused by a scenario's script, and every form of request is welcome.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use workload_core::id::{Kind, ObjectKey};
use workload_core::plan::Address;
use workload_core::time::{Timestamp, to_api};

use super::body::DeleteOptions;
use super::delete::Deleted;
use super::evict::tell;
use super::shape::{Form, Part};
use super::status::Status;
use super::store::{Entry, Key};
use super::{ApiServer, update};
use crate::object::Stored;

/// What a write comes to: the object as it is stored.
type Written = Result<Stored, Status>;

fn stored(entry: &Arc<Entry>) -> Stored {
    entry.object.clone()
}

impl ApiServer {
    /// The object as it is stored now.
    pub fn get(&self, kind: Kind, namespace: &str, name: &str) -> Option<Stored> {
        let entry = self.store.at(kind, &Key::new(namespace, name))?;
        Some(entry.object.clone())
    }

    /// All objects of a kind, ordered by namespace and name.
    pub fn list(&self, kind: Kind) -> Vec<Stored> {
        self.store.all(kind).map(|(_, entry)| entry.object.clone()).collect()
    }

    /// All kinds that the server knows.
    pub fn kinds(&self) -> Vec<Kind> {
        self.kinds.all().iter().map(|resource| resource.kind).collect()
    }

    /// Finalizers that objects have: how many of a kind have which.
    pub fn finalizers(&self) -> BTreeMap<(&'static str, String), usize> {
        let mut found = BTreeMap::new();
        for kind in self.kinds() {
            let each = self.store.all(kind);
            let each = each.filter_map(|(_, entry)| entry.object.at("/metadata/finalizers").as_array());
            for finalizer in each.flatten().filter_map(Value::as_str) {
                *found.entry((kind.plural, finalizer.to_owned())).or_default() += 1;
            }
        }
        found
    }

    /// The version in which an object was last written, and what it was then, for every write of a kind after `version`:
    /// deletions too, with their last states.
    pub fn writes_after(&self, kind: Kind, version: u64) -> impl Iterator<Item = Write<'_>> {
        self.store.changes_after(kind, version).iter().map(|change| Write {
            version: change.version,
            at: change.at,
            before: change.before.as_ref().map(|before| &before.object),
            after: &change.after.object,
            deleted: change.deleted,
        })
    }

    /// Creates an object.
    pub fn create(&mut self, kind: Kind, namespace: &str, object: Value, now: Timestamp) -> Written {
        self.create_object(kind, namespace, object, now)
            .map(|entry| stored(&entry))
    }

    /// Changes an object by a JSON merge patch.
    pub fn merge(&mut self, at: &Address, part: Part, body: Value, now: Timestamp) -> Written {
        self.patch(at, part, Form::Merge, body, now)
    }

    /// Changes an object by a patch.
    pub fn patch(&mut self, at: &Address, part: Part, form: Form, body: Value, now: Timestamp) -> Written {
        self.patch_object(at, &update::Change { part, form, body }, now)
            .map(|entry| stored(&entry))
    }

    /// Deletes an object; returns its last state, terminating or gone.
    pub fn delete(&mut self, at: &Address, options: &DeleteOptions, now: Timestamp) -> Written {
        let deleted = self.delete_object(at, options, now)?;
        Ok(match deleted {
            Deleted::Shown(entry) | Deleted::Told(entry) => stored(&entry),
        })
    }

    /// Asks for the eviction of a pod.
    pub fn evict(&mut self, pod: &ObjectKey, options: &DeleteOptions, now: Timestamp) -> Result<(), Status> {
        self.evict_pod(&pod_at(pod), options, now)
    }

    /// Binds a pod to a node, as a scheduler does.
    pub fn bind(&mut self, pod: &ObjectKey, node: &str, now: Timestamp) -> Written {
        let at = pod_at(pod);
        let resource = self.kinds.of(Kind::POD);
        let entry = Arc::clone(self.stored(&at)?);
        let (name, binding) = (entry.object.name(), "pods/binding");
        if entry.object.is_terminating() {
            let why = format!("pod {name} is being deleted, cannot be assigned to a host");
            return Err(Status::conflict(&resource, binding, name, &why));
        }
        let bound_to = entry.object.text("/spec/nodeName");
        if !bound_to.is_empty() {
            let why = format!("pod {name} is already assigned to node {bound_to:?}");
            return Err(Status::conflict(&resource, binding, name, &why));
        }
        let mut object = entry.object.json().clone();
        object["spec"]["nodeName"] = node.into();
        let scheduled = json!({
            "type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": to_api(now),
        });
        tell(&mut object, scheduled);
        Ok(stored(&self.store.put(Kind::POD, &Key::of(pod), object, now)))
    }
}

/// One accepted write.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    /// The version that it made.
    pub version: u64,
    /// When that was.
    pub at: Timestamp,
    /// The object before it; none for a new one.
    pub before: Option<&'a Stored>,
    /// The object after it; its last state if it is gone.
    pub after: &'a Stored,
    /// True if it is gone.
    pub deleted: bool,
}

fn pod_at(pod: &ObjectKey) -> Address {
    Address {
        kind: Kind::POD,
        key: pod.clone(),
    }
}
