//! How many pods are created or deleted, and what new ones contain (deployment RS-10, RS-12, C-25, C-41, C-70…C-72).

use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use testkit::builders::{Manifest as _, Pod, Templated as _};
use workload_core::cache::{Identity, Source};
use workload_core::id::{Kind, ObjectKey, ResourceVersion, Uid};
use workload_core::plan::{Create, DeleteGuard, NewName, Stage, Wake};
use workload_core::workload::{Observation, Workload as _};

use super::{World, changed, noon, orphan, owned, text, web};

fn check(replicas: u32, pods: impl IntoIterator<Item = Pod>, plan: &str) {
    assert_eq!(World::of(web(replicas), pods).plan(), plan);
}

fn many(count: usize) -> Vec<Pod> {
    (0..count).map(|number| owned(&format!("p{number:04}"))).collect()
}

// proves: deployment/RS-10, deployment/RS-4
#[test]
fn missing_pods_are_created_and_surplus_ones_deleted() {
    check(3, [], "create 3");
    check(3, [owned("a")], "create 2");
    check(2, [owned("a"), owned("b")], "nothing");
    check(0, [owned("a"), owned("b")], "delete a, b");
    check(1, [owned("a"), owned("b").phase("Pending")], "delete b");
    check(1, [owned("a").terminating(noon())], "create 1");
    check(1, [owned("a").phase("Failed")], "create 1");
    check(
        0,
        [owned("a").phase("Succeeded"), owned("b").terminating(noon())],
        "nothing",
    );
    check(0, [], "nothing");
}

// proves: deployment/RS-10
#[test]
fn a_set_that_does_not_say_how_many_pods_it_wants_gets_one() {
    assert_eq!(
        World::of(web(0).set("/spec/replicas", Value::Null), []).plan(),
        "create 1"
    );
}

// proves: deployment/C-41
#[rstest]
#[case::up(1200, 0, "create 500")]
#[case::up_further(1200, 500, "create 500")]
#[case::up_the_rest(1200, 1000, "create 200")]
#[case::exactly(500, 0, "create 500")]
fn one_turn_creates_at_most_500_pods(#[case] replicas: u32, #[case] pods: usize, #[case] plan: &str) {
    check(replicas, many(pods), plan);
}

// proves: deployment/C-41
#[test]
fn one_turn_deletes_at_most_500_pods() {
    let turn = World::of(web(0), many(1200)).turn();
    let [Stage::Delete(deletes)] = &turn.plan.stages[..] else {
        panic!("{:?}", turn.plan)
    };
    assert_eq!(deletes.len(), 500);
}

// proves: deployment/C-25
#[test]
fn while_earlier_writes_are_not_seen_only_claims_and_reports_are_made() {
    let world = World::of(web(5), [owned("a"), orphan("b"), owned("c").label("app", "other")]).unsettled();
    assert_eq!(world.plan(), "adopt b; release c");
    assert_eq!(changed(&world.report())["replicas"], 2);
    assert_eq!(World::of(web(0), [owned("a")]).unsettled().plan(), "nothing");
}

// proves: deployment/T-21
#[test]
fn failed_and_terminating_pods_are_replaced_at_once() {
    let pods = [
        owned("failed").phase("Failed"),
        owned("leaving").terminating(noon()).finalizer("test/hold"),
    ];
    let world = World::of(web(2), pods.clone());
    assert_eq!(world.plan(), "create 2");
    let replaced = World::of(web(2), pods.into_iter().chain([owned("new-1"), owned("new-2")]));
    assert_eq!(replaced.plan(), "nothing");
    let status = changed(&replaced.report());
    assert_eq!(
        (&status["replicas"], &status["terminatingReplicas"]),
        (&json!(2), &json!(1))
    );
}

// proves: deployment/RS-12
#[test]
fn pods_that_differ_from_the_template_stay() {
    let edited = web(1).image("newer").pod_label("tier", "front");
    assert_eq!(World::of(edited, [owned("a")]).plan(), "nothing");
}

fn creates(world: &World) -> Vec<Create> {
    let mut turn = world.turn();
    match turn.plan.stages.pop() {
        Some(Stage::Create(creates)) => creates,
        other => panic!("{other:?}"),
    }
}

// proves: deployment/C-70, deployment/C-71, deployment/I-7
#[test]
fn a_new_pod_is_the_template_with_one_owner() {
    let template = json!({
        "metadata": {
            "name": "dropped", "namespace": "dropped",
            "labels": {"app": "web", "tier": "front"},
            "annotations": {"note": "x"},
            "finalizers": ["test/hold"],
        },
        "spec": {"fromTheFuture": {"deep": [1, {}]}, "containers": []},
    });
    let created = creates(&World::of(web(1).set("/spec/template", template.clone()), []));
    let [create] = &created[..] else { panic!("{created:?}") };
    assert_eq!((create.kind, &*create.namespace), (Kind::POD, "default"));
    assert_eq!(create.name, NewName::Random("web-".into()));
    let object = &create.object;
    let metadata = json!({
        "labels": object.labels, "annotations": object.annotations, "finalizers": object.finalizers,
        "ownerReferences": [object.owner],
    });
    let expected = json!({
        "labels": {"app": "web", "tier": "front"}, "annotations": {"note": "x"}, "finalizers": ["test/hold"],
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "uid-of-web",
                             "controller": true, "blockOwnerDeletion": true}],
    });
    assert_eq!(metadata, expected);
    let [(field, spec)] = &object.fields[..] else {
        panic!("{object:?}")
    };
    let spec: Value = serde_json::from_str(spec.as_str()).unwrap();
    assert_eq!((*field, &spec), ("spec", &template["spec"]));
}

// proves: deployment/C-70
#[test]
fn a_template_without_labels_makes_no_pods_but_a_condition() {
    let selector = json!({"matchExpressions": [{"key": "old", "operator": "DoesNotExist"}]});
    let set = web(2)
        .set("/spec/selector", selector)
        .set("/spec/template/metadata", json!({}));
    let world = World::of(set, []);
    assert_eq!(world.plan(), "nothing");
    let condition = &changed(&world.report())["conditions"][0];
    assert_eq!(
        (&condition["type"], &condition["reason"]),
        (&json!("ReplicaFailure"), &json!("FailedCreate"))
    );
}

// proves: deployment/C-72
#[test]
fn a_pod_is_deleted_by_name_and_uid() {
    let turn = World::of(web(0), [owned("a").uid("u1")]).turn();
    let [Stage::Delete(deletes)] = &turn.plan.stages[..] else {
        panic!("{:?}", turn.plan)
    };
    assert_eq!(deletes[0].target.key.to_string(), "default/a");
    assert_eq!(deletes[0].target.uid.as_str(), "u1");
    assert_eq!(deletes[0].guard, DeleteGuard::Uid);
}

#[rstest]
#[case::its_own_place(2, "create 1", "nothing")]
#[case::others_are_missing(4, "create 3", "create 2")]
#[case::as_many_as_wanted_without_it(1, "nothing", "nothing")]
#[case::surplus(0, "delete a", "delete a")]
fn a_pod_that_cannot_be_decoded_keeps_its_place_and_is_looked_at_again(
    #[case] replicas: u32,
    #[case] without: &str,
    #[case] with: &str,
) {
    let world = World::of(web(replicas), [owned("a")]);
    let controller = world.controller();
    let plan = || {
        let Observation::Ready(seen) = world.observation(&controller) else {
            panic!("nothing to act on")
        };
        controller.decide(&seen, world.now)
    };
    assert_eq!(text(&plan()), without);
    let unreadable = Identity {
        key: ObjectKey::new("default", "b"),
        uid: Uid::new("b"),
        version: ResourceVersion::new("5"),
        controller: Some(Uid::new("uid-of-web")),
    };
    controller.pods.keep(&unreadable, Source::Watch);
    assert_eq!(text(&plan()), with);
    assert_eq!(plan().wake, Wake::After(Duration::from_mins(1)));
    controller.pods.remove(&unreadable, Source::Watch);
    assert_eq!(text(&plan()), without);
}
