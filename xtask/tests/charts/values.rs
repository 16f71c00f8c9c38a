//! `values.yaml`, its comments, and the schema that guards it.

use serde_json::Value;

use crate::chart::Chart;
use crate::helm::Helm;

/// Renders with one more value and demands a refusal whose text names the culprit.
fn refused(value: &str, culprit: &str) {
    let Some(helm) = Helm::find() else { return };
    let answer = Chart::deployment_controller().render(&helm, &[value]);
    let complaint = answer.expect_err(value);
    assert!(complaint.contains(culprit), "{value}: {complaint}");
}

#[test]
fn unknown_keys_are_refused_at_every_level() {
    for (value, culprit) in [
        ("replica=3", "'replica'"),
        (r#"image.repo="x""#, "'repo'"),
        ("args.worker=3", "'worker'"),
        (r#"admin.address="x""#, "'address'"),
        ("serviceAccount.created=true", "'created'"),
        ("rbac.enabled=true", "'enabled'"),
        (r#"staticPod.path="/x""#, "'path'"),
        ("runAs.root=true", "'root'"),
        ("resources.limit={}", "'limit'"),
        (r#"resources.limits.disk="1Gi""#, "'disk'"),
        (r#"tolerations=[{"keys":"x"}]"#, "'keys'"),
        ("disruptionBudget.on=true", "'on'"),
        ("service.port=1", "'port'"),
        ("serviceMonitor.on=true", "'on'"),
        ("networkPolicy.to=[]", "'to'"),
        (
            r#"networkPolicy.from=[{"podSelector":{"matchLabel":{}}}]"#,
            "'matchLabel'",
        ),
    ] {
        refused(value, culprit);
    }
}

#[test]
fn values_outside_their_type_or_range_are_refused() {
    for (value, culprit) in [
        (r#"workload="StatefulSet""#, "/workload"),
        ("replicas=0", "/replicas"),
        (r#"replicas="2""#, "/replicas"),
        (r#"image.pullPolicy="Sometimes""#, "/image/pullPolicy"),
        (r#"image.digest="sha256:12""#, "/image/digest"),
        ("args.controllers=[]", "/args/controllers"),
        (r#"args.controllers=["job"]"#, "/args/controllers/0"),
        (r#"args.leaderElect="no""#, "/args/leaderElect"),
        (r#"args.leaseNamespace="Kube System""#, "/args/leaseNamespace"),
        ("args.workers=0", "/args/workers"),
        ("args.qps=-1", "/args/qps"),
        (r#"args.logLevel="loud""#, "/args/logLevel"),
        (r#"args.logFormat="xml""#, "/args/logFormat"),
        ("admin.port=80", "/admin/port"),
        (r#"admin.host="localhost:1""#, "/admin/host"),
        ("runAs.user=0", "/runAs/user"),
        (r#"resources.limits.memory="lots""#, "/resources/limits/memory"),
        (r#"antiAffinity="Maybe""#, "/antiAffinity"),
        (r#"serviceMonitor.interval="soon""#, "/serviceMonitor/interval"),
        ("podLabels.replicas=1", "/podLabels/replicas"),
    ] {
        refused(value, culprit);
    }
}

#[test]
fn a_value_that_templates_rely_on_cannot_be_taken_away() {
    for (value, culprit) in [
        ("image=null", "'image'"),
        ("args.leaderElect=null", "'leaderElect'"),
        ("args.leaseNamespace=null", "'leaseNamespace'"),
        ("admin.port=null", "'port'"),
    ] {
        refused(value, culprit);
    }
}

#[test]
fn values_that_must_not_go_together_are_refused() {
    refused(r#"workload="Deployment""#, "workload: Deployment is refused");
    refused("serviceMonitor.enabled=true", "needs service.enabled");
}

#[test]
fn every_object_in_a_schema_is_closed_or_a_map_of_strings() {
    for chart in Chart::all() {
        closed(&chart.parse("values.schema.json"), chart.name());
    }
}

/// Walks a schema; the places that Helm itself writes to stay open.
fn closed(schema: &Value, path: &str) {
    if schema["type"] == "object" && !path.ends_with("/global") {
        let rest = &schema["additionalProperties"];
        assert!(
            *rest == false || rest["type"] == "string",
            "{path} accepts unknown keys"
        );
    }
    match schema {
        Value::Object(fields) => fields
            .iter()
            .for_each(|(key, field)| closed(field, &format!("{path}/{key}"))),
        Value::Array(entries) => entries.iter().for_each(|entry| closed(entry, path)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn schema_and_values_know_the_same_keys() {
    for chart in Chart::all() {
        let schema = chart.parse("values.schema.json");
        let mut of_schema = Vec::new();
        schema_keys(&schema, &schema, "", &mut of_schema);
        of_schema.retain(|key| !matches!(key.as_str(), ".global" | ".workload-lib.global"));
        let mut of_values = Vec::new();
        value_keys(&chart.parse("values.yaml"), &schema, &schema, "", &mut of_values);
        of_schema.sort();
        of_values.sort();
        assert_eq!(of_schema, of_values, "{}", chart.name());
    }
}

/// What a schema is about once a reference in it is followed.
fn resolve<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    match schema["$ref"].as_str() {
        Some(reference) => root.pointer(reference.trim_start_matches('#')).unwrap(),
        None => schema,
    }
}

/// Paths of all keys that have no named keys below them.
fn schema_keys(schema: &Value, root: &Value, path: &str, into: &mut Vec<String>) {
    match resolve(schema, root)["properties"].as_object() {
        Some(fields) => fields
            .iter()
            .for_each(|(key, field)| schema_keys(field, root, &format!("{path}.{key}"), into)),
        None => into.push(path.to_owned()),
    }
}

/// The same for values, down to where the schema ends.
fn value_keys(value: &Value, schema: &Value, root: &Value, path: &str, into: &mut Vec<String>) {
    let schema = resolve(schema, root);
    match (value.as_object(), schema["properties"].as_object()) {
        (Some(fields), Some(known)) => {
            for (key, field) in fields {
                let known = known.get(key).unwrap_or(&Value::Null);
                value_keys(field, known, root, &format!("{path}.{key}"), into);
            }
        }
        _ => into.push(path.to_owned()),
    }
}

#[test]
fn every_value_is_explained() {
    for chart in Chart::all() {
        let text = chart.read("values.yaml");
        let schema = chart.parse("values.schema.json");
        let mut keys = Vec::new();
        value_keys(&chart.parse("values.yaml"), &schema, &schema, "", &mut keys);
        let explained = text
            .lines()
            .filter(|line| line.trim_start().starts_with("# -- "))
            .count();
        assert_eq!(
            explained,
            keys.len(),
            "{}: one `# --` for each of {keys:?}",
            chart.name()
        );
    }
}
