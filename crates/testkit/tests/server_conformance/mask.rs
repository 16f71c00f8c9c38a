//! What may differ between two answers that are equal.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The uids of one server, each with a name that is the same on the other.
#[derive(Debug, Default)]
pub(crate) struct Uids {
    names: BTreeMap<String, String>,
    births: BTreeMap<String, usize>,
}

impl Uids {
    /// An object of this kind and name has this uid.
    pub(crate) fn learn(&mut self, object: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (uid, what) = (
            text(&object["metadata"]["uid"]),
            format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"])),
        );
        if !uid.is_empty() && !self.names.contains_key(&uid) {
            let births = self.births.entry(what.clone()).or_default();
            *births += 1;
            self.names.insert(uid, format!("uid {births} of {what}"));
        }
    }

    /// A text with all known uids replaced.
    fn text(&self, text: &str) -> String {
        let known = self.names.iter();
        known.fold(text.to_owned(), |text, (uid, name)| text.replace(uid, name))
    }

    /// A value without times, versions and managers, its uids replaced.
    pub(crate) fn mask(&self, value: &Value) -> Value {
        match value {
            Value::Object(fields) => fields
                .iter()
                .filter(|(field, _)| !matches!(field.as_str(), "managedFields" | "resourceVersion" | "continue"))
                .map(|(field, value)| (field.clone(), self.mask(value)))
                .collect::<Map<_, _>>()
                .into(),
            Value::Array(items) => items.iter().map(|item| self.mask(item)).collect(),
            Value::String(text) if is_time(text) => "TIME".into(),
            Value::String(text) => numberless(&self.text(text)).into(),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }
}

fn is_time(text: &str) -> bool {
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    shape.starts_with("0000-00-00T00:00:00") && shape.ends_with('Z')
}

/// A text whose numbers in parentheses are replaced: there the server names versions.
fn numberless(text: &str) -> String {
    let mut parts = text.split('(');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        out.push('(');
        if rest.len() < part.len() && rest.starts_with(')') {
            out.push('N');
            out.push_str(rest);
        } else {
            out.push_str(part);
        }
    }
    out
}
