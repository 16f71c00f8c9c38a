//! The garbage collector.

use super::*;
use crate::simulation::server::{Part, Propagation};

/// A Deployment with one ReplicaSet with two running pods.
fn tree(server: &mut ApiServer) {
    let web = web(server);
    let set = set(server, Some(&web));
    for name in ["a", "b"] {
        new_pod(server, name, Some(&set), true);
    }
}

fn collect_all(server: &mut ApiServer) -> Vec<String> {
    std::iter::from_fn(|| server.collect(at(11))).take(50).collect()
}

#[test]
fn nothing_is_collected_that_has_an_owner() {
    let mut server = server();
    tree(&mut server);
    assert_eq!(server.collect(at(11)), None);
}

#[test]
fn in_the_background_dependents_go_after_their_owner() {
    let mut server = server();
    tree(&mut server);
    delete(&mut server, Kind::DEPLOYMENT, "web", &DeleteOptions::default());
    let done = collect_all(&mut server);
    assert_eq!(done, ["delete ReplicaSet web-1", "delete Pod a", "delete Pod b"]);
    assert!(server.list(Kind::POD).iter().all(Stored::is_terminating));
}

#[test]
fn in_the_foreground_dependents_go_before_their_owner() {
    let mut server = server();
    tree(&mut server);
    delete(
        &mut server,
        Kind::DEPLOYMENT,
        "web",
        &DeleteOptions::with(Propagation::Foreground),
    );
    let done = collect_all(&mut server);
    assert_eq!(done, ["delete ReplicaSet web-1", "delete Pod a", "delete Pod b"]);
    assert_eq!(
        (
            server.list(Kind::DEPLOYMENT).len(),
            server.list(Kind::REPLICA_SET).len()
        ),
        (1, 1)
    );
    for name in ["a", "b"] {
        delete(&mut server, Kind::POD, name, &DeleteOptions::now());
    }
    let done = collect_all(&mut server);
    let expected = [
        "take foregroundDeletion off ReplicaSet web-1",
        "take foregroundDeletion off Deployment web",
    ];
    assert_eq!(done, expected);
    assert_eq!(
        (
            server.list(Kind::DEPLOYMENT).len(),
            server.list(Kind::REPLICA_SET).len()
        ),
        (0, 0)
    );
}

#[test]
fn orphans_stay_and_forget_their_owner() {
    let mut server = server();
    tree(&mut server);
    delete(
        &mut server,
        Kind::DEPLOYMENT,
        "web",
        &DeleteOptions::with(Propagation::Orphan),
    );
    let done = collect_all(&mut server);
    assert_eq!(
        done,
        ["take owners off ReplicaSet web-1", "take orphan off Deployment web"]
    );
    assert_eq!(server.list(Kind::DEPLOYMENT), []);
    assert!(
        server.list(Kind::REPLICA_SET)[0]
            .at("/metadata/ownerReferences")
            .is_null()
    );
    assert_eq!(server.list(Kind::POD).len(), 2);
}

#[test]
fn an_owner_of_the_same_name_is_another_one() {
    let mut server = server();
    tree(&mut server);
    delete(&mut server, Kind::DEPLOYMENT, "web", &DeleteOptions::default());
    web(&mut server);
    assert_eq!(server.collect(at(11)).unwrap(), "delete ReplicaSet web-1");
}

#[test]
fn an_object_with_another_owner_is_kept_for_it() {
    let mut server = server();
    tree(&mut server);
    let other = server
        .create(Kind::DEPLOYMENT, "shop", deployment("other").json(), at(0))
        .unwrap();
    let set = server.get(Kind::REPLICA_SET, "shop", "web-1").unwrap();
    let mut owners = set.at("/metadata/ownerReferences").as_array().unwrap().clone();
    owners.push(json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "other", "uid": other.uid()}));
    let body = json!({"metadata": {"ownerReferences": owners}});
    server
        .merge(&place(Kind::REPLICA_SET, "web-1"), Part::Main, body, at(0))
        .unwrap();
    delete(&mut server, Kind::DEPLOYMENT, "web", &DeleteOptions::default());
    assert_eq!(collect_all(&mut server), ["take owners off ReplicaSet web-1"]);
    let kept = server.get(Kind::REPLICA_SET, "shop", "web-1").unwrap();
    assert_eq!(kept.at("/metadata/ownerReferences").as_array().unwrap().len(), 1);
}

#[test]
fn what_happens_while_there_is_nothing_to_do_is_not_overlooked() {
    let mut server = server();
    tree(&mut server);
    assert_eq!(server.collect(at(11)), None);
    let lost = pod("lost").owned_by(&json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "gone", "uid": "9"},
    }));
    server.create(Kind::POD, "shop", lost.json(), at(11)).unwrap();
    assert_eq!(collect_all(&mut server), ["delete Pod lost"]);
    delete(&mut server, Kind::REPLICA_SET, "web-1", &DeleteOptions::default());
    assert_eq!(collect_all(&mut server), ["delete Pod a", "delete Pod b"]);
    delete(
        &mut server,
        Kind::DEPLOYMENT,
        "web",
        &DeleteOptions::with(Propagation::Orphan),
    );
    assert_eq!(collect_all(&mut server), ["take orphan off Deployment web"]);
}
