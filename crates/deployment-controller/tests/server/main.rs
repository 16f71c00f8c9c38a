//! The controller on a real API server. `cargo xtask test` starts the servers; without them every test here is skipped.
//!
//! With `WORKLOAD_TEST_SUBJECT=upstream` the same scenarios run against kube-controller-manager: what they demand of us is
//! what upstream does, except where a test says otherwise ([`ours_only`]).
#![cfg(test)]

mod adopted;
mod clients;
mod facts;
mod lifecycle;
mod pausing;
mod recreate;
mod replica_sets;
mod revisions;
mod rolling;
mod scale;
mod scaling;
mod victims;

use testkit::{Program, Scene, Subject};
use workload_core::id::Kind;

const PROGRAM: Program = Program {
    name: "deployment-controller",
    rules: include_str!("../../rbac.json"),
};

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

/// Checks every moment after `since`: the ReplicaSets never want more than `most` pods together, and the Deployment never
/// reports fewer than `least` available ones.
fn never_outside(scene: &Scene, since: u64, most: i64, least: i64) {
    scene.look(|state| {
        let mut sizes = std::collections::BTreeMap::new();
        for write in state.in_order() {
            let object = &write.object;
            if object.kind() == Kind::REPLICA_SET.kind {
                sizes.insert(object.uid(), object.size());
            }
            if object.version() < since {
                continue;
            }
            let total: i64 = sizes.values().sum();
            assert!(
                total <= most,
                "{total} pods wanted, {most} allowed, at version {}",
                object.version()
            );
            if object.kind() == Kind::DEPLOYMENT.kind {
                let available = object.count("availableReplicas");
                assert!(
                    available >= least,
                    "{available} available, {least} needed, at version {}",
                    object.version()
                );
            }
        }
    });
}
