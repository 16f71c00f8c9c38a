//! A rollout that does not get on says why.

use rstest::rstest;
use serde_json::{Value, json};
use testkit::builders::{Manifest as _, Pod, Templated as _, deployment, pod};
use workload_core::outcome::{FailureClass, Verb};
use workload_core::plan::Wake;

use super::cluster::Cluster;
use super::{at, noon, set};

/// A rollout of two replicas with a deadline of a minute whose new pods are these; nothing has moved since 18:49:00.
fn stalled(pods: Vec<Pod>) -> Cluster {
    let web = deployment("web")
        .replicas(2)
        .rolling(2, 0)
        .image("b")
        .deadline_seconds(60);
    let mut cluster = Cluster::of(web).with(set("a", 2, 2)).with(set("b", 2, 0));
    cluster.deployment["metadata"]["annotations"] = json!({"deployment.kubernetes.io/revision": "2"});
    cluster.deployment["status"] = json!({
        "observedGeneration": 1, "replicas": 4, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2,
        "unavailableReplicas": 2, "terminatingReplicas": 0,
        "conditions": [
            {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable"},
            {"type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated", "message": "",
             "lastUpdateTime": "2026-01-02T18:49:00Z", "lastTransitionTime": "2026-01-02T18:00:00Z"},
        ],
    });
    let owner = cluster.set("b").clone();
    cluster.pods = pods.into_iter().map(|pod| pod.owned_by(&owner).json()).collect();
    cluster.now = at("2026-01-02T18:49:31Z");
    cluster
}

/// What one turn explains: causes and texts without what they all begin with.
fn explained(cluster: &mut Cluster) -> Vec<(&'static str, String)> {
    let explanations = cluster.turn().conclusion.held_up.expect("a turn that can tell");
    let told = explanations.into_iter().map(|explanation| {
        assert_eq!(explanation.note.reason, "RolloutStuck");
        let message = explanation.note.message;
        let story = message
            .strip_prefix("The rollout does not get on: ")
            .unwrap_or_else(|| panic!("{message}"));
        (explanation.cause, story.to_owned())
    });
    told.collect()
}

fn waiting(name: &str, reason: &str) -> Pod {
    let status = json!([{"name": "main", "restartCount": 0, "state": {"waiting": {"reason": reason}}}]);
    pod(name)
        .on("n1")
        .phase("Pending")
        .set("/status/containerStatuses", status)
}

fn unscheduled(name: &str, reason: &str) -> Pod {
    let condition = json!([{"type": "PodScheduled", "status": "False", "reason": reason}]);
    pod(name).phase("Pending").set("/status/conditions", condition)
}

#[rstest]
#[case::bad_image(
    waiting("p", "ImagePullBackOff"),
    "ImagePullBackOff",
    "new pods are not ready (ImagePullBackOff): p"
)]
#[case::crashes(waiting("p", "CrashLoopBackOff").phase("Running"), "CrashLoopBackOff", "new pods are not ready (CrashLoopBackOff): p")]
#[case::a_word_of_some_runtime(waiting("p", "FooError"), "ContainerWaiting", "new pods are not ready (FooError): p")]
#[case::no_node_fits(
    unscheduled("p", "Unschedulable"),
    "Unschedulable",
    "new pods are not ready (Unschedulable): p"
)]
#[case::gated(
    unscheduled("p", "SchedulingGated"),
    "SchedulingGated",
    "new pods are not ready (SchedulingGated): p"
)]
#[case::nobody_schedules(pod("p").phase("Pending"), "NotScheduled", "new pods are not ready (NotScheduled): p")]
#[case::nobody_starts_it(pod("p").on("n1").phase("Pending"), "NotStarted", "new pods are not ready (NotStarted): p")]
#[case::probe_fails(pod("p").on("n1").unready_since(noon()), "NotReady", "new pods are not ready (NotReady): p")]
#[case::ended(pod("p").on("n1").phase("Failed"), "PodEnded", "new pods are not ready (PodEnded): p")]
fn pods_that_are_not_ready_are_named_with_their_reason(#[case] pod: Pod, #[case] cause: &str, #[case] story: &str) {
    assert_eq!(explained(&mut stalled(vec![pod])), [(cause, story.to_owned())]);
}

#[test]
fn pods_that_have_ended_and_were_replaced_hold_nothing_up() {
    let ended = || pod("ended").on("n1").phase("Failed");
    let mut cluster = stalled(vec![
        ended(),
        waiting("p", "ErrImagePull"),
        waiting("q", "ErrImagePull"),
    ]);
    let story = "new pods are not ready (ErrImagePull): p, q".to_owned();
    assert_eq!(explained(&mut cluster), [("ErrImagePull", story)]);
    let mut cluster = stalled(vec![ended(), waiting("p", "ErrImagePull")]);
    let causes: Vec<_> = explained(&mut cluster).into_iter().map(|(cause, _)| cause).collect();
    assert_eq!(causes, ["ErrImagePull", "PodEnded"], "one is missing");
}

// proves: deployment/L-4
#[test]
fn old_pods_that_their_budgets_keep_are_told() {
    let mut cluster = stalled(Vec::new());
    cluster.edit(|web| web.opt_in("deployment.disruption-budgets", "Respect"));
    cluster.deployment["status"]["observedGeneration"] = 2.into();
    cluster.edit_set("a", |set| set.replicas(1));
    cluster.report("a", 2, 2);
    let name = cluster.set("a")["metadata"]["name"].as_str().unwrap().to_owned();
    let story = format!("disruption budgets keep 1 of the pods of old replica set {name} that are to go");
    assert_eq!(explained(&mut cluster), [("DisruptionBudget", story)]);
}

#[test]
fn each_cause_is_told_once_and_names_a_few_pods() {
    let mut pods: Vec<_> = ["e", "d", "c", "b", "a"]
        .map(|name| waiting(name, "ErrImagePull"))
        .into();
    pods.push(unscheduled("z", "Unschedulable"));
    pods.push(pod("fine").on("n1").ready_since(noon()));
    pods.push(waiting("going", "ErrImagePull").terminating(noon()));
    assert_eq!(
        explained(&mut stalled(pods)),
        [
            (
                "ErrImagePull",
                "new pods are not ready (ErrImagePull): a, b, c and 2 more".to_owned()
            ),
            ("Unschedulable", "new pods are not ready (Unschedulable): z".to_owned()),
        ]
    );
}

#[rstest]
#[case::quota(
    "pods \"web-1\" is forbidden: exceeded quota: limit, requested: pods=1",
    "QuotaExceeded"
)]
#[case::policy("admission webhook \"x\" denied the request", "ReplicaFailure")]
fn what_keeps_pods_from_being_made_is_told_in_the_servers_words(#[case] message: &str, #[case] cause: &str) {
    let mut cluster = stalled(Vec::new());
    let failure = json!([{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": message}]);
    cluster.edit_set("b", |set| set.set("/status/conditions", failure));
    let name = cluster.set("b")["metadata"]["name"].as_str().unwrap().to_owned();
    assert_eq!(
        explained(&mut cluster),
        [(cause, format!("pods of replica set {name}: {message}"))]
    );
}

#[test]
fn old_pods_that_cannot_be_deleted_are_told() {
    let mut cluster = stalled(Vec::new());
    let failure = json!([{"type": "ReplicaFailure", "status": "True", "reason": "FailedDelete", "message": "no"}]);
    cluster.edit_set("a", |set| set.set("/status/conditions", failure));
    let name = cluster.set("a")["metadata"]["name"].as_str().unwrap().to_owned();
    let story = format!("pods of replica set {name}: no");
    assert_eq!(explained(&mut cluster), [("ReplicaFailure", story)]);
}

#[test]
fn what_keeps_the_replica_set_from_being_made_is_told_too() {
    let mut cluster = stalled(Vec::new());
    cluster.edit(|web| web.image("c"));
    cluster.refusal = Some((Verb::Create, FailureClass::Rejected));
    cluster.turn();
    assert_eq!(explained(&mut cluster), [], "it has not lasted");
    cluster.now = at("2026-01-02T18:50:02Z");
    let explained = explained(&mut cluster);
    let [("ReplicaSetCreateError", story)] = &explained[..] else {
        panic!("{explained:?}")
    };
    let told = "Failed to create new replica set \"web-";
    assert!(story.starts_with(told) && story.ends_with(": refused"), "{story}");
}

#[test]
fn a_replica_set_that_nobody_reconciles_is_told() {
    let mut cluster = stalled(Vec::new());
    cluster.edit_set("b", |set| set.set("/metadata/generation", 2));
    let explained = explained(&mut cluster);
    assert_eq!(explained[0].0, "ReplicaSetNotReconciled");
    assert_eq!(explained.len(), 1, "{explained:?}");
}

#[test]
fn a_recreate_rollout_names_the_old_pods_that_it_waits_for() {
    let mut cluster = stalled(Vec::new());
    cluster.edit(|web| web.set("/spec/strategy", json!({"type": "Recreate"})));
    cluster.deployment["status"]["observedGeneration"] = 2.into();
    cluster.edit_set("a", |set| set.replicas(0));
    cluster.report("a", 0, 0);
    let owner = cluster.set("a").clone();
    cluster.pods = vec![
        pod("old-1")
            .owned_by(&owner)
            .phase("Running")
            .terminating(noon())
            .json(),
    ];
    // The status is that of a rollout that has not yet seen the old pods go.
    cluster.deployment["status"]["replicas"] = 2.into();
    cluster.deployment["status"]["availableReplicas"] = 0.into();
    cluster.deployment["status"]["readyReplicas"] = 0.into();
    assert_eq!(
        explained(&mut cluster),
        [("OldPodsRemain", "old pods have not ended: old-1".to_owned())]
    );
}

#[rstest]
#[case::before_half_of_the_deadline("18:49:29", json!({}), false)]
#[case::at_half_of_it("18:49:30", json!({}), true)]
#[case::after_the_deadline("18:50:01", json!({}), true)]
#[case::paused("18:49:31", json!({"paused": true}), false)]
#[case::nobody_wants_to_know("18:49:31", json!({"progressDeadlineSeconds": i32::MAX}), false)]
fn nothing_is_told_before_half_of_the_deadline(#[case] now: &str, #[case] spec: Value, #[case] told: bool) {
    let mut cluster = stalled(vec![waiting("p", "ErrImagePull")]);
    cluster.edit(|web| web.patched(&json!({"spec": spec})));
    cluster.deployment["status"]["observedGeneration"] = 2.into();
    cluster.now = at(&format!("2026-01-02T{now}Z"));
    assert_eq!(!explained(&mut cluster).is_empty(), told);
}

#[test]
fn progress_ends_the_story() {
    let mut cluster = stalled(vec![waiting("p", "ErrImagePull")]);
    cluster.report("b", 2, 1);
    assert_eq!(explained(&mut cluster), []);
}

#[test]
fn pods_that_are_ready_and_not_available_yet_hold_nothing_up() {
    let mut cluster = stalled(vec![pod("p").on("n1").ready_since(noon())]);
    assert_eq!(explained(&mut cluster), []);
}

#[test]
fn a_turn_comes_when_half_of_the_deadline_has_passed() {
    let mut cluster = stalled(Vec::new());
    cluster.now = at("2026-01-02T18:49:10Z");
    let wake = cluster.turn().conclusion.wake;
    assert_eq!(wake, Wake::After(std::time::Duration::from_secs(20)));
}
