//! Adoptions and releases, and who is credited with a write.

use std::sync::Arc;

use serde_json::json;

use super::{Answer, World, classes, delete, object, owner, pods, refusal, status, target, world};
use crate::act::ledger::Caches;
use crate::cache::Progress;
use crate::freshness::Freshly;
use crate::id::{Kind, ResourceVersion, Uid};
use crate::lease::Fence;
use crate::outcome::FailureClass;
use crate::owner::OwnerReference;
use crate::plan::{Claim, ClaimChange, Delete, DeleteGuard, Stage, Target};
use crate::time::{Clock, SystemClock};

fn adopt(name: &str, uid: &str) -> Claim {
    Claim {
        child: target(Kind::POD, name, uid, "7"),
        change: ClaimChange::Adopt(OwnerReference::controller(Kind::REPLICA_SET, "web", &Uid::new("o1"))),
        finalizer: None,
    }
}

// proves: deployment/C-14, deployment/C-15
#[tokio::test(start_paused = true)]
async fn a_forbidden_release_is_an_error() {
    let world = world(Fence::open(), |_, _| refusal(403, "Forbidden"));
    let release = Claim {
        child: target(Kind::POD, "b", "2", "7"),
        change: ClaimChange::Release(Uid::new("o1")),
        finalizer: None,
    };
    assert_eq!(
        classes(&world.run(vec![Stage::Claim(vec![release])]).await),
        [FailureClass::Rejected]
    );
}

// proves: deployment/C-12, deployment/T-22, deployment/W-1
#[tokio::test(start_paused = true)]
async fn three_adoptions_cost_one_live_read_of_the_owner() {
    let world = world(Fence::open(), |number, _| {
        object(if number == 1 { "o1" } else { "p" }, "8")
    });
    let claims = vec![adopt("a", "1"), adopt("b", "2"), adopt("c", "3")];
    let outcome = world.run(vec![Stage::Claim(claims)]).await;
    assert_eq!(classes(&outcome), []);
    assert_eq!(
        world.lines(),
        [
            "GET /apis/apps/v1/namespaces/shop/replicasets/web",
            "PATCH /api/v1/namespaces/shop/pods/a",
            "PATCH /api/v1/namespaces/shop/pods/b",
            "PATCH /api/v1/namespaces/shop/pods/c",
        ]
    );
    assert_eq!(world.query(0), "", "the server's newest state, not its cache's");
    assert_eq!(world.body(1)["metadata"]["uid"], "1");
}

// proves: deployment/C-12, deployment/T-15
#[tokio::test(start_paused = true)]
async fn an_owner_that_is_being_deleted_adopts_nothing() {
    let dying = json!({"metadata": {"uid": "o1", "resourceVersion": "6", "deletionTimestamp": "2026-01-01T00:00:00Z"}});
    let world = world(Fence::open(), move |_, _| Answer::Status(200, dying.clone()));
    let outcome = world
        .run(vec![Stage::Claim(vec![adopt("a", "1")]), Stage::Create(pods(1))])
        .await;
    assert_eq!(classes(&outcome), [FailureClass::OwnerUnfit]);
    assert_eq!(world.lines().len(), 1, "one read, no write");
}

// proves: deployment/C-12, deployment/C-15
#[tokio::test(start_paused = true)]
async fn an_owner_that_was_replaced_adopts_nothing_but_still_releases() {
    let world = world(Fence::open(), |_, _| object("another", "8"));
    let release = Claim {
        child: target(Kind::POD, "b", "2", "7"),
        change: ClaimChange::Release(Uid::new("o1")),
        finalizer: None,
    };
    let outcome = world.run(vec![Stage::Claim(vec![adopt("a", "1"), release])]).await;
    assert_eq!(classes(&outcome), [FailureClass::OwnerUnfit]);
    assert_eq!(world.lines()[1], "PATCH /api/v1/namespaces/shop/pods/b");
}

// proves: deployment/C-13
#[tokio::test(start_paused = true)]
async fn adopting_what_is_gone_is_skipped_and_adopting_another_is_an_error() {
    for (code, expected) in [(404, vec![]), (422, vec![FailureClass::Invalid])] {
        let world = world(Fence::open(), move |number, _| match number {
            1 => object("o1", "8"),
            _ => refusal(code, "x"),
        });
        assert_eq!(
            classes(&world.run(vec![Stage::Claim(vec![adopt("a", "1")])]).await),
            expected
        );
    }
}

// proves: deployment/C-14
#[tokio::test(start_paused = true)]
async fn releasing_what_is_gone_or_replaced_is_no_error() {
    for code in [404, 422] {
        let world = world(Fence::open(), move |_, _| refusal(code, "x"));
        let release = Claim {
            child: target(Kind::POD, "b", "2", "7"),
            change: ClaimChange::Release(Uid::new("o1")),
            finalizer: None,
        };
        assert_eq!(classes(&world.run(vec![Stage::Claim(vec![release])]).await), []);
    }
}

#[tokio::test(start_paused = true)]
async fn a_version_that_an_adoption_returned_does_not_guard_later_writes() {
    let world = world(Fence::open(), |number, _| {
        object(if number == 1 { "o1" } else { "p1" }, "9")
    });
    let later = Delete {
        target: target(Kind::POD, "a", "p1", "7"),
        guard: DeleteGuard::UidAndVersion,
        note: None,
    };
    world
        .run(vec![Stage::Claim(vec![adopt("a", "p1")]), Stage::Delete(vec![later])])
        .await;
    assert_eq!(
        world.body(2)["preconditions"],
        json!({"uid": "p1", "resourceVersion": "7"})
    );
}

#[derive(Debug)]
struct CacheAt(&'static str);

impl Progress for CacheAt {
    fn seen(&self) -> Option<ResourceVersion> {
        Some(ResourceVersion::new(self.0))
    }
}

/// The kind whose cache, come as far as `seen`, is older than what was written for the owner.
fn lagging(world: &World, seen: &'static str) -> Option<Kind> {
    let caches = [Kind::POD, Kind::REPLICA_SET].map(|kind| (kind, Arc::new(CacheAt(seen)) as Arc<dyn Progress>));
    let Target { key, uid, .. } = owner();
    match world
        .ledger
        .freshness(&key, &uid, &Caches::of(caches), SystemClock.instant())
    {
        Freshly::Stale { kind, .. } => Some(kind),
        Freshly::Fresh | Freshly::HeldTooLong { .. } => None,
    }
}

// proves: deployment/C-31
#[tokio::test(start_paused = true)]
async fn creates_claims_and_status_are_credited_to_the_owner_and_deletes_to_nobody() {
    let release = Claim {
        child: target(Kind::POD, "b", "2", "7"),
        change: ClaimChange::Release(Uid::new("o1")),
        finalizer: None,
    };
    for (stage, waits_for) in [
        (Stage::Create(pods(1)), Some(Kind::POD)),
        (Stage::Claim(vec![adopt("a", "1")]), Some(Kind::POD)),
        (Stage::Claim(vec![release]), Some(Kind::POD)),
        (
            Stage::Status(status(json!({"status": {"replicas": 3}}))),
            Some(Kind::REPLICA_SET),
        ),
        (Stage::Delete(vec![delete("a", "1")]), None),
    ] {
        let world = world(Fence::open(), |_, _| object("o1", "9"));
        let what = format!("{stage:?}");
        world.run(vec![stage]).await;
        assert_eq!(lagging(&world, "8"), waits_for, "{what}");
        assert_eq!(lagging(&world, "9"), None, "{what}");
    }
}
