//! Bad input, a bad connection, a server in trouble. In each case: one clear trace in log, metrics or status; recovery when
//! the cause goes; no pod too many; never the end of the process; never a storm of requests.

mod answers;
mod content;
mod lag;
mod load;
mod refusals;
mod rights;
mod shapes;
mod start;

use std::time::{Duration, Instant};

use testkit::controller::Controller;
use testkit::object::Stored;
use testkit::proxy::{Proxy, Which};
use testkit::record::Change;
use testkit::{Access, Kind, Scene, fact};
use workload_core::time::{Clock as _, SystemClock};

use crate::PROGRAM;

/// Nothing else runs in these scenes.
const ALONE: [&str; 1] = ["--leader-elect=false"];

/// Runs a test with the controllers at work behind a proxy. They have to be alive and well in the end.
pub(crate) fn behind_proxy(body: impl AsyncFnOnce(&mut Scene, &Proxy)) {
    fact(async |scene| {
        let proxy = scene.proxy().await;
        let started = scene.start_by(&Access::through(&proxy), &PROGRAM, &ALONE).await;
        scene.put_controller(started);
        body(scene, &proxy).await;
        scene
            .eventually("it is ready", async || ready(controller(scene)).await)
            .await;
    });
}

pub(crate) fn controller(scene: &Scene) -> &Controller {
    scene.controller().expect("a controller")
}

async fn ready(controller: &Controller) -> bool {
    controller.get("/readyz").await.is_some_and(|(code, _)| code == 200)
}

/// Checks that a process that cannot get ready lives, and that it says what is missing.
async fn lives_unready(controller: &Controller) {
    assert_eq!(controller.get("/livez").await.map(|(code, _)| code), Some(200));
    let (code, missing) = controller.get("/readyz").await.unwrap();
    assert_eq!(code, 503);
    for kind in ["Deployment", "ReplicaSet", "Pod"] {
        assert!(missing.contains(&format!("cache of {kind} is not synced")), "{missing}");
    }
}

/// How many objects of a kind were ever made and deleted.
pub(crate) fn made_and_deleted(scene: &Scene, kind: Kind) -> (usize, usize) {
    let times = |change| scene.look(|state| state.writes(kind).filter(|write| write.change == change).count());
    (times(Change::Added), times(Change::Deleted))
}

/// Waits until the ReplicaSet `web` has exactly so many pods, all ready, and says so.
async fn set_settles(scene: &Scene, size: i64) {
    let settled = |set: &Stored| {
        let counts = ["replicas", "readyReplicas"].map(|field| set.count(field));
        set.is_observed() && counts == [size, size] && set.count("terminatingReplicas") == 0
    };
    scene
        .until(&format!("{size} pods, and the status says so"), |state| {
            let pods = i64::try_from(state.pods().len());
            state.get(Kind::REPLICA_SET, "web").is_some_and(settled) && pods == Ok(size)
        })
        .await;
}

/// How often the three caches may have asked since then if nothing ever answered well: the waits begin with 0.8 s and double
/// up to half a minute.
fn asked_at_most(since: Instant) -> usize {
    let passed = SystemClock.instant().saturating_duration_since(since);
    let (mut at, mut wait, mut times) = (Duration::ZERO, Duration::from_millis(800), 1);
    while at + wait <= passed {
        at += wait;
        wait = (wait * 2).min(Duration::from_secs(30));
        times += 1;
    }
    3 * times
}

/// Checks that no more than `most` requests of this kind came through since then.
#[track_caller]
pub(crate) fn calm(proxy: &Proxy, since: Instant, which: &Which, most: usize) {
    let count = proxy.count_since(since, which);
    assert!(count <= most, "{count} requests, {most} would be calm: {which:?}");
}
