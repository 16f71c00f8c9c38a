//! What the server fills in, and what it leaves out when it stores an object.

use serde_json::{Map, Value, json};
use workload_core::id::Kind;

use super::create::is_empty;
use super::job;
use super::kinds::Resource;
use crate::api::{EVENT, POD_DISRUPTION_BUDGET};

/// Defaults of a pod's spec.
const POD: [(&str, &str); 7] = [
    ("restartPolicy", r#""Always""#),
    ("dnsPolicy", r#""ClusterFirst""#),
    ("schedulerName", r#""default-scheduler""#),
    ("terminationGracePeriodSeconds", "30"),
    ("securityContext", "{}"),
    ("enableServiceLinks", "true"),
    ("preemptionPolicy", r#""PreemptLowerPriority""#),
];
/// Of these, the ones that a template has too.
const TEMPLATE: usize = 5;
/// Defaults of a container.
const CONTAINER: [(&str, &str); 3] = [
    ("terminationMessagePath", r#""/dev/termination-log""#),
    ("terminationMessagePolicy", r#""File""#),
    ("resources", "{}"),
];
/// Defaults of a probe.
const PROBE: [(&str, &str); 4] = [
    ("timeoutSeconds", "1"),
    ("periodSeconds", "10"),
    ("successThreshold", "1"),
    ("failureThreshold", "3"),
];
/// Defaults of a Deployment's spec.
const DEPLOYMENT: [(&str, &str); 3] = [
    ("replicas", "1"),
    ("revisionHistoryLimit", "10"),
    ("progressDeadlineSeconds", "600"),
];
/// Counts in a status that are left out while they are zero.
const COUNTS: [&str; 6] = [
    "observedGeneration",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
    "unavailableReplicas",
    "fullyLabeledReplicas",
];

/// Fills in the defaults of an object's content.
pub(super) fn complete(kind: Kind, object: &mut Value) {
    let spec = &mut object["spec"];
    if kind == Kind::DEPLOYMENT {
        fill(spec, &DEPLOYMENT);
        let strategy = &mut spec["strategy"];
        fill(strategy, &[("type", r#""RollingUpdate""#)]);
        if strategy["type"] == "RollingUpdate" {
            let bounds = [("maxSurge", r#""25%""#), ("maxUnavailable", r#""25%""#)];
            fill(&mut strategy["rollingUpdate"], &bounds);
        }
        pod_spec(&mut spec["template"]["spec"], &POD[..TEMPLATE]);
    } else if kind == Kind::REPLICA_SET {
        fill(spec, &DEPLOYMENT[..1]);
        pod_spec(&mut spec["template"]["spec"], &POD[..TEMPLATE]);
    } else if kind == Kind::JOB {
        pod_spec(&mut spec["template"]["spec"], &POD[..TEMPLATE]);
        job::complete(object);
    } else if kind == Kind::POD {
        pod_spec(spec, &POD);
        fill(spec, &[("priority", "0"), ("serviceAccountName", r#""default""#)]);
        spec["serviceAccount"] = spec["serviceAccountName"].clone();
        tolerations(&mut spec["tolerations"]);
    } else if kind == EVENT {
        without_spec(object);
        fill(object, &[("eventTime", "null")]);
    } else if spec.is_null() {
        without_spec(object);
    }
}

fn without_spec(object: &mut Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.remove("spec");
    }
}

/// The status of a new object.
pub(super) fn begin_status(kind: Kind, object: &mut Value) {
    if kind == Kind::DEPLOYMENT || kind == Kind::JOB {
        object["status"] = json!({});
    } else if kind == Kind::REPLICA_SET {
        object["status"] = json!({"replicas": 0});
    } else if kind == Kind::POD {
        object["status"] = json!({"phase": "Pending", "qosClass": quality(&object["spec"])});
    } else if kind == POD_DISRUPTION_BUDGET {
        object["status"] =
            json!({"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0});
    }
}

/// Leaves out what the server's types leave out.
pub(super) fn tidy(resource: &Resource, object: &mut Value) {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|_, value| !is_empty(value));
    }
    if !resource.is_built_in() {
        return;
    }
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        spec.retain(|_, value| !value.is_null());
    }
    let kind = resource.kind;
    if kind == Kind::JOB {
        job::tidy(object);
    }
    if kind == Kind::DEPLOYMENT || kind == Kind::REPLICA_SET {
        if let Some(spec) = object["spec"].as_object_mut() {
            let left_out = |field: &str, value: &Value| {
                (field == "paused" && *value == false) || (field == "minReadySeconds" && *value == 0)
            };
            spec.retain(|field, value| !left_out(field, value));
        }
        let status = &mut object["status"];
        if status.is_null() {
            *status = json!({});
        }
        if kind == Kind::REPLICA_SET && status["replicas"].is_null() {
            status["replicas"] = 0.into();
        }
        let left_out = |field: &str| COUNTS.contains(&field) || (kind == Kind::DEPLOYMENT && field == "replicas");
        if let Some(fields) = status.as_object_mut() {
            fields.retain(|field, value| !(is_empty(value) || left_out(field) && *value == 0));
        }
    }
}

fn pod_spec(spec: &mut Value, defaults: &[(&str, &str)]) {
    fill(spec, defaults);
    for list in ["containers", "initContainers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            fill(container, &CONTAINER);
            let policy = if is_latest(container["image"].as_str().unwrap_or_default()) {
                "Always"
            } else {
                "IfNotPresent"
            };
            fill(container, &[("imagePullPolicy", &format!("{policy:?}"))]);
            for port in container
                .get_mut("ports")
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten()
            {
                fill(port, &[("protocol", r#""TCP""#)]);
            }
            for variable in container
                .get_mut("env")
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten()
            {
                if let Some(field) = variable.pointer_mut("/valueFrom/fieldRef") {
                    fill(field, &[("apiVersion", r#""v1""#)]);
                }
            }
            for probe in ["readinessProbe", "livenessProbe", "startupProbe"] {
                if let Some(probe) = container.get_mut(probe) {
                    fill(probe, &PROBE);
                    if let Some(get) = probe.get_mut("httpGet") {
                        fill(get, &[("path", r#""/""#), ("scheme", r#""HTTP""#)]);
                    }
                }
            }
        }
    }
}

/// Every pod stays for a while on a node that is in trouble.
fn tolerations(of: &mut Value) {
    for trouble in ["not-ready", "unreachable"] {
        let key = format!("node.kubernetes.io/{trouble}");
        let default = json!({"effect": "NoExecute", "key": key, "operator": "Exists", "tolerationSeconds": 300});
        if let Value::Array(all) = of {
            let known = |toleration: &Value| toleration["key"].is_null() || toleration["key"] == key.as_str();
            if !all.iter().any(known) {
                all.push(default);
            }
        } else {
            *of = json!([default]);
        }
    }
}

fn is_latest(image: &str) -> bool {
    let last = image.rsplit('/').next().unwrap_or(image);
    !last.contains('@') && last.split_once(':').is_none_or(|(_, tag)| tag == "latest")
}

/// Gives fields that are absent or null the values that these texts stand for.
fn fill(object: &mut Value, defaults: &[(&str, &str)]) {
    if object.is_null() {
        *object = Map::new().into();
    }
    for (field, value) in defaults {
        if object.get(*field).is_none_or(Value::is_null) {
            object[*field] = serde_json::from_str(value).expect("JSON");
        }
    }
}

/// The quality of service that a pod gets for what it asks for.
fn quality(spec: &Value) -> &'static str {
    let containers = spec["containers"].as_array().into_iter().flatten();
    let asks = |container: &Value| !is_empty(&container["resources"]);
    if containers.into_iter().any(asks) {
        "Burstable"
    } else {
        "BestEffort"
    }
}
