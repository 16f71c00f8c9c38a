//! Installations on a real API server.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::chart::{Chart, only};
use crate::helm::{Answer, Helm, Kubectl};

/// A namespace of a test's own on the server, with what works on it; deleted in the end.
struct Site {
    helm: Helm,
    kubectl: Kubectl,
    kubeconfig: PathBuf,
    namespace: String,
}

/// Whether an installation is only checked by the server.
#[derive(Clone, Copy)]
enum DryRun {
    No,
    OnServer,
}

/// Has the server check manifests and refuse fields that it does not know.
const STRICT_DRY_RUN: [&str; 2] = ["--dry-run=server", "--validate=strict"];

impl Site {
    /// `None`, with a notice, if no server or a tool is missing.
    fn open(purpose: &str) -> Option<Self> {
        let Some(kubeconfig) = std::env::var_os("WORKLOAD_TEST_OURS").map(PathBuf::from) else {
            eprintln!("skipped: WORKLOAD_TEST_OURS names no kubeconfig");
            return None;
        };
        let helm = Helm::find()?;
        let kubectl = Kubectl::find(&kubeconfig)?;
        let namespace = format!("charts-{purpose}-{}", std::process::id());
        kubectl.run(["create", "namespace", &namespace]).unwrap();
        Some(Self {
            helm,
            kubectl,
            kubeconfig,
            namespace,
        })
    }

    /// `helm install` of the deployment-controller as a release named like the namespace, which holds its Lease too.
    fn install(&self, dry_run: DryRun, values: &[&str]) {
        let chart = Chart::deployment_controller();
        let lease = format!("args.leaseNamespace={:?}", self.namespace);
        let mut args = vec![
            "install",
            &self.namespace,
            chart.folder.to_str().unwrap(),
            "--set-json",
            &lease,
        ];
        args.push(match dry_run {
            DryRun::No => "--dry-run=none",
            DryRun::OnServer => "--dry-run=server",
        });
        args.extend(values.iter().flat_map(|value| ["--set-json", value]));
        self.helm(&args).unwrap();
    }

    /// `helm uninstall` of it.
    fn uninstall(&self) -> Answer {
        self.helm(&["uninstall", &self.namespace, "--ignore-not-found", "--wait"])
    }

    fn helm(&self, args: &[&str]) -> Answer {
        let namespace = ["--namespace", &self.namespace];
        self.helm
            .run_with(args.iter().chain(&namespace), Some(&self.kubeconfig))
    }

    /// Those of the chart's objects that the server has.
    fn present(&self, values: &[&str]) -> Vec<String> {
        let rendered = Chart::deployment_controller().objects(&self.helm, values);
        let kinds: BTreeSet<&str> = rendered.iter().map(|object| object["kind"].as_str().unwrap()).collect();
        let kinds: Vec<&str> = kinds.into_iter().collect();
        let label = format!("app.kubernetes.io/instance={}", self.namespace);
        let found = self
            .kubectl
            .run(["get", &kinds.join(","), "-A", "-l", &label, "-o", "name"])
            .unwrap();
        found.lines().map(str::to_owned).collect()
    }

    /// What a ServiceAccount of the namespace may do there, beyond what every account may.
    fn rights(&self, account: &str) -> BTreeSet<Right> {
        let mut rights = self.all_rights(account);
        for common in self.all_rights("default") {
            rights.remove(&common);
        }
        rights
    }

    fn all_rights(&self, account: &str) -> BTreeSet<Right> {
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectRulesReview",
            "spec": { "namespace": self.namespace },
        });
        let user = format!("--as=system:serviceaccount:{}:{account}", self.namespace);
        let group = "--as-group=system:authenticated";
        // Validation would ask the server for its schemas as this account, which may not read them all.
        let answer = self.create(&review.to_string(), &[&user, group, "--validate=false", "-o", "json"]);
        let answer: Value = serde_json::from_str(&answer.unwrap()).unwrap();
        each_right(&answer["status"]["resourceRules"])
    }

    /// `kubectl create` of manifests.
    fn create(&self, manifests: &str, flags: &[&str]) -> Answer {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("manifests.yaml");
        fs::write(&file, manifests).unwrap();
        self.kubectl
            .run([&["create", "-f", file.to_str().unwrap()], flags].concat())
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let release = self.uninstall();
        let namespace = self
            .kubectl
            .run(["delete", "namespace", &self.namespace, "--wait=false"]);
        for complaint in [release, namespace].iter().filter_map(|answer| answer.as_ref().err()) {
            eprintln!("{} is left over: {complaint}", self.namespace);
        }
    }
}

/// API group, resource, object name (empty for any), verb.
type Right = [String; 4];

/// Rules taken apart, so that it does not matter how they are grouped.
fn each_right(rules: &Value) -> BTreeSet<Right> {
    let entries = |rule: &Value, list: &str| -> Vec<String> {
        let entries = rule[list].as_array().into_iter().flatten();
        entries.map(|entry| entry.as_str().unwrap().to_owned()).collect()
    };
    let mut rights = BTreeSet::new();
    for rule in rules.as_array().unwrap() {
        let mut names = entries(rule, "resourceNames");
        if names.is_empty() {
            names.push(String::new());
        }
        for group in entries(rule, "apiGroups") {
            for resource in entries(rule, "resources") {
                for name in &names {
                    for verb in entries(rule, "verbs") {
                        rights.insert([group.clone(), resource.clone(), name.clone(), verb]);
                    }
                }
            }
        }
    }
    rights
}

#[test]
fn the_service_account_may_do_what_the_rules_say_and_nothing_else() {
    let Some(site) = Site::open("rights") else { return };
    let values = [r#"workload="None""#, r#"serviceAccount.name="rights""#];
    site.install(DryRun::No, &values);
    let rendered = Chart::deployment_controller().objects(&site.helm, &values);
    let mut expected = each_right(&Chart::deployment_controller().parse("files/rules.yaml"));
    expected.extend(each_right(&only(&rendered, "Role")["rules"]));
    assert_eq!(site.rights("rights"), expected);
}

#[test]
fn the_server_accepts_every_form_and_uninstalling_leaves_nothing() {
    let Some(site) = Site::open("forms") else { return };
    let monitored = ["service.enabled=true", "networkPolicy.enabled=true"];
    for form in [
        &[r#"workload="DaemonSet""#][..],
        &[r#"workload="Deployment""#, r#"args.controllers=["deployment"]"#],
        &[r#"workload="StaticPod""#],
        &[r#"workload="None""#],
    ] {
        let values = [form, &monitored].concat();
        let manifests = Chart::deployment_controller().render(&site.helm, &values).unwrap();
        site.create(&manifests, &STRICT_DRY_RUN).unwrap();
        site.install(DryRun::OnServer, &values);
        assert_eq!(
            site.present(&values),
            Vec::<String>::new(),
            "a dry run of {values:?} left objects"
        );
        site.install(DryRun::No, &values);
        let rendered = Chart::deployment_controller().objects(&site.helm, &values);
        assert_eq!(site.present(&values).len(), rendered.len(), "{values:?}");
        site.uninstall().unwrap();
        assert_eq!(site.present(&values), Vec::<String>::new(), "{values:?}");
    }
}

#[test]
fn pods_meet_the_restricted_pod_security_standard() {
    let Some(site) = Site::open("restricted") else { return };
    let standard = "pod-security.kubernetes.io/enforce=restricted";
    site.kubectl
        .run(["label", "namespace", &site.namespace, standard])
        .unwrap();
    site.kubectl
        .run([
            "wait",
            "--for=create",
            "serviceaccount/default",
            "-n",
            &site.namespace,
            "--timeout=60s",
        ])
        .unwrap();
    let rendered = Chart::deployment_controller().objects(&site.helm, &[r#"serviceAccount.name="default""#]);
    let mut spec = only(&rendered, "DaemonSet")["spec"]["template"]["spec"].clone();
    let pod = |spec: &Value| {
        let metadata = json!({ "name": "one", "namespace": site.namespace });
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec }).to_string()
    };
    site.create(&pod(&spec), &STRICT_DRY_RUN).unwrap();
    spec["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = Value::Bool(true);
    let refusal = site.create(&pod(&spec), &STRICT_DRY_RUN).unwrap_err();
    assert!(refusal.contains("allowPrivilegeEscalation"), "{refusal}");
}

#[test]
fn the_manifest_of_the_static_pod_is_a_valid_pod() {
    let Some(site) = Site::open("static") else { return };
    let rendered = Chart::deployment_controller().objects(&site.helm, &[r#"workload="StaticPod""#]);
    let manifest = &only(&rendered, "ConfigMap")["data"]["deployment-controller.yaml"];
    site.create(manifest.as_str().unwrap(), &STRICT_DRY_RUN).unwrap();
}
