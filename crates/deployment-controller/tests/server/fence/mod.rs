//! Who may write: two instances with one Lease, each behind a proxy of its own that records what reaches the server.
//!
//! However the leader ends, no write of it reaches the server after its successor's first one, and the rollout under way
//! ends as if nobody had changed.

mod ends;
mod lease;

use std::time::{Duration, Instant};

use testkit::Scene;
use testkit::builders::{Templated as _, deployment};
use testkit::pair::Pair;
use testkit::record::{Change, State};
use workload_core::id::Kind;

use crate::PROGRAM;

/// How many pods the Deployment of these tests has. It rolls with a surge of [`SURGE`] and as many unavailable.
const PODS: u32 = 20;
const SURGE: u32 = 3;

/// Runs a test with a pair of instances.
fn with_pair(body: impl AsyncFnOnce(&mut Scene, Pair)) {
    testkit::pair::with_pair(&PROGRAM, body);
}

/// A rollout on the way from image a to image b, caught when so many pods are updated; returns the version at its start.
async fn rolling(scene: &Scene, updated: i64) -> u64 {
    scene
        .settle(deployment("web").replicas(PODS).rolling(SURGE, SURGE))
        .await;
    let start = scene.set_image("web", "b").await;
    let progress = |state: &State| state.deployment("web").unwrap().count("updatedReplicas") >= updated;
    scene.until("some progress", progress).await;
    start.version()
}

/// Waits for the end of the rollout and checks that it kept its bounds and made no pod too many.
async fn ends_well(scene: &Scene, start: u64) {
    scene.until_settled("web").await;
    let pods = i64::from(PODS);
    assert_eq!(scene.look(State::sizes), [0, pods]);
    scene.never_outside(start, pods + i64::from(SURGE), pods - i64::from(SURGE));
    assert_eq!(pods_made(scene), 2 * PODS as usize, "pods that were made");
}

/// How many pods were ever made.
fn pods_made(scene: &Scene) -> usize {
    scene.look(|state| {
        let writes = state.writes(Kind::POD);
        writes.filter(|write| write.change == Change::Added).count()
    })
}

/// Seconds between two moments, for people.
fn seconds(from: Instant, to: Instant) -> f64 {
    to.saturating_duration_since(from).as_secs_f64()
}

/// A successor that takes over sooner was handed the Lease; one that has to wait until it expires takes longer.
const HANDED_OVER: Duration = Duration::from_secs(10);
