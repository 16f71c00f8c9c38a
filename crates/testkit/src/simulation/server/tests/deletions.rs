//! Deletions.

use super::*;
use crate::simulation::server::{Part, Propagation};
use rstest::rstest;

fn grace(seconds: i64) -> DeleteOptions {
    DeleteOptions {
        grace: Some(seconds),
        ..DeleteOptions::default()
    }
}

fn changes(server: &ApiServer, kind: Kind, since: u64) -> Vec<(u64, bool)> {
    let writes = server.writes_after(kind, since);
    writes.map(|write| (write.version - since, write.deleted)).collect()
}

#[test]
fn a_bound_pod_gets_its_grace_period_and_ends_at_once_when_the_kubelet_says_so() {
    let mut server = server();
    let pod = new_pod(&mut server, "a", None, true);
    let terminating = delete(&mut server, Kind::POD, "a", &DeleteOptions::default());
    assert_eq!(terminating.text("/metadata/deletionTimestamp"), "2027-01-15T08:00:40Z");
    assert_eq!(terminating.number("/metadata/deletionGracePeriodSeconds"), 30);
    assert_eq!(terminating.generation(), pod.generation() + 1);
    let before = server.version();
    let again = server
        .delete(&place(Kind::POD, "a"), &DeleteOptions::default(), at(20))
        .unwrap();
    assert_eq!((again, server.version()), (terminating, before));
    let shorter = delete(&mut server, Kind::POD, "a", &grace(5));
    assert_eq!(shorter.text("/metadata/deletionTimestamp"), "2027-01-15T08:00:15Z");
    let longer = delete(&mut server, Kind::POD, "a", &grace(60));
    assert_eq!(longer, shorter);
    let late = server.delete(&place(Kind::POD, "a"), &grace(3), at(60)).unwrap();
    assert_eq!(late.text("/metadata/deletionTimestamp"), "2027-01-15T08:01:00Z");
    assert_eq!(late.number("/metadata/deletionGracePeriodSeconds"), 1);
    let before = server.version();
    delete(&mut server, Kind::POD, "a", &DeleteOptions::now());
    assert_eq!(server.get(Kind::POD, "shop", "a"), None);
    assert_eq!(changes(&server, Kind::POD, before), [(1, false), (2, true)]);
}

#[rstest]
#[case::unbound(false, "Pending")]
#[case::failed(true, "Failed")]
#[case::succeeded(true, "Succeeded")]
fn a_pod_without_running_containers_goes_at_once(#[case] bound: bool, #[case] phase: &str) {
    let mut server = server();
    new_pod(&mut server, "a", None, bound);
    let status = json!({"status": {"phase": phase}});
    server
        .merge(&place(Kind::POD, "a"), Part::Status, status, at(0))
        .unwrap();
    let before = server.version();
    delete(&mut server, Kind::POD, "a", &DeleteOptions::default());
    assert_eq!(server.list(Kind::POD), []);
    assert_eq!(changes(&server, Kind::POD, before), [(1, false), (2, true)]);
}

#[test]
fn a_finalizer_keeps_an_object_until_it_is_taken_off() {
    let mut server = server();
    let held = deployment("web").finalizer("test/hold").json();
    server.create(Kind::DEPLOYMENT, "shop", held, at(0)).unwrap();
    let kept = delete(&mut server, Kind::DEPLOYMENT, "web", &DeleteOptions::default());
    assert_eq!(
        (kept.text("/metadata/deletionTimestamp"), kept.generation()),
        ("2027-01-15T08:00:10Z", 2)
    );
    assert_eq!(kept.number("/metadata/deletionGracePeriodSeconds"), 0);
    let let_go = json!({"metadata": {"finalizers": null}});
    server
        .merge(&place(Kind::DEPLOYMENT, "web"), Part::Main, let_go, at(11))
        .unwrap();
    assert_eq!(server.list(Kind::DEPLOYMENT), []);
}

#[test]
fn a_held_pod_that_has_not_ended_stays_after_its_finalizer() {
    let mut server = server();
    new_pod(&mut server, "a", None, true);
    let finalizers = |names: Value| json!({"metadata": {"finalizers": names}});
    let pod = place(Kind::POD, "a");
    server
        .merge(&pod, Part::Main, finalizers(json!(["test/hold"])), at(0))
        .unwrap();
    delete(&mut server, Kind::POD, "a", &DeleteOptions::default());
    server.merge(&pod, Part::Main, finalizers(Value::Null), at(11)).unwrap();
    assert_eq!(server.list(Kind::POD).len(), 1);
    server.merge(&pod, Part::Main, finalizers(Value::Null), at(11)).unwrap();
    delete(&mut server, Kind::POD, "a", &DeleteOptions::now());
    assert_eq!(server.list(Kind::POD), []);
}

#[test]
fn a_deletion_holds_only_for_the_object_that_was_seen() {
    let mut server = server();
    let pod = new_pod(&mut server, "a", None, true);
    let version = pod.text("/metadata/resourceVersion");
    for (uid, seen, words) in [
        (
            "9",
            version,
            "the UID in the precondition (9) does not match the UID in record",
        ),
        (
            pod.uid(),
            "9",
            "the ResourceVersion in the precondition (9) does not match",
        ),
    ] {
        let body = json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid, "resourceVersion": seen},
        });
        let (code, status) = ask(&mut server, "DELETE", &format!("{PODS}/a"), JSON, &body);
        assert_eq!((code, &status["reason"]), (409, &json!("Conflict")));
        assert!(status["message"].as_str().unwrap().contains(words), "{status}");
    }
    let body = json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": pod.uid()}});
    let (code, answer) = ask(&mut server, "DELETE", &format!("{PODS}/a"), JSON, &body);
    assert_eq!((code, &answer["kind"]), (200, &json!("Pod")));
    let missing = ask(&mut server, "DELETE", &format!("{PODS}/b"), JSON, &body);
    assert_eq!(
        (missing.0, &missing.1["message"]),
        (404, &json!("pods \"b\" not found"))
    );
}

#[test]
fn workloads_are_told_gone_by_name_and_uid() {
    let mut server = server();
    let set = set(&mut server, None);
    let body = json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": set.uid()}});
    let (code, answer) = ask(&mut server, "DELETE", &format!("{SETS}/web-1"), JSON, &body);
    let details = json!({"name": "web-1", "group": "apps", "kind": "replicasets", "uid": set.uid()});
    assert_eq!(
        (code, &answer["status"], &answer["details"]),
        (200, &json!("Success"), &details)
    );
}

#[rstest]
#[case::foreground(Propagation::Foreground, "foregroundDeletion")]
#[case::orphan(Propagation::Orphan, "orphan")]
fn what_is_to_become_of_dependents_is_kept_in_a_finalizer(#[case] policy: Propagation, #[case] finalizer: &str) {
    let mut server = server();
    web(&mut server);
    let kept = delete(&mut server, Kind::DEPLOYMENT, "web", &DeleteOptions::with(policy));
    assert_eq!(kept.at("/metadata/finalizers"), &json!([finalizer]));
    let as_before = delete(&mut server, Kind::DEPLOYMENT, "web", &DeleteOptions::default());
    assert_eq!(as_before, kept);
    delete(
        &mut server,
        Kind::DEPLOYMENT,
        "web",
        &DeleteOptions::with(Propagation::Background),
    );
    assert_eq!(server.list(Kind::DEPLOYMENT), []);
}
