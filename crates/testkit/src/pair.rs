//! Who may write: two instances with one Lease, each behind a proxy of its own that records what reaches the server.

use std::time::Instant;

use serde_json::{Value, json};

use crate::account::Account;
use crate::api::{EVENT, LEASE};
use crate::controller::Controller;
use crate::object::Stored;
use crate::program::{Program, fact};
use crate::proxy::{Exchange, Proxy, Which};
use crate::scene::Scene;

/// One instance.
pub struct Instance {
    /// The process.
    pub controller: Controller,
    /// Its way to the server.
    pub proxy: Proxy,
}

/// An instance that leads and one that stands by. The Lease lies in the scene's namespace.
pub struct Pair {
    /// The one that leads at first.
    pub leader: Instance,
    /// Its successor.
    pub standby: Instance,
}

/// Runs a test with a pair of instances.
pub fn with_pair(program: &Program, body: impl AsyncFnOnce(&mut Scene, Pair)) {
    fact(async |scene| {
        let account = scene.account(program).await;
        let leader = Instance::start(scene, program, &account).await;
        scene
            .eventually("the first instance leads", async || leader.leads().await)
            .await;
        let standby = Instance::start(scene, program, &account).await;
        body(scene, Pair { leader, standby }).await;
    });
}

impl Instance {
    async fn start(scene: &Scene, program: &Program, account: &Account) -> Self {
        let proxy = scene.proxy().await;
        let namespace = format!("--lease-namespace={}", scene.namespace());
        let controller = scene.start_by(&account.through(&proxy), program, &[&*namespace]).await;
        Self { controller, proxy }
    }

    /// True if it says that it leads.
    pub async fn leads(&self) -> bool {
        let metrics = self.controller.metrics().await;
        metrics.count("leader_election_master_status", &[]) == 1
    }

    /// Its first accepted write: that by which it took the Lease.
    pub fn first_write(&self) -> Option<Exchange> {
        let writes = self.proxy.seen(&Which::writes());
        writes
            .into_iter()
            .find(|write| write.wrote() && write.code.is_some_and(|code| code < 300))
    }

    /// Waits until it has taken over, and returns when its first write was passed on.
    pub async fn taken_over(&self, scene: &Scene) -> Instant {
        scene
            .eventually("the standby takes over", async || self.leads().await)
            .await;
        let first = self.first_write().expect("a write");
        assert_eq!(first.asked.plural, LEASE.plural, "{first}");
        first.passed_on.expect("it was passed on")
    }
}

/// Checks that nothing of the old leader reached the server after that moment, not even a read.
#[track_caller]
pub fn silent_since(old: &Proxy, moment: Instant) {
    nothing_since(old, moment, &Which::all(), |_| true);
}

/// As [`silent_since`], for an old leader that still lived then: it may have read something before it ended. An event, of which
/// one is nearly always on its way, may have been between the fence and its connection when the process was frozen: it tells of
/// what has happened, and changes nothing.
#[track_caller]
pub fn no_write_since(old: &Proxy, moment: Instant) {
    nothing_since(old, moment, &Which::writes(), |write| {
        write.asked.plural != EVENT.plural
    });
}

#[track_caller]
fn nothing_since(old: &Proxy, moment: Instant, which: &Which, counts: impl Fn(&Exchange) -> bool) {
    let late: Vec<String> = old
        .seen(which)
        .iter()
        .filter(|request| request.passed_on.is_some_and(|at| at >= moment) && counts(request))
        .map(ToString::to_string)
        .collect();
    assert!(
        late.is_empty(),
        "requests of the old leader after its successor's first write: {late:#?}"
    );
    let before = old.seen(&Which::writes()).iter().filter(|write| write.wrote()).count();
    assert!(before > 0, "the old leader wrote before");
}

/// The program's Lease as it is stored in the scene.
pub async fn lease(scene: &Scene, program: &Program) -> Stored {
    Stored::from(scene.api().get(LEASE, program.name).await.unwrap())
}

/// Changes it as a person would.
pub async fn edit_lease(scene: &Scene, program: &Program, spec: Value) {
    let edited = scene.api().merge(LEASE, program.name, &json!({ "spec": spec })).await;
    edited.unwrap();
}
