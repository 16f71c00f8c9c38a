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
        let metadata = value.get("metadata").unwrap_or(&Value::Null);
        let metadata = Option::<Metadata>::deserialize(metadata)?.unwrap_or_default();
        let pairs = |map: Option<BTreeMap<String, String>>| map.unwrap_or_default();
        let (labels, annotations) = (pairs(metadata.labels), pairs(metadata.annotations));
        Ok(Self {
            json: Json::of(value),
            digest: Digest::of_template(value),
            labels: interner.labels(labels.iter().map(|(key, value)| (key.as_str(), value.as_str()))),
            annotations: interner.labels(annotations.iter().map(|(key, value)| (key.as_str(), value.as_str()))),
            finalizers: interner.list(metadata.finalizers.iter().flatten().map(String::as_str)),
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const WEB: &str = r#"{
        "spec": {"containers": [{"name": "web", "image": "web:1", "fromTheFuture": {}}], "emptyDir": {}},
        "metadata": {"labels": {"app": "web"}, "annotations": {"a": "1"}, "finalizers": ["example.com/keep"],
                     "creationTimestamp": null}
    }"#;

    fn decode(json: &str) -> Template {
        Template::decode(serde_json::from_str(json).unwrap(), &Interner::default()).unwrap()
    }

    // proves: deployment/I-7, deployment/C-70
    #[test]
    fn a_template_is_passed_on_whole() {
        let web = decode(WEB);
        let expected: Value = serde_json::from_str(WEB).unwrap();
        assert_eq!(web.json().to_value(), expected);
        assert_eq!(web.spec().to_value(), expected["spec"]);
        assert_eq!(json!({ "template": web.json() })["template"], expected);
        assert_eq!(serde_json::to_string(web.json()).unwrap(), web.json().as_str());
        assert_eq!(web.json().to_raw().unwrap().get(), web.json().as_str());
    }

    // Should a dependency switch on serde_json's `preserve_order`, templates and hashes would depend on how they came.
    #[test]
    fn the_text_is_compact_and_sorted_however_it_came() {
        let json = decode(r#"{"spec": {"b": 1, "a": "<\u00e9>"}, "metadata": {}}"#);
        assert_eq!(json.json().as_str(), r#"{"metadata":{},"spec":{"a":"<é>","b":1}}"#);
    }

    // proves: deployment/C-70
    #[test]
    fn what_pods_inherit_is_at_hand() {
        let web = decode(WEB);
        assert_eq!(web.labels().iter().collect::<Vec<_>>(), [("app", "web")]);
        assert_eq!(web.annotations().iter().collect::<Vec<_>>(), [("a", "1")]);
        assert_eq!(
            web.finalizers().iter().map(|text| &**text).collect::<Vec<_>>(),
            ["example.com/keep"]
        );
    }

    // proves: deployment/C-65, deployment/D-6
    #[test]
    fn the_hash_label_comes_and_goes_without_making_another_template() {
        let web = decode(WEB);
        let hashed = decode(web.with_label(HASH_LABEL, "6b").as_str());
        assert_eq!(
            hashed.labels().iter().collect::<Vec<_>>(),
            [("app", "web"), (HASH_LABEL, "6b")]
        );
        assert!(hashed.same_as(&web));
        assert_eq!(hashed.without_label(HASH_LABEL), *web.json());
        let other = decode(web.with_label("app", "shop").as_str());
        assert_eq!(other.labels().iter().collect::<Vec<_>>(), [("app", "shop")]);
        assert!(!other.same_as(&web));
    }

    #[test]
    fn a_bare_template_gets_its_first_label() {
        for bare in ["{}", r#"{"metadata":null}"#] {
            let labelled = decode(bare).with_label("app", "web");
            assert_eq!(labelled.as_str(), r#"{"metadata":{"labels":{"app":"web"}}}"#);
        }
        assert_eq!(decode("{}").spec().as_str(), "{}");
    }

    #[test]
    fn metadata_of_another_shape_is_refused() {
        let raw = serde_json::from_str(r#"{"metadata": {"labels": {"app": 1}}}"#).unwrap();
        assert!(Template::decode(raw, &Interner::default()).is_err());
    }
}
