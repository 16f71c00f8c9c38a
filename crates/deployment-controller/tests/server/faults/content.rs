//! Watches and lists with something in them that should not be there.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::builders::{Templated as _, deployment};
use testkit::proxy::{Fault, Proxy, Refusal, Which};
use testkit::record::State;
use testkit::{Access, Kind, Scene, fact};
use workload_core::time::{Clock as _, SystemClock};

use super::{ALONE, behind_proxy, calm, controller, made_and_deleted};
use crate::PROGRAM;

/// Makes the Deployment `odd` what no server of today would store.
fn spoil(object: &mut Value) {
    if object["metadata"]["name"] == "odd" {
        object["spec"]["replicas"] = json!("many");
    }
}

/// The same in a line of a watch or in a page of a list.
fn spoil_wherever(content: &mut Value) {
    spoil(&mut content["object"]);
    content["items"].as_array_mut().into_iter().flatten().for_each(spoil);
}

async fn undecodable(scene: &Scene, kind: Kind) -> u64 {
    let labels = [("kind", kind.kind)];
    controller(scene)
        .metrics()
        .await
        .count("cache_undecodable_objects_total", &labels)
}

/// Checks that `odd` alone is left alone and told once, and comes right with its next change.
async fn harms_only_itself(scene: &Scene, proxy: &Proxy, spoiled: &testkit::proxy::Rule) {
    let began = SystemClock.instant();
    scene.scale(Kind::DEPLOYMENT, "odd", 2).await;
    scene.settle(deployment("web").replicas(2)).await;
    scene
        .eventually("both versions are counted", async || {
            undecodable(scene, Kind::DEPLOYMENT).await >= 2
        })
        .await;
    assert_eq!(controller(scene).says("could not be decoded"), 1, "it is told once");
    assert!(scene.look(|state| state.replica_sets().iter().all(|set| !set.name().starts_with("odd"))));
    // What `web` takes, and nothing about `odd`.
    calm(proxy, began, &Which::all(), 40);
    spoiled.lift();
    scene.scale(Kind::DEPLOYMENT, "odd", 3).await;
    scene.until_settled("odd").await;
    assert_eq!(made_and_deleted(scene, Kind::POD), (5, 0));
}

#[test]
fn an_undecodable_object_in_a_watch_harms_only_itself() {
    behind_proxy(async |scene, proxy| {
        scene.kubelet().auto();
        let spoiled = proxy.strike(Which::watches().of(Kind::DEPLOYMENT), Fault::edit(spoil_wherever));
        scene.create(different("odd")).await;
        harms_only_itself(scene, proxy, &spoiled).await;
    });
}

#[test]
fn an_undecodable_object_in_a_list_harms_only_itself() {
    fact(async |scene| {
        scene.kubelet().auto();
        scene.create(different("odd")).await;
        let proxy = Proxy::start(scene.server()).await;
        // A server that knows no streaming lists: this one is asked for pages.
        let old = Which::watches().of(Kind::DEPLOYMENT).with("sendInitialEvents");
        proxy.strike(old, Fault::Refuse(Refusal::new(400, "BadRequest")));
        let spoiled = proxy.strike(Which::all().of(Kind::DEPLOYMENT), Fault::edit(spoil_wherever));
        let started = scene.start_by(&Access::through(&proxy), &PROGRAM, &ALONE).await;
        scene.put_controller(started);
        assert_eq!(undecodable(scene, Kind::DEPLOYMENT).await, 1);
        let pages = [("kind", "Deployment"), ("method", "pages")];
        assert_eq!(controller(scene).metrics().await.count("cache_lists_total", &pages), 1);
        harms_only_itself(scene, &proxy, &spoiled).await;
    });
}

/// The only child of `odd` cannot be decoded in watches: `web` gets on, nobody makes a second one, and nobody asks in a
/// loop. With its next change the child is as any other.
fn undecodable_child(kind: Kind, spoil: impl Fn(&mut Value) + Send + Sync + 'static) {
    behind_proxy(async |scene, proxy| {
        scene.kubelet().auto();
        let spoil = move |content: &mut Value| {
            let object = &mut content["object"];
            if object["metadata"]["labels"]["app"] == "odd" {
                spoil(object);
            }
        };
        let spoiled = proxy.strike(Which::watches().of(kind), Fault::edit(spoil));
        let began = SystemClock.instant();
        scene.create(different("odd")).await;
        scene
            .eventually("it is counted", async || undecodable(scene, kind).await > 0)
            .await;
        scene.create(deployment("web").replicas(2)).await;
        scene.until_rolled_out("web").await;
        scene.until_quiet_for(Duration::from_secs(3)).await;
        assert_eq!(controller(scene).says("could not be decoded"), 1, "it is told once");
        calm(proxy, began, &Which::all(), 90);
        spoiled.lift();
        let is_odd = |object: &&testkit::object::Stored| object.label("app") == Some("odd");
        let child = scene.look(|state| state.all(kind).into_iter().find(is_odd).unwrap().name().to_owned());
        let touched = json!({"metadata": {"annotations": {"touched": "yes"}}});
        scene.merge(kind, &child, touched).await;
        scene.until_settled("odd").await;
        assert_eq!(made_and_deleted(scene, Kind::REPLICA_SET), (2, 0));
        assert_eq!(made_and_deleted(scene, Kind::POD), (3, 0));
    });
}

#[test]
fn an_undecodable_replica_set_harms_only_its_deployment() {
    undecodable_child(Kind::REPLICA_SET, |set| set["spec"]["replicas"] = json!("many"));
}

#[test]
fn an_undecodable_pod_harms_only_its_replica_set() {
    undecodable_child(Kind::POD, |pod| pod["status"]["phase"] = json!(7));
}

/// A Deployment whose pods no other selects.
fn different(name: &str) -> Value {
    let mut manifest: Value = deployment(name).replicas(1).into();
    for place in ["/spec/selector/matchLabels", "/spec/template/metadata/labels"] {
        *manifest.pointer_mut(place).unwrap() = json!({"app": name});
    }
    manifest
}

/// Answers that tell a watch that its version is too old.
const EXPIRED: (u16, &str) = (410, "Expired");

// proves: deployment/I-3, field/FR-RS-06
#[test]
fn a_watch_whose_version_has_expired_is_listed_anew_with_nothing_lost() {
    behind_proxy(async |scene, proxy| {
        scene.settle(deployment("web").replicas(3)).await;
        let lists = async || controller(scene).metrics().await.count("cache_lists_total", &[]);
        let began = SystemClock.instant();
        let resumed = Which::watches().with("&resourceVersion=");
        let resumed_first = Which::watches().with("?resourceVersion=");
        let expired = Refusal::new(EXPIRED.0, EXPIRED.1);
        let refusals = [resumed, resumed_first].map(|which| proxy.strike_times(3, which, Fault::Refuse(expired)));
        let before = lists().await;
        proxy.reconnect();
        // One pod vanishes where no watch sees it.
        let gone = scene.look(|state| state.pods()[0].name().to_owned());
        scene.delete(Kind::POD, &gone).await;
        scene
            .eventually("all are listed anew", async || lists().await >= before + 3)
            .await;
        refusals.iter().for_each(testkit::proxy::Rule::lift);
        let replaced =
            |state: &State| state.active_pods().len() == 3 && state.pods().iter().all(|pod| pod.name() != gone);
        scene.until("the lost pod is replaced", replaced).await;
        scene.until_settled("web").await;
        assert_eq!(made_and_deleted(scene, Kind::POD), (4, 1));
        assert!(controller(scene).says("listing anew") >= 3);
        calm(proxy, began, &Which::watches(), 20);
    });
}

// proves: field/FR-RS-06
#[test]
fn an_expiry_in_the_middle_of_a_watch_is_listed_anew_too() {
    behind_proxy(async |scene, proxy| {
        scene.settle(deployment("web").replicas(3)).await;
        let lists = async || {
            controller(scene)
                .metrics()
                .await
                .count("cache_lists_total", &[("kind", "Pod")])
        };
        let before = lists().await;
        let status = Refusal::new(EXPIRED.0, EXPIRED.1).status();
        let expire = move |line: &mut Value| *line = json!({"type": "ERROR", "object": status});
        proxy.strike_times(1, Which::watches().of(Kind::POD), Fault::edit(expire));
        // The event in whose place the error comes is seen by nobody.
        let gone = scene.look(|state| state.pods()[0].name().to_owned());
        scene.delete(Kind::POD, &gone).await;
        scene
            .eventually("pods are listed anew", async || lists().await > before)
            .await;
        scene
            .until("the lost pod is replaced", |state| {
                state.active_pods().len() == 3 && state.pods().iter().all(|pod| pod.name() != gone)
            })
            .await;
        scene.until_settled("web").await;
        scene.quiet_for(Duration::from_secs(1)).await;
        assert_eq!(made_and_deleted(scene, Kind::POD), (4, 1));
    });
}
