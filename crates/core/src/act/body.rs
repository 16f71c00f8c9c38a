//! Bodies of requests (pure): what a planned write looks like on the wire.

use bytes::Bytes;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};

use crate::id::{Kind, ResourceVersion, Uid};
use crate::mistake::{Mistake, made};
use crate::outcome::{Failure, FailureClass};
use crate::owner::OwnerReference;
use crate::plan::{Create, DeleteGuard, NewName, NewObject};

/// The body of a create under this name. A random name is sent together with its `generateName`, as if the server had completed
/// it.
pub(super) fn create(create: &Create, name: &str) -> Result<Bytes, Failure> {
    let base = match &create.name {
        NewName::Exact(_) => None,
        NewName::Random(base) => Some(&**base),
    };
    let metadata = NewMetadata {
        namespace: &create.namespace,
        name,
        base,
        object: &create.object,
    };
    let kind = create.kind;
    to_bytes(&Created { kind, metadata })
}

struct Created<'a> {
    kind: Kind,
    metadata: NewMetadata<'a>,
}

impl Serialize for Created<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::Error as _;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("apiVersion", &self.kind.api_version())?;
        map.serialize_entry("kind", self.kind.kind)?;
        map.serialize_entry("metadata", &self.metadata)?;
        for (field, json) in &self.metadata.object.fields {
            map.serialize_entry(field, &json.to_raw().map_err(S::Error::custom)?)?;
        }
        map.end()
    }
}

struct NewMetadata<'a> {
    namespace: &'a str,
    name: &'a str,
    base: Option<&'a str>,
    object: &'a NewObject,
}

impl Serialize for NewMetadata<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("namespace", self.namespace)?;
        map.serialize_entry("name", self.name)?;
        if let Some(base) = self.base {
            map.serialize_entry("generateName", base)?;
        }
        if !self.object.labels.is_empty() {
            map.serialize_entry("labels", &self.object.labels)?;
        }
        if !self.object.annotations.is_empty() {
            map.serialize_entry("annotations", &self.object.annotations)?;
        }
        if !self.object.finalizers.is_empty() {
            map.serialize_entry("finalizers", &self.object.finalizers)?;
        }
        if let Some(owner) = &self.object.owner {
            map.serialize_entry("ownerReferences", &[owner])?;
        }
        map.end()
    }
}

/// Strategic merge patch that makes `owner` the controller of the object with this uid (deployment C-13) and adds a finalizer
/// (job J-22).
pub(super) fn adopt(child: &Uid, owner: &OwnerReference, finalizer: Option<&str>) -> Value {
    let mut metadata = json!({"uid": child.as_str(), "ownerReferences": [owner]});
    if let (Some(finalizer), Some(fields)) = (finalizer, metadata.as_object_mut()) {
        fields.insert("finalizers".to_owned(), json!([finalizer]));
    }
    json!({ "metadata": metadata })
}

/// Strategic merge patch that takes `owner` off the object with this uid (deployment C-14), and a finalizer (job J-21).
pub(super) fn release(child: &Uid, owner: &Uid, finalizer: Option<&str>) -> Value {
    let mut metadata = json!({
        "uid": child.as_str(),
        "ownerReferences": [{"$patch": "delete", "uid": owner.as_str()}],
    });
    if let (Some(finalizer), Some(fields)) = (finalizer, metadata.as_object_mut()) {
        fields.insert("$deleteFromPrimitiveList/finalizers".to_owned(), json!([finalizer]));
    }
    json!({ "metadata": metadata })
}

/// `body` with the uid, and the version if there is one, as preconditions in its metadata (deployment A-8).
pub(super) fn guarded(body: Value, uid: &Uid, version: Option<&ResourceVersion>) -> Value {
    let mut body = match body {
        Value::Object(fields) => fields,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    };
    let metadata = body.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(metadata) = metadata {
        metadata.insert("uid".to_owned(), uid.as_str().into());
        if let Some(version) = version {
            metadata.insert("resourceVersion".to_owned(), version.as_str().into());
        }
    }
    Value::Object(body)
}

/// Options of a delete: default grace and propagation, and what must still hold.
pub(super) fn delete(uid: &Uid, version: &ResourceVersion, guard: DeleteGuard) -> Value {
    let preconditions = match guard {
        _ if made(Mistake::DeletesUnguarded) => json!({}),
        DeleteGuard::Uid => json!({"uid": uid.as_str()}),
        DeleteGuard::UidAndVersion => json!({"uid": uid.as_str(), "resourceVersion": version.as_str()}),
    };
    json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions})
}

/// The same for an object that stays until what it owns is gone.
pub(super) fn delete_foreground(uid: &Uid, version: &ResourceVersion, guard: DeleteGuard) -> Value {
    let mut body = delete(uid, version, guard);
    if let Value::Object(options) = &mut body {
        options.insert("propagationPolicy".to_owned(), "Foreground".into());
    }
    body
}

/// An eviction of the pod of this name, if it still is the one that was seen.
pub(super) fn eviction(name: &str, uid: &Uid, version: &ResourceVersion, guard: DeleteGuard) -> Value {
    json!({
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name},
        "deleteOptions": delete(uid, version, guard),
    })
}

/// `body` of a status write without the fields that the server is known not to store; `None` if nothing is left to write.
pub(super) fn without_unstored(mut body: Value, unstored: impl Fn(&str) -> bool) -> Option<Value> {
    let fields = body.as_object_mut()?;
    if let Some(Value::Object(status)) = fields.get_mut("status") {
        status.retain(|field, _| !unstored(field));
        if status.is_empty() {
            fields.remove("status");
        }
    }
    (!fields.is_empty()).then_some(body)
}

pub(super) fn to_bytes(body: &impl Serialize) -> Result<Bytes, Failure> {
    serde_json::to_vec(body)
        .map(Bytes::from)
        .map_err(|error| Failure::new(FailureClass::Rejected, format!("failed to encode the request: {error}")))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::template::Json;

    fn uid() -> Uid {
        Uid::new("u1")
    }

    #[test]
    fn a_created_pod_carries_its_name_its_owner_and_the_spec_as_it_is() {
        let object = NewObject {
            labels: [("app", "web")].into_iter().collect(),
            owner: Some(OwnerReference::controller(Kind::REPLICA_SET, "web-1", &uid())),
            fields: vec![("spec", Json::of(&json!({"x-future": 1})))],
            ..NewObject::default()
        };
        let pod = Create {
            kind: Kind::POD,
            namespace: "shop".into(),
            name: NewName::Random("web-1-".into()),
            object: Arc::new(object),
            note: None,
        };
        let body = create(&pod, "web-1-abcde").unwrap();
        let expected = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "namespace": "shop", "name": "web-1-abcde", "generateName": "web-1-", "labels": {"app": "web"},
                "ownerReferences": [{
                    "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "u1",
                    "controller": true, "blockOwnerDeletion": true,
                }],
            },
            "spec": {"x-future": 1},
        });
        assert_eq!(serde_json::from_slice::<Value>(&body).unwrap(), expected);
    }

    // proves: deployment/C-13, deployment/C-14, deployment/W-2, deployment/W-8
    #[test]
    fn claims_carry_the_childs_uid() {
        let owner = OwnerReference::controller(Kind::DEPLOYMENT, "web", &Uid::new("o1"));
        assert_eq!(
            adopt(&uid(), &owner, None),
            json!({"metadata": {"uid": "u1", "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "o1",
                "controller": true, "blockOwnerDeletion": true}]}})
        );
        assert_eq!(
            release(&uid(), &Uid::new("o1"), None),
            json!({"metadata": {"uid": "u1", "ownerReferences": [{"$patch": "delete", "uid": "o1"}]}})
        );
    }

    // proves: deployment/W-4, deployment/W-6, deployment/W-11
    #[test]
    fn preconditions_join_what_the_patch_says_about_metadata() {
        let patch = guarded(
            json!({"metadata": {"annotations": {"a": "1"}}}),
            &uid(),
            Some(&ResourceVersion::new("7")),
        );
        assert_eq!(
            patch,
            json!({"metadata": {"annotations": {"a": "1"}, "uid": "u1", "resourceVersion": "7"}})
        );
        assert_eq!(
            guarded(json!({"spec": {}}), &uid(), None),
            json!({"metadata": {"uid": "u1"}, "spec": {}})
        );
    }

    #[test]
    fn deletes_are_guarded_by_uid_and_on_demand_by_version() {
        let version = ResourceVersion::new("7");
        assert_eq!(
            delete(&uid(), &version, DeleteGuard::Uid)["preconditions"],
            json!({"uid": "u1"})
        );
        assert_eq!(
            delete(&uid(), &version, DeleteGuard::UidAndVersion)["preconditions"],
            json!({"uid": "u1", "resourceVersion": "7"})
        );
    }

    // proves: job/TTL-5
    #[test]
    fn an_object_can_be_deleted_after_what_it_owns() {
        let version = ResourceVersion::new("7");
        let options = delete_foreground(&uid(), &version, DeleteGuard::Uid);
        assert_eq!(
            options,
            json!({
                "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Foreground", "preconditions": {"uid": "u1"},
            })
        );
    }

    #[test]
    fn a_field_the_server_does_not_store_is_not_written_again() {
        let lacks = |field: &str| field == "terminatingReplicas";
        assert_eq!(
            without_unstored(json!({"status": {"terminatingReplicas": 0}}), lacks),
            None
        );
        assert_eq!(
            without_unstored(json!({"status": {"terminatingReplicas": 0, "replicas": 1}}), lacks),
            Some(json!({"status": {"replicas": 1}}))
        );
        let annotations = json!({"metadata": {"annotations": {"a": "1"}}});
        assert_eq!(without_unstored(annotations.clone(), lacks), Some(annotations));
    }
}
