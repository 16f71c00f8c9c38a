//! Opt-ins that cannot be read.

use std::time::Duration;

use serde_json::json;
use testkit::Scene;
use testkit::api::EVENT;
use testkit::builders::{Manifest as _, Templated as _, deployment};
use testkit::proxy::{Exchange, Proxy, Which};
use testkit::record::State;
use workload_core::id::Kind;
use workload_core::opt_in::PREFIX;
use workload_core::time::{Clock as _, SystemClock};

use crate::faults::{behind_proxy, calm, controller, made_and_deleted};

/// Requests that tell of opt-ins without effect.
fn told(proxy: &Proxy) -> usize {
    let about = |event: &Exchange| event.json()["reason"] == "InvalidOptIn";
    let events = proxy.seen(&Which::writes().of(EVENT));
    events.iter().filter(|event| about(event)).count()
}

/// Waits until a second has passed without a request: events of a rollout are written one after the other.
async fn until_silent(scene: &Scene, proxy: &Proxy) {
    scene
        .eventually("nothing is asked for", async || {
            let began = SystemClock.instant();
            scene.until_quiet_for(Duration::from_secs(1)).await;
            proxy.count_since(began, &Which::all()) == 0
        })
        .await;
}

#[test]
fn what_cannot_be_read_is_told_once_and_the_rollout_is_as_ever() {
    behind_proxy(async |scene, proxy| {
        let web = deployment("web").replicas(4).rolling(1, 1);
        let asking = web.opt_in("deployment.hold-at", "soon").opt_in("deployment.hold", "2");
        scene.settle(asking).await;
        let start = scene.set_image("web", "b").await;
        scene.until_settled("web").await;
        scene.never_outside(start.version(), 5, 3);
        assert_eq!(made_and_deleted(scene, Kind::POD), (8, 4));
        let both = |state: &State| state.events("web", "InvalidOptIn").len() == 2;
        scene.until("both are told", both).await;
        scene.look(|state| {
            for event in state.events("web", "InvalidOptIn") {
                assert_eq!(event.text("/type"), "Warning");
                let message = event.text("/message");
                assert!(
                    message.contains("hold-at: \"soon\"") || message.contains("hold"),
                    "{message}"
                );
            }
        });
        let metrics = controller(scene).metrics().await;
        for name in ["deployment.hold-at", "unknown"] {
            let labels = [("kind", "Deployment"), ("name", name)];
            assert_eq!(metrics.count("opt_in_invalid_total", &labels), 1, "{name}");
        }
        until_silent(scene, proxy).await;
        let began = SystemClock.instant();
        scene.quiet_for(Duration::from_secs(3)).await;
        calm(proxy, began, &Which::all(), 2);
        assert_eq!(told(proxy), 2);

        let readable = json!({format!("{PREFIX}deployment.hold-at"): "2", format!("{PREFIX}deployment.hold"): null});
        scene
            .merge(Kind::DEPLOYMENT, "web", json!({"metadata": {"annotations": readable}}))
            .await;
        scene.set_image("web", "c").await;
        let held = |state: &State| state.deployment("web").unwrap().says("Progressing") == "Unknown DeploymentPaused";
        scene.until("it holds", held).await;
        assert_eq!(told(proxy), 2);
    });
}
