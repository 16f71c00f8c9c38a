//! Which pods belong to a Job (J-20…J-25, J-160, J-161, S-36, S-37).

use job_controller::job::{Manager, Serves};
use serde_json::{Value, json};
use workload_core::outcome::{FailureClass, Verb};
use workload_core::workload::Observation;

use super::cluster::{Cluster, TRACKING};
use super::fixed;

fn disown(pod: &mut Value) {
    pod["metadata"]["ownerReferences"] = Value::Null;
}

// proves: job/S-37, job/J-21, job/J-22
#[test]
fn a_pod_comes_back_and_another_is_let_go_of() {
    let mut cluster = fixed(1, 1);
    cluster.settle();
    cluster.change_pod("p000", |pod| {
        disown(pod);
        pod["metadata"]["finalizers"] = Value::Null;
    });
    assert_eq!(cluster.turn().text(), "adopt p000");
    assert_eq!(cluster.tracked(), "p000");
    let owner = json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "work", "uid": "uid-of-work",
                        "controller": true, "blockOwnerDeletion": true}]);
    assert_eq!(cluster.find("p000").unwrap()["metadata"]["ownerReferences"], owner);
    cluster.change_pod("p000", |pod| pod["metadata"]["labels"] = json!({}));
    assert_eq!(cluster.turn().text(), "let go of p000; create p001");
    assert_eq!(cluster.tracked(), "p001");
}

// proves: job/J-22
#[test]
fn an_adopted_pod_that_has_ended_is_counted_in_the_same_turn() {
    let mut cluster = fixed(1, 1);
    cluster.settle();
    cluster.end("p000", 0);
    cluster.change_pod("p000", |pod| {
        disown(pod);
        pod["metadata"]["finalizers"] = json!([]);
    });
    assert_eq!(cluster.turn().text(), "adopt p000; status; release p000; status");
    assert!(cluster.is_finished());
}

// proves: job/J-20, job/J-22, job/J-23
#[test]
fn other_pods_are_none_of_its_business() {
    let mut cluster = fixed(1, 1);
    cluster.settle();
    let mine = cluster.find("p000").unwrap().clone();
    let mut like = |name: &str, change: &dyn Fn(&mut Value)| {
        let mut pod = mine.clone();
        pod["metadata"]["name"] = name.into();
        pod["metadata"]["uid"] = format!("uid-of-{name}").into();
        change(&mut pod);
        cluster.put_pod(pod);
    };
    like("of-another-uid", &|pod| {
        pod["metadata"]["ownerReferences"][0]["uid"] = "u9".into();
    });
    like("of-another-kind", &|pod| {
        pod["metadata"]["ownerReferences"][0]["kind"] = "ReplicaSet".into();
        pod["metadata"]["ownerReferences"][0]["apiVersion"] = "apps/v1".into();
    });
    like("of-another-name", &|pod| {
        pod["metadata"]["ownerReferences"][0]["name"] = "w".into();
    });
    like("of-nobody-and-going", &|pod| {
        disown(pod);
        pod["metadata"]["deletionTimestamp"] = "2026-01-02T12:00:00Z".into();
    });
    like("of-nobody-and-no-match", &|pod| {
        disown(pod);
        pod["metadata"]["labels"] = json!({});
    });
    assert_eq!((cluster.settle(), cluster.counts()[0]), (vec![], 1));
}

// proves: job/J-21, job/J-22
#[test]
fn a_job_that_is_being_deleted_claims_nothing_and_lets_go_of_none() {
    let mut cluster = fixed(2, 2);
    cluster.settle();
    cluster.change_pod("p000", disown);
    cluster.change_pod("p001", |pod| pod["metadata"]["labels"] = json!({}));
    cluster.edit(json!({"metadata": {"deletionTimestamp": "2026-01-02T12:00:00Z"}}));
    assert_eq!(cluster.turn().text(), "status");
    assert_eq!(cluster.tracked(), "p000 p001");
}

// proves: job/J-24
#[test]
fn a_claim_that_fails_ends_the_turn() {
    let mut cluster = fixed(1, 1);
    cluster.settle();
    cluster.end("p000", 0);
    cluster.change_pod("p000", disown);
    cluster.faults = vec![(Verb::Adopt, "p000", FailureClass::OwnerUnfit)];
    assert_eq!(cluster.turn().text(), "adopt p000");
    assert_eq!((cluster.stored.len(), cluster.pods.len()), (1, 1));
}

// proves: job/J-24
#[test]
fn a_pod_that_vanished_while_it_was_adopted_is_no_failure_and_is_looked_for_again() {
    let mut cluster = fixed(1, 1);
    cluster.settle();
    cluster.change_pod("p000", disown);
    cluster.faults = vec![(Verb::Adopt, "p000", FailureClass::Missing)];
    let turn = cluster.turn();
    assert_eq!((turn.text().as_str(), turn.again_in()), ("adopt p000", Some(1)));
}

// proves: job/J-25
#[test]
fn a_selector_of_the_users_own_is_followed() {
    let spec = json!({"completions": 1, "manualSelector": true, "selector": {"matchLabels": {"app": "x"}},
                      "template": {"metadata": {"labels": {"app": "x"}}}});
    let mut cluster = Cluster::of(spec);
    cluster.edit(json!({"spec": {"selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": null}}}}));
    cluster.settle();
    cluster.change_pod("p000", |pod| pod["metadata"]["labels"] = json!({"app": "x"}));
    assert_eq!(cluster.settle(), [""; 0]);
    cluster.change_pod("p000", |pod| pod["metadata"]["finalizers"] = json!(["a", TRACKING]));
    assert_eq!(cluster.settle(), [""; 0]);
}

// proves: job/S-36, job/J-160, job/J-161
#[test]
fn a_job_is_reconciled_by_whom_it_names() {
    let named = |name: Option<&str>, serves: Serves| {
        let mut cluster = Cluster::of(json!({"completions": 1, "managedBy": name}));
        cluster.serves = serves;
        cluster.turn().text()
    };
    let beside = || Serves(Manager::Named("example.com/x".into()));
    assert_eq!(named(None, Serves(Manager::BuiltIn)), "create p000; status");
    assert_eq!(
        named(Some("kubernetes.io/job-controller"), Serves(Manager::BuiltIn)),
        "create p000; status"
    );
    assert_eq!(named(Some("example.com/x"), Serves(Manager::BuiltIn)), "");
    assert_eq!(named(Some("example.com/x"), beside()), "create p000; status");
    assert_eq!(named(Some("example.com/y"), beside()), "");
    assert_eq!(named(None, beside()), "");
}

#[test]
fn a_selector_that_no_server_takes_is_left_alone() {
    let spec = json!({"completions": 1, "selector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}});
    assert!(matches!(Cluster::of(spec).observation(), Observation::Ignored(_)));
}
