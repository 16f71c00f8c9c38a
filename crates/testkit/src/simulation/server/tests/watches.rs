//! Watches.

use std::time::Duration;

use super::*;
use crate::simulation::server::Subscription;

const FORM: &str = "watch=true&allowWatchBookmarks=true&timeoutSeconds=290";
const STREAM: &str = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan";

fn watch(server: &mut ApiServer, query: &str) -> Subscription {
    match server.call(
        &request("GET", &format!("{PODS}?{query}&{FORM}"), "", &Value::Null),
        at(0),
    ) {
        Reply::Watch(watch) => watch,
        Reply::Answer(answer) => panic!("{answer:?}"),
    }
}

#[test]
fn a_stream_begins_with_the_state_and_goes_on_with_changes() {
    let mut server = server();
    new_pod(&mut server, "a", None, true);
    new_pod(&mut server, "b", None, false);
    let mut stream = watch(&mut server, STREAM);
    assert_eq!(
        (stream.kind(), stream.lifetime),
        (Kind::POD, Some(Duration::from_secs(290)))
    );
    delete(&mut server, Kind::POD, "a", &DeleteOptions::default());
    delete(&mut server, Kind::POD, "b", &DeleteOptions::default());
    assert_eq!(told(&server, &mut stream, 3), [""; 0], "the state is not yet seen");
    assert_eq!(stream.bookmark(), None);
    assert_eq!(
        told(&server, &mut stream, 5),
        ["ADDED a 3", "ADDED b 4", "BOOKMARK  4", "MODIFIED a 5"]
    );
    assert_eq!(stream.version(), 5);
    assert_eq!(short(&stream.bookmark().unwrap()), "BOOKMARK  5");
    assert_eq!(told(&server, &mut stream, 99), ["MODIFIED b 6", "DELETED b 7"]);
    assert_eq!(told(&server, &mut stream, 99), [""; 0]);
    assert_eq!(stream.version(), 7);
}

#[test]
fn the_end_of_the_state_is_marked() {
    let mut server = server();
    new_pod(&mut server, "a", None, false);
    let mut stream = watch(&mut server, STREAM);
    let frames = server.events(&mut stream, 1);
    let mark: Value = serde_json::from_slice(frames.last().unwrap()).unwrap();
    let expected = json!({"type": "BOOKMARK", "object": {"kind": "Pod", "apiVersion": "v1", "metadata": {
        "resourceVersion": "1", "annotations": {"k8s.io/initial-events-end": "true"},
    }}});
    assert_eq!(mark, expected);
    let mut plain = watch(&mut server, "resourceVersion=0");
    assert_eq!(told(&server, &mut plain, 1), ["ADDED a 1"]);
}

#[test]
fn a_watch_goes_on_behind_a_version() {
    let mut server = server();
    for name in ["a", "b", "c"] {
        new_pod(&mut server, name, None, false);
    }
    let mut resumed = watch(&mut server, "resourceVersion=2");
    assert_eq!(told(&server, &mut resumed, 99), ["ADDED c 3"]);
}

#[test]
fn a_watch_from_a_forgotten_version_ends_with_an_error() {
    let mut server = server();
    for name in ["a", "b", "c"] {
        new_pod(&mut server, name, None, false);
    }
    let mut open = watch(&mut server, "resourceVersion=1");
    server.compact(3);
    let mut late = watch(&mut server, "resourceVersion=2");
    let frames = server.events(&mut late, 99);
    let error: Value = serde_json::from_slice(&frames[0]).unwrap();
    assert_eq!(
        (&error["type"], &error["object"]["code"]),
        (&json!("ERROR"), &json!(410))
    );
    assert_eq!(error["object"]["reason"], "Expired");
    assert!(late.is_ended());
    assert_eq!(told(&server, &mut late, 99), [""; 0]);
    assert_eq!(
        told(&server, &mut open, 99),
        ["ADDED b 2", "ADDED c 3"],
        "an open watch goes on"
    );
    assert_eq!(
        told(&server, &mut watch(&mut server_of(&server), "resourceVersion=3"), 99),
        [""; 0]
    );
}

/// Only to show that the newest version is never too old.
fn server_of(_: &ApiServer) -> ApiServer {
    let mut other = server();
    for name in ["a", "b", "c"] {
        new_pod(&mut other, name, None, false);
    }
    other.compact(3);
    other
}

#[test]
fn an_object_that_leaves_a_selection_is_told_gone_and_one_that_enters_it_new() {
    let mut server = server();
    new_pod(&mut server, "a", None, false);
    let mut some = watch(&mut server, &format!("{STREAM}&labelSelector=app%3Dweb"));
    let mut other = watch(&mut server, &format!("{STREAM}&labelSelector=app%3Dapi"));
    let mut set = |app: &str| {
        let labels = json!({"metadata": {"labels": {"app": app}}});
        server
            .merge(&place(Kind::POD, "a"), super::super::Part::Main, labels, at(0))
            .unwrap();
    };
    set("api");
    set("web");
    assert_eq!(
        told(&server, &mut some, 99),
        ["ADDED a 1", "BOOKMARK  1", "DELETED a 2", "ADDED a 3"]
    );
    assert_eq!(
        told(&server, &mut other, 99),
        ["BOOKMARK  1", "ADDED a 2", "DELETED a 3"]
    );
}
