//! Condition Progressing and the deadline (deployment D-71…D-77, D-84).

use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use testkit::builders::{Manifest as _, Templated as _, deployment};
use workload_core::plan::Wake;

use super::cluster::Cluster;
use super::{at, set};

/// A rollout of four replicas of image `b` with a deadline of a minute: two new pods, of which one is available, and three
/// old ones. What is stored says just that, and that there was progress at 18:49:00.
fn under_way(reason: &str) -> Cluster {
    let web = deployment("web")
        .replicas(4)
        .rolling(1, 0)
        .image("b")
        .deadline_seconds(60);
    let mut cluster = Cluster::of(web)
        .with(set("a", 3, 3))
        .with(set("b", 2, 1).set("/status/readyReplicas", 1));
    let status = match reason {
        "ProgressDeadlineExceeded" => "False",
        "DeploymentPaused" => "Unknown",
        _ => "True",
    };
    cluster.deployment["metadata"]["annotations"] = json!({"deployment.kubernetes.io/revision": "2"});
    cluster.deployment["status"] = json!({
        "observedGeneration": 1, "replicas": 5, "updatedReplicas": 2, "readyReplicas": 4, "availableReplicas": 4,
        "unavailableReplicas": 1, "terminatingReplicas": 0,
        "conditions": [
            {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable"},
            {"type": "Progressing", "status": status, "reason": reason, "message": "as before",
             "lastUpdateTime": "2026-01-02T18:49:00Z", "lastTransitionTime": "2026-01-02T18:00:00Z"},
        ],
    });
    cluster.now = at("2026-01-02T18:49:30Z");
    cluster
}

fn progressing(cluster: &Cluster) -> Value {
    cluster.condition("Progressing").cloned().unwrap_or(Value::Null)
}

// proves: deployment/T-11, deployment/D-74, deployment/D-76
#[rstest]
#[case::in_time("18:49:30", Some(31_000_000_000))]
#[case::a_second_left("18:49:59", Some(2_000_000_000))]
#[case::less_than_a_second_left("18:49:59.000000001", Some(1_999_999_999))]
#[case::at_the_deadline("18:50:00", Some(1_000_000_000))]
#[case::after_it("18:50:00.000000001", None)]
fn the_deadline_is_looked_at_a_second_after_it_passes(#[case] now: &str, #[case] wake: Option<u64>) {
    let mut cluster = under_way("ReplicaSetUpdated");
    cluster.now = at(&format!("2026-01-02T{now}Z"));
    let turn = cluster.turn();
    if let Some(nanos) = wake {
        assert_eq!(turn.text(), "");
        assert_eq!(turn.conclusion.wake, Wake::After(Duration::from_nanos(nanos)));
    } else {
        assert_eq!(turn.text(), "Progressing False ProgressDeadlineExceeded");
        assert_eq!(progressing(&cluster)["lastTransitionTime"], "2026-01-02T18:50:00Z");
        assert_eq!(
            cluster.turn().conclusion.wake,
            Wake::OnChange,
            "the deadline strikes once"
        );
    }
}

// proves: deployment/D-73
#[rstest]
#[case::more_updated(&[("a", 3, 3), ("b", 3, 1)], true)]
#[case::fewer_old(&[("a", 2, 2), ("b", 2, 1)], true)]
#[case::more_ready_and_available(&[("a", 3, 3), ("b", 2, 2)], true)]
#[case::nothing(&[("a", 3, 3), ("b", 2, 1)], false)]
#[case::fewer_updated(&[("a", 3, 3), ("b", 1, 1)], false)]
#[case::fewer_available(&[("a", 3, 2), ("b", 2, 1)], false)]
fn progress_restarts_the_deadline(#[case] reports: &[(&str, i64, i64)], #[case] progress: bool) {
    let mut cluster = under_way("ReplicaSetUpdated");
    for (image, pods, available) in reports {
        cluster.report(image, *pods, *available);
    }
    cluster.turn();
    let condition = progressing(&cluster);
    let (updated, message) = if progress {
        let name = cluster.set("b")["metadata"]["name"].as_str().unwrap();
        ("2026-01-02T18:49:30Z", format!("ReplicaSet {name:?} is progressing."))
    } else {
        ("2026-01-02T18:49:00Z", "as before".to_owned())
    };
    assert_eq!(
        (&condition["lastUpdateTime"], &condition["message"]),
        (&json!(updated), &json!(message))
    );
    assert_eq!(
        condition["lastTransitionTime"], "2026-01-02T18:00:00Z",
        "it was and is True"
    );
}

// proves: deployment/D-73
#[test]
fn ready_pods_that_are_not_available_yet_are_progress() {
    let mut cluster = under_way("ReplicaSetUpdated");
    cluster.edit_set("b", |set| set.set("/status/readyReplicas", 2));
    cluster.turn();
    assert_eq!(progressing(&cluster)["lastUpdateTime"], "2026-01-02T18:49:30Z");
}

// proves: deployment/D-74, deployment/D-73
#[test]
fn a_missed_deadline_is_not_the_end() {
    let mut cluster = under_way("ProgressDeadlineExceeded");
    assert_eq!(cluster.turn().text(), "", "it stays missed");
    cluster.report("b", 2, 2);
    assert_eq!(cluster.turn().told, ["Progressing True ReplicaSetUpdated"]);
    assert_eq!(progressing(&cluster)["lastTransitionTime"], "2026-01-02T18:49:30Z");
}

// proves: deployment/D-72, deployment/D-74
#[rstest]
#[case::in_time("ReplicaSetUpdated")]
#[case::too_late("ProgressDeadlineExceeded")]
fn a_rollout_is_complete_when_all_is_updated_and_available(#[case] reason: &str) {
    let mut cluster = under_way(reason);
    for (image, size) in [("a", 0), ("b", 4)] {
        cluster.edit_set(image, |set| set.replicas(size));
        cluster.report(image, i64::from(size), i64::from(size));
    }
    assert_eq!(cluster.turn().told, ["Progressing True NewReplicaSetAvailable"]);
}

// proves: deployment/D-71, deployment/L-5
#[test]
fn a_finished_rollout_has_no_deadline() {
    let mut cluster = Cluster::settled(deployment("web").replicas(3).deadline_seconds(60));
    let finished = progressing(&cluster);
    cluster.report("a", 3, 1);
    cluster.now = at("2027-01-01T00:00:00Z");
    cluster.turn();
    assert_eq!(progressing(&cluster), finished);
    assert_eq!(cluster.turn().conclusion.wake, Wake::OnChange);
    cluster.edit(|web| web.replicas(5));
    cluster.turn();
    cluster.settle();
    cluster.report("a", 5, 1);
    cluster.turn();
    assert_eq!(progressing(&cluster), finished);
}

// proves: deployment/D-77, deployment/D-74
#[test]
fn an_old_template_rolled_out_again_has_no_deadline_before_its_first_progress() {
    let mut cluster = Cluster::settled(deployment("web").replicas(3).rolling(1, 0).deadline_seconds(60));
    cluster.edit(|web| web.image("b"));
    cluster.roll();
    cluster.broken = vec!["a"];
    cluster.edit(|web| web.image("a"));
    assert_eq!(
        cluster.turn().text(),
        "scale a 0 -> 1; revision of a 3; revision-history of a 1; revision 3"
    );
    cluster.now = at("2027-01-01T00:00:00Z");
    assert_eq!(cluster.turn().text(), "");
    cluster.settle();
    assert_eq!(cluster.turn().told, ["Progressing True ReplicaSetUpdated"]);
}

// proves: deployment/D-70, deployment/A-1
#[rstest]
#[case::the_largest_number(json!(2_147_483_647))]
#[case::none(json!(null))]
fn without_deadline_nothing_is_said_about_progress(#[case] deadline: Value) {
    let mut cluster = under_way("ReplicaSetUpdated");
    cluster.edit(|web| web.set("/spec/progressDeadlineSeconds", deadline));
    cluster.turn();
    assert_eq!(progressing(&cluster), Value::Null);
    assert_eq!(cluster.turn().conclusion.wake, Wake::OnChange);
}

// proves: deployment/D-12, deployment/D-77
#[test]
fn a_rollout_that_nobody_watched_is_found() {
    let mut cluster = under_way("ReplicaSetUpdated");
    cluster.deployment["status"]["conditions"] = json!([]);
    assert_eq!(cluster.turn().told, ["Progressing True FoundNewReplicaSet"]);
}

// proves: deployment/D-12, deployment/D-71, deployment/D-74, deployment/D-77
#[rstest]
#[case::lost(Some("1"), "a", "Progressing True FoundNewReplicaSet; revision 2", true)]
#[case::not_lost(Some("2"), "a", "", false)]
#[case::taken_away_by_a_user(None, "a", "revision 2", false)]
#[case::set_back_by_a_user(Some("1"), "b", "revision 2", false)]
fn a_rollout_whose_beginning_was_not_recorded_has_a_deadline(
    #[case] revision: Option<&str>,
    #[case] complete: &str,
    #[case] told: &str,
    #[case] strikes: bool,
) {
    let mut cluster = with_revision(revision, complete);
    assert_eq!(cluster.turn().told.join("; "), told);
    cluster.now = at("2026-01-02T18:51:00Z");
    assert_eq!(cluster.turn().text().contains("ProgressDeadlineExceeded"), strikes);
}

/// The rollout of [`under_way`], of which only the one before is told: that of this ReplicaSet is complete.
fn with_revision(revision: Option<&str>, complete: &str) -> Cluster {
    let mut cluster = under_way("NewReplicaSetAvailable");
    for (set, revision) in cluster.sets.iter_mut().zip(["1", "2"]) {
        set["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = revision.into();
    }
    let annotations = &mut cluster.deployment["metadata"]["annotations"];
    *annotations = revision.map_or_else(
        || json!({}),
        |revision| json!({"deployment.kubernetes.io/revision": revision}),
    );
    let complete = cluster
        .sets
        .iter()
        .find(|set| set["spec"]["template"]["spec"]["containers"][0]["image"] == complete);
    let message = format!(
        "ReplicaSet {} has successfully progressed.",
        complete.unwrap()["metadata"]["name"]
    );
    cluster.deployment["status"]["conditions"][1]["message"] = message.into();
    cluster
}

// proves: deployment/D-84
#[test]
fn a_paused_rollout_whose_beginning_was_not_recorded_is_paused() {
    let mut cluster = with_revision(Some("1"), "a");
    cluster.edit(|web| web.set("/spec/paused", true));
    assert_eq!(
        cluster.turn().told,
        ["Progressing Unknown DeploymentPaused", "revision 2"]
    );
}

// proves: deployment/D-84, deployment/L-8
#[rstest]
#[case::paused("ReplicaSetUpdated", true, "DeploymentPaused")]
#[case::still_paused("DeploymentPaused", true, "DeploymentPaused")]
#[case::resumed("DeploymentPaused", false, "DeploymentResumed")]
#[case::never_paused("ReplicaSetUpdated", false, "ReplicaSetUpdated")]
#[case::paused_too_late("ProgressDeadlineExceeded", true, "ProgressDeadlineExceeded")]
#[case::resumed_too_late("ProgressDeadlineExceeded", false, "ProgressDeadlineExceeded")]
#[case::after_completion("NewReplicaSetAvailable", true, "DeploymentPaused")]
fn a_pause_stops_the_deadline_and_its_end_restarts_it(
    #[case] reason: &str,
    #[case] paused: bool,
    #[case] expected: &str,
) {
    let mut cluster = under_way(reason);
    cluster.edit(|web| web.set("/spec/paused", paused));
    let turn = cluster.turn();
    let condition = progressing(&cluster);
    assert_eq!(condition["reason"], expected);
    let said_now = condition["lastUpdateTime"] == "2026-01-02T18:49:30Z";
    assert_eq!(said_now, reason != expected);
    if paused {
        assert_eq!(turn.conclusion.wake, Wake::OnChange, "no deadline during a pause");
    }
}

// proves: deployment/D-84
#[test]
fn without_deadline_a_pause_is_not_mentioned() {
    let mut cluster = Cluster::of(deployment("web").deadline_seconds(i32::MAX.unsigned_abs()).paused());
    cluster.turn();
    assert_eq!(progressing(&cluster), Value::Null);
}
