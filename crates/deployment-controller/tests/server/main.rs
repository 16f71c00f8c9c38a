//! The controller on a real API server. `cargo xtask test` starts the servers; without them every test here is skipped.
//!
//! With `WORKLOAD_TEST_SUBJECT=upstream` the same scenarios run against kube-controller-manager: what they demand of us is
//! what upstream does, except where a test says otherwise ([`ours_only`]).
#![cfg(test)]

mod adopted;
mod claims;
mod clients;
mod explain;
mod facts;
mod faults;
mod fence;
mod fields;
mod lifecycle;
mod opt_ins;
mod outages;
mod parity;
mod pausing;
mod quota;
mod recreate;
mod replica_sets;
mod revisions;
mod rollback;
mod rolling;
mod scale;
mod scaling;
mod takeover;
mod victims;
mod writes;

use testkit::object::Stored;
use testkit::record::State;
use testkit::{Program, Scene, Subject};
use workload_core::id::Kind;

const PROGRAM: Program = Program::new(
    "deployment-controller",
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../charts/deployment-controller"),
)
.in_place_of(&["deployment", "replicaset"]);

/// Runs a test with the controllers at work.
fn scenario(body: impl AsyncFnOnce(&mut Scene)) {
    testkit::scenario(&PROGRAM, body);
}

/// As [`scenario`], for what we do better than upstream.
fn ours_only(body: impl AsyncFnOnce(&mut Scene)) {
    scenario(async |scene| {
        if scene.subject() == Subject::Ours {
            body(scene).await;
        }
    });
}

/// The Deployment `web`, which most tests are about.
fn web(state: &State) -> Stored {
    state.deployment("web").unwrap().clone()
}

/// The ReplicaSet `web` of tests without a Deployment.
fn lone_set(state: &State) -> Stored {
    state.get(Kind::REPLICA_SET, "web").unwrap().clone()
}
