//! The service account under which the program under test runs, with the rights it ships with and no others.

use std::path::{Path, PathBuf};

use kube::config::{AuthInfo, Kubeconfig};
use serde_json::{Value, json};
use workload_core::id::Kind;

use crate::api::{Api, CLUSTER_ROLE, CLUSTER_ROLE_BINDING, NAMESPACE, SERVICE_ACCOUNT};
use crate::server::Server;

/// The namespace of the service accounts of controllers under test.
const HOME: &str = "controllers-under-test";

/// Makes sure that the account `name` has exactly `rules`, and writes a kubeconfig with a token of it into `dir`.
pub(crate) async fn kubeconfig(server: &Server, name: &str, rules: &str, dir: &Path) -> PathBuf {
    let api = server.api();
    server.roles.get_or_init(|| grant(&api, name, rules)).await;
    let asked = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let answer = api
        .namespace(HOME)
        .create_at(SERVICE_ACCOUNT, &format!("{name}/token"), &asked)
        .await;
    let token = answer.expect("a token")["status"]["token"]
        .as_str()
        .expect("a token")
        .to_owned();

    let mut config = Kubeconfig::read_from(server.kubeconfig()).expect("a readable kubeconfig");
    for user in &mut config.auth_infos {
        user.auth_info = Some(AuthInfo {
            token: Some(token.clone().into()),
            ..AuthInfo::default()
        });
    }
    let mut text = serde_json::to_value(&config).expect("JSON");
    // Secrets are not serialised.
    for user in text["users"].as_array_mut().into_iter().flatten() {
        user["user"] = json!({ "token": token });
    }
    let path = dir.join("controller.kubeconfig");
    std::fs::write(&path, text.to_string()).expect("a file");
    path
}

async fn grant(api: &Api, name: &str, rules: &str) {
    let mut rules: Value = serde_json::from_str(rules).expect("a JSON list of rules");
    for rule in rules.as_array_mut().expect("a list of rules") {
        // For readers of the list only.
        rule.as_object_mut().expect("a rule").remove("why");
    }
    let subject = json!({"kind": "ServiceAccount", "name": name, "namespace": HOME});
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name});
    put(api, NAMESPACE, &object("v1", "Namespace", HOME)).await;
    put(
        &api.namespace(HOME),
        SERVICE_ACCOUNT,
        &object("v1", "ServiceAccount", name),
    )
    .await;
    let mut granted = object("rbac.authorization.k8s.io/v1", "ClusterRole", name);
    granted["rules"] = rules;
    put(api, CLUSTER_ROLE, &granted).await;
    let mut binding = object("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", name);
    binding["roleRef"] = role;
    binding["subjects"] = json!([subject]);
    put(api, CLUSTER_ROLE_BINDING, &binding).await;
}

fn object(api_version: &str, kind: &str, name: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}})
}

/// Creates the object, or brings an existing one to this form.
async fn put(api: &Api, kind: Kind, object: &Value) {
    let Err(error) = api.create(kind, object).await else {
        return;
    };
    assert_eq!(error.reason, "AlreadyExists", "{error}");
    let name = object["metadata"]["name"].as_str().expect("a name");
    api.merge(kind, name, object)
        .await
        .unwrap_or_else(|error| panic!("{error}"));
}
