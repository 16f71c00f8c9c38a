//! The rules of creates.

use std::sync::Arc;

use serde_json::{Map, Value};
use workload_core::id::Kind;
use workload_core::time::{Timestamp, to_api};

use super::kinds::{Generation, Origin, Resource, StatusWrites};
use super::status::Status;
use super::store::{Entry, Key};
use super::{ApiServer, defaults, job, validate};

impl ApiServer {
    pub(super) fn create_object(
        &mut self,
        kind: Kind,
        namespace: &str,
        mut object: Value,
        now: Timestamp,
    ) -> Result<Arc<Entry>, Status> {
        let resource = self.kinds.of(kind);
        self.begin(&resource, namespace, &mut object, now)?;
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        self.namespace_allows(&resource, namespace, &name)?;
        defaults::complete(kind, &mut object);
        if kind == Kind::JOB {
            job::select(&mut object);
            defaults::complete(kind, &mut object);
        }
        defaults::begin_status(kind, &mut object);
        let faults = validate::created(kind, &object);
        if !faults.is_empty() {
            return Err(Status::invalid(&resource, &name, &faults));
        }
        self.admitted(&resource, &name)?;
        self.quotas_allow(&resource, namespace, &name)?;
        let key = Key::new(namespace, &name);
        if let Some(entry) = self.store.at(kind, &key) {
            return Err(Status::already_exists(&resource, &name, entry.object.is_terminating()));
        }
        Ok(self.store.put(kind, &key, object, now))
    }

    /// Metadata that the server gives, whatever the writer says.
    fn begin(
        &mut self,
        resource: &Resource,
        namespace: &str,
        object: &mut Value,
        now: Timestamp,
    ) -> Result<(), Status> {
        let kind = resource.kind;
        object["apiVersion"] = kind.api_version().into();
        object["kind"] = kind.kind.into();
        if resource.status != StatusWrites::Absent
            && let Some(fields) = object.as_object_mut()
        {
            fields.remove("status");
        }
        let metadata = &mut object["metadata"];
        if metadata.is_null() {
            *metadata = Map::new().into();
        }
        if metadata["namespace"].as_str().is_some_and(|given| given != namespace) {
            return Err(Status::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        let given = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
        let (mut name, base) = (given("name"), given("generateName"));
        if name.is_empty() && !base.is_empty() {
            name = self.names.generated(&base);
        }
        let server_given = [
            ("name", Value::from(name)),
            ("namespace", namespace.into()),
            ("uid", self.names.uid().into()),
            ("creationTimestamp", to_api(now).into()),
        ];
        for (field, value) in server_given {
            metadata[field] = value;
        }
        let fields = metadata.as_object_mut().expect("metadata is an object");
        fields.retain(|field, value| field != "managedFields" && !is_empty(value));
        for field in [
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "selfLink",
            "generation",
        ] {
            fields.remove(field);
        }
        if resource.generation != Generation::Absent {
            fields.insert("generation".to_owned(), 1.into());
        }
        Ok(())
    }
}

/// What is not stored where it is optional.
pub(super) fn is_empty(value: &Value) -> bool {
    value.is_null()
        || value.as_str().is_some_and(str::is_empty)
        || value.as_array().is_some_and(Vec::is_empty)
        || value.as_object().is_some_and(Map::is_empty)
}

impl Resource {
    /// Whether the server's own types decide what is stored.
    pub(super) fn is_built_in(&self) -> bool {
        self.origin == Origin::BuiltIn
    }

    /// What an answer without the object says about it.
    pub(super) fn details(&self, name: &str, uid: &str) -> Value {
        let mut details = Map::new();
        let words = [
            ("name", name),
            ("group", self.kind.group),
            ("kind", self.kind.plural),
            ("uid", uid),
        ];
        for (field, word) in words.into_iter().filter(|(_, word)| !word.is_empty()) {
            details.insert(field.to_owned(), word.into());
        }
        details.into()
    }
}
