//! Rights that are taken away while the program runs, one after the other, and given back.

use serde_json::json;
use testkit::Scene;
use testkit::account::Account;
use testkit::api::EVENT;
use testkit::builders::{Manifest as _, Templated as _, deployment, pod, replica_set};
use testkit::object::Stored;
use testkit::proxy::{Fault, Proxy, Refusal, Rule, Verb, Which};
use testkit::record::State;
use testkit::{Kind, fact};
use workload_core::time::{Clock as _, SystemClock};

use super::{ALONE, asked_at_most, calm, controller, made_and_deleted};
use crate::PROGRAM;

/// A write, the right that it needs, and how its refusals are counted.
struct Case {
    verb: &'static str,
    resource: &'static str,
    counted: (&'static str, &'static str),
}

const fn case(verb: &'static str, resource: &'static str, kind: &'static str, act: &'static str) -> Case {
    Case {
        verb,
        resource,
        counted: (kind, act),
    }
}

/// What a rollout without history needs.
const ROLLOUT: [Case; 7] = [
    case("create", "replicasets", "ReplicaSet", "create"),
    case("create", "pods", "Pod", "create"),
    case("patch", "replicasets/status", "ReplicaSet", "status"),
    case("patch", "deployments/status", "Deployment", "status"),
    case("patch", "replicasets", "ReplicaSet", "patch"),
    case("delete", "pods", "Pod", "delete"),
    case("delete", "replicasets", "ReplicaSet", "delete"),
];
/// To let go of a pod that is not selected any more.
const RELEASE: Case = case("patch", "pods", "Pod", "release");
/// To take the request for a rollback off.
const ROLLBACK: Case = case("patch", "deployments", "Deployment", "patch");

async fn refused(scene: &Scene, case: &Case) -> u64 {
    let (kind, verb) = case.counted;
    let labels = [("kind", kind), ("verb", verb), ("result", "rejected")];
    controller(scene).metrics().await.count("write_attempts_total", &labels)
}

/// Runs `change`, which needs the right, without it; then gives it back.
async fn without(
    scene: &Scene,
    (proxy, account): (&Proxy, &Account),
    case: &Case,
    change: impl Future<Output = Stored>,
) {
    account.forbid(case.verb, case.resource).await;
    let (began, before) = (SystemClock.instant(), refused(scene, case).await);
    let said = controller(scene).says("turn failed");
    change.await;
    scene
        .eventually("it is refused three times", async || {
            refused(scene, case).await >= before + 3
        })
        .await;
    let told = controller(scene).log_about("turn failed");
    assert!(controller(scene).says("turn failed") > said, "{told}");
    let (resource, verb) = (case.resource, case.verb);
    assert!(told.contains(&format!("cannot {verb} resource")), "{resource}: {told}");
    // Waits double from 5 ms, so a key is tried about ten times in five seconds; two keys, and events about them.
    calm(proxy, began, &Which::writes(), 150);
    account.restore().await;
    scene.until_settled("web").await;
}

#[test]
fn a_write_that_is_not_allowed_is_told_and_done_when_it_is_allowed_again() {
    fact(async |scene| {
        let (proxy, account) = (scene.proxy().await, scene.account(&PROGRAM).await);
        let started = scene.start_by(&account.through(&proxy), &PROGRAM, &ALONE).await;
        scene.put_controller(started);
        scene.settle(deployment("web").replicas(4).history_limit(0)).await;
        let between = (&proxy, &account);
        for (number, case) in ROLLOUT.iter().enumerate() {
            let image = format!("image-{number}");
            without(scene, between, case, scene.set_image("web", &image)).await;
        }
        let pod = scene.look(|state| state.active_pods()[0].name().to_owned());
        let elsewhere = json!({"metadata": {"labels": {"app": "other"}}});
        without(scene, between, &RELEASE, scene.merge(Kind::POD, &pod, elsewhere)).await;
        let request = json!({"metadata": {"annotations": {"deprecated.deployment.rollback.to": "1"}}});
        without(scene, between, &ROLLBACK, scene.merge(Kind::DEPLOYMENT, "web", request)).await;
        // Whether history is left is no part of a rollout's end.
        scene
            .until("no history is left", |state| {
                // The pod that was let go is on its own.
                state.sizes() == [4] && state.pods().len() == 5
            })
            .await;
    });
}

/// Closes open watches, so that whoever may not open them again falls silent; then gives the right back. Meanwhile `web`
/// gets another size.
async fn without_reading(
    scene: &Scene,
    (proxy, account): (&Proxy, &Account),
    (verb, kind): (&'static str, Kind),
    size: u32,
) {
    account.forbid(verb, kind.plural).await;
    let labels = [("kind", kind.kind), ("code", "403")];
    let failures = async || {
        controller(scene)
            .metrics()
            .await
            .count("cache_watch_failures_total", &labels)
    };
    let (began, before) = (SystemClock.instant(), failures().await);
    let rules = match verb {
        "list" => only_pages(proxy, kind),
        _ => Vec::new(),
    };
    proxy.reconnect();
    scene
        .eventually("it has failed twice", async || failures().await >= before + 2)
        .await;
    scene.scale(Kind::DEPLOYMENT, "web", size).await;
    scene
        .eventually("it goes on trying", async || failures().await >= before + 3)
        .await;
    let told = controller(scene).log_about("not allowed to list and watch, check the RBAC rules");
    let words = format!(
        "cannot {verb} resource \\\"{}\\\" in API group \\\"{}\\\"",
        kind.plural, kind.group
    );
    assert!(told.contains(&words), "{words}: {told}");
    let reads = Which::verbs(&[Verb::List, Verb::Watch]);
    calm(proxy, began, &reads, 2 * asked_at_most(began) + 12);
    calm(proxy, began, &Which::writes(), 60);
    account.restore().await;
    rules.iter().for_each(Rule::lift);
    scene.until_settled("web").await;
    assert_eq!(scene.look(|state| state.pods().len()), size as usize);
}

/// Has one kind listed by pages: its next watch is too old, and streams are unknown.
fn only_pages(proxy: &Proxy, kind: Kind) -> Vec<Rule> {
    let unknown = Refusal::new(400, "BadRequest");
    let streams = Which::watches().of(kind).with("sendInitialEvents");
    let resumed = Which::watches().of(kind).with("resourceVersion=");
    vec![
        proxy.strike(streams, Fault::Refuse(unknown)),
        proxy.strike_times(1, resumed, Fault::Refuse(Refusal::new(410, "Expired"))),
    ]
}

#[test]
fn a_kind_that_may_not_be_read_any_more_is_told_and_caught_up_with_when_it_may() {
    fact(async |scene| {
        let (proxy, account) = (scene.proxy().await, scene.account(&PROGRAM).await);
        let started = scene.start_by(&account.through(&proxy), &PROGRAM, &ALONE).await;
        scene.put_controller(started);
        scene.settle(deployment("web").replicas(1)).await;
        let mut size = 1;
        for (verb, kind) in [
            ("watch", Kind::DEPLOYMENT),
            ("list", Kind::REPLICA_SET),
            ("watch", Kind::POD),
        ] {
            size += 1;
            without_reading(scene, (&proxy, &account), (verb, kind), size).await;
        }
        let size = usize::try_from(size).unwrap();
        assert_eq!(made_and_deleted(scene, Kind::POD), (size, 0), "no pod too many");
        assert_eq!(made_and_deleted(scene, Kind::REPLICA_SET), (1, 0));
    });
}

// proves: deployment/C-12
#[test]
fn an_orphan_is_adopted_only_when_its_owner_may_be_read() {
    fact(async |scene| {
        let (proxy, account) = (scene.proxy().await, scene.account(&PROGRAM).await);
        account.forbid("get", "replicasets").await;
        let started = scene.start_by(&account.through(&proxy), &PROGRAM, &ALONE).await;
        scene.put_controller(started);
        scene.create(pod("orphan").label("app", "web")).await;
        let (began, reads) = (SystemClock.instant(), Which::verbs(&[Verb::Get]).of(Kind::REPLICA_SET));
        scene.create(replica_set("web").replicas(1)).await;
        scene
            .eventually("it is asked three times", async || {
                proxy.count_since(began, &reads) >= 3
            })
            .await;
        let told = controller(scene).log_about("turn failed");
        assert!(told.contains("cannot get resource"), "{told}");
        calm(&proxy, began, &reads, 60);
        calm(&proxy, began, &Which::writes().of(Kind::POD), 0);
        account.restore().await;
        let adopted = |state: &State| state.get(Kind::POD, "orphan").unwrap().controller().is_some();
        scene.until("it is adopted", adopted).await;
        assert_eq!(made_and_deleted(scene, Kind::POD), (1, 0));
    });
}

// proves: deployment/W-12
#[test]
fn a_rollout_goes_on_without_events_where_they_are_not_allowed() {
    fact(async |scene| {
        let (proxy, account) = (scene.proxy().await, scene.account(&PROGRAM).await);
        account.forbid("create", "events").await;
        let started = scene.start_by(&account.through(&proxy), &PROGRAM, &ALONE).await;
        scene.put_controller(started);
        let began = SystemClock.instant();
        scene.settle(deployment("web").replicas(4)).await;
        scene
            .eventually("it is told", async || {
                controller(scene).says("failed to write an event") > 0
            })
            .await;
        // One for the ReplicaSet and one for each pod; a second try of each would make ten.
        calm(&proxy, began, &Which::creates().of(EVENT), 8);
        account.restore().await;
        scene.scale(Kind::DEPLOYMENT, "web", 5).await;
        scene
            .until("an event", |state| !state.events("web", "ScalingReplicaSet").is_empty())
            .await;
    });
}
