//! Requests and answers that get lost on their way.

use std::collections::BTreeSet;
use std::time::Duration;

use testkit::builders::{Templated as _, deployment, replica_set};
use testkit::proxy::{Exchange, Fault, Proxy, Which};
use workload_core::id::Kind;

use super::{behind_proxy, made_and_deleted, set_settles};

/// Names under which objects of a kind were to be made, and how many requests that took.
fn names_asked_for(proxy: &Proxy, kind: Kind) -> (usize, usize) {
    let creates = proxy.seen(&Which::creates().of(kind));
    let name = |create: &Exchange| create.json()["metadata"]["name"].to_string();
    let names: BTreeSet<String> = creates.iter().map(name).collect();
    (names.len(), creates.len())
}

#[test]
fn a_create_whose_answer_is_lost_is_repeated_under_its_name_and_makes_one_object() {
    for times in [1, 3] {
        behind_proxy(async |scene, proxy| {
            scene.kubelet().auto();
            let pods = proxy.strike_times(times, Which::creates().of(Kind::POD), Fault::LoseAnswer);
            let sets = proxy.strike_times(times, Which::creates().of(Kind::REPLICA_SET), Fault::LoseAnswer);
            scene.settle(deployment("web").replicas(4)).await;
            assert_eq!((pods.hits(), sets.hits()), (times, times));
            scene.quiet_for(Duration::from_secs(2)).await;
            assert_eq!(made_and_deleted(scene, Kind::POD), (4, 0));
            assert_eq!(made_and_deleted(scene, Kind::REPLICA_SET), (1, 0));
            for (kind, wanted) in [(Kind::POD, 4), (Kind::REPLICA_SET, 1)] {
                let (names, requests) = names_asked_for(proxy, kind);
                assert_eq!(names, wanted, "{kind}: each under one name");
                // What the third answer would have said is looked up instead.
                assert!(requests <= wanted + times, "{kind}: {requests} requests");
            }
        });
    }
}

#[test]
fn a_create_that_is_lost_on_its_way_is_made_up_for() {
    for times in [1, 5] {
        behind_proxy(async |scene, proxy| {
            let lost = proxy.strike_times(times, Which::creates().of(Kind::POD), Fault::Lose);
            scene.settle(deployment("web").replicas(4)).await;
            assert_eq!(lost.hits(), times);
            scene.quiet_for(Duration::from_secs(2)).await;
            assert_eq!(made_and_deleted(scene, Kind::POD), (4, 0));
            assert_eq!(names_asked_for(proxy, Kind::POD), (4, 4 + times));
        });
    }
}

// proves: deployment/W-10
#[test]
fn a_delete_whose_answer_is_lost_costs_no_second_pod() {
    for times in [1, 3] {
        behind_proxy(async |scene, proxy| {
            scene.kubelet().auto();
            scene.create(replica_set("web").replicas(5)).await;
            set_settles(scene, 5).await;
            let deletes = Which::deletes().of(Kind::POD);
            let lost = proxy.strike_times(times, deletes.clone(), Fault::LoseAnswer);
            scene.scale(Kind::REPLICA_SET, "web", 3).await;
            lost.struck(times).await;
            set_settles(scene, 3).await;
            scene.quiet_for(Duration::from_secs(2)).await;
            assert_eq!(made_and_deleted(scene, Kind::POD), (5, 2));
            let guarded = |delete: &Exchange| delete.json()["preconditions"]["uid"].is_string();
            assert!(proxy.seen(&deletes).iter().all(guarded));
        });
    }
}

#[test]
fn writes_that_are_lost_one_after_the_other_only_delay_a_rollout() {
    behind_proxy(async |scene, proxy| {
        scene.settle(deployment("web").replicas(6).rolling(2, 1)).await;
        let lost = proxy.strike_times(6, Which::writes(), Fault::LoseAnswer);
        let start = scene.set_image("web", "b").await;
        lost.struck(6).await;
        proxy.strike_times(6, Which::writes(), Fault::Lose).struck(6).await;
        scene.until_settled("web").await;
        scene.never_outside(start.version(), 8, 5);
        assert_eq!(made_and_deleted(scene, Kind::POD), (12, 6));
        assert_eq!(made_and_deleted(scene, Kind::REPLICA_SET), (2, 0));
    });
}
