//! The garbage collector of kube-controller-manager, one write at a time.

use std::sync::Arc;

use serde_json::{Value, json};
use workload_core::id::Kind;
use workload_core::plan::Address;
use workload_core::time::Timestamp;

use super::ApiServer;
use super::body::{DeleteOptions, Propagation};
use super::delete::{FOREGROUND, ORPHAN};
use super::shape::{Form, Part};
use super::store::Key;
use crate::object::Stored;

/// One write of the garbage collector.
#[derive(Clone, Debug)]
enum Step {
    /// An object none of whose owners is left, or is to be.
    Delete(Address, Stored, Propagation),
    /// An object keeps only these owners.
    Keep(Address, Stored, Vec<Value>),
    /// The collector has done what it was asked to do first.
    Finish(Address, Stored, &'static str),
}

/// How an object's owners are.
#[derive(Debug, Default)]
struct Owners {
    solid: Vec<Value>,
    waiting: usize,
    dangling: usize,
}

impl ApiServer {
    /// Does the next thing that the garbage collector has to do, and says what that was; `None` if there is nothing.
    pub fn collect(&mut self, now: Timestamp) -> Option<String> {
        if self.nothing_to_collect_since(self.collected) {
            self.collected = self.store.version();
            return None;
        }
        let Some(step) = self.next_step() else {
            self.collected = self.store.version();
            return None;
        };
        let (what, done) = match step {
            Step::Delete(at, object, propagation) => {
                let options = DeleteOptions {
                    uid: Some(object.uid().to_owned()),
                    ..DeleteOptions::with(propagation)
                };
                (
                    format!("delete {object:?}"),
                    self.delete_object(&at, &options, now).map(drop),
                )
            }
            Step::Keep(at, object, owners) => {
                let owners = if owners.is_empty() { Value::Null } else { owners.into() };
                let body = json!({"metadata": {"uid": object.uid(), "ownerReferences": owners}});
                let kept = self.patch(&at, Part::Main, Form::Merge, body, now);
                (format!("take owners off {object:?}"), kept.map(drop))
            }
            Step::Finish(at, object, finalizer) => {
                let mut left = object
                    .at("/metadata/finalizers")
                    .as_array()
                    .cloned()
                    .unwrap_or_default();
                left.retain(|known| known != finalizer);
                let left = if left.is_empty() { Value::Null } else { left.into() };
                let body = json!({"metadata": {"uid": object.uid(), "finalizers": left}});
                let finished = self.patch(&at, Part::Main, Form::Merge, body, now);
                (format!("take {finalizer} off {object:?}"), finished.map(drop))
            }
        };
        done.unwrap_or_else(|status| panic!("the garbage collector cannot {what}: {status:?}"));
        Some(what)
    }

    /// True if what has happened after `version`, at which there was nothing to do, gives the collector nothing to do either:
    /// nobody is gone, nobody waits for it, and whoever is new or changed has its owners.
    fn nothing_to_collect_since(&self, version: u64) -> bool {
        let kinds = self.kinds.all().iter().map(|resource| resource.kind);
        let changes = |kind| {
            self.store
                .changes_after(kind, version)
                .iter()
                .map(move |change| (kind, change))
        };
        kinds.flat_map(changes).all(|(kind, change)| {
            let object = &change.after.object;
            let waits = object.is_terminating() && (has_finalizer(object, ORPHAN) || has_finalizer(object, FOREGROUND));
            !change.deleted && !waits && self.owed(&address(kind, &change.key), object).is_none()
        })
    }

    fn next_step(&self) -> Option<Step> {
        let kinds = self.kinds.all().iter().map(|resource| resource.kind);
        let objects = kinds.flat_map(|kind| self.store.all(kind).map(move |(key, entry)| (kind, key, entry)));
        for (kind, key, entry) in objects {
            let at = address(kind, key);
            let object = &entry.object;
            let step = self.asked_for(&at, object).or_else(|| self.owed(&at, object));
            if step.is_some() {
                return step;
            }
        }
        None
    }

    /// What an object that waits for the collector is to be given.
    fn asked_for(&self, at: &Address, object: &Stored) -> Option<Step> {
        if !object.is_terminating() {
            return None;
        }
        if has_finalizer(object, ORPHAN) {
            let mut dependents = self.dependents(object);
            let Some((place, dependent)) = dependents.next() else {
                return Some(Step::Finish(at.clone(), object.clone(), ORPHAN));
            };
            let mut left = owners(dependent).to_vec();
            left.retain(|owner| owner["uid"] != object.uid());
            return Some(Step::Keep(place, dependent.clone(), left));
        }
        let blocks = |dependent: &Stored| {
            let is_it = |owner: &Value| owner["uid"] == object.uid() && owner["blockOwnerDeletion"] == true;
            owners(dependent).iter().any(is_it)
        };
        let is_done = has_finalizer(object, FOREGROUND) && !self.dependents(object).any(|(_, other)| blocks(other));
        is_done.then(|| Step::Finish(at.clone(), object.clone(), FOREGROUND))
    }

    /// What an object comes to whose owners are gone, or are waiting for it to go.
    fn owed(&self, at: &Address, object: &Stored) -> Option<Step> {
        let owners = self.state_of_owners(at, object);
        // One that is on its way out is left alone, unless it was to take its dependents along.
        if object.is_terminating() || (owners.waiting == 0 && owners.dangling == 0) {
            return None;
        }
        if !owners.solid.is_empty() {
            return Some(Step::Keep(at.clone(), object.clone(), owners.solid));
        }
        let foreground = owners.waiting > 0 && self.dependents(object).next().is_some();
        let propagation = if has_finalizer(object, ORPHAN) {
            Propagation::Orphan
        } else if foreground || has_finalizer(object, FOREGROUND) {
            Propagation::Foreground
        } else {
            Propagation::Background
        };
        Some(Step::Delete(at.clone(), object.clone(), propagation))
    }

    fn state_of_owners(&self, at: &Address, object: &Stored) -> Owners {
        let mut state = Owners::default();
        for owner in owners(object) {
            let text = |field: &str| owner[field].as_str().unwrap_or_default();
            let kind = self.kinds.named(text("apiVersion"), text("kind"));
            let Some(kind) = kind else {
                // Of a kind that is unknown here: nobody can say that it is gone.
                state.solid.push(owner.clone());
                continue;
            };
            let found = self.store.at(kind, &Key::new(&at.key.namespace, text("name")));
            match found.filter(|entry| entry.object.uid() == text("uid")) {
                None => state.dangling += 1,
                Some(entry) if entry.object.is_terminating() && has_finalizer(&entry.object, FOREGROUND) => {
                    state.waiting += 1;
                }
                Some(_) => state.solid.push(owner.clone()),
            }
        }
        state
    }

    /// All objects that name this one as an owner.
    fn dependents<'a>(&'a self, owner: &'a Stored) -> impl Iterator<Item = (Address, &'a Stored)> {
        let kinds = self.kinds.all().iter().map(|resource| resource.kind);
        let all = kinds.flat_map(|kind| self.store.all(kind).map(move |(key, entry)| (kind, key, entry)));
        all.filter(|(_, _, entry)| {
            owners(&entry.object)
                .iter()
                .any(|reference| reference["uid"] == owner.uid())
        })
        .map(|(kind, key, entry)| (address(kind, key), &Arc::as_ref(entry).object))
    }
}

fn owners(object: &Stored) -> &[Value] {
    let owners = object.at("/metadata/ownerReferences").as_array();
    owners.map_or(&[], Vec::as_slice)
}

fn has_finalizer(object: &Stored, name: &str) -> bool {
    let finalizers = object.at("/metadata/finalizers").as_array();
    finalizers.is_some_and(|finalizers| finalizers.iter().any(|finalizer| finalizer == name))
}

fn address(kind: Kind, key: &Key) -> Address {
    Address {
        kind,
        key: workload_core::id::ObjectKey::new(key.namespace(), key.name()),
    }
}
