//! The service account under which the program under test runs, with the rights that its chart gives it and no others.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use kube::config::Kubeconfig;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::api::{Api, CLUSTER_ROLE, NAMESPACE, ROLE, SERVICE_ACCOUNT};
use crate::kubectl;
use crate::program::Program;
use crate::proxy::Proxy;
use crate::server::{Server, environment};

/// The namespace of the service accounts of controllers under test.
const HOME: &str = "controllers-under-test";
/// The namespace of Leases, by default.
const LEASES: &str = "kube-system";
/// What of a chart is about rights.
const RIGHTS: [&str; 5] = [
    "ServiceAccount",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
];

/// How a program reaches its server, where that is not as usual: directly, with a token of its account.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Another address than the server's own.
    pub address: Option<String>,
    /// Another token.
    pub token: Option<String>,
    /// A file that holds the token, and may hold another one later.
    pub token_file: Option<PathBuf>,
}

impl Access {
    /// By way of a proxy.
    pub fn through(proxy: &Proxy) -> Self {
        Self {
            address: Some(proxy.address()),
            ..Self::default()
        }
    }
}

/// Makes sure that the program's account exists and has its rights, and writes a kubeconfig into `dir`.
pub(crate) async fn kubeconfig(server: &Server, program: &Program, access: &Access, dir: &Path) -> PathBuf {
    ensure_rights(server, program, dir).await;
    let token = match &access.token {
        Some(token) => token.clone(),
        None => token(&server.api().namespace(HOME), program.release).await,
    };
    let config = Kubeconfig::read_from(server.kubeconfig()).expect("a readable kubeconfig");
    let mut config = serde_json::to_value(&config).expect("JSON");
    for user in config["users"].as_array_mut().into_iter().flatten() {
        user["user"] = match &access.token_file {
            Some(file) => json!({ "tokenFile": file }),
            None => json!({ "token": token }),
        };
    }
    for cluster in config["clusters"].as_array_mut().into_iter().flatten() {
        if let Some(address) = &access.address {
            cluster["cluster"]["server"] = json!(address);
        }
    }
    let path = dir.join("controller.kubeconfig");
    std::fs::write(&path, config.to_string()).expect("a file");
    path
}

/// A token of the service account `name`.
pub(crate) async fn token(namespace: &Api, name: &str) -> String {
    let asked = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let answer = namespace
        .create_at(SERVICE_ACCOUNT, &format!("{name}/token"), &asked)
        .await
        .unwrap_or_else(|error| panic!("no token of {name}: {error}"));
    answer["status"]["token"].as_str().expect("a token").to_owned()
}

/// The rules of the program's chart, those of its Lease included.
pub(crate) async fn rules(server: &Server, program: &Program) -> Vec<Value> {
    let scratch = tempfile::tempdir().expect("a directory");
    ensure_rights(server, program, scratch.path()).await;
    let lease = format!("{}-lease", program.release);
    let kept = [
        (server.api(), CLUSTER_ROLE, program.release),
        (server.api().namespace(LEASES), ROLE, &*lease),
    ];
    let mut rules = Vec::new();
    for (api, kind, name) in kept {
        let role = api
            .get(kind, name)
            .await
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        rules.extend(role["rules"].as_array().cloned().unwrap_or_default());
    }
    rules
}

/// Grants the program's rights, once per server.
async fn ensure_rights(server: &Server, program: &Program, dir: &Path) {
    let mut granted = server.rights.lock().await;
    if !granted.contains(program.release) {
        grant(server, program, dir).await;
        granted.insert(program.release);
    }
}

async fn grant(server: &Server, program: &Program, dir: &Path) {
    let home = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}});
    if let Err(error) = server.api().create(NAMESPACE, &home).await {
        assert_eq!(error.reason, "AlreadyExists", "{error}");
    }
    let rights = dir.join("rights.yaml");
    std::fs::write(&rights, rights_of(&rendered(program).await)).expect("a file");
    let file = rights.to_str().expect("a path in UTF-8");
    kubectl::run(server.kubeconfig(), dir, &["apply", "--filename", file])
        .await
        .printed();
}

/// The program's chart, as Helm would install it.
async fn rendered(program: &Program) -> String {
    let helm = environment("HELM").unwrap_or_else(|| "helm".to_owned());
    let mut command = Command::new(helm);
    command.args(["template", program.release, program.chart, "--namespace", HOME]);
    command.arg(format!("--set=fullnameOverride={}", program.release));
    command.arg(format!("--set=serviceAccount.name={}", program.release));
    command.args(program.values.iter().map(|value| format!("--set={value}")));
    let output = command.stdin(Stdio::null()).output().await.expect("helm");
    assert!(
        output.status.success(),
        "helm: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The documents of a manifest that are about rights.
fn rights_of(manifest: &str) -> String {
    let is_about_rights = |document: &&str| {
        let kind = document.lines().find_map(|line| line.strip_prefix("kind: "));
        kind.is_some_and(|kind| RIGHTS.contains(&kind.trim()))
    };
    manifest
        .split("\n---\n")
        .filter(is_about_rights)
        .collect::<Vec<_>>()
        .join("\n---\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_about_rights_is_taken_from_a_chart() {
        let manifest =
            "---\n# a\nkind: Role\nname: a\n---\nkind: Deployment\nname: b\n---\nkind: ServiceAccount\nname: c\n";
        assert_eq!(
            rights_of(manifest),
            "---\n# a\nkind: Role\nname: a\n---\nkind: ServiceAccount\nname: c\n"
        );
    }
}
