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
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("review.json");
        fs::write(&file, review.to_string()).unwrap();
        let user = format!("--as=system:serviceaccount:{}:{account}", self.namespace);
        let group = "--as-group=system:authenticated";
        let file = file.to_str().unwrap();
        // Validation would ask the server for its schemas as this account, which may not read them all.
        let create = ["create", "-f", file, "--validate=false", "-o", "json", &user, group];
        let answer = self.kubectl.run(create).unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        each_right(&answer["status"]["resourceRules"])
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
