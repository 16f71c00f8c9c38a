//! Label and field selectors as they stand in a query.

use serde_json::Value;
use workload_core::labels::Labels;
use workload_core::selector::{Expression, LabelSelector, Selector};

use crate::object::Stored;

/// Which objects a list or a watch is about.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    labels: Selector,
    fields: Vec<FieldTest>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct FieldTest {
    pointer: String,
    value: String,
    equal: bool,
}

impl Default for Selection {
    fn default() -> Self {
        Self {
            labels: Selector::All([].into()),
            fields: Vec::new(),
        }
    }
}

impl Selection {
    /// The objects that meet these two selectors, each empty for all; `None` if one of them is of a form that no controller
    /// sends.
    pub fn parse(labels: &str, fields: &str) -> Option<Self> {
        let expressions = parts(labels).into_iter().map(expression).collect::<Option<_>>()?;
        let selector = LabelSelector {
            match_labels: None,
            match_expressions: Some(expressions),
        };
        Some(Self {
            labels: Selector::new(Some(&selector)).ok()?,
            fields: parts(fields).into_iter().map(field_test).collect::<Option<_>>()?,
        })
    }

    /// True if it is about this object.
    pub fn matches(&self, object: &Stored) -> bool {
        let meets = |test: &FieldTest| (object.text(&test.pointer) == test.value) == test.equal;
        self.fields.iter().all(meets) && (self.labels.is_empty() || self.labels.matches(&labels(object)))
    }

    /// True if it is about every object.
    pub fn is_everything(&self) -> bool {
        self.fields.is_empty() && self.labels.is_empty()
    }
}

/// The labels of an object.
pub(super) fn labels(object: &Stored) -> Labels {
    labels_of(object.at("/metadata/labels"))
}

pub(super) fn labels_of(labels: &Value) -> Labels {
    let pairs = labels.as_object().into_iter().flatten();
    pairs
        .filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
        .collect()
}

/// Parts between commas that are not in parentheses.
fn parts(selector: &str) -> Vec<&str> {
    let mut depth = 0;
    let outside = move |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    };
    let parts = selector.split(outside).map(str::trim);
    parts.filter(|part| !part.is_empty()).collect()
}

/// `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b,c)`, `a`, `!a`.
fn expression(part: &str) -> Option<Expression> {
    let one =
        |key: &str, operator: &str, value: &str| new_expression(key, operator, Some(vec![value.trim().to_owned()]));
    if let Some((key, value)) = part.split_once("!=") {
        return one(key, "NotIn", value);
    }
    if let Some((key, value)) = part.split_once('=') {
        return one(key, "In", value.trim_start_matches('='));
    }
    if let Some((head, values)) = part.split_once('(') {
        let (key, operator) = head.trim().split_once(' ')?;
        let operator = match operator.trim() {
            "in" => "In",
            "notin" => "NotIn",
            _ => return None,
        };
        let values = values.strip_suffix(')')?.split(',');
        return new_expression(
            key,
            operator,
            Some(values.map(|value| value.trim().to_owned()).collect()),
        );
    }
    match part.strip_prefix('!') {
        Some(key) => new_expression(key, "DoesNotExist", None),
        None => new_expression(part, "Exists", None),
    }
}

fn new_expression(key: &str, operator: &str, values: Option<Vec<String>>) -> Option<Expression> {
    let key = key.trim();
    let fits = |c: char| c.is_ascii_alphanumeric() || "-._/".contains(c);
    (!key.is_empty() && key.chars().all(fits)).then(|| Expression {
        key: key.to_owned(),
        operator: operator.to_owned(),
        values,
    })
}

/// The fields by which the server selects, of all kinds and of pods.
fn field_test(part: &str) -> Option<FieldTest> {
    let (field, value) = part.split_once('=')?;
    let value = value.trim_start_matches('=');
    let (field, equal) = field.strip_suffix('!').map_or((field, true), |field| (field, false));
    let known = ["metadata.name", "metadata.namespace", "spec.nodeName", "status.phase"];
    known.contains(&field).then(|| FieldTest {
        pointer: format!("/{}", field.replace('.', "/")),
        value: value.to_owned(),
        equal,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(name: &str, labels: &Value) -> Stored {
        json!({"metadata": {"name": name, "labels": labels}, "spec": {"nodeName": "n"}}).into()
    }

    #[test]
    fn selectors_are_read_in_all_forms_that_a_query_has() {
        let web = pod("web", &json!({"app": "web", "tier": "front"}));
        for (labels, fields, fits) in [
            ("", "", true),
            ("app=web", "", true),
            ("app==web,tier!=back", "", true),
            ("app in (web,api),tier notin (back)", "", true),
            ("app,!gone", "", true),
            ("app=api", "", false),
            ("!app", "", false),
            ("other", "", false),
            ("", "metadata.name=web", true),
            ("", "metadata.name=api", false),
            ("", "spec.nodeName!=", true),
            ("", "spec.nodeName=", false),
        ] {
            let selection = Selection::parse(labels, fields).unwrap();
            assert_eq!(selection.matches(&web), fits, "{labels} {fields}");
            assert_eq!(selection.is_everything(), labels.is_empty() && fields.is_empty());
        }
    }

    #[test]
    fn what_is_no_selector_is_refused() {
        for (labels, fields) in [
            ("a is b", ""),
            ("a of (b)", ""),
            ("a in (b", ""),
            ("", "spec.replicas=1"),
            ("", "metadata.name"),
        ] {
            assert_eq!(Selection::parse(labels, fields), None, "{labels} {fields}");
        }
    }
}
