//! Pod templates as canonical JSON: compared, hashed and passed on, never decoded into a typed pod spec.
//!
//! A typed model would lose the fields it does not know, miss changes in them, and create incomplete pods (deployment I-7).

mod json;
mod normal;
mod places;
mod quantity;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

pub use self::json::Json;
pub use self::normal::Digest;
use crate::labels::{Interner, Labels};
use crate::meta::DecodeError;

/// Label that tells the pods of one ReplicaSet from those of the next; ignored when templates are compared (deployment
/// D-6, C-65).
pub const HASH_LABEL: &str = "pod-template-hash";

/// A pod template. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Template {
    json: Json,
    digest: Digest,
    labels: Labels,
    annotations: Labels,
    finalizers: Arc<[Arc<str>]>,
}

impl Template {
    /// Reads a template from an object's JSON.
    pub fn decode(raw: &RawValue, interner: &Interner) -> Result<Self, DecodeError> {
        Self::of(&serde_json::from_str(raw.get())?, interner)
    }

    /// The template that `value` is.
    pub fn of(value: &Value, interner: &Interner) -> Result<Self, DecodeError> {
        let metadata = value
            .get("metadata")
            .map(Metadata::deserialize)
            .transpose()?
            .unwrap_or_default();
        let pairs = |map: Option<BTreeMap<String, String>>| map.unwrap_or_default();
        let (labels, annotations) = (pairs(metadata.labels), pairs(metadata.annotations));
        Ok(Self {
            json: Json::of(value),
            digest: Digest::of_template(value),
            labels: interner.labels(labels.iter().map(|(key, value)| (key.as_str(), value.as_str()))),
            annotations: interner.labels(annotations.iter().map(|(key, value)| (key.as_str(), value.as_str()))),
            finalizers: metadata
                .finalizers
                .unwrap_or_default()
                .iter()
                .map(|text| interner.string(text))
                .collect(),
        })
    }

    /// The whole template, nothing lost, keys sorted.
    pub fn json(&self) -> &Json {
        &self.json
    }

    /// `spec`, as new pods get it; `{}` if there is none.
    pub fn spec(&self) -> Json {
        #[derive(Deserialize)]
        struct Spec<'a> {
            #[serde(borrow, default)]
            spec: Option<&'a RawValue>,
        }
        let spec = serde_json::from_str::<Spec<'_>>(self.json.as_str())
            .ok()
            .and_then(|template| template.spec);
        Json::canonical(spec.map_or("{}", RawValue::get))
    }

    /// `metadata.labels`.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// `metadata.annotations`.
    pub fn annotations(&self) -> &Labels {
        &self.annotations
    }

    /// `metadata.finalizers`.
    pub fn finalizers(&self) -> &Arc<[Arc<str>]> {
        &self.finalizers
    }

    /// Digest of what the template means; the same for equal templates, whatever their hash label.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// True if both ask for the same pods, leaving the hash label aside (deployment D-6).
    pub fn same_as(&self, other: &Self) -> bool {
        self.digest == other.digest
    }

    /// The template with this label as well.
    #[must_use]
    pub fn with_label(&self, key: &str, value: &str) -> Json {
        self.with_labels(&self.labels.with(key, value))
    }

    /// The template without this label.
    #[must_use]
    pub fn without_label(&self, key: &str) -> Json {
        self.with_labels(&self.labels.without(key))
    }

    fn with_labels(&self, labels: &Labels) -> Json {
        let mut template = self.json.to_value();
        let labels: serde_json::Map<String, Value> = labels
            .iter()
            .map(|(key, value)| (key.to_owned(), Value::from(value)))
            .collect();
        if let Some(fields) = template.as_object_mut() {
            let metadata = fields.entry("metadata").or_insert(Value::Null);
            if !metadata.is_object() {
                *metadata = Value::Object(serde_json::Map::new());
            }
            if let Some(metadata) = metadata.as_object_mut() {
                metadata.insert("labels".to_owned(), Value::Object(labels));
            }
        }
        Json::of(&template)
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    finalizers: Option<Vec<String>>,
}
