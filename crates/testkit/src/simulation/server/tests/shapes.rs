//! Which requests are known.

use super::*;
use crate::api::LEASE;
use crate::simulation::server::Shape;
use rstest::rstest;

const FREED: &str = "$deleteFromPrimitiveList/finalizers";
const WATCH: &str = "watch=true&allowWatchBookmarks=true&timeoutSeconds=290";

fn owner() -> Value {
    json!({"uid": "2", "kind": "ReplicaSet", "name": "web-1", "apiVersion": "apps/v1", "controller": true})
}

fn known(method: &str, uri: &str, content_type: &str, body: &Value) -> Result<Shape, &'static str> {
    Shape::of_built_in(&request(method, uri, content_type, body))
}

#[rstest]
#[case::version("/version")]
#[case::object("/apis/apps/v1/namespaces/shop/deployments/web")]
#[case::lease("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/web?")]
#[case::first_page("/api/v1/pods?limit=500")]
#[case::next_page("/api/v1/namespaces/shop/pods?limit=500&continue=5%3Aa%2Fb")]
#[case::some("/api/v1/pods?limit=500&labelSelector=app%3Dweb")]
#[case::stream("/api/v1/pods?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&{WATCH}")]
#[case::resumed("/api/v1/pods?resourceVersion=7&{WATCH}")]
#[case::one_lease(
    "/apis/coordination.k8s.io/v1/namespaces/a/leases?&{WATCH}&fieldSelector=metadata.name%3Dweb&resourceVersion=0"
)]
fn every_read_of_a_controller_is_known(#[case] uri: &str) {
    known("GET", &uri.replace("{WATCH}", WATCH), "", &Value::Null).unwrap();
}

#[rstest]
#[case::no_limit("/api/v1/pods")]
#[case::any_version("/api/v1/pods?limit=5&resourceVersion=0")]
#[case::another_kind("/api/v1/nodes/a")]
#[case::another_part("/apis/apps/v1/namespaces/shop/deployments/web/scale")]
#[case::no_bookmarks("/api/v1/pods?watch=true&timeoutSeconds=5&resourceVersion=1")]
#[case::no_end("/api/v1/pods?watch=true&allowWatchBookmarks=true&resourceVersion=1")]
#[case::from_anywhere("/api/v1/pods?{WATCH}")]
#[case::pretty("/apis/apps/v1/namespaces/shop/deployments/web?pretty=true")]
fn any_other_read_is_not(#[case] uri: &str) {
    known("GET", &uri.replace("{WATCH}", WATCH), "", &Value::Null).unwrap_err();
}

#[rstest]
#[case::pod("POST", "pods", JSON, json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "generateName": "a-"}, "spec": {}}))]
#[case::adopt("PATCH", "pods/a", STRATEGIC, json!({"metadata": {"uid": "1", "ownerReferences": [owner()]}}))]
#[case::adopt_for_a_job("PATCH", "pods/a", STRATEGIC, json!({"metadata": {"uid": "1", "ownerReferences": [owner()], "finalizers": ["f"]}}))]
#[case::release_by_a_job("PATCH", "pods/a", STRATEGIC, json!({"metadata": {"uid": "1", "ownerReferences": [owner()], FREED: ["f"]}}))]
#[case::let_go("PATCH", "pods/a", STRATEGIC, json!({"metadata": {"uid": "1", FREED: ["f"]}}))]
#[case::change("PATCH", "pods/a", MERGE, json!({"metadata": {"uid": "1", "resourceVersion": "2"}, "spec": {}}))]
#[case::status("PATCH", "pods/a/status", MERGE, json!({"metadata": {"uid": "1", "resourceVersion": "2"}, "status": {}}))]
#[case::repetition("PATCH", "events/a", MERGE, json!({"count": 2, "message": "m", "lastTimestamp": null}))]
fn every_write_of_a_controller_is_known(
    #[case] method: &str,
    #[case] path: &str,
    #[case] content_type: &str,
    #[case] body: Value,
) {
    let uri = format!("/api/v1/namespaces/shop/{path}");
    known(method, &format!("{uri}?fieldManager=x"), content_type, &body).unwrap();
    known(method, &uri, content_type, &body).unwrap_err();
    known(method, &format!("{uri}?fieldManager=x&dryRun=All"), content_type, &body).unwrap_err();
    known("PUT", &format!("{uri}?fieldManager=x"), content_type, &body).unwrap_err();
    known(method, &format!("{uri}?fieldManager=x"), "application/yaml", &body).unwrap_err();
}

#[rstest]
#[case::unguarded("PATCH", "pods/a", MERGE, json!({"spec": {}}))]
#[case::by_uid_alone("PATCH", "pods/a", MERGE, json!({"metadata": {"uid": "1"}, "spec": {}}))]
#[case::status_by_strategy("PATCH", "pods/a/status", STRATEGIC, json!({"metadata": {"uid": "1", "resourceVersion": "2"}, "status": {}}))]
#[case::spec_by_strategy("PATCH", "pods/a", STRATEGIC, json!({"metadata": {"uid": "1", "ownerReferences": [owner()]}, "spec": {}}))]
#[case::two_claims("PATCH", "pods/a", STRATEGIC, json!({"metadata": {"uid": "1", "ownerReferences": [owner(), owner()]}}))]
#[case::hold("PATCH", "pods/a", STRATEGIC, json!({"metadata": {"uid": "1", "finalizers": ["f"]}}))]
#[case::let_anybody_go("PATCH", "pods/a", STRATEGIC, json!({"metadata": {FREED: ["f"]}}))]
#[case::let_two_go("PATCH", "pods/a", STRATEGIC, json!({"metadata": {"uid": "1", FREED: ["f", "g"]}}))]
#[case::nameless("POST", "pods", JSON, json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "a-"}}))]
#[case::elsewhere("POST", "pods", JSON, json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "b"}}))]
#[case::with_status("POST", "pods", JSON, json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "status": {}}))]
#[case::event_renamed("PATCH", "events/a", MERGE, json!({"reason": "r"}))]
fn any_other_write_is_not(#[case] method: &str, #[case] path: &str, #[case] content_type: &str, #[case] body: Value) {
    let uri = format!("/api/v1/namespaces/shop/{path}?fieldManager=x");
    known(method, &uri, content_type, &body).unwrap_err();
}

#[test]
fn removals_say_which_object_is_meant() {
    let options = |more: Value| {
        let mut options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "1"}});
        crate::simulation::server::merge::merge(&mut options, &more);
        options
    };
    let pod = format!("{PODS}/a");
    for (more, fits) in [
        (json!({}), true),
        (json!({"preconditions": {"resourceVersion": "1"}}), true),
        (json!({"preconditions": null}), false),
        (json!({"gracePeriodSeconds": 0}), false),
        (json!({"propagationPolicy": "Orphan"}), false),
    ] {
        let delete = known("DELETE", &pod, JSON, &options(more.clone()));
        assert_eq!(delete.is_ok(), fits, "{more}");
        let eviction = |name| {
            json!({
                "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name},
                "deleteOptions": options(more.clone()),
            })
        };
        let evict = |name| known("POST", &format!("{pod}/eviction"), JSON, &eviction(name));
        assert_eq!(evict("a").is_ok(), fits, "{more}");
        evict("b").unwrap_err();
    }
}

#[test]
fn a_job_is_deleted_after_its_pods_alone() {
    let options = |policy: Value| {
        let preconditions = json!({"uid": "1"});
        json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions, "propagationPolicy": policy,
        })
    };
    let uri = format!("{JOBS}/a");
    known("DELETE", &uri, JSON, &options(json!("Foreground"))).unwrap();
    for policy in [json!(null), json!("Background"), json!("Orphan")] {
        known("DELETE", &uri, JSON, &options(policy)).unwrap_err();
    }
}

#[test]
fn an_unknown_request_is_answered_by_501_and_remembered() {
    let mut server = server();
    let (code, status) = get(&mut server, "/api/v1/nodes");
    assert_eq!((code, &status["reason"]), (501, &json!("NotImplemented")));
    assert_eq!(server.unknown(), ["GET /api/v1/nodes: of no known kind"]);
    assert_eq!(get(&mut server, &format!("{PODS}/a")).0, 404);
    assert_eq!(server.unknown().len(), 1);
}

#[test]
fn custom_kinds_are_known_if_they_were_declared() {
    const JOB: Kind = Kind {
        group: "example.com",
        version: "v1",
        kind: "Set",
        plural: "sets",
    };
    let uri = "/apis/example.com/v1/namespaces/shop/sets";
    let body = json!({"apiVersion": "example.com/v1", "kind": "Set", "metadata": {"name": "a"}, "spec": {"x": 1}});
    assert_eq!(create(&mut server(), uri, &body).0, 501);
    let mut server = ApiServer::new(1, &[JOB]);
    let (code, made) = create(&mut server, uri, &body);
    assert_eq!((code, &made["metadata"]["generation"]), (201, &json!(1)));
    let made = Stored::from(made);
    let (code, changed) = merge(
        &mut server,
        &format!("{uri}/a"),
        &guarded(&made, json!({"spec": {"x": 2}})),
    );
    assert_eq!((code, &changed["metadata"]["generation"]), (200, &json!(2)));
    let claim = json!({"metadata": {"uid": made.uid(), "ownerReferences": [owner()]}});
    let uri = format!("{uri}/a?fieldManager=x");
    assert_eq!(ask(&mut server, "PATCH", &uri, STRATEGIC, &claim).0, 415);
}

#[test]
fn leases_are_taken_by_version() {
    let mut server = server();
    let uri = "/apis/coordination.k8s.io/v1/namespaces/shop/leases";
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "web"}, "spec": {"holderIdentity": "a"}});
    let (_, made) = create(&mut server, uri, &lease);
    assert_eq!(
        server.get(LEASE, "shop", "web").unwrap().text("/spec/holderIdentity"),
        "a"
    );
    let take =
        json!({"metadata": {"resourceVersion": made["metadata"]["resourceVersion"]}, "spec": {"holderIdentity": "b"}});
    let uri = format!("{uri}/web");
    assert_eq!(merge(&mut server, &uri, &take).0, 200);
    assert_eq!(merge(&mut server, &uri, &take).0, 409);
    assert_eq!(server.unknown(), [""; 0]);
}
