//! Where two values differ.

use std::collections::BTreeSet;

use serde_json::Value;

/// Where two values differ, the first places.
pub(crate) fn differences(ours: &Value, theirs: &Value, codes: [u16; 2]) -> String {
    let mut found = Vec::new();
    compare("", ours, theirs, &mut found);
    if codes[0] != codes[1] {
        found.insert(0, format!("code: {} here, {} there", codes[0], codes[1]));
    }
    found.truncate(12);
    found.join("\n  ")
}

fn compare(place: &str, ours: &Value, theirs: &Value, found: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            let fields: BTreeSet<_> = a.keys().chain(b.keys()).collect();
            for field in fields {
                compare(&format!("{place}/{field}"), &ours[field], &theirs[field], found);
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            for at in 0..a.len().max(b.len()) {
                let item = |of: &[Value]| of.get(at).cloned().unwrap_or_default();
                compare(&format!("{place}/{at}"), &item(a), &item(b), found);
            }
        }
        _ if ours != theirs => found.push(format!("{place}: {ours} here, {theirs} there")),
        _ => {}
    }
}
