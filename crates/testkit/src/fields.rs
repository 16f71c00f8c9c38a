//! Which fields an object can have, by the server's own description, and which of them an object sets.
//!
//! A path such as `/spec/containers[]/env[]/name` names a field whatever the position in a list; `{}` stands for the keys of
//! a map.

use std::collections::BTreeSet;

use serde_json::Value;

/// The paths of all fields of `schema`, such as `io.k8s.api.core.v1.PodTemplateSpec`, in an OpenAPI v3 document. A schema
/// within itself is left out.
pub fn described(document: &Value, schema: &str) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    Description {
        schemas: &document["components"]["schemas"],
        paths: &mut paths,
    }
    .of_schema(schema, "", &mut Vec::new());
    paths
}

struct Description<'a> {
    schemas: &'a Value,
    paths: &'a mut BTreeSet<String>,
}

impl<'a> Description<'a> {
    fn of_schema(&mut self, name: &'a str, path: &str, within: &mut Vec<&'a str>) {
        if within.contains(&name) {
            return;
        }
        within.push(name);
        for (field, value) in self.schemas[name]["properties"].as_object().into_iter().flatten() {
            self.of_value(value, format!("{path}/{field}"), within);
        }
        within.pop();
    }

    fn of_value(&mut self, value: &'a Value, path: String, within: &mut Vec<&'a str>) {
        let reference = value["$ref"].as_str().or_else(|| value["allOf"][0]["$ref"].as_str());
        let named = reference.and_then(|reference| reference.rsplit('/').next());
        match named {
            Some(name) if self.schemas[name]["properties"].is_object() => self.of_schema(name, &path, within),
            None if value["type"] == "array" => self.of_value(&value["items"], format!("{path}[]"), within),
            None if value["additionalProperties"].is_object() => {
                self.paths.insert(format!("{path}{{}}"));
            }
            Some(_) | None => {
                self.paths.insert(path);
            }
        }
    }
}

/// The paths of all that `value` sets, in the same notation.
pub fn set_in(value: &Value) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    collect(value, String::new(), &mut paths);
    paths
}

fn collect(value: &Value, path: String, paths: &mut BTreeSet<String>) {
    if let Some(fields) = value.as_object() {
        paths.insert(format!("{path}{{}}"));
        for (field, value) in fields {
            collect(value, format!("{path}/{field}"), paths);
        }
    }
    for item in value.as_array().into_iter().flatten() {
        collect(item, format!("{path}[]"), paths);
    }
    paths.insert(path);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_description_names_every_field_once() {
        let document = json!({"components": {"schemas": {
            "Pod": {"properties": {
                "name": {"type": "string"},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "items": {"type": "array", "items": {"$ref": "#/components/schemas/Item"}},
                "size": {"allOf": [{"$ref": "#/components/schemas/Quantity"}]},
            }},
            "Item": {"properties": {"key": {"type": "string"}, "again": {"$ref": "#/components/schemas/Item"}}},
            "Quantity": {"type": "string"},
        }}});
        let paths: Vec<_> = described(&document, "Pod").into_iter().collect();
        assert_eq!(paths, ["/items[]/key", "/labels{}", "/name", "/size"]);
        let object = json!({"name": "a", "labels": {"x": "y"}, "items": [{}, {"key": "k"}], "size": "1"});
        assert!(described(&document, "Pod").is_subset(&set_in(&object)));
        assert!(!described(&document, "Pod").is_subset(&set_in(&json!({"name": "a", "labels": {}}))));
    }
}
