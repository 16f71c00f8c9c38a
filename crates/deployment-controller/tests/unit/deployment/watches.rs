//! Which change wakes which Deployment (deployment D-1, C-10, C-17, C-18).

use std::sync::Arc;

use deployment_controller::deployment::{spec, watches};
use deployment_controller::replicaset::spec as sets;
use rstest::rstest;
use serde_json::{Value, json};
use testkit::builders::{Deployment, Manifest, Pod, ReplicaSet, Templated as _, deployment, pod, replica_set};
use workload_core::cache::{Delta, Store};
use workload_core::id::ObjectKey;
use workload_core::meta::Object;
use workload_core::pod::PodView;

use super::cluster::cache;
use super::noon;

/// `web` and `shop`, which select one label each, `any`, which selects both, one that selects everything, one whose selector
/// is invalid, one in another namespace, and `careful`, whose pods are replaced when they have gone.
fn deployments() -> Store<spec::Deployment> {
    let exists = json!({"matchExpressions": [{"key": "app", "operator": "Exists"}]});
    let near = json!({"matchExpressions": [{"key": "app", "operator": "Near"}]});
    let all = [
        stored(deployment("web").recreate()),
        stored(deployment("shop").rolling(1, 0)),
        stored(deployment("any").rolling(1, 0).set("/spec/selector", exists)),
        stored(deployment("everything").rolling(1, 0).set("/spec/selector", json!({}))),
        stored(deployment("broken").rolling(1, 0).set("/spec/selector", near)),
        stored(
            deployment("careful")
                .rolling(1, 0)
                .opt_in("deployment.pod-replacement", "TerminationComplete")
                .set("/spec/selector/matchLabels/app", "careful"),
        ),
        stored(
            deployment("elsewhere")
                .recreate()
                .namespace("elsewhere")
                .set("/spec/selector/matchLabels/app", "web"),
        ),
    ];
    cache(&all)
}

fn stored(deployment: Deployment) -> Value {
    let name = deployment.clone().json()["metadata"]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    deployment.uid(&format!("uid-of-{name}")).json()
}

/// A ReplicaSet without owner, whose pods are called `web`.
fn orphan() -> ReplicaSet {
    replica_set("web-1").uid("uid-of-web-1").label("app", "web")
}

fn owned(by: &str) -> ReplicaSet {
    orphan().owned_by(&stored(deployment(by)))
}

/// Each version of an object differs.
fn newer(set: ReplicaSet) -> ReplicaSet {
    set.set("/metadata/resourceVersion", "2")
}

fn added<T: Object>(new: impl Manifest) -> Delta<T> {
    Delta::Applied {
        old: None,
        new: Arc::new(new.decode()),
    }
}

fn changed<T: Object>(old: impl Manifest, new: impl Manifest) -> Delta<T> {
    Delta::Applied {
        old: Some(Arc::new(old.decode())),
        new: Arc::new(new.decode()),
    }
}

fn removed<T: Object>(last: impl Manifest) -> Delta<T> {
    Delta::Removed {
        last: Arc::new(last.decode()),
    }
}

fn names(keys: &[ObjectKey]) -> Vec<String> {
    let mut names: Vec<String> = keys.iter().map(|key| key.name.to_string()).collect();
    names.sort_unstable();
    names
}

fn woken(delta: &Delta<sets::ReplicaSet>) -> Vec<String> {
    names(&watches::of_replica_set(delta, &deployments()))
}

// proves: deployment/D-1
#[rstest]
#[case::added(added(deployment("web").recreate()))]
#[case::changed(changed(deployment("web").recreate(), deployment("web").recreate().replicas(3)))]
#[case::removed(removed(deployment("web").recreate()))]
fn every_change_of_a_deployment_wakes_it(#[case] delta: Delta<spec::Deployment>) {
    assert_eq!(names(&watches::of_deployment(&delta)), ["web"]);
}

// proves: deployment/D-1, deployment/C-10
#[rstest]
#[case::added(added(owned("web")), &["web"])]
#[case::added_while_terminating(added(owned("web").terminating(noon())), &["web"])]
#[case::changed(changed(owned("web"), newer(owned("web"))), &["web"])]
#[case::removed(removed(owned("web")), &["web"])]
#[case::of_an_earlier_deployment_of_that_name(added(orphan().owned_by(&deployment("web").uid("older").json())), &[])]
#[case::of_an_unknown_deployment(added(owned("gone")), &[])]
#[case::of_another_kind(added(orphan().owned_by(&replica_set("web").uid("uid-of-web").json())), &[])]
fn a_set_wakes_the_deployment_that_owns_it(#[case] delta: Delta<sets::ReplicaSet>, #[case] expected: &[&str]) {
    assert_eq!(woken(&delta), expected);
}

// proves: deployment/C-17
#[rstest]
#[case::added(added(orphan()), &["any", "web"])]
#[case::added_while_terminating(added(orphan().terminating(noon())), &[])]
#[case::with_other_labels(changed(orphan().label("app", "x"), newer(orphan())), &["any", "web"])]
#[case::with_the_same_labels(changed(orphan(), newer(orphan())), &[])]
#[case::let_go(changed(owned("gone"), newer(orphan())), &["any", "web"])]
#[case::removed(removed(orphan()), &[])]
#[case::that_nobody_selects(added(orphan().set("/metadata/labels", json!({"tier": "x"}))), &[])]
#[case::without_labels(added(orphan().set("/metadata/labels", json!({}))), &[])]
fn an_orphan_wakes_whoever_could_adopt_it(#[case] delta: Delta<sets::ReplicaSet>, #[case] expected: &[&str]) {
    assert_eq!(woken(&delta), expected);
}

// proves: deployment/C-18
#[rstest]
#[case::from_one_to_another(changed(owned("web"), newer(owned("shop"))), &["shop", "web"])]
#[case::from_one_to_none(changed(owned("shop"), newer(orphan())), &["any", "shop", "web"])]
#[case::from_none_to_one(changed(orphan(), newer(owned("shop"))), &["shop"])]
#[case::from_an_unknown_one(changed(owned("gone"), newer(owned("shop"))), &["shop"])]
fn a_change_of_owner_wakes_both(#[case] delta: Delta<sets::ReplicaSet>, #[case] expected: &[&str]) {
    assert_eq!(woken(&delta), expected);
}

fn of(set: &ReplicaSet) -> Pod {
    pod("one").owned_by(&set.clone().json()).phase("Running")
}

fn woken_by_pod(set: ReplicaSet, delta: &Delta<PodView>) -> Vec<String> {
    names(&watches::of_pod(delta, &cache(&[set.json()]), &deployments()))
}

// proves: deployment/D-1, deployment/D-41, field/FR-DP-09
#[rstest]
#[case::added(added(of(&owned("web"))), &[])]
#[case::removed(removed(of(&owned("web"))), &["web"])]
#[case::ready(changed(of(&owned("web")), of(&owned("web")).ready_since(noon())), &[])]
#[case::terminating(changed(of(&owned("web")), of(&owned("web")).terminating(noon())), &[])]
#[case::failed(changed(of(&owned("web")), of(&owned("web")).phase("Failed")), &["web"])]
#[case::succeeded(changed(of(&owned("web")), of(&owned("web")).phase("Succeeded")), &["web"])]
#[case::failed_before(changed(of(&owned("web")).phase("Failed"), of(&owned("web")).phase("Failed")), &[])]
#[case::of_no_set(removed(pod("one")), &[])]
#[case::of_an_earlier_set_of_that_name(removed(of(&owned("web").uid("older"))), &[])]
fn a_pod_that_recreate_need_not_wait_for_any_longer_wakes_it(#[case] delta: Delta<PodView>, #[case] expected: &[&str]) {
    assert_eq!(woken_by_pod(owned("web"), &delta), expected);
}

// proves: deployment/D-1
#[test]
fn pods_wake_no_rolling_update() {
    assert_eq!(
        woken_by_pod(owned("shop"), &removed(of(&owned("shop")))),
        Vec::<String>::new()
    );
    assert_eq!(woken_by_pod(orphan(), &removed(of(&orphan()))), Vec::<String>::new());
}

// proves: deployment/L-2
#[rstest]
#[case::removed(removed(of(&owned("careful"))), &["careful"])]
#[case::failed(changed(of(&owned("careful")), of(&owned("careful")).phase("Failed")), &["careful"])]
#[case::terminating(changed(of(&owned("careful")), of(&owned("careful")).terminating(noon())), &[])]
fn a_pod_that_makes_room_wakes_the_deployment_that_counts_it(#[case] delta: Delta<PodView>, #[case] expected: &[&str]) {
    assert_eq!(woken_by_pod(owned("careful"), &delta), expected);
}
