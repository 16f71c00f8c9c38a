//! Objects as JSON, made by small builders.
//!
//! There is one way from a builder to a test: its JSON, which is sent to a server ([`Manifest::json`]) or decoded as a cache
//! decodes it ([`Manifest::decode`]).
//!
//! ```
//! use testkit::builders::{Manifest as _, Templated as _, deployment};
//!
//! let web = deployment("web").replicas(10).image("a").rolling(3, "25%").json();
//! assert_eq!(web["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"], "25%");
//! ```

mod apps;
mod batch;
mod core;

pub use self::apps::{Deployment, ReplicaSet, Templated, deployment, replica_set};
pub use self::batch::{Job, job};
pub use self::core::{Node, Pod, node, pod};

use serde_json::{Map, Value, json};
use workload_core::labels::Interner;
use workload_core::meta::Object;
use workload_core::time::{Timestamp, to_api};

/// A pod template that sets every field which a server without alpha features stores, as far as fields do not exclude each
/// other. Its RuntimeClass `every-field`, with an overhead of 10m CPU, must exist before pods are made of it.
pub fn every_field() -> Value {
    serde_json::from_str(include_str!("every_field.json")).expect("JSON")
}

/// What all builders have in common: metadata, and fields without a method of their own.
pub trait Manifest: Sized {
    /// The object so far.
    fn value(&mut self) -> &mut Value;

    /// The finished object.
    fn json(self) -> Value;

    /// The finished object as a cache decodes it. What only a server sets, but every stored object has, is filled in.
    fn decode<T: Object>(self) -> T {
        let mut json = self.json();
        let name = json["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let defaults = [
            ("namespace", "default".to_owned()),
            ("uid", format!("uid-of-{name}")),
            ("resourceVersion", "1".to_owned()),
        ];
        for (field, value) in defaults {
            let slot = &mut json["metadata"][field];
            if slot.is_null() {
                *slot = value.into();
            }
        }
        let bytes = serde_json::to_vec(&json).expect("JSON");
        T::decode(&bytes, &Interner::default()).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Sets the value at a JSON pointer; objects on the way are made.
    #[must_use]
    fn set(mut self, pointer: &str, value: impl Into<Value>) -> Self {
        *slot(self.value(), pointer) = value.into();
        self
    }

    /// A label of the object itself.
    #[must_use]
    fn label(mut self, key: &str, value: &str) -> Self {
        slot(self.value(), "/metadata/labels")[key] = value.into();
        self
    }

    /// An annotation.
    #[must_use]
    fn annotation(mut self, key: &str, value: &str) -> Self {
        slot(self.value(), "/metadata/annotations")[key] = value.into();
        self
    }

    /// An opt-in, such as `deployment.hold-at`.
    #[must_use]
    fn opt_in(self, name: &str, value: &str) -> Self {
        self.annotation(&format!("{}{name}", workload_core::opt_in::PREFIX), value)
    }

    /// The namespace, for objects that are decoded; a server takes it from the request.
    #[must_use]
    fn namespace(self, namespace: &str) -> Self {
        self.set("/metadata/namespace", namespace)
    }

    /// The uid, for objects that are decoded.
    #[must_use]
    fn uid(self, uid: &str) -> Self {
        self.set("/metadata/uid", uid)
    }

    /// The generation of the spec, for objects that are decoded.
    #[must_use]
    fn generation(self, generation: i64) -> Self {
        self.set("/metadata/generation", generation)
    }

    /// The creation time, for objects that are decoded.
    #[must_use]
    fn created(self, at: Timestamp) -> Self {
        self.set("/metadata/creationTimestamp", to_api(at))
    }

    /// Marks the object as about to be deleted, for objects that are decoded.
    #[must_use]
    fn terminating(self, since: Timestamp) -> Self {
        self.set("/metadata/deletionTimestamp", to_api(since))
    }

    /// Adds a finalizer.
    #[must_use]
    fn finalizer(mut self, name: &str) -> Self {
        push(slot(self.value(), "/metadata/finalizers"), name.into());
        self
    }

    /// Adds `owner` as the controller.
    #[must_use]
    fn owned_by(self, owner: &Value) -> Self {
        let reference = json!({
            "apiVersion": owner["apiVersion"], "kind": owner["kind"],
            "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
            "controller": true, "blockOwnerDeletion": true,
        });
        self.owner(reference)
    }

    /// Adds an owner reference as it is.
    #[must_use]
    fn owner(mut self, reference: Value) -> Self {
        push(slot(self.value(), "/metadata/ownerReferences"), reference);
        self
    }
}

/// The value at a pointer, made if it does not exist.
fn slot<'a>(value: &'a mut Value, pointer: &str) -> &'a mut Value {
    let mut at = value;
    for step in pointer.split('/').skip(1) {
        if at.is_null() {
            *at = Value::Object(Map::new());
        }
        at = match (at, step.parse::<usize>()) {
            (Value::Array(items), Ok(index)) => &mut items[index],
            (object, _) => &mut object[step.replace("~1", "/").replace("~0", "~")],
        };
    }
    at
}

fn push(list: &mut Value, item: Value) {
    if let Value::Array(items) = list {
        items.push(item);
    } else {
        *list = json!([item]);
    }
}

/// Makes a type that holds its JSON a [`Manifest`].
macro_rules! manifest {
    ($builder:ident) => {
        impl $crate::builders::Manifest for $builder {
            fn value(&mut self) -> &mut serde_json::Value {
                &mut self.0
            }

            fn json(self) -> serde_json::Value {
                self.0
            }
        }

        impl From<$builder> for serde_json::Value {
            fn from(builder: $builder) -> Self {
                builder.0
            }
        }
    };
}
use manifest;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_built_step_by_step() {
        let owner = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web-1", "uid": "u1"}});
        let built = pod("web-1-a")
            .label("app", "web")
            .finalizer("test/hold")
            .owned_by(&owner)
            .json();
        assert_eq!(built["metadata"]["labels"], json!({"app": "web"}));
        assert_eq!(built["metadata"]["finalizers"], json!(["test/hold"]));
        assert_eq!(built["metadata"]["ownerReferences"][0]["uid"], "u1");
    }

    #[test]
    fn any_field_can_be_set_by_its_pointer() {
        let built = deployment("web")
            .set("/spec/template/spec/containers/0/ports/x~1y", 80)
            .json();
        assert_eq!(built["spec"]["template"]["spec"]["containers"][0]["ports"]["x/y"], 80);
    }
}
