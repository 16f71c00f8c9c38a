//! Every field of a pod template reaches ReplicaSet and pod as it was written.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use testkit::api::RUNTIME_CLASS;
use testkit::builders::{Manifest as _, deployment, every_field};
use testkit::{Scene, fact, fields};
use workload_core::id::Kind;

use crate::{scenario, web};

/// Parts of paths that the templates leave out, and why.
const LEFT_OUT: [(&str, &str); 22] = [
    ("/spec/ephemeralContainers[]", "forbidden in templates"),
    ("/spec/activeDeadlineSeconds", "forbidden in templates of Deployments"),
    ("/readinessProbe/terminationGracePeriodSeconds", "forbidden there"),
    ("/spec/resources/claims[]", "forbidden there"),
    ("/dataSourceRef/namespace", "excludes dataSource; behind a gate"),
    ("/httpGet/protocol", "behind a gate"),
    ("/grpc/mode", "behind a gate"),
    ("/lifecycle/stopSignal", "behind a gate"),
    ("/bindMountOptions[]", "behind a gate"),
    ("/evictionResponders[]", "behind a gate"),
    ("/spec/schedulingGroup", "behind a gate"),
    ("/emptyDir/mode", "behind a gate"),
    ("/defaultUser", "behind a gate"),
    ("[]/user", "behind a gate"),
    ("/clusterTrustBundle/user", "behind a gate"),
    ("/podCertificate/user", "behind a gate"),
    ("/serviceAccountToken/user", "behind a gate"),
    ("/metadata/managedFields[]", "of stored objects only"),
    ("/metadata/ownerReferences[]", "of stored objects only"),
    ("/volumeClaimTemplate/metadata/finalizers[]", "forbidden there"),
    ("Timestamp", "of stored objects only"),
    ("/metadata/deletionGracePeriodSeconds", "of stored objects only"),
];

/// Fields of metadata that a template has by its type alone.
const OF_STORED_OBJECTS: [&str; 7] = [
    "generateName",
    "generation",
    "name",
    "namespace",
    "resourceVersion",
    "selfLink",
    "uid",
];

fn is_left_out(path: &str) -> bool {
    let of_stored = |name: &&str| path.ends_with(&format!("/metadata/{name}"));
    LEFT_OUT.iter().any(|(part, _)| path.contains(part)) || OF_STORED_OBJECTS.iter().any(of_stored)
}

/// The fields that exclude others of [`every_field`]: those of pods that use what is their node's.
fn on_the_node() -> Value {
    let mut template = every_field();
    let spec = template["spec"].as_object_mut().unwrap();
    for excluded in [
        "hostname",
        "hostnameOverride",
        "hostUsers",
        "schedulingGates",
        "setHostnameAsFQDN",
        "shareProcessNamespace",
        "subdomain",
    ] {
        assert!(spec.remove(excluded).is_some(), "{excluded}");
    }
    assert!(
        spec["securityContext"]
            .as_object_mut()
            .unwrap()
            .remove("sysctls")
            .is_some()
    );
    spec.insert("nodeName".to_owned(), "nowhere".into());
    for shared in ["hostIPC", "hostNetwork", "hostPID"] {
        spec.insert(shared.to_owned(), true.into());
    }
    template
}

/// Those of pods for Windows, which have nearly no other security context.
fn for_windows() -> Value {
    let mut template = every_field();
    let spec = template["spec"].as_object_mut().unwrap();
    for excluded in ["hostUsers", "resources", "shareProcessNamespace"] {
        assert!(spec.remove(excluded).is_some(), "{excluded}");
    }
    spec.insert("os".to_owned(), json!({"name": "windows"}));
    let options = json!({"windowsOptions": {
        "gmsaCredentialSpec": "s", "gmsaCredentialSpecName": "n", "hostProcess": false, "runAsUserName": "u",
    }});
    spec.insert("securityContext".to_owned(), options.clone());
    for list in ["containers", "initContainers"] {
        for container in spec[list].as_array_mut().unwrap() {
            container["securityContext"] = options.clone();
        }
    }
    template
}

fn templates() -> [Value; 3] {
    [every_field(), on_the_node(), for_windows()]
}

async fn make_runtime_class(scene: &Scene) {
    let class = json!({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "every-field"},
        "handler": "none", "overhead": {"podFixed": {"cpu": "10m"}}});
    let answer = scene.server().api().create(RUNTIME_CLASS, &class).await;
    assert!(
        answer.is_ok() || answer.as_ref().is_err_and(|error| error.code == 409),
        "{answer:?}"
    );
}

fn without_hash(mut template: Value) -> Value {
    let labels = template["metadata"]["labels"].as_object_mut().unwrap();
    assert!(labels.remove("pod-template-hash").is_some());
    template
}

fn bytes(json: &Value) -> String {
    serde_json::to_string_pretty(json).unwrap()
}

// A server that learns new fields fails this test: the template is to get them.
#[test]
fn the_templates_of_these_tests_set_all_that_the_server_describes() {
    fact(async |scene| {
        let document = scene
            .kubectl(&["get", "--raw", "/openapi/v3/apis/apps/v1"])
            .await
            .printed();
        let document: Value = serde_json::from_str(&document).unwrap();
        let known = fields::described(&document, "io.k8s.api.core.v1.PodTemplateSpec");
        assert!(known.len() > 800, "{} fields", known.len());
        let mut set = BTreeSet::new();
        for (number, template) in templates().iter().enumerate() {
            let manifest = deployment(&format!("web-{number}"))
                .set("/spec/replicas", 0)
                .set("/spec/selector/matchLabels/app", "web")
                .set("/spec/template", template.clone());
            let stored = scene.create(manifest).await;
            assert_eq!(
                bytes(stored.at("/spec/template")),
                bytes(template),
                "nothing is dropped or defaulted"
            );
            set.extend(fields::set_in(template));
        }
        let missing: Vec<_> = known.difference(&set).filter(|path| !is_left_out(path)).collect();
        assert_eq!(missing, [""; 0]);
        let needless: Vec<_> = LEFT_OUT
            .iter()
            .filter(|(part, _)| !known.difference(&set).any(|path| path.contains(part)))
            .collect();
        assert!(needless.is_empty(), "{needless:?}");
    });
}

// proves: deployment/I-7, deployment/C-70, deployment/D-13, deployment/D-6
#[test]
fn every_field_arrives_in_replica_set_and_pod() {
    arrives(every_field());
}

// proves: deployment/I-7, deployment/C-70, deployment/D-13, deployment/D-6
#[test]
fn fields_of_pods_that_use_what_is_their_nodes_arrive_too() {
    arrives(on_the_node());
}

// proves: deployment/I-7, deployment/C-70, deployment/D-13, deployment/D-6
#[test]
fn fields_of_pods_for_windows_arrive_too() {
    arrives(for_windows());
}

#[allow(clippy::needless_pass_by_value, reason = "a template is written where it is tried")]
fn arrives(template: Value) {
    scenario(async |scene| {
        make_runtime_class(scene).await;
        let manifest = deployment("web").set("/spec/template", template.clone());
        scene.create(manifest).await;
        let pod = scene
            .find("the pod", |state| state.pods().first().map(|pod| pod.json().clone()))
            .await;
        let set = scene.look(|state| state.replica_sets()[0].json().clone());
        let written = bytes(&template);
        assert_eq!(bytes(&without_hash(set["spec"]["template"].clone())), written);
        let mut made = json!({"metadata": {}, "spec": pod["spec"]});
        for part in ["annotations", "finalizers", "labels"] {
            made["metadata"][part] = pod["metadata"][part].clone();
        }
        assert_eq!(bytes(&without_hash(made)), written);
        let pods = [pod["metadata"]["name"].as_str().unwrap().to_owned()];
        // Comes back equal: no second ReplicaSet, also after a change that is none of the template's.
        scene
            .merge(
                Kind::DEPLOYMENT,
                "web",
                json!({"metadata": {"annotations": {"x": "y"}}}),
            )
            .await;
        scene
            .until("the change is seen", |state| web(state).is_observed())
            .await;
        assert_eq!(scene.look(|state| state.replica_sets().len()), 1);
        assert_eq!(scene.look(|state| testkit::names(state.pods())), pods);
    });
}
