//! Creates and changes.

use super::*;
use crate::api::POD_DISRUPTION_BUDGET;
use crate::simulation::server::{Form, Part};
use rstest::rstest;

#[test]
fn a_new_object_gets_identity_time_generation_and_defaults() {
    let mut server = server();
    let (code, made) = create(
        &mut server,
        DEPLOYMENTS,
        &deployment("web").set("/spec/replicas", Value::Null).json(),
    );
    assert_eq!(code, 201);
    let metadata = &made["metadata"];
    assert_eq!(metadata["creationTimestamp"], "2027-01-15T08:00:00Z");
    assert_eq!(
        (&metadata["generation"], &metadata["resourceVersion"]),
        (&json!(1), &json!("1"))
    );
    assert_eq!(metadata["uid"].as_str().unwrap().len(), 36);
    assert_eq!(made["spec"]["replicas"], 1);
    assert_eq!(made["spec"]["strategy"]["rollingUpdate"]["maxSurge"], "25%");
    assert_eq!(made["spec"]["template"]["spec"]["restartPolicy"], "Always");
    let same_seed = web(&mut super::server());
    assert_eq!(metadata["uid"], same_seed.uid());
    let other_seed = web(&mut ApiServer::new(2, &[]));
    assert_ne!(metadata["uid"], other_seed.uid());
}

#[test]
fn a_name_is_given_once() {
    let mut server = server();
    create(&mut server, PODS, &pod("a").json());
    let (code, status) = create(&mut server, PODS, &pod("a").json());
    let expected = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "pods \"a\" already exists",
        "reason": "AlreadyExists", "details": {"name": "a", "kind": "pods"}, "code": 409,
    });
    assert_eq!((code, status), (409, expected));
    assert_eq!(server.version(), 1);
}

#[test]
fn the_server_completes_a_generated_name() {
    let mut server = server();
    let long = json!({"metadata": {"generateName": "x".repeat(70)}, "spec": {"containers": []}});
    let made = server.create(Kind::POD, "shop", long, at(0)).unwrap();
    assert_eq!(made.name().len(), 63);
}

#[test]
fn only_what_is_wanted_raises_the_generation() {
    let mut server = server();
    web(&mut server);
    set(&mut server, None);
    let patches = [
        json!({"metadata": {"annotations": {"note": "1"}}}),
        json!({"metadata": {"labels": {"note": "1"}}}),
        json!({"spec": {"replicas": 2}}),
        json!({"status": {"replicas": 2}}),
    ];
    let generations = patches.map(|patch| {
        let mut of = |kind, name| {
            let stored = server.merge(&place(kind, name), Part::Main, patch.clone(), at(0));
            stored.unwrap().generation()
        };
        (of(Kind::DEPLOYMENT, "web"), of(Kind::REPLICA_SET, "web-1"))
    });
    assert_eq!(generations, [(2, 1), (2, 1), (3, 2), (3, 2)]);
}

#[test]
fn a_write_of_one_part_leaves_the_other_alone() {
    let mut server = server();
    web(&mut server);
    set(&mut server, None);
    let all = json!({
        "metadata": {"annotations": {"note": "1"}, "labels": {"note": "1"}},
        "spec": {"replicas": 9}, "status": {"replicas": 1},
    });
    for (kind, name, label) in [(Kind::DEPLOYMENT, "web", None), (Kind::REPLICA_SET, "web-1", Some("1"))] {
        let status = server
            .merge(&place(kind, name), Part::Status, all.clone(), at(0))
            .unwrap();
        assert_eq!(
            (status.size(), status.count("replicas"), status.generation()),
            (1, 1, 1),
            "{kind}"
        );
        assert_eq!(
            (status.annotation("note"), status.label("note")),
            (Some("1"), label),
            "{kind}"
        );
        let main = json!({"spec": {"replicas": 3}, "status": {"replicas": 7}});
        let main = server.merge(&place(kind, name), Part::Main, main, at(0)).unwrap();
        assert_eq!((main.size(), main.count("replicas")), (3, 1), "{kind}");
    }
}

#[test]
fn a_write_that_changes_nothing_makes_no_version() {
    let mut server = server();
    let web = web(&mut server);
    let again = json!({"spec": {"replicas": 1}, "metadata": {"labels": {}, "annotations": null}});
    let same = server
        .merge(&place(Kind::DEPLOYMENT, "web"), Part::Main, again, at(5))
        .unwrap();
    assert_eq!(same, web);
    assert_eq!(server.version(), 1);
}

#[rstest]
#[case::version(
    "resourceVersion",
    "9",
    409,
    "Conflict",
    "deployments.apps \"web\": the object has been modified"
)]
#[case::uid(
    "uid",
    "9",
    422,
    "Invalid",
    "Deployment.apps \"web\" is invalid: metadata.uid: Invalid value: \"9\": field is immutable"
)]
fn what_a_writer_has_seen_must_still_hold(
    #[case] field: &str,
    #[case] value: &str,
    #[case] code: u16,
    #[case] reason: &str,
    #[case] words: &str,
) {
    let mut server = server();
    let web = web(&mut server);
    let mut body = guarded(&web, json!({"spec": {"replicas": 2}}));
    body["metadata"][field] = value.into();
    let (answered, status) = merge(&mut server, &format!("{DEPLOYMENTS}/web"), &body);
    assert_eq!((answered, &status["reason"]), (code, &json!(reason)));
    assert!(status["message"].as_str().unwrap().contains(words), "{status}");
    assert_eq!(server.version(), 1);
}

#[test]
fn what_does_not_exist_cannot_be_changed() {
    let mut server = server();
    let body = json!({"metadata": {"uid": "1", "resourceVersion": "1"}, "spec": {}});
    let (code, status) = merge(&mut server, &format!("{DEPLOYMENTS}/web"), &body);
    assert_eq!(
        (code, &status["message"]),
        (404, &json!("deployments.apps \"web\" not found"))
    );
    assert_eq!(
        status["details"],
        json!({"name": "web", "group": "apps", "kind": "deployments"})
    );
}

#[test]
fn a_status_whose_counts_contradict_each_other_is_refused() {
    let mut server = server();
    web(&mut server);
    let mut write = |status: Value| {
        server.merge(
            &place(Kind::DEPLOYMENT, "web"),
            Part::Status,
            json!({ "status": status }),
            at(0),
        )
    };
    write(
        json!({"replicas": 3, "updatedReplicas": 3, "readyReplicas": 3, "availableReplicas": 2, "collisionCount": 2}),
    )
    .unwrap();
    for bad in [
        json!({"updatedReplicas": 4}),
        json!({"readyReplicas": 4}),
        json!({"readyReplicas": 1}),
        json!({"availableReplicas": 4}),
        json!({"replicas": -1}),
        json!({"collisionCount": 1}),
        json!({"collisionCount": null}),
    ] {
        assert_eq!(write(bad.clone()).unwrap_err().code, 422, "{bad}");
    }
}

#[test]
fn a_spec_that_no_controller_could_follow_is_refused() {
    let mut server = server();
    let web = || deployment("web");
    let bad = [
        web().set("/spec/selector", json!({})),
        web().set("/spec/template/metadata/labels", json!({"app": "other"})),
        web().set("/spec/template/spec/restartPolicy", "Never"),
        web().set("/spec/template/spec/activeDeadlineSeconds", 1),
        web().set("/spec/minReadySeconds", 10).deadline_seconds(10),
        web().rolling(1, "101%"),
        web().rolling(0, 0),
    ];
    for manifest in bad {
        let refused = server.create(Kind::DEPLOYMENT, "shop", manifest.json(), at(0));
        assert_eq!(refused.unwrap_err().code, 422);
    }
    super::web(&mut server);
    let selector =
        json!({"spec": {"selector": {"matchLabels": {"x": "1"}}, "template": {"metadata": {"labels": {"x": "1"}}}}});
    let refused = server.merge(&place(Kind::DEPLOYMENT, "web"), Part::Main, selector, at(0));
    assert_eq!(refused.unwrap_err().reason, "Invalid");
}

#[test]
fn an_object_has_one_controller() {
    let mut server = server();
    let set = set(&mut server, None);
    let pod = new_pod(&mut server, "a", Some(&set), false);
    let claim = |uid: &str| {
        json!({"metadata": {"uid": pod.uid(), "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "other", "uid": uid, "controller": true},
        ]}})
    };
    let mut patch = |body: Value| server.patch(&place(Kind::POD, "a"), Part::Main, Form::Strategic, body, at(0));
    assert_eq!(patch(claim("9")).unwrap_err().code, 422);
    let release = json!({"metadata": {"uid": pod.uid(), "ownerReferences": [{"$patch": "delete", "uid": set.uid()}]}});
    assert!(patch(release).unwrap().at("/metadata/ownerReferences").is_null());
    assert_eq!(patch(claim("9")).unwrap().controller().unwrap()["name"], "other");
}

#[test]
fn a_pod_is_bound_once() {
    let mut server = server();
    new_pod(&mut server, "a", None, false);
    let key = ObjectKey::new("shop", "a");
    let bound = server.bind(&key, "n", at(3)).unwrap();
    assert_eq!((bound.text("/spec/nodeName"), bound.generation()), ("n", 1));
    assert_eq!(bound.condition("PodScheduled").unwrap()["status"], "True");
    assert_eq!(server.bind(&key, "m", at(3)).unwrap_err().code, 409);
}

#[test]
fn no_finalizer_is_added_to_what_is_being_deleted() {
    let mut server = server();
    let held = pod("a").finalizer("test/hold").json();
    server.create(Kind::POD, "shop", held, at(0)).unwrap();
    delete(&mut server, Kind::POD, "a", &DeleteOptions::default());
    let more = json!({"metadata": {"finalizers": ["test/hold", "test/more"]}});
    let refused = server
        .merge(&place(Kind::POD, "a"), Part::Main, more, at(11))
        .unwrap_err();
    assert!(
        refused.message.contains("no new finalizers can be added"),
        "{refused:?}"
    );
}

#[test]
fn a_budget_begins_uncounted() {
    let mut server = server();
    let budget = json!({"metadata": {"name": "b"}, "spec": {"maxUnavailable": 1}});
    let made = server.create(POD_DISRUPTION_BUDGET, "shop", budget, at(0)).unwrap();
    assert!(!made.is_observed());
}
