//! What a template means, apart from how it is written: the form that is compared and hashed (deployment D-6, I-8).
//!
//! The form is JSON without white space, keys sorted, and without what means nothing: nulls, empty lists, the hash label,
//! and what [`places`](super::places) says is as good as absent. Quantities stand as their value. The order of lists
//! counts, and `80` differs from `"80"`.

use serde_json::{Map, Number, Value};
use sha2::{Digest as _, Sha256};

use super::HASH_LABEL;
use super::places::{self, Fields, Place};
use super::quantity;

/// 128 bits that stand for a template: those of equal templates are equal, and those of different ones differ (they are
/// the beginning of a SHA-256).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(u128);

impl Digest {
    /// The digest of a pod template, its hash label left aside.
    pub(super) fn of_template(template: &Value) -> Self {
        let hash = Sha256::digest(normal_form(template));
        let mut first = [0; 16];
        first.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
        Self(u128::from_be_bytes(first))
    }

    /// The digest as bytes.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }
}

fn normal_form(template: &Value) -> String {
    let mut form = String::new();
    write(&mut form, template, &places::TEMPLATE);
    form
}

/// Whether a value was written, or is as good as absent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    Present,
    Absent,
}

fn write(form: &mut String, value: &Value, place: &'static Place) -> Presence {
    match value {
        Value::Null => return Presence::Absent,
        Value::Array(elements) if elements.is_empty() => return Presence::Absent,
        Value::Array(elements) => write_list(form, elements, place),
        Value::Object(fields) => return write_object(form, fields, place),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => return write_scalar(form, value, place),
    }
    Presence::Present
}

/// An element that is as good as absent still counts, as its position does.
fn write_list(form: &mut String, elements: &[Value], place: &'static Place) {
    form.push('[');
    for (position, element) in elements.iter().enumerate() {
        if position > 0 {
            form.push(',');
        }
        if write(form, element, place) == Presence::Absent {
            form.push_str("{}");
        }
    }
    form.push(']');
}

fn write_object(form: &mut String, fields: &Map<String, Value>, place: &'static Place) -> Presence {
    const NONE: &Fields = &[];
    let (inside, ignored, empty) = match place {
        Place::Object(fields) => (Inside::Fields(fields), None, Presence::Present),
        Place::Part(fields) => (Inside::Fields(fields), None, Presence::Absent),
        Place::Map => (Inside::Fields(NONE), None, Presence::Absent),
        Place::PodLabels => (Inside::Fields(NONE), Some(HASH_LABEL), Presence::Absent),
        Place::Quantities => (Inside::Quantities, None, Presence::Absent),
        Place::Plain | Place::Quantity | Place::DefaultZero => (Inside::Fields(NONE), None, Presence::Present),
    };
    let before = form.len();
    form.push('{');
    let mut written = 0_usize;
    for (key, value) in fields.iter().filter(|(key, _)| Some(key.as_str()) != ignored) {
        let before_field = form.len();
        if written > 0 {
            form.push(',');
        }
        write_text(form, key);
        form.push(':');
        match write(form, value, inside.place_of(key)) {
            Presence::Present => written += 1,
            Presence::Absent => form.truncate(before_field),
        }
    }
    if written == 0 && empty == Presence::Absent {
        form.truncate(before);
        return Presence::Absent;
    }
    form.push('}');
    Presence::Present
}

/// What the values of an object are.
enum Inside {
    Fields(&'static Fields),
    Quantities,
}

impl Inside {
    fn place_of(&self, key: &str) -> &'static Place {
        match self {
            Self::Fields(fields) => places::place_of(fields, key),
            Self::Quantities => &Place::Quantity,
        }
    }
}

fn write_scalar(form: &mut String, value: &Value, place: &Place) -> Presence {
    let quantity = match place {
        Place::Quantity | Place::DefaultZero => billionths(value),
        Place::Plain | Place::Map | Place::PodLabels | Place::Quantities | Place::Object(_) | Place::Part(_) => None,
    };
    match (quantity, value) {
        (Some(0), _) if matches!(place, Place::DefaultZero) => return Presence::Absent,
        (Some(billionths), _) => form.push_str(&billionths.to_string()),
        (None, Value::Number(number)) => form.push_str(&plain(number)),
        (None, Value::String(text)) => write_text(form, text),
        (None, _) => form.push_str(&value.to_string()),
    }
    Presence::Present
}

fn billionths(value: &Value) -> Option<i128> {
    match value {
        Value::String(text) => quantity::billionths(text),
        Value::Number(number) => quantity::billionths(&number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A number; `1.0` means `1`.
fn plain(number: &Number) -> String {
    let whole = number.as_f64().filter(|value| number.is_f64() && value.fract() == 0.0);
    whole.map_or_else(|| number.to_string(), |value| format!("{value:.0}"))
}

/// A JSON string; `Value` prints it with all that must be escaped.
fn write_text(form: &mut String, text: &str) {
    form.push_str(&Value::from(text).to_string());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::json;

    fn with_spec(spec: &Value) -> Value {
        json!({"metadata": {"labels": {"app": "web"}}, "spec": spec})
    }

    fn are_equal(a: &Value, b: &Value) -> bool {
        Digest::of_template(a) == Digest::of_template(b)
    }

    // proves: deployment/D-6, deployment/I-8
    #[rstest]
    #[case::null(json!({"hostname": null}), json!({}))]
    #[case::empty_list(json!({"tolerations": []}), json!({}))]
    #[case::empty_map(json!({"nodeSelector": {}}), json!({}))]
    #[case::map_of_nulls(json!({"nodeSelector": {"zone": null}}), json!({}))]
    #[case::part_never_absent(json!({"containers": [{"name": "a", "resources": {}}]}), json!({"containers": [{"name": "a"}]}))]
    #[case::part_that_becomes_empty(
        json!({"containers": [{"name": "a", "resources": {"limits": {}}}]}),
        json!({"containers": [{"name": "a"}]})
    )]
    #[case::cpu(
        json!({"containers": [{"name": "a", "resources": {"limits": {"cpu": "1000m"}}}]}),
        json!({"containers": [{"name": "a", "resources": {"limits": {"cpu": "1"}}}]})
    )]
    #[case::cpu_as_a_number(
        json!({"initContainers": [{"name": "a", "resources": {"requests": {"cpu": 1}}}]}),
        json!({"initContainers": [{"name": "a", "resources": {"requests": {"cpu": "1"}}}]})
    )]
    #[case::pod_resources(
        json!({"resources": {"requests": {"memory": "1Gi"}}}),
        json!({"resources": {"requests": {"memory": "1073741824"}}})
    )]
    #[case::overhead(json!({"overhead": {"memory": "1e3"}}), json!({"overhead": {"memory": "1k"}}))]
    #[case::size_limit(
        json!({"volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1024Mi"}}]}),
        json!({"volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}]})
    )]
    #[case::no_divisor(
        json!({"containers": [{"env": [{"name": "E", "valueFrom": {"resourceFieldRef": {"divisor": "0"}}}]}]}),
        json!({"containers": [{"env": [{"name": "E", "valueFrom": {"resourceFieldRef": {}}}]}]})
    )]
    #[case::divisor_in_a_volume(
        json!({"volumes": [{"projected": {"sources": [{"downwardAPI": {"items": [{"resourceFieldRef": {"divisor": "1000m"}}]}}]}}]}),
        json!({"volumes": [{"projected": {"sources": [{"downwardAPI": {"items": [{"resourceFieldRef": {"divisor": "1"}}]}}]}}]})
    )]
    #[case::claim(
        json!({"volumes": [{"ephemeral": {"volumeClaimTemplate":
            {"metadata": {"creationTimestamp": null}, "spec": {"resources": {"requests": {"storage": "1Ti"}}}}}}]}),
        json!({"volumes": [{"ephemeral": {"volumeClaimTemplate":
            {"spec": {"resources": {"requests": {"storage": "1024Gi"}}}}}}]})
    )]
    #[case::preference(
        json!({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {}}]}}}),
        json!({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}}})
    )]
    #[case::whole_number(json!({"priority": 1.0}), json!({"priority": 1}))]
    fn templates_that_mean_the_same_are_equal(#[case] a: Value, #[case] b: Value) {
        assert_eq!(normal_form(&with_spec(&a)), normal_form(&with_spec(&b)));
        assert!(are_equal(&with_spec(&a), &with_spec(&b)));
    }

    // proves: deployment/D-6, deployment/I-7, deployment/I-8
    #[rstest]
    #[case::empty_object(json!({"volumes": [{"name": "v", "emptyDir": {}}]}), json!({"volumes": [{"name": "v"}]}))]
    #[case::empty_security_context(json!({"securityContext": {}}), json!({}))]
    #[case::pod_resources_may_be_absent(json!({"resources": {}}), json!({}))]
    #[case::selector_of_everything(
        json!({"topologySpreadConstraints": [{"labelSelector": {}}]}),
        json!({"topologySpreadConstraints": [{}]})
    )]
    #[case::object_of_nulls(json!({"securityContext": {"runAsUser": null}}), json!({}))]
    #[case::zero(json!({"terminationGracePeriodSeconds": 0}), json!({}))]
    #[case::no(json!({"automountServiceAccountToken": false}), json!({}))]
    #[case::empty_text(json!({"hostname": ""}), json!({}))]
    #[case::order(json!({"tolerations": [{"key": "a"}, {"key": "b"}]}), json!({"tolerations": [{"key": "b"}, {"key": "a"}]}))]
    #[case::number_of_elements(json!({"tolerations": [{}, {}]}), json!({"tolerations": [{}]}))]
    #[case::number_or_text(
        json!({"containers": [{"livenessProbe": {"httpGet": {"port": 80}}}]}),
        json!({"containers": [{"livenessProbe": {"httpGet": {"port": "80"}}}]})
    )]
    #[case::not_a_quantity(json!({"containers": [{"args": ["1000m"]}]}), json!({"containers": [{"args": ["1"]}]}))]
    #[case::quantities_of_unknown_fields(json!({"fromTheFuture": {"size": "1000m"}}), json!({"fromTheFuture": {"size": "1"}}))]
    #[case::unknown_field(json!({"fromTheFuture": {}}), json!({}))]
    #[case::other_cpu(
        json!({"containers": [{"resources": {"limits": {"cpu": "1"}}}]}),
        json!({"containers": [{"resources": {"limits": {"cpu": "1001m"}}}]})
    )]
    #[case::no_limit(json!({"containers": [{"resources": {"limits": {"cpu": "0"}}}]}), json!({"containers": [{}]}))]
    #[case::quantity_of_another_name(
        json!({"containers": [{"resources": {"limits": {"cpu": "1"}}}]}),
        json!({"containers": [{"resources": {"requests": {"cpu": "1"}}}]})
    )]
    fn templates_that_differ_are_told_apart(#[case] a: Value, #[case] b: Value) {
        assert!(
            !are_equal(&with_spec(&a), &with_spec(&b)),
            "{}",
            normal_form(&with_spec(&a))
        );
    }

    // proves: deployment/D-6, deployment/I-8
    #[rstest]
    #[case::hash_label(json!({"labels": {"app": "web", "pod-template-hash": "6b"}}), json!({"labels": {"app": "web"}}), true)]
    #[case::two_hashes(json!({"labels": {"pod-template-hash": "6b"}}), json!({"labels": {"pod-template-hash": "7c"}}), true)]
    #[case::hash_label_alone(json!({"labels": {"pod-template-hash": "6b"}}), json!({}), true)]
    #[case::no_creation_time(json!({"creationTimestamp": null}), json!({}), true)]
    #[case::creation_time(json!({"creationTimestamp": "2026-01-02T03:04:05Z"}), json!({}), false)]
    #[case::other_label(json!({"labels": {"app": "web"}}), json!({"labels": {"app": "shop"}}), false)]
    #[case::hash_annotation(json!({"annotations": {"pod-template-hash": "6b"}}), json!({}), false)]
    #[case::restarted(json!({"annotations": {"kubectl.kubernetes.io/restartedAt": "1"}}), json!({"annotations": {}}), false)]
    fn metadata_counts_but_for_the_hash_label(#[case] a: Value, #[case] b: Value, #[case] expected: bool) {
        assert_eq!(
            are_equal(&json!({ "metadata": a }), &json!({ "metadata": b })),
            expected
        );
    }

    #[test]
    fn a_missing_part_is_an_empty_part() {
        assert!(are_equal(&json!({"metadata": {}, "spec": {}}), &json!({})));
    }

    // The hash of new ReplicaSets depends on this form: a change here gives new names to new ones (deployment C-64).
    #[test]
    fn the_form_is_sorted_compact_json() {
        let template = json!({"spec": {"z": "\u{e9}\"\n", "a": [1, null], "overhead": {"cpu": "1"}}, "metadata": {}});
        assert_eq!(
            normal_form(&template),
            r#"{"spec":{"a":[1,{}],"overhead":{"cpu":1000000000},"z":"é\"\n"}}"#
        );
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-z0-9]{0,4}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-z]{1,3}", inner, 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    /// Adds a null to every object.
    fn with_nulls(value: &Value) -> Value {
        match value {
            Value::Array(elements) => elements.iter().map(with_nulls).collect(),
            Value::Object(fields) => {
                let filled = fields.iter().map(|(key, value)| (key.clone(), with_nulls(value)));
                Value::Object(filled.chain([("nothing".to_owned(), Value::Null)]).collect())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
        }
    }

    proptest! {
        // proves: deployment/I-8
        #[test]
        fn nulls_never_count(spec in any_json()) {
            prop_assert_eq!(normal_form(&with_spec(&with_nulls(&spec))), normal_form(&with_spec(&spec)));
        }

        // proves: deployment/I-7
        #[test]
        fn every_text_counts(spec in any_json(), text in "[A-Z]{1,8}", other in "[A-Z]{1,8}") {
            prop_assume!(text != other);
            let (mut a, mut b) = (json!({"spec": {"x": spec}}), json!({"spec": {"x": spec}}));
            a["spec"]["text"] = text.into();
            b["spec"]["text"] = other.into();
            prop_assert!(!are_equal(&a, &b));
        }

        #[test]
        fn the_form_of_a_form_is_itself(spec in any_json()) {
            // Without quantities, whose form is their value.
            let form = normal_form(&json!({ "spec": { "x": spec } }));
            prop_assert_eq!(normal_form(&serde_json::from_str(&form).unwrap()), form);
        }
    }
}
