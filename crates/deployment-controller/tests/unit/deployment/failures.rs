//! What becomes of a turn whose writes fail (deployment D-14, D-15, D-36, C-29).

use rstest::rstest;
use serde_json::{Value, json};
use testkit::builders::{Templated as _, deployment};
use workload_core::outcome::{FailureClass, Verb};
use workload_core::workload::Children;

use super::cluster::Cluster;

/// Ten replicas of image `b`, whose set does not exist yet; old set `a` has them all.
fn world() -> Cluster {
    let mut cluster = Cluster::settled(deployment("web").replicas(10).rolling(3, 2));
    cluster.edit(|web| web.image("b"));
    cluster
}

// proves: deployment/D-15
#[test]
fn a_set_that_cannot_be_created_is_reported() {
    let mut cluster = world();
    cluster.refusal = Some((Verb::Create, FailureClass::Rejected));
    let turn = cluster.turn();
    assert_eq!(turn.text(), "Progressing False ReplicaSetCreateError");
    let Some(name) = turn.said()[0].split('"').nth(1).map(str::to_owned) else {
        panic!("{:?}", turn.said())
    };
    let message = format!("Failed to create new replica set {name:?}: refused");
    assert_eq!(turn.said(), [format!("ReplicaSetCreateError: {message}")]);
    assert_eq!(cluster.condition("Progressing").unwrap()["message"], message);
    let fields: Vec<&String> = turn.status().as_object().unwrap().keys().collect();
    assert_eq!(fields, ["conditions"], "nothing was counted");
    cluster.refusal = None;
    assert_eq!(
        cluster.turn().told,
        ["Progressing True NewReplicaSetCreated", "revision 2"]
    );
}

// proves: deployment/D-15
#[test]
fn without_deadline_only_an_event_tells_of_it() {
    let mut cluster = world();
    cluster.deployment["spec"]["progressDeadlineSeconds"] = json!(i32::MAX);
    cluster.refusal = Some((Verb::Create, FailureClass::Rejected));
    let turn = cluster.turn();
    assert_eq!(turn.said().len(), 1);
    assert_eq!(turn.status(), &Value::Null);
}

// proves: deployment/D-14, deployment/D-15, deployment/C-63
#[rstest]
#[case::the_namespace_goes(FailureClass::NamespaceEnding)]
#[case::it_is_there_but_not_in_the_cache(FailureClass::AlreadyExists)]
#[case::this_process_may_not_write(FailureClass::Fenced)]
fn some_failures_to_create_are_nothing_to_tell(#[case] class: FailureClass) {
    let mut cluster = world();
    cluster.refusal = Some((Verb::Create, class));
    let turn = cluster.turn();
    assert_eq!(turn.text(), "");
    assert_eq!(turn.said(), Vec::<String>::new());
    assert_eq!(turn.status(), &Value::Null);
}

// proves: deployment/D-14
#[test]
fn a_name_that_another_set_has_is_not_tried_but_counted() {
    let mut cluster = Cluster::settled(deployment("web").replicas(2));
    cluster.edit_set("a", |set| set.image("x"));
    for (count, expected) in [(None, 1), (Some(0), 1), (Some(7), 8)] {
        let mut cluster = cluster.clone();
        cluster.deployment["status"]["collisionCount"] = json!(count);
        if let Some(count) = count {
            // Another hash: the name of the set follows.
            let mut fresh = Cluster::of(deployment("web").replicas(2));
            fresh.deployment["status"]["collisionCount"] = json!(count);
            fresh.turn();
            let name = fresh.sets[0]["metadata"]["name"].clone();
            cluster.sets[0]["metadata"]["name"] = name;
        }
        let turn = cluster.turn();
        assert_eq!(turn.written(), "");
        assert_eq!(turn.said(), Vec::<String>::new());
        assert_eq!(
            turn.status(),
            &json!({"collisionCount": expected}),
            "nothing is counted but the collision"
        );
        assert_eq!(cluster.turn().written(), "create a 1", "under another name");
    }
}

// proves: deployment/D-14
#[test]
fn when_no_collision_can_be_counted_any_more_people_are_told() {
    let most = i32::MAX;
    let mut fresh = Cluster::of(deployment("web").replicas(2));
    fresh.deployment["status"]["collisionCount"] = json!(most);
    fresh.turn();
    let name = fresh.sets[0]["metadata"]["name"].clone();
    let mut cluster = Cluster::settled(deployment("web").replicas(2));
    cluster.edit_set("a", |set| set.image("x"));
    cluster.deployment["status"]["collisionCount"] = json!(most);
    cluster.sets[0]["metadata"]["name"] = name.clone();
    let turn = cluster.turn();
    assert_eq!(turn.text(), "Progressing False ReplicaSetCreateError");
    let message = format!(
        "ReplicaSetCreateError: Failed to create new replica set {name}: its name is taken, and collisionCount cannot grow \
         beyond {most}"
    );
    assert_eq!(turn.said(), [message]);
    assert_eq!(cluster.turn().status(), &Value::Null, "once");
}

// proves: deployment/D-12, deployment/D-13
#[test]
fn a_rollout_that_has_begun_is_reported_though_the_turn_ends_in_a_conflict() {
    let mut cluster = world();
    cluster.refusal = Some((Verb::Patch, FailureClass::Conflict));
    let turn = cluster.turn();
    assert_eq!(
        turn.text(),
        "create b 3; Progressing True NewReplicaSetCreated; revision 2"
    );
    let fields: Vec<&String> = turn.status().as_object().unwrap().keys().collect();
    assert_eq!(fields, ["conditions"], "nothing was counted");
    assert_eq!(cluster.turn().text(), "", "and nothing more is known");
}

// proves: deployment/D-36, deployment/L-10
#[test]
fn a_refused_patch_does_not_stop_the_report() {
    let mut cluster = world();
    cluster.turn();
    cluster.settle();
    cluster.refusal = Some((Verb::Patch, FailureClass::Rejected));
    let turn = cluster.turn();
    assert_eq!(turn.written(), "");
    assert_eq!(turn.status()["updatedReplicas"], 3);
    assert_eq!(turn.status()["unavailableReplicas"], 0, "the size stays what it was");
}

// proves: deployment/D-36
#[rstest]
#[case::it_has_changed(FailureClass::Conflict)]
#[case::it_is_gone(FailureClass::Missing)]
#[case::nobody_answered(FailureClass::Unknown)]
#[case::the_server_is_busy(FailureClass::Throttled(None))]
fn nothing_is_reported_from_a_view_that_is_known_to_be_old(#[case] class: FailureClass) {
    let mut cluster = world();
    cluster.turn();
    cluster.settle();
    cluster.refusal = Some((Verb::Patch, class));
    let turn = cluster.turn();
    assert_eq!(turn.text(), "");
    assert_eq!(turn.status(), &Value::Null);
}

// proves: deployment/D-11, deployment/D-12
#[test]
fn the_deployment_gets_no_revision_that_its_set_did_not_get() {
    let mut cluster = Cluster::settled(deployment("web").replicas(1));
    cluster.edit(|web| web.image("b"));
    cluster.roll();
    cluster.edit(|web| web.image("a"));
    cluster.refusal = Some((Verb::Patch, FailureClass::Rejected));
    assert_eq!(cluster.turn().told, Vec::<String>::new());
    cluster.refusal = None;
    assert_eq!(cluster.turn().told, ["revision 3"]);
}

// proves: deployment/C-29
#[test]
fn a_set_that_was_created_but_is_not_seen_yet_is_not_created_again() {
    let mut cluster = world();
    cluster.children = Children::Unsettled;
    let turn = cluster.turn();
    assert_eq!(turn.text(), "");
    cluster.children = Children::Settled;
    assert!(cluster.turn().written().starts_with("create b 3"));
}
