//! The order of policies: the first that applies decides (deployment D-2).

use deployment_controller::deployment::spec::Deployment;
use rstest::rstest;
use serde_json::{Value, json};
use testkit::builders::{Manifest as _, Templated as _, deployment};
use workload_core::labels::Interner;
use workload_core::meta::Object as _;

use super::cluster::Cluster;
use super::{DESIRED, MAX, noon, set};

/// Two ReplicaSets sized for four replicas of which there shall now be ten, with a third template to roll out.
fn torn() -> Cluster {
    let web = deployment("web").replicas(10).rolling(2, 0).image("c");
    let sized = |image, size| set(image, size, size).annotation(DESIRED, "4").annotation(MAX, "6");
    Cluster::of(web).with(sized("a", 3)).with(sized("b", 1))
}

// proves: deployment/D-2
#[test]
fn a_strategy_that_nobody_knows_is_not_guessed_at() {
    let web = deployment("web")
        .namespace("shop")
        .uid("u1")
        .set("/metadata/resourceVersion", "1")
        .set("/spec/strategy/type", "Sideways");
    let decoded = Deployment::decode(web.json().to_string().as_bytes(), &Interner::default());
    assert_eq!(
        decoded.unwrap_err().to_string(),
        "missing or malformed spec.strategy.type"
    );
}

fn writes(mut cluster: Cluster, change: &Value) -> String {
    cluster.edit(|web| web.patched(change));
    cluster.turn().written()
}

// proves: deployment/D-2
#[rstest]
#[case::deleted_and_paused_and_asked_to_roll_back(
    json!({"metadata": {"deletionTimestamp": noon().to_string(), "annotations": {"deprecated.deployment.rollback.to": "1"}}, "spec": {"paused": true}}),
    ""
)]
#[case::paused_and_asked_to_roll_back(
    json!({"metadata": {"annotations": {"deprecated.deployment.rollback.to": "1"}}, "spec": {"paused": true}}),
    "scale a 3 -> 10; scale b 1 -> 2"
)]
#[case::asked_to_roll_back_and_sized_for_another_number(
    json!({"metadata": {"annotations": {"deprecated.deployment.rollback.to": "1"}}}),
    "create c 8; change the deployment"
)]
#[case::sized_for_another_number(json!({}), "scale a 3 -> 10; scale b 1 -> 2")]
#[case::sized_for_another_number_and_recreate(json!({"spec": {"strategy": {"type": "Recreate", "rollingUpdate": null}}}), "desired-replicas of a 10; max-replicas of a 10; desired-replicas of b 10; max-replicas of b 10")]
#[case::only_another_template(json!({"spec": {"replicas": 4}}), "create c 2")]
fn the_first_policy_that_applies_decides(#[case] change: Value, #[case] expected: &str) {
    assert_eq!(writes(torn(), &change), expected);
}
