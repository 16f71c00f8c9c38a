//! What people see: the same kubectl commands print the same.

use serde_json::json;
use testkit::api::{NODE, POD_DISRUPTION_BUDGET};
use testkit::builders::{Manifest as _, Templated as _, deployment, node};
use testkit::object::Stored;
use testkit::parity::{Lines, Transcript};
use testkit::{Scene, names};
use workload_core::id::Kind;

use super::{make, roll};
use crate::PROGRAM;

/// Runs the same commands on both stages and compares what they print.
#[allow(clippy::needless_pass_by_value, reason = "a script is written where it is played")]
fn kubectl_parity(script: impl AsyncFn(&Scene, &mut Transcript)) {
    testkit::parity::kubectl_parity(&PROGRAM, &script);
}

/// Waits until everybody knows of the size that was asked for, and serves the pods.
async fn until_resized(scene: &Scene, size: i64) {
    let asked = |web: &Stored| web.size() == size;
    scene
        .until("the size", |state| state.deployment("web").is_some_and(asked))
        .await;
    scene.serve_pods().await;
}

// proves: deployment/K-5, deployment/K-9
#[test]
fn get_and_describe_show_a_rollout_under_way_and_over() {
    kubectl_parity(async |scene, transcript| {
        let web = deployment("web")
            .replicas(3)
            .annotation("note", "1")
            .label("tier", "front");
        make(scene, web).await;
        // With one old set: kubectl lists several in the order of their hashes.
        roll(scene, "b").await;
        look_around(scene, transcript).await;
        scene.serve_pods().await;
        look_around(scene, transcript).await;
    });
}

async fn look_around(scene: &Scene, transcript: &mut Transcript) {
    for what in ["deployments", "replicasets", "pods"] {
        transcript
            .run_as(scene, Lines::AnyOrder, &["get", what, "--output=wide"])
            .await;
    }
    transcript.run(scene, &["get", "deployment/web", "--show-labels"]).await;
    transcript.run(scene, &["describe", "deployment/web"]).await;
    for set in scene.look(|state| names(state.replica_sets())) {
        transcript.run(scene, &["describe", &format!("replicaset/{set}")]).await;
    }
}

// proves: deployment/K-1, deployment/K-2, deployment/K-3, deployment/D-8, deployment/D-9, deployment/D-10
#[test]
fn rollout_shows_its_state_and_history_and_goes_back() {
    kubectl_parity(async |scene, transcript| {
        make(
            scene,
            deployment("web")
                .replicas(2)
                .annotation("kubernetes.io/change-cause", "first"),
        )
        .await;
        transcript
            .run(
                scene,
                &[
                    "annotate",
                    "deployment/web",
                    "kubernetes.io/change-cause=second",
                    "--overwrite",
                ],
            )
            .await;
        transcript
            .run(scene, &["set", "image", "deployment/web", "main=b"])
            .await;
        scene
            .until("a second set", |state| state.replica_sets().len() == 2)
            .await;
        scene.end_pods().await;
        transcript
            .run(scene, &["rollout", "status", "deployment/web", "--watch=false"])
            .await;
        scene.serve_pods().await;
        transcript.run(scene, &["rollout", "status", "deployment/web"]).await;
        for (to, revision) in [("0", "3"), ("2", "4")] {
            transcript.run(scene, &["rollout", "history", "deployment/web"]).await;
            undo(scene, transcript, to, revision).await;
        }
        transcript
            .run(scene, &["rollout", "undo", "deployment/web", "--to-revision=9"])
            .await;
        transcript.run(scene, &["rollout", "history", "deployment/web"]).await;
    });
}

/// Goes back to an earlier revision, which then has the number `revision`.
async fn undo(scene: &Scene, transcript: &mut Transcript, to: &str, revision: &str) {
    let to = format!("--to-revision={to}");
    transcript.run(scene, &["rollout", "undo", "deployment/web", &to]).await;
    let is_revised = |web: &Stored| web.revision() == Some(revision);
    scene
        .until("the revision", |state| state.deployment("web").is_some_and(is_revised))
        .await;
    scene.serve_pods().await;
    let revision = format!("--revision={revision}");
    for command in ["history", "status"] {
        transcript
            .run(scene, &["rollout", command, "deployment/web", &revision])
            .await;
    }
}

// proves: deployment/K-1, deployment/K-4, deployment/D-84, deployment/D-77
#[test]
fn rollout_pauses_resumes_and_restarts() {
    kubectl_parity(async |scene, transcript| {
        make(scene, deployment("web").replicas(2)).await;
        transcript.run(scene, &["rollout", "pause", "deployment/web"]).await;
        scene.until_at_rest().await;
        for refused in [
            &["rollout", "pause", "deployment/web"][..],
            &["rollout", "restart", "deployment/web"],
            &["rollout", "undo", "deployment/web"],
        ] {
            transcript.run(scene, refused).await;
        }
        transcript.run(scene, &["describe", "deployment/web"]).await;
        transcript.run(scene, &["rollout", "resume", "deployment/web"]).await;
        scene.until_at_rest().await;
        transcript.run(scene, &["rollout", "restart", "deployment/web"]).await;
        scene
            .until("a second set", |state| state.replica_sets().len() == 2)
            .await;
        scene.serve_pods().await;
        transcript.run(scene, &["rollout", "status", "deployment/web"]).await;
        transcript.run(scene, &["describe", "deployment/web"]).await;
    });
}

// proves: deployment/K-1, deployment/D-74, deployment/D-77
#[test]
fn rollout_status_and_describe_tell_of_an_exceeded_deadline() {
    kubectl_parity(async |scene, transcript| {
        scene.create(deployment("web").deadline_seconds(2)).await;
        let exceeded = |web: &Stored| web.says("Progressing") == "False ProgressDeadlineExceeded";
        scene
            .until("the deadline", |state| state.deployment("web").is_some_and(exceeded))
            .await;
        scene.until_at_rest().await;
        transcript.run(scene, &["rollout", "status", "deployment/web"]).await;
        transcript.run(scene, &["describe", "deployment/web"]).await;
        transcript.run(scene, &["get", "deployment/web"]).await;
    });
}

// proves: deployment/K-5, deployment/K-6, deployment/K-9, deployment/A-7
#[test]
fn scale_and_wait_follow_the_size() {
    kubectl_parity(async |scene, transcript| {
        make(scene, deployment("web").replicas(2)).await;
        transcript
            .run(
                scene,
                &["scale", "deployment/web", "--replicas=3", "--current-replicas=2"],
            )
            .await;
        until_resized(scene, 3).await;
        transcript
            .run(
                scene,
                &["scale", "deployment/web", "--replicas=4", "--current-replicas=2"],
            )
            .await;
        for condition in [
            "condition=Available",
            "condition=Progressing",
            "jsonpath={.status.readyReplicas}=3",
        ] {
            let condition = format!("--for={condition}");
            transcript
                .run(scene, &["wait", "deployment/web", &condition, "--timeout=60s"])
                .await;
        }
        transcript
            .run(scene, &["get", "deployment/web", "--subresource=scale"])
            .await;
        // As an autoscaler does it.
        let mut scale = scene.api().get(Kind::DEPLOYMENT, "web/scale").await.unwrap();
        scale["spec"]["replicas"] = 1.into();
        scene
            .api()
            .replace(Kind::DEPLOYMENT, "web/scale", &scale)
            .await
            .unwrap();
        until_resized(scene, 1).await;
        transcript
            .run(scene, &["get", "deployment/web", "--subresource=scale"])
            .await;
        transcript.run(scene, &["get", "deployment/web"]).await;
        transcript.run(scene, &["describe", "deployment/web"]).await;
    });
}

// proves: deployment/K-6, deployment/I-15
#[test]
fn an_autoscaler_finds_the_deployment_and_sets_its_size() {
    kubectl_parity(async |scene, transcript| {
        make(scene, deployment("web")).await;
        // Without metrics the autoscaler still keeps to its least size.
        transcript
            .run(
                scene,
                &["autoscale", "deployment/web", "--min=3", "--max=5", "--cpu=80%"],
            )
            .await;
        until_resized(scene, 3).await;
        let counts = async || {
            let output = scene
                .kubectl(&["get", "hpa/web", "--output=jsonpath={.status.currentReplicas}"])
                .await;
            output.stdout == "3"
        };
        scene.eventually("the autoscaler counts three", counts).await;
        transcript.run(scene, &["get", "hpa/web"]).await;
        transcript.run(scene, &["get", "deployment/web"]).await;
    });
}

// proves: deployment/K-7, deployment/K-9, deployment/I-15
#[test]
fn drain_empties_a_node_as_fast_as_the_disruption_budget_allows() {
    kubectl_parity(async |scene, transcript| {
        let name = format!("{}-node", scene.namespace());
        scene.server().api().create(NODE, &node(&name).json()).await.unwrap();
        scene.settle(deployment("web").replicas(3)).await;
        let budget = json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"},
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}},
        });
        scene.api().create(POD_DISRUPTION_BUDGET, &budget).await.unwrap();
        let counts = async || {
            let status = scene.api().get(POD_DISRUPTION_BUDGET, "web").await.unwrap()["status"].clone();
            status["expectedPods"] == 3 && status["disruptionsAllowed"] == 1
        };
        scene.eventually("the budget counts", counts).await;
        transcript.run(scene, &["get", "poddisruptionbudget/web"]).await;
        let old = scene.look(|state| names(state.pods()));
        transcript
            .run_as(scene, Lines::AnyOrder, &["drain", &name, "--timeout=90s"])
            .await;
        scene
            .until("all are replaced", |state| {
                old.iter().all(|pod| state.get(Kind::POD, pod).is_none())
            })
            .await;
        scene.until_settled("web").await;
        transcript.run(scene, &["get", "deployment/web"]).await;
        scene.server().api().delete(NODE, &name, &json!({})).await.unwrap();
    });
}

// proves: deployment/A-6, deployment/T-14
#[test]
fn delete_takes_everything_along_or_leaves_the_sets() {
    kubectl_parity(async |scene, transcript| {
        scene.settle(deployment("web").replicas(2)).await;
        transcript
            .run(scene, &["delete", "deployment/web", "--cascade=orphan"])
            .await;
        transcript
            .run_as(scene, Lines::AnyOrder, &["get", "replicasets,pods"])
            .await;
        scene.settle(deployment("web").replicas(2)).await;
        transcript
            .run(scene, &["delete", "deployment/web", "--cascade=foreground"])
            .await;
        transcript.run(scene, &["get", "deployments,replicasets,pods"]).await;
    });
}
