//! What is reported (deployment D-60…D-65, D-75, D-80).

use rstest::rstest;
use serde_json::{Value, json};
use testkit::builders::{Manifest as _, ReplicaSet, Templated as _, deployment};

use super::cluster::{Cluster, Stored};
use super::{at, noon, set};

/// Ten replicas of image `c`; old sets `a` and `b`.
fn world() -> Cluster {
    let reporting = |set: ReplicaSet, replicas: u32, ready: u32, terminating: u32| {
        set.set("/status/replicas", replicas)
            .set("/status/readyReplicas", ready)
            .set("/status/terminatingReplicas", terminating)
    };
    Cluster::of(
        deployment("web")
            .replicas(10)
            .rolling(3, 2)
            .image("c")
            .deadline_seconds(i32::MAX.unsigned_abs()),
    )
    .with(reporting(set("a", 4, 3), 4, 4, 2))
    .with(reporting(set("b", 4, 2), 5, 3, 0))
    .with(reporting(set("c", 5, 3), 5, 5, 1))
}

// proves: deployment/D-60, deployment/D-62, deployment/D-64
#[test]
fn counts_are_sums_and_sizes_those_after_the_turn() {
    let mut cluster = world();
    let turn = cluster.turn();
    assert_eq!(turn.written(), "scale a 4 -> 3; scale b 4 -> 2");
    let mut status = turn.status().clone();
    status.as_object_mut().unwrap().remove("conditions");
    assert_eq!(
        status,
        json!({
            "observedGeneration": 1, "replicas": 14, "updatedReplicas": 5, "readyReplicas": 12, "availableReplicas": 8,
            "unavailableReplicas": 2, "terminatingReplicas": 3,
        })
    );
    let turn = cluster.turn();
    assert_eq!(turn.written(), "scale c 5 -> 8");
    assert_eq!(turn.status(), &json!({"unavailableReplicas": 5}), "only what differs");
}

// proves: deployment/D-60
#[test]
fn more_available_pods_than_wanted_leave_none_unavailable() {
    let mut cluster = Cluster::of(deployment("web").replicas(2)).with(set("a", 2, 3));
    cluster.turn();
    assert_eq!(cluster.deployment["status"]["unavailableReplicas"], json!(null));
    assert_eq!(cluster.deployment["status"]["availableReplicas"], 3);
}

// proves: deployment/D-62
#[rstest]
#[case::all_say(json!(2), json!(3), json!(5))]
#[case::one_never_reconciled(json!(null), json!(3), json!(3))]
#[case::one_does_not_say(json!(2), json!(null), json!(null))]
fn terminating_pods_are_counted_if_every_set_says_how_many(
    #[case] fresh: Value,
    #[case] seasoned: Value,
    #[case] expected: Value,
) {
    let mut cluster = Cluster::of(deployment("web").replicas(1).image("b"))
        .with(set("a", 0, 0))
        .with(set("b", 1, 1));
    cluster.deployment["status"] = json!({"terminatingReplicas": 9});
    cluster.edit_set("a", |set| {
        let observed = i32::from(!fresh.is_null());
        set.patched(&json!({"status": {"terminatingReplicas": fresh, "observedGeneration": observed}}))
    });
    cluster.edit_set("b", |set| {
        set.patched(&json!({"status": {"terminatingReplicas": seasoned}}))
    });
    cluster.turn();
    let stored = cluster.deployment["status"].get("terminatingReplicas");
    assert_eq!(stored.cloned().unwrap_or(Value::Null), expected);
}

// proves: deployment/D-62
#[test]
fn a_server_may_drop_the_number_of_terminating_pods() {
    let turn = world().turn();
    assert_eq!(turn.conclusion.status.unwrap().may_lack, ["terminatingReplicas"]);
}

// proves: deployment/D-61
#[rstest]
#[case::enough(json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 2}}), 8, true)]
#[case::too_few(json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 2}}), 7, false)]
#[case::recreate_wants_all(json!({"type": "Recreate"}), 9, false)]
#[case::recreate_has_all(json!({"type": "Recreate"}), 10, true)]
fn available_means_as_many_as_may_not_be_missing(
    #[case] strategy: Value,
    #[case] available: u32,
    #[case] expected: bool,
) {
    let web = deployment("web").replicas(10).set("/spec/strategy", strategy);
    let mut cluster = Cluster::of(web).with(set("a", 10, available));
    cluster.turn();
    let condition = cluster.condition("Available").unwrap();
    let (status, reason) = if expected {
        ("True", "MinimumReplicasAvailable")
    } else {
        ("False", "MinimumReplicasUnavailable")
    };
    assert_eq!(
        (&condition["status"], &condition["reason"]),
        (&json!(status), &json!(reason))
    );
}

// proves: deployment/D-63
#[test]
fn conditions_move_only_with_status_or_reason_and_strangers_stay() {
    let stored = json!([
        {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable", "message": "said by another",
         "lastUpdateTime": "2020-01-01T00:00:00Z", "lastTransitionTime": "2019-01-01T00:00:00Z"},
        {"type": "example.com/Audited", "status": "True", "score": 7},
    ]);
    let mut cluster =
        Cluster::of(deployment("web").replicas(1).deadline_seconds(i32::MAX.unsigned_abs())).with(set("a", 1, 1));
    cluster.deployment["status"]["conditions"] = stored.clone();
    cluster.turn();
    assert_eq!(cluster.deployment["status"]["conditions"], stored);
    cluster.report("a", 1, 0);
    cluster.now = at("2026-01-02T12:00:00.987Z");
    cluster.turn();
    let conditions = &cluster.deployment["status"]["conditions"];
    assert_eq!(conditions[0], stored[1], "kept whole");
    assert_eq!(conditions[1]["status"], "False");
    assert_eq!(conditions[1]["lastUpdateTime"], "2026-01-02T12:00:00Z");
    assert_eq!(conditions[1]["lastTransitionTime"], "2026-01-02T12:00:00Z");
}

// proves: deployment/D-75
#[rstest]
#[case::of_the_new_set(&["a", "c"], Some("c"))]
#[case::of_the_oldest_set(&["b", "a"], Some("a"))]
#[case::of_none(&[], None)]
fn a_failure_of_a_set_is_passed_on(#[case] failing: &[&str], #[case] expected: Option<&str>) {
    let mut cluster = world();
    cluster.deployment["status"]["conditions"] = json!([{"type": "ReplicaFailure", "status": "True", "reason": "FailedDelete", "message": "old",
                "lastTransitionTime": "2025-12-31T00:00:00Z"}]);
    for image in failing {
        let condition = json!({
            "type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": *image,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        });
        cluster.edit_set(image, |set| set.set("/status/conditions", json!([condition])));
    }
    cluster.turn();
    let expected = expected.map(|message| {
        json!({
            "type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": message,
            "lastTransitionTime": "2025-12-31T00:00:00Z", "lastUpdateTime": "2026-01-01T00:00:00Z",
        })
    });
    assert_eq!(cluster.condition("ReplicaFailure"), expected.as_ref());
}

// proves: deployment/D-12, deployment/A-3, deployment/D-65
#[test]
fn revision_and_status_are_one_write() {
    let turn = Cluster::of(deployment("web").replicas(1)).turn();
    let body = turn.conclusion.status.unwrap().body;
    assert_eq!(
        body["metadata"],
        json!({"annotations": {"deployment.kubernetes.io/revision": "1"}})
    );
    let fields: Vec<&String> = body["status"].as_object().unwrap().keys().collect();
    assert_eq!(
        fields,
        [
            "conditions",
            "observedGeneration",
            "terminatingReplicas",
            "unavailableReplicas"
        ]
    );
}

// proves: deployment/D-80
#[test]
fn a_deployment_on_its_way_out_is_only_counted() {
    let mut cluster = world();
    cluster.edit(|web| web.image("z").terminating(noon()));
    let stray = Stored(set("s", 1, 1).json()).patched(&json!({"metadata": {"labels": {"app": "other"}}}));
    cluster = cluster.with(stray);
    let orphan = Stored(set("o", 1, 1).json());
    cluster = cluster.with(orphan);
    cluster.edit_set("o", |set| set.set("/metadata/ownerReferences", json!([])));
    let turn = cluster.turn();
    assert_eq!(turn.written(), "");
    assert_eq!(
        cluster.deployment["status"]["replicas"], 14,
        "neither the stray nor the orphan"
    );
    assert_eq!(cluster.deployment["status"]["observedGeneration"], 2);
    assert_eq!(turn.told, Vec::<String>::new());
}
