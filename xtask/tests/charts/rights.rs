//! What the charts allow their controllers to do.

use serde_json::{Value, json};

use crate::chart::{Chart, only};
use crate::helm::Helm;

#[test]
fn the_cluster_role_grants_the_generated_rules_and_nothing_else() {
    let Some(helm) = Helm::find() else { return };
    for chart in Chart::all() {
        let objects = chart.objects(&helm, &[]);
        assert_eq!(
            only(&objects, "ClusterRole")["rules"],
            chart.parse("files/rules.yaml"),
            "{}",
            chart.name()
        );
    }
}

/// The rules of a chart's role: what, and what may be done with it.
fn rules(chart: &Chart) -> Vec<(String, String)> {
    let mut rules: Vec<(String, String)> = Vec::new();
    for rule in chart.parse("files/rules.yaml").as_array().unwrap() {
        let words = |list: &str| -> Vec<&str> {
            let entries = rule[list].as_array().unwrap();
            entries.iter().map(|entry| entry.as_str().unwrap()).collect()
        };
        for resource in words("resources") {
            let resource = format!("{}/{resource}", words("apiGroups").join(","));
            rules.push((resource, words("verbs").join(" ")));
        }
    }
    rules
}

fn assert_may(chart: &Chart, expected: &[(&str, &str)]) {
    let rules = rules(chart);
    let rules: Vec<(&str, &str)> = rules.iter().map(|(resource, verbs)| (&**resource, &**verbs)).collect();
    assert_eq!(rules, expected);
}

// proves: deployment/W-20, deployment/W-21, deployment/W-22
#[test]
fn the_deployment_controller_may_do_exactly_what_it_needs() {
    let expected = [
        ("apps/deployments", "get list watch patch"),
        ("apps/deployments/status", "patch"),
        ("apps/deployments/finalizers", "update"),
        ("apps/replicasets", "get list watch create patch delete"),
        ("apps/replicasets/status", "patch"),
        ("apps/replicasets/finalizers", "update"),
        // Get: whether a create whose answer was lost has been done.
        ("/pods", "get list watch create patch delete"),
        ("/pods/eviction", "create"),
        ("/events", "create patch"),
    ];
    assert_may(&Chart::deployment_controller(), &expected);
}

// proves: job/J-230, job/J-231, job/TTL-11
#[test]
fn the_job_controller_may_do_exactly_what_it_needs() {
    let expected = [
        ("batch/jobs", "get list watch delete"),
        ("batch/jobs/status", "patch"),
        ("batch/jobs/finalizers", "update"),
        // Get: whether a create whose answer was lost has been done.
        ("/pods", "get list watch create patch delete"),
        ("/events", "create patch"),
    ];
    assert_may(&Chart::job_controller(), &expected);
}

#[test]
fn no_rule_uses_a_wildcard_or_reads_secrets() {
    for chart in Chart::all() {
        let rules = chart.parse("files/rules.yaml");
        for rule in rules.as_array().unwrap() {
            for list in ["apiGroups", "resources", "verbs"] {
                let entries = rule[list].as_array().unwrap();
                assert!(!entries.is_empty(), "{rule}");
                assert!(
                    !entries.iter().any(|entry| entry == "*" || entry == "secrets"),
                    "{rule}"
                );
            }
        }
    }
}

#[test]
fn the_lease_can_be_created_and_only_the_own_one_changed() {
    let Some(helm) = Helm::find() else { return };
    let objects = Chart::deployment_controller().objects(&helm, &[r#"args.leaseNamespace="leases""#]);
    let role = only(&objects, "Role");
    assert_eq!(role["metadata"]["namespace"], "leases");
    assert_eq!(only(&objects, "RoleBinding")["metadata"]["namespace"], "leases");
    let expected = json!([
        { "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"] },
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "resourceNames": ["deployment-controller"],
            "verbs": ["get", "watch", "patch"],
        },
    ]);
    assert_eq!(role["rules"], expected);
}

#[test]
fn no_account_of_an_upstream_loop_is_claimed() {
    let Some(helm) = Helm::find() else { return };
    for chart in Chart::all() {
        let controller = chart.parse("files/controller.yaml");
        for upstream in controller["loops"].as_object().unwrap().values() {
            let name = format!("fullnameOverride={upstream}");
            let objects = chart.objects(&helm, &[&name]);
            assert_ne!(only(&objects, "ServiceAccount")["metadata"]["name"], *upstream);
        }
    }
}

#[test]
fn without_leader_election_there_are_no_rights_on_leases() {
    let Some(helm) = Helm::find() else { return };
    let objects = Chart::deployment_controller().objects(&helm, &["args.leaderElect=false"]);
    assert!(
        !objects
            .iter()
            .any(|object| object["kind"] == "Role" || object["kind"] == "RoleBinding")
    );
}

#[test]
fn all_rights_go_to_the_service_account_and_the_named_users() {
    let Some(helm) = Helm::find() else { return };
    let values = [
        r#"rbac.users=["alice"]"#,
        r#"serviceAccount={"create":false,"name":"deployment-controller"}"#,
    ];
    let objects = Chart::deployment_controller().objects(&helm, &values);
    let expected = json!([
        { "kind": "ServiceAccount", "name": "deployment-controller", "namespace": "kube-system" },
        { "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice" },
    ]);
    for binding in ["ClusterRoleBinding", "RoleBinding"] {
        assert_eq!(only(&objects, binding)["subjects"], expected, "{binding}");
    }
    assert!(!objects.iter().any(|object| object["kind"] == "ServiceAccount"));
    let pod = &only(&objects, "DaemonSet")["spec"]["template"]["spec"];
    assert_eq!(pod["serviceAccountName"], "deployment-controller");
}

#[test]
fn rights_can_be_left_to_somebody_else() {
    let Some(helm) = Helm::find() else { return };
    let objects = Chart::deployment_controller().objects(&helm, &["rbac.create=false"]);
    let kinds: Vec<&Value> = objects.iter().map(|object| &object["kind"]).collect();
    assert_eq!(kinds, ["ServiceAccount", "DaemonSet"]);
}
