//! Every sort of request that the controllers send.

use serde_json::json;
use testkit::api::POD_DISRUPTION_BUDGET;
use testkit::builders::{Manifest as _, Templated as _, deployment, pod};
use testkit::proxy::{Exchange, Verb, Which};
use workload_core::id::Kind;

use super::behind_proxy;

// The proxy fails a test at its end if a request was of no shape that the in-memory server of simulations knows; here every
// sort of write is provoked.
#[test]
fn all_that_a_rollout_asks_for_is_known_to_the_simulated_server() {
    behind_proxy(async |scene, proxy| {
        let manifest = deployment("web").replicas(2).history_limit(0).rolling(1, 1);
        scene
            .settle(manifest.opt_in("deployment.disruption-budgets", "Respect"))
            .await;
        let budget = json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "one"},
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}},
        });
        scene.api().create(POD_DISRUPTION_BUDGET, &budget).await.unwrap();
        scene.set_image("web", "b").await;
        scene.until_settled("web").await;
        let (set, released) = scene.look(|state| (state.replica_sets()[0].clone(), state.active_pods()[0].clone()));
        let hash = set.label("pod-template-hash").unwrap();
        scene
            .merge(
                Kind::POD,
                released.name(),
                json!({"metadata": {"labels": {"app": "other"}}}),
            )
            .await;
        scene.until_settled("web").await;
        scene
            .create(pod("stray").label("app", "web").label("pod-template-hash", hash))
            .await;
        scene.scale(Kind::DEPLOYMENT, "web", 1).await;
        scene.until_settled("web").await;
        scene.delete(Kind::DEPLOYMENT, "web").await;
        scene
            .until("all is gone", |state| state.replica_sets().is_empty())
            .await;
        let claims = |exchange: &&Exchange| !exchange.json()["metadata"]["ownerReferences"].is_null();
        let claimed = proxy
            .seen(&Which::verbs(&[Verb::Patch]).of(Kind::POD))
            .iter()
            .filter(claims)
            .count();
        assert!(claimed >= 2, "a release and an adoption, not {claimed}");
        for which in [
            Which::creates().of(Kind::REPLICA_SET),
            Which::creates().part_of(Kind::POD, "eviction"),
            Which::deletes().of(Kind::POD),
            Which::deletes().of(Kind::REPLICA_SET),
            Which::verbs(&[Verb::Patch]).part_of(Kind::DEPLOYMENT, "status"),
            Which::verbs(&[Verb::Patch]).of(Kind::REPLICA_SET),
            Which::creates().of(testkit::api::EVENT),
        ] {
            assert!(!proxy.seen(&which).is_empty(), "no such request: {which:?}");
        }
    });
}
