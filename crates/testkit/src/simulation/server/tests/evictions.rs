//! Evictions and what budgets say to them.

use super::*;
use crate::api::POD_DISRUPTION_BUDGET;

fn budget(server: &mut ApiServer, name: &str, mut spec: Value) {
    spec["selector"] = json!({"matchLabels": {"app": "web"}});
    let manifest = json!({"metadata": {"name": name}, "spec": spec});
    server.create(POD_DISRUPTION_BUDGET, "shop", manifest, at(0)).unwrap();
}

fn evict(server: &mut ApiServer, pod: &str) -> (u16, Value) {
    let uid = server
        .get(Kind::POD, "shop", pod)
        .map_or_else(String::new, |pod| pod.uid().to_owned());
    evict_as(server, pod, &uid)
}

fn evict_as(server: &mut ApiServer, pod: &str, uid: &str) -> (u16, Value) {
    let body = json!({
        "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod},
        "deleteOptions": {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}},
    });
    ask(server, "POST", &format!("{PODS}/{pod}/eviction"), JSON, &body)
}

fn cause(status: &Value) -> &str {
    status["details"]["causes"][0]["message"].as_str().unwrap()
}

#[test]
fn a_pod_without_a_budget_is_told_why_it_goes() {
    let mut server = server();
    new_pod(&mut server, "a", None, true);
    assert_eq!(evict(&mut server, "a").0, 201);
    let pod = server.get(Kind::POD, "shop", "a").unwrap();
    assert!(pod.is_terminating());
    assert_eq!(pod.says("DisruptionTarget"), "True EvictionByEvictionAPI");
    assert_eq!(evict(&mut server, "none").0, 404);
    new_pod(&mut server, "b", None, true);
    assert_eq!(evict_as(&mut server, "b", "9").0, 409);
}

#[test]
fn a_budget_allows_what_it_has_counted() {
    let mut server = server();
    for name in ["a", "b", "c"] {
        new_pod(&mut server, name, None, true);
    }
    budget(&mut server, "two", json!({"minAvailable": 2}));
    let (code, status) = evict(&mut server, "a");
    assert_eq!((code, &status["reason"]), (429, &json!("TooManyRequests")));
    assert_eq!(
        cause(&status),
        "The disruption budget two is still being processed by the server."
    );
    assert_eq!(server.count_budgets(at(1)), 1);
    assert_eq!(evict(&mut server, "a").0, 201);
    let (code, status) = evict(&mut server, "b");
    assert_eq!(
        (code, &status["message"]),
        (
            429,
            &json!("Cannot evict pod as it would violate the pod's disruption budget.")
        )
    );
    assert_eq!(
        cause(&status),
        "The disruption budget two needs 2 healthy pods and has 3 currently"
    );
    server.count_budgets(at(1));
    let stored = server.get(POD_DISRUPTION_BUDGET, "shop", "two").unwrap();
    assert_eq!(
        (stored.count("currentHealthy"), stored.count("disruptionsAllowed")),
        (2, 0)
    );
    assert_eq!(server.count_budgets(at(1)), 0);
}

#[test]
fn a_budget_of_what_may_be_missing_is_measured_by_the_size_of_the_workload() {
    let mut server = server();
    let web = web(&mut server);
    let resize = json!({"spec": {"replicas": 4}});
    server
        .merge(&place(Kind::DEPLOYMENT, "web"), super::super::Part::Main, resize, at(0))
        .unwrap();
    let set = set(&mut server, Some(&web));
    for name in ["a", "b", "c"] {
        new_pod(&mut server, name, Some(&set), true);
    }
    budget(&mut server, "some", json!({"maxUnavailable": "50%"}));
    server.count_budgets(at(1));
    let stored = server.get(POD_DISRUPTION_BUDGET, "shop", "some").unwrap();
    let counts = ["expectedPods", "desiredHealthy", "currentHealthy", "disruptionsAllowed"];
    assert_eq!(counts.map(|count| stored.count(count)), [4, 2, 3, 1]);
}

#[test]
fn what_does_not_serve_is_not_protected() {
    let mut server = server();
    new_pod(&mut server, "pending", None, false);
    new_pod(&mut server, "ended", None, true);
    let ended = json!({"status": {"phase": "Failed"}});
    server
        .merge(&place(Kind::POD, "ended"), super::super::Part::Status, ended, at(0))
        .unwrap();
    budget(&mut server, "all", json!({"maxUnavailable": 0}));
    server.count_budgets(at(1));
    assert_eq!(
        (evict(&mut server, "pending").0, evict(&mut server, "ended").0),
        (201, 201)
    );
    assert_eq!(server.list(Kind::POD), []);
}

#[test]
fn a_pod_of_two_budgets_cannot_be_evicted() {
    let mut server = server();
    new_pod(&mut server, "a", None, true);
    budget(&mut server, "one", json!({"maxUnavailable": 1}));
    budget(&mut server, "two", json!({"maxUnavailable": 1}));
    server.count_budgets(at(1));
    let (code, status) = evict(&mut server, "a");
    assert_eq!(code, 500);
    assert!(
        status["message"]
            .as_str()
            .unwrap()
            .contains("more than one PodDisruptionBudget")
    );
}
