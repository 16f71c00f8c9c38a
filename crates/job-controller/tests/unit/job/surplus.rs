//! Which pods go first (J-76, J-90, J-91).

use rstest::rstest;
use serde_json::{Value, json};

use super::fixed;

fn pod(patch: Value) -> Value {
    let mut pod = json!({
        "metadata": {"creationTimestamp": "2026-01-02T11:00:00Z"},
        "spec": {"nodeName": "n"},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-02T11:30:00Z"}],
            "containerStatuses": [{"name": "main", "restartCount": 2}],
        },
    });
    super::server::merge(&mut pod, &patch);
    pod
}

// proves: job/J-90
#[rstest]
#[case::no_node(json!({"spec": {"nodeName": null}}), json!({"status": {"phase": "Pending"}}))]
#[case::pending(json!({"status": {"phase": "Pending"}}), json!({"status": {"phase": "Unknown"}}))]
#[case::unknown(json!({"status": {"phase": "Unknown"}}), json!({"status": {"conditions": []}}))]
#[case::not_ready(json!({"status": {"conditions": []}}), json!({}))]
#[case::no_time(json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}), json!({}))]
#[case::ready_later(
    json!({"status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-02T11:45:00Z"}]}}),
    json!({"status": {"containerStatuses": [{"name": "main", "restartCount": 9}]}}))]
#[case::more_restarts(json!({"status": {"containerStatuses": [{"name": "main", "restartCount": 3}]}}), json!({}))]
#[case::sidecars_break_a_tie(
    json!({"spec": {"initContainers": [{"name": "s", "restartPolicy": "Always"}]},
           "status": {"initContainerStatuses": [{"name": "s", "restartCount": 1}]}}),
    json!({"spec": {"initContainers": [{"name": "s"}]},
           "status": {"initContainerStatuses": [{"name": "s", "restartCount": 7}]}}))]
#[case::newer(json!({"metadata": {"creationTimestamp": "2026-01-02T11:10:00Z"}}), json!({}))]
#[case::cost_does_not_matter(
    json!({"metadata": {"creationTimestamp": "2026-01-02T11:10:00Z"}}),
    json!({"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "-100"}}}))]
fn the_first_goes(#[case] first: Value, #[case] second: Value) {
    for order in [["p000", "p001"], ["p001", "p000"]] {
        let mut cluster = fixed(2, 9);
        cluster.settle();
        for (name, like) in order.iter().zip([&first, &second]) {
            let patch = pod(like.clone());
            cluster.change_pod(name, |pod| super::server::merge(pod, &patch));
        }
        cluster.edit(json!({"spec": {"parallelism": 1}}));
        let turn = cluster.turn();
        assert_eq!(turn.text(), format!("drop {}; status", order[0]));
    }
}

// proves: job/J-52
#[test]
fn a_pod_that_was_let_go_of_and_not_deleted_goes_first() {
    let mut cluster = super::fixed(3, 3);
    cluster.settle();
    for pod in ["p000", "p001", "p002"] {
        cluster.run(pod);
        cluster.after(30);
    }
    cluster.settle();
    // A former process has taken the finalizer and was killed before it could delete the pod, which would go last otherwise.
    cluster.change_pod("p000", super::cluster::without_finalizer);
    cluster.edit(serde_json::json!({"spec": {"parallelism": 2}}));
    assert_eq!(cluster.turn().text(), "drop p000; status");
}

// proves: job/J-91, job/J-61
#[test]
fn surplus_pods_go_in_bounded_numbers_and_none_is_made_meanwhile() {
    let mut cluster = fixed(8, 20);
    cluster.settle();
    cluster.bounds.burst = 3;
    cluster.edit(json!({"spec": {"parallelism": 1}}));
    for left in [5, 2, 1] {
        let turn = cluster.turn();
        assert!(turn.text().starts_with("drop "), "{}", turn.text());
        assert_eq!((cluster.counts()[0], cluster.counts()[4]), (left, 0));
        assert!(turn.said().iter().all(|reason| *reason == "SuccessfulDelete"));
    }
}
