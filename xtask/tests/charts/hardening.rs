//! Every container is locked down, whatever the values.

use serde_json::{Value, json};

use crate::chart::{Chart, objects, only};
use crate::helm::Helm;

#[test]
fn every_pod_of_every_shape_is_hardened() {
    let Some(helm) = Helm::find() else { return };
    for chart in Chart::all() {
        for case in chart.cases() {
            let pods = pod_specs(&chart.objects(&helm, case.values));
            let expected = usize::from(!case.name.ends_with("rights-only"));
            assert_eq!(pods.len(), expected, "{}: {}", chart.name(), case.name);
            pods.iter().for_each(check);
        }
    }
}

/// The pod specs of all workloads, and of manifests that ConfigMaps carry.
fn pod_specs(rendered: &[Value]) -> Vec<Value> {
    let carried = rendered
        .iter()
        .filter(|object| object["kind"] == "ConfigMap")
        .flat_map(|map| map["data"].as_object().unwrap().values())
        .flat_map(|text| objects(text.as_str().unwrap()))
        .map(|pod| pod["spec"].clone());
    let templates = rendered.iter().map(|object| object["spec"]["template"]["spec"].clone());
    carried.chain(templates).filter(|spec| !spec.is_null()).collect()
}

fn check(pod: &Value) {
    let own = &pod["securityContext"];
    assert_eq!(own["runAsNonRoot"], true);
    assert_eq!(own["seccompProfile"], json!({ "type": "RuntimeDefault" }));
    assert_ne!(own["runAsUser"], 0);
    for shared in [
        "hostPID",
        "hostIPC",
        "shareProcessNamespace",
        "initContainers",
        "ephemeralContainers",
    ] {
        assert!(pod[shared].is_null(), "{shared}");
    }
    let containers = pod["containers"].as_array().unwrap();
    assert!(!containers.is_empty());
    for container in containers {
        let expected = json!({
            "allowPrivilegeEscalation": false,
            "capabilities": { "drop": ["ALL"] },
            "privileged": false,
            "readOnlyRootFilesystem": true,
        });
        assert_eq!(container["securityContext"], expected);
        assert!(container["resources"]["limits"]["memory"].is_string());
        assert!(container["resources"]["requests"]["cpu"].is_string());
        for mount in container["volumeMounts"].as_array().into_iter().flatten() {
            assert_eq!(mount["readOnly"], true, "{mount}");
        }
    }
}

#[test]
fn a_static_pod_refers_to_no_api_object() {
    let Some(helm) = Helm::find() else { return };
    let rendered = Chart::deployment_controller().objects(&helm, &[r#"workload="StaticPod""#]);
    let carried = only(&rendered, "ConfigMap")["data"]["deployment-controller.yaml"]
        .as_str()
        .unwrap()
        .to_owned();
    let pod = only(&objects(&carried), "Pod").clone();
    // The kubelet rejects a manifest with any of these.
    for reference in ["serviceAccountName", "imagePullSecrets", "resourceClaims"] {
        assert!(pod["spec"][reference].is_null(), "{reference}");
    }
    assert_eq!(pod["spec"]["automountServiceAccountToken"], false);
    let volumes = pod["spec"]["volumes"].as_array().unwrap();
    for volume in volumes {
        assert!(volume["hostPath"].is_object(), "{volume}");
    }
}
