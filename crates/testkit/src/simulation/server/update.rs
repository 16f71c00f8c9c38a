//! The rules of changes.

use std::sync::Arc;

use serde_json::{Map, Value};
use workload_core::plan::Address;
use workload_core::time::Timestamp;

use super::create::is_empty;
use super::kinds::{Generation, Resource, StatusWrites};
use super::merge::{merge, strategic};
use super::shape::{Form, Part};
use super::status::Status;
use super::store::{Entry, Key};
use super::{ApiServer, defaults, validate};

/// A change that somebody asks for.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) part: Part,
    pub(super) form: Form,
    pub(super) body: Value,
}

impl ApiServer {
    /// The object as it is stored.
    pub(super) fn stored(&self, address: &Address) -> Result<&Arc<Entry>, Status> {
        let missing = || Status::not_found(&self.kinds.of(address.kind), &address.key.name);
        self.store.get(address).ok_or_else(missing)
    }

    pub(super) fn patch_object(
        &mut self,
        address: &Address,
        change: &Change,
        now: Timestamp,
    ) -> Result<Arc<Entry>, Status> {
        let resource = self.kinds.of(address.kind);
        let before = Arc::clone(self.stored(address)?);
        let mut object = before.object.json().clone();
        match change.form {
            Form::Merge => merge(&mut object, &change.body),
            Form::Strategic if resource.is_built_in() => strategic(&mut object, &change.body),
            Form::Strategic => return Err(Status::unsupported_patch()),
        }
        self.update(&resource, address, change.part, object, now)
    }

    /// Stores `object` in place of the one at `address`, as far as this part of it may be written.
    pub(super) fn update(
        &mut self,
        resource: &Resource,
        address: &Address,
        part: Part,
        mut object: Value,
        now: Timestamp,
    ) -> Result<Arc<Entry>, Status> {
        let before = Arc::clone(self.stored(address)?);
        let (stored, name) = (before.object.json(), &*address.key.name);
        if object["metadata"]["resourceVersion"] != stored["metadata"]["resourceVersion"] {
            return Err(Status::modified(resource, name));
        }
        keep(resource, part, stored, &mut object);
        defaults::complete(resource.kind, &mut object);
        defaults::tidy(resource, &mut object);
        let mut faults = validate::metadata(stored, &object);
        faults.extend(match part {
            Part::Main => validate::updated(resource.kind, stored, &object),
            Part::Status => validate::status(resource.kind, stored, &object),
        });
        if !faults.is_empty() {
            return Err(Status::invalid(resource, name, &faults));
        }
        self.admitted(resource, name)?;
        if part == Part::Main && grows(resource, stored, &object) {
            object["metadata"]["generation"] = (before.object.generation() + 1).into();
        }
        let key = Key::of(&address.key);
        if is_let_go(stored, &object) {
            self.store.remove(resource.kind, &key, now);
            return Ok(Arc::new(Entry::new(object, before.version)));
        }
        if object == *stored {
            return Ok(before);
        }
        Ok(self.store.put(resource.kind, &key, object, now))
    }
}

/// Takes back what a write of this part must not touch.
fn keep(resource: &Resource, part: Part, stored: &Value, object: &mut Value) {
    for field in [
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
    ] {
        copy(&stored["metadata"], &mut object["metadata"], field);
    }
    for field in ["apiVersion", "kind"] {
        copy(stored, object, field);
    }
    match (part, resource.status) {
        (_, StatusWrites::Absent) => {}
        (Part::Main, _) => copy(stored, object, "status"),
        (Part::Status, writes) => {
            take_back_all_but(&["status", "metadata"], stored, object);
            if object.get("status").is_none() {
                object["status"] = Value::Null;
            }
            if writes == StatusWrites::Nothing {
                copy(stored, object, "metadata");
            }
            match writes {
                StatusWrites::MetadataButLabels => copy(&stored["metadata"], &mut object["metadata"], "labels"),
                StatusWrites::MetadataButOwners => {
                    copy(&stored["metadata"], &mut object["metadata"], "ownerReferences");
                }
                StatusWrites::Absent | StatusWrites::Metadata | StatusWrites::Nothing => {}
            }
        }
    }
}

fn take_back_all_but(kept: &[&str], stored: &Value, object: &mut Value) {
    let (Some(before), Some(fields)) = (stored.as_object(), object.as_object_mut()) else {
        return;
    };
    fields.retain(|field, _| kept.contains(&field.as_str()) || before.contains_key(field));
    for (field, value) in before.iter().filter(|(field, _)| !kept.contains(&field.as_str())) {
        if fields.get(field) != Some(value) {
            fields.insert(field.clone(), value.clone());
        }
    }
}

fn copy(from: &Value, to: &mut Value, field: &str) {
    match from.get(field) {
        Some(value) => to[field] = value.clone(),
        None => {
            if let Some(fields) = to.as_object_mut() {
                fields.remove(field);
            }
        }
    }
}

/// Whether a write of the main part makes the generation grow.
fn grows(resource: &Resource, stored: &Value, object: &Value) -> bool {
    fn of<'v>(value: &'v Value, pointer: &str) -> Option<&'v Value> {
        value.pointer(pointer).filter(|value| !is_empty(value))
    }
    let differs = |pointer: &str| of(stored, pointer) != of(object, pointer);
    match resource.generation {
        Generation::Absent => false,
        Generation::Spec => differs("/spec"),
        Generation::SpecAndAnnotations => differs("/spec") || differs("/metadata/annotations"),
        Generation::Content => {
            let content = |value: &Value| -> Map<String, Value> {
                let fields = value.as_object().into_iter().flatten();
                let counts = |field: &str| !matches!(field, "metadata" | "status");
                fields
                    .filter(|(field, _)| counts(field))
                    .map(|(field, value)| (field.clone(), value.clone()))
                    .collect()
            };
            content(stored) != content(object)
        }
    }
}

/// True if the last finalizer of an object that waited for nothing else is taken away.
fn is_let_go(stored: &Value, object: &Value) -> bool {
    let metadata = &stored["metadata"];
    let ends = !metadata["deletionTimestamp"].is_null() && metadata["deletionGracePeriodSeconds"] == 0;
    ends && is_empty(&object["metadata"]["finalizers"])
}
