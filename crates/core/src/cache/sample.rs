//! A small kind for the tests of caches.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::id::{Kind, ObjectKey};
use crate::labels::Interner;
use crate::meta::{DecodeError, KeepAnnotations, Meta, Object, RawMeta};

/// An object with one field, which must be a number.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Thing {
    meta: Meta,
    pub(super) size: i64,
}

impl Object for Thing {
    const KIND: Kind = Kind {
        group: "example.com",
        version: "v1",
        kind: "Thing",
        plural: "things",
    };

    fn decode(json: &[u8], interner: &Interner) -> Result<Self, DecodeError> {
        #[derive(Deserialize)]
        struct Raw<'a> {
            #[serde(borrow)]
            metadata: RawMeta<'a>,
            size: i64,
        }
        let raw: Raw<'_> = serde_json::from_slice(json)?;
        Ok(Self {
            meta: raw.metadata.into_meta(KeepAnnotations::All, interner)?,
            size: raw.size,
        })
    }

    fn meta(&self) -> &Meta {
        &self.meta
    }
}

impl Thing {
    pub(super) fn from_json(json: &Value) -> Self {
        Self::decode(json.to_string().as_bytes(), &Interner::default()).unwrap()
    }

    /// `name/uid@version`.
    pub(super) fn text(&self) -> String {
        format!("{}/{}@{}", self.meta.key.name, self.meta.uid, self.meta.version)
    }
}

/// The key of a thing in the namespace of [`thing`].
pub(super) fn key(name: &str) -> ObjectKey {
    ObjectKey::new("shop", name)
}

/// A thing in namespace `shop`.
pub(super) fn thing(name: &str, uid: &str, version: u64) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "shop", "uid": uid, "resourceVersion": version.to_string()},
        "size": 1,
    })
}

/// A thing that cannot be decoded.
pub(super) fn spoiled(name: &str, uid: &str, version: u64) -> Value {
    let mut thing = thing(name, uid, version);
    thing["size"] = json!("large");
    thing
}
