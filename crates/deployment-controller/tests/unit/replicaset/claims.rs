//! Which pods are its own (deployment C-10…C-19, RS-3…RS-6, RS-11).

use deployment_controller::replicaset::ReplicaSets;
use rstest::rstest;
use testkit::builders::{Manifest as _, Pod, ReplicaSet, pod, replica_set};
use workload_core::workload::{Observation, RetryLimit, Workload as _};

use super::{World, changed, noon, orphan, owned, web};

fn check(set: ReplicaSet, candidate: Pod, plan: &str, counted: u32) {
    let world = World::of(set.set("/status/replicas", 9), [candidate]);
    assert_eq!(world.plan(), plan);
    assert_eq!(changed(&world.report())["replicas"], counted);
}

fn unfit(pod: Pod) -> Pod {
    pod.label("app", "other")
}

fn of_another(pod: Pod) -> Pod {
    pod.owned_by(&replica_set("web").uid("another-uid").json())
}

fn dying(set: ReplicaSet) -> ReplicaSet {
    set.terminating(noon())
}

// proves: deployment/C-11, deployment/RS-4
#[rstest]
#[case::own(web(1), owned("a"), "nothing", 1)]
#[case::own_that_fits_no_longer(web(0), unfit(owned("a")), "release a", 0)]
#[case::own_while_the_set_goes(dying(web(1)), owned("a"), "nothing", 1)]
#[case::own_that_fits_no_longer_while_the_set_goes(dying(web(1)), unfit(owned("a")), "nothing", 0)]
#[case::foreign(web(0), of_another(orphan("a")), "nothing", 0)]
#[case::orphan(web(1), orphan("a"), "adopt a", 1)]
#[case::orphan_that_does_not_fit(web(0), unfit(orphan("a")), "nothing", 0)]
#[case::orphan_while_the_set_goes(dying(web(1)), orphan("a"), "nothing", 0)]
#[case::orphan_of_another_namespace(web(0), orphan("a").namespace("other"), "nothing", 0)]
fn an_active_pod_is_kept_adopted_released_or_ignored(
    #[case] set: ReplicaSet,
    #[case] candidate: Pod,
    #[case] plan: &str,
    #[case] counted: u32,
) {
    check(set, candidate, plan, counted);
}

// proves: deployment/C-16, deployment/RS-4, deployment/RS-5
#[rstest]
#[case::finished_orphan(orphan("a").phase("Succeeded"))]
#[case::failed_orphan(orphan("a").phase("Failed"))]
#[case::terminating_orphan(orphan("a").terminating(noon()))]
#[case::finished_own_that_fits_no_longer(unfit(owned("a")).phase("Failed"))]
#[case::terminating_own_that_fits_no_longer(unfit(owned("a")).terminating(noon()))]
fn pods_that_are_not_active_are_neither_adopted_nor_released(#[case] candidate: Pod) {
    check(web(0), candidate, "nothing", 0);
}

// proves: deployment/C-19
#[test]
fn a_pod_that_does_not_block_the_owners_deletion_is_owned_all_the_same() {
    let owner = serde_json::json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "uid-of-web", "controller": true});
    check(web(1), orphan("a").owner(owner), "nothing", 1);
}

// proves: deployment/C-10, deployment/C-16
#[rstest]
#[case::of_another_name(orphan("a").owned_by(&web(0).set("/metadata/name", "other").json()))]
#[case::of_another_kind(orphan("a").owned_by(&web(0).set("/kind", "Deployment").json()))]
#[case::of_another_namespace(owned("a").namespace("other"))]
fn a_reference_that_only_has_the_sets_uid_does_not_make_a_pod_its_own(#[case] candidate: Pod) {
    check(web(0), candidate, "nothing", 0);
}

// proves: deployment/RS-5
#[test]
fn only_own_fitting_unfinished_pods_count_as_terminating() {
    let leaving = [
        owned("counts").terminating(noon()),
        unfit(owned("unfit")).terminating(noon()),
        orphan("orphan").terminating(noon()),
        of_another(orphan("foreign")).terminating(noon()),
        owned("finished").phase("Failed").terminating(noon()),
    ];
    let report = World::of(web(0), leaving).report();
    assert_eq!(changed(&report)["terminatingReplicas"], 1);
}

// proves: deployment/RS-11, deployment/T-22
#[test]
fn surplus_orphans_are_adopted_and_then_deleted_in_the_usual_order() {
    let bare = [orphan("a"), orphan("b").phase("Pending"), orphan("c")];
    assert_eq!(World::of(web(2), bare).plan(), "adopt a; adopt b; adopt c; delete b");
}

// proves: deployment/T-22
#[test]
fn a_pod_of_another_controller_is_left_alone_even_if_it_lists_the_set_too() {
    let plain = serde_json::json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "uid-of-web"});
    check(web(0), of_another(orphan("a").owner(plain)), "nothing", 0);
}

// proves: deployment/RS-6
#[test]
fn a_set_that_is_being_deleted_only_reports() {
    let pods = [owned("a"), unfit(owned("b")), orphan("c")];
    let world = World::of(dying(web(5)), pods);
    assert_eq!(world.plan(), "nothing");
    assert_eq!(changed(&world.report())["replicas"], 1);
}

// proves: deployment/RS-3
#[test]
fn a_set_whose_selector_cannot_be_parsed_is_left_alone() {
    let selector = serde_json::json!({"matchExpressions": [{"key": "app", "operator": "Near"}]});
    let world = World::of(web(3).set("/spec/selector", selector), []);
    assert!(matches!(
        world.observation(&world.controller()),
        Observation::Ignored(_)
    ));
}

// proves: deployment/C-4, deployment/C-7, deployment/C-73
#[test]
fn names_and_limits_are_upstreams() {
    assert_eq!(ReplicaSets::QUEUE, "replicaset");
    assert_eq!(ReplicaSets::COMPONENT, "replicaset-controller");
    assert_eq!(ReplicaSets::RETRIES, RetryLimit::Unlimited);
}

// proves: deployment/RS-3
#[test]
fn a_set_that_is_not_there_is_absent() {
    let world = World::of(replica_set("other"), [pod("a")]);
    assert!(matches!(world.observation(&world.controller()), Observation::Absent));
}
