//! Who may write: two instances with one Lease, each behind a proxy of its own that records what reaches the server.
//!
//! However the leader ends, no write of it reaches the server after its successor's first one, and the rollout under way
//! ends as if nobody had changed.

mod ends;
mod lease;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::account::Account;
use testkit::api::LEASE;
use testkit::builders::{Templated as _, deployment};
use testkit::controller::Controller;
use testkit::object::Stored;
use testkit::proxy::{Exchange, Proxy, Which};
use testkit::record::{Change, State};
use testkit::{Scene, fact};
use workload_core::id::Kind;

use crate::PROGRAM;

/// How many pods the Deployment of these tests has. It rolls with a surge of [`SURGE`] and as many unavailable.
const PODS: u32 = 20;
const SURGE: u32 = 3;

/// One instance.
struct Instance {
    controller: Controller,
    proxy: Proxy,
}

/// An instance that leads and one that stands by. The Lease lies in the scene's namespace.
struct Pair {
    leader: Instance,
    standby: Instance,
}

/// Runs a test with a pair of instances.
fn with_pair(body: impl AsyncFnOnce(&mut Scene, Pair)) {
    fact(async |scene| {
        let account = scene.account(&PROGRAM).await;
        let leader = instance(scene, &account).await;
        scene
            .eventually("the first instance leads", async || leads(&leader).await)
            .await;
        let standby = instance(scene, &account).await;
        body(scene, Pair { leader, standby }).await;
    });
}

async fn instance(scene: &Scene, account: &Account) -> Instance {
    let proxy = scene.proxy().await;
    let namespace = format!("--lease-namespace={}", scene.namespace());
    let controller = scene.start_by(&account.through(&proxy), &PROGRAM, &[&*namespace]).await;
    Instance { controller, proxy }
}

async fn leads(instance: &Instance) -> bool {
    let metrics = instance.controller.metrics().await;
    metrics.count("leader_election_master_status", &[]) == 1
}

/// The Lease as it is stored.
async fn lease(scene: &Scene) -> Stored {
    Stored::from(scene.api().get(LEASE, PROGRAM.name).await.unwrap())
}

/// Changes the Lease as a person would.
async fn edit_lease(scene: &Scene, spec: Value) {
    let edited = scene.api().merge(LEASE, PROGRAM.name, &json!({ "spec": spec })).await;
    edited.unwrap();
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

/// The successor's first accepted write: that by which it took the Lease.
fn first_write(instance: &Instance) -> Option<Exchange> {
    let writes = instance.proxy.seen(&Which::writes());
    writes
        .into_iter()
        .find(|write| write.wrote() && write.code.is_some_and(|code| code < 300))
}

/// Waits until the standby has taken over, and returns when it passed its first write on.
async fn taken_over(scene: &Scene, standby: &Instance) -> Instant {
    scene
        .eventually("the standby takes over", async || leads(standby).await)
        .await;
    let first = first_write(standby).expect("a write");
    assert_eq!(first.asked.plural, LEASE.plural, "{first}");
    first.passed_on.expect("it was passed on")
}

/// Checks that nothing of the old leader reached the server after that moment, not even a read.
#[track_caller]
fn silent_since(old: &Proxy, moment: Instant) {
    nothing_since(old, moment, &Which::all());
}

/// As [`silent_since`], for an old leader that still lived then: it may have read something before it ended.
#[track_caller]
fn no_write_since(old: &Proxy, moment: Instant) {
    nothing_since(old, moment, &Which::writes());
}

#[track_caller]
fn nothing_since(old: &Proxy, moment: Instant, which: &Which) {
    let late: Vec<String> = old
        .seen(which)
        .iter()
        .filter(|request| request.passed_on.is_some_and(|at| at >= moment))
        .map(ToString::to_string)
        .collect();
    assert!(
        late.is_empty(),
        "requests of the old leader after its successor's first write: {late:#?}"
    );
    let before = old.seen(&Which::writes()).iter().filter(|write| write.wrote()).count();
    assert!(before > 0, "the old leader wrote before");
}

/// Seconds between two moments, for people.
fn seconds(from: Instant, to: Instant) -> f64 {
    to.saturating_duration_since(from).as_secs_f64()
}

/// A successor that takes over sooner was handed the Lease; one that has to wait until it expires takes longer.
const HANDED_OVER: Duration = Duration::from_secs(10);
