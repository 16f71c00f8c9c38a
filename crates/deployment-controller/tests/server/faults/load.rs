//! How hard the server is pressed.

use std::time::{Duration, Instant};

use testkit::builders::{Manifest as _, Templated as _, replica_set};
use testkit::proxy::{Exchange, Fault, Proxy, Which};
use testkit::record::State;
use testkit::{Access, Kind, Scene, fact};
use workload_core::time::{Clock as _, SystemClock};

use super::ALONE;
use crate::PROGRAM;

/// Starts the controllers with these flags behind a proxy.
async fn with_flags(scene: &mut Scene, flags: &[&str]) -> Proxy {
    let proxy = scene.proxy().await;
    let flags = [&ALONE, flags].concat();
    let started = scene.start_by(&Access::through(&proxy), &PROGRAM, &flags).await;
    scene.put_controller(started);
    proxy
}

/// Makes so many ReplicaSets with five pods each, and waits for the pods.
async fn many(scene: &Scene, sets: usize) {
    for number in 0..sets {
        let name = format!("set-{number}");
        let set = replica_set(&name)
            .set("/spec/selector/matchLabels/app", &*name)
            .set("/spec/template/metadata/labels/app", &*name)
            .replicas(5);
        scene.create(set).await;
    }
    let all = |state: &State| {
        let sets_told = state
            .replica_sets()
            .iter()
            .filter(|set| set.count("replicas") == 5)
            .count();
        (state.pods().len(), sets_told) == (5 * sets, sets)
    };
    scene.until("all pods are made and counted", all).await;
}

/// The most of these requests that were under way at the same time.
fn most_at_once(exchanges: &[Exchange]) -> usize {
    let mut turns: Vec<(Instant, bool)> = Vec::new();
    for exchange in exchanges {
        turns.push((exchange.arrived, true));
        turns.extend(exchange.answered.map(|at| (at, false)));
    }
    // At the same moment one ends before another begins.
    turns.sort();
    let (mut open, mut most) = (0_usize, 0);
    for (_, begins) in turns {
        open = if begins { open + 1 } else { open - 1 };
        most = most.max(open);
    }
    most
}

// proves: field/FR-RS-05
#[test]
fn no_more_writes_are_under_way_than_allowed_on_a_slow_server() {
    fact(async |scene| {
        let proxy = with_flags(scene, &["--max-inflight-writes=6", "--workers=20"]).await;
        proxy.strike(Which::writes(), Fault::Delay(Duration::from_millis(200)));
        many(scene, 12).await;
        let mut writes = proxy.seen(&Which::creates().of(Kind::POD));
        writes.extend(proxy.seen(&Which::writes().part_of(Kind::REPLICA_SET, "status")));
        let most = most_at_once(&writes);
        assert!((4..=6).contains(&most), "{most} of {} writes at once", writes.len());
    });
}

// proves: field/FR-RS-05
#[test]
fn no_more_objects_are_worked_on_than_there_are_workers() {
    fact(async |scene| {
        let proxy = with_flags(scene, &["--workers=3"]).await;
        proxy.strike(Which::writes(), Fault::Delay(Duration::from_millis(200)));
        many(scene, 12).await;
        let statuses = proxy.seen(&Which::writes().part_of(Kind::REPLICA_SET, "status"));
        let most = most_at_once(&statuses);
        assert!((2..=3).contains(&most), "{most} of {} writes at once", statuses.len());
    });
}

#[test]
fn a_rate_limit_holds_for_all_calls_and_costs_no_write() {
    fact(async |scene| {
        let proxy = with_flags(scene, &["--qps=4", "--burst=4"]).await;
        let began = SystemClock.instant();
        many(scene, 4).await;
        let passed = SystemClock.instant() - began;
        let calls = proxy.count_since(began, &Which::writes());
        let most = 4 * (usize::try_from(passed.as_secs()).unwrap() + 1) + 4;
        assert!(calls <= most, "{calls} calls in {passed:?}");
        let failed = super::controller(scene).says("turn failed");
        assert_eq!(failed, 0, "{}", super::controller(scene).log_about("turn failed"));
        assert_eq!(super::made_and_deleted(scene, Kind::POD), (20, 0));
    });
}
