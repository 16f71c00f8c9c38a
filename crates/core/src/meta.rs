//! The part of an object's metadata that controllers read, and the [`Object`] trait of everything a cache holds.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::SignedDuration;
use serde::Deserialize;

use crate::id::{Kind, ObjectKey, ResourceVersion, Uid};
use crate::labels::{Interner, Labels};
use crate::time::Timestamp;

/// An object as a cache holds it: decoded to what controllers ask of it.
pub trait Object: Send + Sync + Sized + 'static {
    /// The kind it is.
    const KIND: Kind;

    /// Decodes one object of a list or a watch.
    fn decode(json: &[u8], interner: &Interner) -> Result<Self, DecodeError>;

    /// Its metadata.
    fn meta(&self) -> &Meta;
}

/// An object that does not have the shape its kind promises.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// Not JSON, or a field of another type.
    #[error("unexpected JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A part that every stored object has is missing or malformed.
    #[error("missing or malformed {0}")]
    Field(&'static str),
}

/// Whether somebody has asked for an object's deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifecycle {
    /// No deletion asked for.
    Live,
    /// `metadata.deletionTimestamp` is set.
    Terminating,
}

/// The one owner reference with `controller: true` (deployment C-10).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ControllerRef {
    /// `apiVersion` of the owner.
    pub api_version: Arc<str>,
    /// `kind` of the owner.
    pub kind: Arc<str>,
    /// Name of the owner, in the same namespace.
    pub name: Arc<str>,
    /// Uid of the owner; ownership is equality of this alone.
    pub uid: Uid,
}

impl ControllerRef {
    /// True if the owner is of this kind (by group and kind, whatever the version).
    pub fn is_of(&self, kind: Kind) -> bool {
        *self.kind == *kind.kind && kind.has_group_of(&self.api_version)
    }
}

/// The metadata that controllers read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meta {
    /// Namespace and name.
    pub key: ObjectKey,
    /// Identity.
    pub uid: Uid,
    /// Version of this copy.
    pub version: ResourceVersion,
    /// Generation of the spec; 0 for kinds without one.
    pub generation: i64,
    /// Labels.
    pub labels: Labels,
    /// Annotations; a kind whose annotations nobody reads keeps none.
    pub annotations: Labels,
    /// Creation time; absent only in objects that no server made.
    pub created: Option<Timestamp>,
    /// Live, or on its way out.
    pub lifecycle: Lifecycle,
    /// The controlling owner.
    pub controller: Option<Arc<ControllerRef>>,
    /// Finalizers in their order.
    pub finalizers: Arc<[Arc<str>]>,
}

impl Meta {
    /// True if a deletion was asked for.
    pub fn is_terminating(&self) -> bool {
        self.lifecycle == Lifecycle::Terminating
    }

    /// Uid of the controlling owner.
    pub fn controller_uid(&self) -> Option<&Uid> {
        self.controller.as_deref().map(|controller| &controller.uid)
    }

    /// True if `owner` controls this object.
    pub fn is_controlled_by(&self, owner: &Uid) -> bool {
        self.controller_uid() == Some(owner)
    }
}

/// Which annotations a decoded object keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepAnnotations<'a> {
    /// Every one.
    All,
    /// Only these keys.
    Only(&'a [&'a str]),
}

/// An object as it stands in JSON. An absent status is the default one, an absent spec an error.
#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a, Spec: Deserialize<'de>, Status: Default + Deserialize<'de>"))]
pub struct RawObject<'a, Spec, Status> {
    /// `metadata`.
    pub metadata: RawMeta<'a>,
    /// `spec`.
    pub spec: Spec,
    /// `status`.
    #[serde(default)]
    pub status: Status,
}

/// `metadata` as it stands in an object's JSON, borrowed from it. Views embed this and turn it into [`Meta`].
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RawMeta<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    namespace: Option<Cow<'a, str>>,
    #[serde(borrow)]
    uid: Option<Cow<'a, str>>,
    #[serde(borrow)]
    resource_version: Option<Cow<'a, str>>,
    generation: Option<i64>,
    #[serde(borrow)]
    labels: Option<BTreeMap<Cow<'a, str>, Cow<'a, str>>>,
    #[serde(borrow)]
    annotations: Option<BTreeMap<Cow<'a, str>, Cow<'a, str>>>,
    creation_timestamp: Option<Timestamp>,
    deletion_timestamp: Option<Timestamp>,
    deletion_grace_period_seconds: Option<i64>,
    #[serde(borrow)]
    owner_references: Option<Vec<RawOwner<'a>>>,
    #[serde(borrow)]
    finalizers: Option<Vec<Cow<'a, str>>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawOwner<'a> {
    #[serde(borrow, default)]
    api_version: Cow<'a, str>,
    #[serde(borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    uid: Cow<'a, str>,
    #[serde(default)]
    controller: Option<bool>,
}

impl RawMeta<'_> {
    /// The annotation under `key`, for views that keep what it says instead of the annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.as_ref()?.get(key).map(|value| &**value)
    }

    /// When the object was created.
    pub fn created(&self) -> Option<Timestamp> {
        self.creation_timestamp
    }

    /// When the object's deletion was asked for, as far as its grace period tells; the time itself is that of its end.
    pub fn deletion_began(&self) -> Option<Timestamp> {
        let grace = SignedDuration::from_secs(self.deletion_grace_period_seconds.unwrap_or_default());
        self.deletion_timestamp?.checked_sub(grace).ok()
    }

    /// The owned form, its strings shared through `interner`. Fails without a name, a uid or a resource version.
    pub fn into_meta(self, keep: KeepAnnotations<'_>, interner: &Interner) -> Result<Meta, DecodeError> {
        let controller = self.controller(interner);
        let namespace = interner.string(self.namespace.as_deref().unwrap_or_default());
        let name = present(self.name, "metadata.name")?;
        let uid = present(self.uid, "metadata.uid")?;
        let version = present(self.resource_version, "metadata.resourceVersion")?;
        let annotations = self.annotations.unwrap_or_default();
        let kept = annotations.iter().filter(|(key, _)| match keep {
            KeepAnnotations::All => true,
            KeepAnnotations::Only(keys) => keys.contains(&&***key),
        });
        Ok(Meta {
            key: ObjectKey::new(namespace, &*name),
            uid: Uid::new(&*uid),
            version: ResourceVersion::new(&*version),
            generation: self.generation.unwrap_or_default(),
            labels: interner.labels(
                self.labels
                    .unwrap_or_default()
                    .iter()
                    .map(|(key, value)| (&**key, &**value)),
            ),
            annotations: kept.map(|(key, value)| (&**key, &**value)).collect(),
            created: self.creation_timestamp,
            lifecycle: self
                .deletion_timestamp
                .map_or(Lifecycle::Live, |_| Lifecycle::Terminating),
            controller,
            finalizers: interner.list(self.finalizers.iter().flatten().map(|text| &**text)),
        })
    }

    fn controller(&self, interner: &Interner) -> Option<Arc<ControllerRef>> {
        let owners = self.owner_references.as_deref().unwrap_or_default();
        let controlling = owners.iter().find(|owner| owner.controller == Some(true))?;
        Some(interner.controller(&ControllerRef {
            api_version: interner.string(&controlling.api_version),
            kind: interner.string(&controlling.kind),
            name: interner.string(&controlling.name),
            uid: Uid::new(interner.string(&controlling.uid)),
        }))
    }
}

fn present<'a>(part: Option<Cow<'a, str>>, field: &'static str) -> Result<Cow<'a, str>, DecodeError> {
    part.filter(|text| !text.is_empty()).ok_or(DecodeError::Field(field))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(json: &str) -> Result<Meta, DecodeError> {
        let raw: RawMeta<'_> = serde_json::from_str(json).unwrap();
        raw.into_meta(KeepAnnotations::Only(&["kept"]), &Interner::default())
    }

    // proves: deployment/C-10
    #[test]
    fn the_controller_is_the_reference_that_says_so() {
        let meta = decode(
            r#"{"name":"web-1","namespace":"shop","uid":"u1","resourceVersion":"7","generation":3,
                "labels":{"app":"web \"front\""},"annotations":{"kept":"1","dropped":"2"},
                "deletionTimestamp":"2026-01-02T03:04:05Z","finalizers":["a/b"],
                "ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"c","uid":"u2"},
                                   {"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"u3","controller":true}]}"#,
        )
        .unwrap();
        assert_eq!(meta.key.to_string(), "shop/web-1");
        assert!(meta.is_terminating());
        assert!(meta.is_controlled_by(&Uid::new("u3")));
        assert!(meta.controller.as_deref().unwrap().is_of(Kind::REPLICA_SET));
        assert_eq!(meta.labels.get("app"), Some("web \"front\""));
        assert_eq!(meta.annotations.iter().collect::<Vec<_>>(), [("kept", "1")]);
    }

    #[test]
    fn metadata_without_identity_is_refused() {
        let error = decode(r#"{"name":"web","resourceVersion":"7"}"#).unwrap_err();
        assert_eq!(error.to_string(), "missing or malformed metadata.uid");
    }
}
