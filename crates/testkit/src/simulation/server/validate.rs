//! What the server refuses for its content, as far as a controller or the user of a scenario can meet it.

use serde_json::Value;
use workload_core::id::Kind;
use workload_core::selector::{LabelSelector, Selector};

use super::create::is_empty;
use super::job;
use super::selection::labels_of;
use super::status::Fault;

type Faults = Vec<Fault>;

/// What is wrong with a new object.
pub(super) fn created(kind: Kind, object: &Value) -> Faults {
    let mut faults = owners(object);
    if object["metadata"]["name"].as_str().is_none_or(str::is_empty) {
        faults.push(Fault::required("metadata.name", "name or generateName is required"));
    }
    faults.extend(content(kind, object));
    faults
}

/// What is wrong with a change of metadata.
pub(super) fn metadata(stored: &Value, object: &Value) -> Faults {
    let mut faults = owners(object);
    let finalizers = |of: &Value| of["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    let known = finalizers(stored);
    let mut new = finalizers(object);
    new.retain(|finalizer| !known.contains(finalizer));
    if !new.is_empty() && !stored["metadata"]["deletionTimestamp"].is_null() {
        let names: Vec<_> = new.iter().map(Value::to_string).collect();
        let why = format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
            names.join(", ")
        );
        faults.push(Fault::forbidden("metadata.finalizers", &why));
    }
    for field in ["name", "namespace", "uid"] {
        let new = &object["metadata"][field];
        if *new != stored["metadata"][field] {
            faults.push(Fault::invalid(&format!("metadata.{field}"), new, "field is immutable"));
        }
    }
    faults
}

/// What is wrong with a change of the main part.
pub(super) fn updated(kind: Kind, stored: &Value, object: &Value) -> Faults {
    let mut faults = content(kind, object);
    if kind == Kind::JOB {
        faults.extend(job::updated(stored, object));
    }
    let selector = &object["spec"]["selector"];
    if is_templated(kind) && *selector != stored["spec"]["selector"] {
        faults.push(Fault::invalid("spec.selector", selector, "field is immutable"));
    }
    faults
}

/// What is wrong with a change of the status.
pub(super) fn status(kind: Kind, stored: &Value, object: &Value) -> Faults {
    let mut faults = Vec::new();
    if kind == Kind::JOB {
        return job::written(stored, object);
    }
    if !is_templated(kind) {
        return faults;
    }
    let (old, new) = (&stored["status"], &object["status"]);
    let count = |field: &str| new[field].as_i64().unwrap_or_default();
    for (field, value) in new.as_object().into_iter().flatten() {
        if value.as_i64().is_some_and(|value| value < 0) {
            let why = "must be greater than or equal to 0";
            faults.push(Fault::invalid(&format!("status.{field}"), value, why));
        }
    }
    let bounded = [
        ("updatedReplicas", "replicas", "cannot be greater than status.replicas"),
        (
            "fullyLabeledReplicas",
            "replicas",
            "cannot be greater than status.replicas",
        ),
        ("readyReplicas", "replicas", "cannot be greater than status.replicas"),
        (
            "availableReplicas",
            "replicas",
            "cannot be greater than status.replicas",
        ),
        (
            "availableReplicas",
            "readyReplicas",
            "cannot be greater than readyReplicas",
        ),
    ];
    for (field, bound, why) in bounded {
        if count(field) > count(bound) {
            faults.push(Fault::invalid(&format!("status.{field}"), &count(field).into(), why));
        }
    }
    let collisions = |status: &Value| status["collisionCount"].as_i64();
    if collisions(old).is_some_and(|old| collisions(new).is_none_or(|new| new < old)) {
        let new = collisions(new).unwrap_or_default().into();
        faults.push(Fault::invalid("status.collisionCount", &new, "cannot be decremented"));
    }
    faults
}

fn is_templated(kind: Kind) -> bool {
    kind == Kind::DEPLOYMENT || kind == Kind::REPLICA_SET
}

fn owners(object: &Value) -> Faults {
    let owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    let controllers: Vec<_> = owners.filter(|owner| owner["controller"] == true).collect();
    let [first, second, ..] = controllers.as_slice() else {
        return Vec::new();
    };
    let why = format!(
        "Only one reference can have Controller set to true. Found \"true\" in references for {} and {}",
        named(first),
        named(second)
    );
    let all = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    let all: Vec<_> = all.map(written).collect();
    vec![Fault {
        field: "metadata.ownerReferences".to_owned(),
        reason: "FieldValueInvalid",
        words: format!("Invalid value: [{}]: {why}", all.join(",")),
    }]
}

/// An owner reference with its fields in the order in which the server writes them.
fn written(owner: &Value) -> String {
    const FIELDS: [&str; 6] = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
    let given = FIELDS.iter().filter(|field| !owner[**field].is_null());
    let given: Vec<_> = given.map(|field| format!("{field:?}:{}", owner[*field])).collect();
    format!("{{{}}}", given.join(","))
}

fn named(owner: &Value) -> String {
    let text = |field: &str| owner[field].as_str().unwrap_or_default();
    format!("{}/{}", text("kind"), text("name"))
}

/// What is wrong with the content of an object.
fn content(kind: Kind, object: &Value) -> Faults {
    if kind == Kind::POD {
        return deletion_cost(object);
    }
    if kind == Kind::JOB {
        return job::created(object);
    }
    if !is_templated(kind) {
        return Vec::new();
    }
    let spec = &object["spec"];
    let mut faults = selector(spec);
    for field in [
        "replicas",
        "minReadySeconds",
        "revisionHistoryLimit",
        "progressDeadlineSeconds",
    ] {
        if spec[field].as_i64().is_some_and(|value| value < 0) {
            let why = "must be greater than or equal to 0";
            faults.push(Fault::invalid(&format!("spec.{field}"), &spec[field], why));
        }
    }
    let pods = &spec["template"]["spec"];
    if pods["restartPolicy"] != "Always" {
        let words = format!(
            "Unsupported value: {}: supported values: \"Always\"",
            pods["restartPolicy"]
        );
        faults.push(Fault {
            field: "spec.template.spec.restartPolicy".to_owned(),
            reason: "FieldValueNotSupported",
            words,
        });
    }
    if !pods["activeDeadlineSeconds"].is_null() {
        let field = "spec.template.spec.activeDeadlineSeconds";
        faults.push(Fault::forbidden(
            field,
            "activeDeadlineSeconds in ReplicaSet is not Supported",
        ));
    }
    if kind == Kind::DEPLOYMENT {
        faults.extend(strategy(&spec["strategy"]));
        let (deadline, ready) = (
            spec["progressDeadlineSeconds"].as_i64(),
            spec["minReadySeconds"].as_i64(),
        );
        if deadline.is_some_and(|deadline| deadline <= ready.unwrap_or_default()) {
            let why = "must be greater than minReadySeconds";
            faults.push(Fault::invalid(
                "spec.progressDeadlineSeconds",
                &spec["progressDeadlineSeconds"],
                why,
            ));
        }
    }
    faults
}

fn selector(spec: &Value) -> Faults {
    let selector = &spec["selector"];
    if selector.is_null() {
        return vec![Fault::required("spec.selector", "")];
    }
    let parsed = serde_json::from_value::<LabelSelector>(selector.clone()).unwrap_or_default();
    let labels = &spec["template"]["metadata"]["labels"];
    match Selector::new(Some(&parsed)) {
        Ok(selector) if selector.is_empty() => {
            let why = "empty selector is invalid for deployment";
            vec![Fault::invalid("spec.selector", &spec["selector"], why)]
        }
        Ok(selector) if selector.matches(&labels_of(labels)) => Vec::new(),
        Ok(_) => {
            let why = "`selector` does not match template `labels`";
            vec![Fault::invalid("spec.template.metadata.labels", labels, why)]
        }
        Err(error) => vec![Fault::invalid("spec.selector", selector, &error.to_string())],
    }
}

fn strategy(strategy: &Value) -> Faults {
    let bounds = &strategy["rollingUpdate"];
    if strategy["type"] == "Recreate" {
        let why = "may not be specified when strategy `type` is 'Recreate'";
        let given = !is_empty(bounds);
        return given
            .then(|| Fault::forbidden("spec.strategy.rollingUpdate", why))
            .into_iter()
            .collect();
    }
    let percent = |value: &Value| value.as_str()?.strip_suffix('%')?.parse::<i64>().ok();
    let amount = |value: &Value| percent(value).or_else(|| value.as_i64()).unwrap_or_default();
    let (surge, unavailable) = (&bounds["maxSurge"], &bounds["maxUnavailable"]);
    let at = "spec.strategy.rollingUpdate.maxUnavailable";
    let mut faults = Vec::new();
    if amount(surge) == 0 && amount(unavailable) == 0 {
        faults.push(Fault::invalid(at, unavailable, "may not be 0 when `maxSurge` is 0"));
    }
    if percent(unavailable).is_some_and(|percent| percent > 100) {
        faults.push(Fault::invalid(at, unavailable, "must not be greater than 100%"));
    }
    faults
}

/// deployment C-53.
fn deletion_cost(pod: &Value) -> Faults {
    const COST: &str = "controller.kubernetes.io/pod-deletion-cost";
    let Some(cost) = pod["metadata"]["annotations"][COST].as_str() else {
        return Vec::new();
    };
    let plain = cost.parse::<i32>().is_ok_and(|number| number.to_string() == cost);
    let fault = || Fault::invalid("metadata.annotations", &cost.into(), "must be a 32bit integer");
    (!plain).then(fault).into_iter().collect()
}
