//! The Lease in the hands of people.

use serde_json::json;
use std::time::Duration;

use testkit::api::LEASE;
use testkit::pair::{Pair, edit_lease, lease, silent_since};
use testkit::proxy::Which;

use super::{ends_well, rolling, with_pair};
use crate::PROGRAM;

// proves: deployment/I-4
#[test]
fn a_leader_whose_lease_is_given_to_another_by_hand_stops_at_once() {
    with_pair(async |scene, Pair { mut leader, standby }| {
        let start = rolling(scene, 5).await;
        edit_lease(scene, &PROGRAM, json!({"holderIdentity": "somebody"})).await;
        assert_eq!(leader.controller.until_ended().await.code(), Some(1));
        assert_eq!(leader.controller.says("somebody holds it"), 1);
        assert_eq!(
            lease(scene, &PROGRAM).await.text("/spec/holderIdentity"),
            "somebody",
            "it took nothing back"
        );
        // Somebody never renews it.
        let took_over = standby.taken_over(scene).await;
        ends_well(scene, start).await;
        silent_since(&leader.proxy, took_over);
    });
}

// proves: deployment/I-4
#[test]
fn a_deleted_lease_is_made_again_by_its_holder_and_makes_no_second_leader() {
    with_pair(async |scene, Pair { leader, standby }| {
        let start = rolling(scene, 5).await;
        let holder = lease(scene, &PROGRAM).await.text("/spec/holderIdentity").to_owned();
        scene.delete(LEASE, PROGRAM.name).await;
        let creates = Which::creates().of(LEASE);
        let back = async || {
            let made = leader.proxy.seen(&creates);
            made.iter()
                .any(|made| made.json()["spec"]["holderIdentity"] == *holder && made.code == Some(201))
        };
        scene
            .eventually("the Lease is back", async || {
                back().await && scene.api().get(LEASE, PROGRAM.name).await.is_ok()
            })
            .await;
        ends_well(scene, start).await;
        scene.quiet_for(Duration::from_secs(5)).await;
        assert_eq!(lease(scene, &PROGRAM).await.text("/spec/holderIdentity"), holder);
        assert!(standby.first_write().is_none(), "the standby wrote something");
        assert!(leader.leads().await);
    });
}
