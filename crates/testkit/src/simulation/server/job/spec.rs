//! What the server refuses of a Job's spec (job J-75, J-107, J-146).

use serde_json::Value;

use crate::simulation::server::selection::labels_of;
use crate::simulation::server::status::Fault;
use workload_core::selector::{LabelSelector, Selector};

/// What is wrong with the content of a Job.
pub(in super::super) fn created(object: &Value) -> Vec<Fault> {
    let spec = &object["spec"];
    let mut faults = selector(object);
    for field in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ] {
        if spec[field].as_i64().is_some_and(|value| value < 0) {
            let why = "must be greater than or equal to 0";
            faults.push(Fault::invalid(&format!("spec.{field}"), &spec[field], why));
        }
    }
    let indexed = spec["completionMode"] == "Indexed";
    if indexed && spec["completions"].is_null() {
        let why = "when completion mode is Indexed";
        faults.push(Fault::required("spec.completions", why));
    }
    if !indexed && !spec["backoffLimitPerIndex"].is_null() {
        let (field, why) = ("spec.backoffLimitPerIndex", "requires indexed completion mode");
        faults.push(Fault::invalid(field, &spec["backoffLimitPerIndex"], why));
    }
    if !indexed && !spec["successPolicy"].is_null() {
        let (field, why) = ("spec.successPolicy", "requires indexed completion mode");
        faults.push(Fault::invalid(field, &spec["successPolicy"], why));
    }
    faults.extend(policies(spec));
    faults
}

fn policies(spec: &Value) -> Vec<Fault> {
    let mut faults = Vec::new();
    let restart = &spec["template"]["spec"]["restartPolicy"];
    if *restart != "Never" && *restart != "OnFailure" {
        faults.push(Fault {
            field: "spec.template.spec.restartPolicy".to_owned(),
            reason: "FieldValueNotSupported",
            words: format!("Unsupported value: {restart}: supported values: \"OnFailure\", \"Never\""),
        });
    }
    if spec["podFailurePolicy"].is_null() {
        return faults;
    }
    if *restart != "Never" {
        let field = "spec.template.spec.restartPolicy";
        faults.push(Fault::invalid(
            field,
            restart,
            "only \"Never\" is supported when podFailurePolicy is specified",
        ));
    }
    if spec["podReplacementPolicy"] != "Failed" {
        faults.push(Fault {
            field: "spec.podReplacementPolicy".to_owned(),
            reason: "FieldValueNotSupported",
            words: format!(
                "Unsupported value: {}: supported values: \"Failed\"",
                spec["podReplacementPolicy"]
            ),
        });
    }
    faults
}

/// The selector fits the template.
fn selector(object: &Value) -> Vec<Fault> {
    let spec = &object["spec"];
    let parsed = serde_json::from_value::<LabelSelector>(spec["selector"].clone()).unwrap_or_default();
    let labels = &spec["template"]["metadata"]["labels"];
    match Selector::new(Some(&parsed)) {
        _ if spec["selector"].is_null() => vec![Fault::required("spec.selector", "")],
        Ok(selector) if selector.matches(&labels_of(labels)) => Vec::new(),
        Ok(_) => {
            let why = "`selector` does not match template `labels`";
            vec![Fault::invalid("spec.template.metadata.labels", labels, why)]
        }
        Err(error) => vec![Fault::invalid("spec.selector", &spec["selector"], &error.to_string())],
    }
}

/// What is wrong with a change of a Job.
pub(in super::super) fn updated(stored: &Value, object: &Value) -> Vec<Fault> {
    let (old, new) = (&stored["spec"], &object["spec"]);
    let mut faults = Vec::new();
    let immutable = |field: &str| Fault::invalid(&format!("spec.{field}"), &new[field], "field is immutable");
    let elastic = new["completionMode"] == "Indexed"
        && new["completions"] == new["parallelism"]
        && !new["completions"].is_null()
        && !old["completions"].is_null();
    if new["completions"] != old["completions"] && !elastic {
        let indexed = new["completionMode"] == "Indexed" && !new["completions"].is_null();
        let words = "can only be modified in tandem with spec.parallelism";
        faults.push(if indexed {
            Fault::invalid("spec.completions", &new["completions"], words)
        } else {
            immutable("completions")
        });
    }
    for field in [
        "selector",
        "completionMode",
        "podFailurePolicy",
        "backoffLimitPerIndex",
        "managedBy",
        "successPolicy",
    ] {
        if new[field] != old[field] {
            faults.push(immutable(field));
        }
    }
    if new["template"] != old["template"] && !may_change_template(stored, object) {
        faults.push(immutable("template"));
    }
    faults
}

/// Whose Job is suspended and whose pods are gone may change where they run and what they need (job J-107). Which fields of the
/// template that are is not looked at.
fn may_change_template(stored: &Value, object: &Value) -> bool {
    let conditions = stored["status"]["conditions"].as_array();
    let is_suspended = |condition: &Value| condition["type"] == "Suspended" && condition["status"] == "True";
    let is_told = conditions.is_some_and(|conditions| conditions.iter().any(is_suspended));
    let was_suspended = stored["spec"]["suspend"] == true || object["spec"]["suspend"] == true;
    let none_runs = stored["status"]["active"].as_i64().unwrap_or_default() == 0;
    was_suspended && none_runs && (is_told || stored["status"]["startTime"].is_null())
}
