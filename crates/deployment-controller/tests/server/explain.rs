//! A stuck rollout explains itself, by an event and a gauge; conditions stay as upstream has them.

use serde_json::json;
use testkit::Scene;
use testkit::api::RESOURCE_QUOTA;
use testkit::builders::{Templated as _, deployment};
use workload_core::id::Kind;

use crate::{ours_only, web};

/// How many Deployments the controller counts as held up by `cause`.
async fn held_up(scene: &Scene, cause: &str) -> u64 {
    let metrics = scene.controller().unwrap().metrics().await;
    metrics.count("held_up_objects", &[("kind", "Deployment"), ("cause", cause)])
}

/// Waits for the event about `web` that contains `words`.
async fn told(scene: &Scene, words: &str) {
    let says = |event: &&testkit::object::Stored| event.text("/message").contains(words);
    scene
        .until(words, |state| state.events("web", "RolloutStuck").iter().any(says))
        .await;
}

#[test]
fn a_rollout_with_a_bad_image_names_pods_and_reason() {
    ours_only(async |scene| {
        scene
            .settle(deployment("web").replicas(2).rolling(1, 0).deadline_seconds(6))
            .await;
        scene.kubelet().auto_for_image("a");
        scene.set_image("web", "b").await;
        let stuck = scene
            .find("the new pod", |state| {
                let new = state.pods().into_iter().find(|pod| pod.image() == "b")?;
                Some(new.name().to_owned())
            })
            .await;
        let waiting = json!([{
            "name": "main", "image": "b", "imageID": "", "ready": false, "restartCount": 0,
            "state": {"waiting": {"reason": "ImagePullBackOff", "message": "back-off"}},
        }]);
        let status = json!({"status": {"phase": "Pending", "containerStatuses": waiting}});
        scene.merge(Kind::POD, &format!("{stuck}/status"), status).await;
        told(scene, &format!("(ImagePullBackOff): {stuck}")).await;
        assert_eq!(held_up(scene, "ImagePullBackOff").await, 1);
        let missed = "False ProgressDeadlineExceeded";
        scene
            .until(missed, |state| web(state).says("Progressing") == missed)
            .await;
        let message = scene.look(|state| web(state).condition("Progressing").unwrap()["message"].clone());
        assert!(
            message.as_str().unwrap().ends_with("has timed out progressing."),
            "{message}"
        );
        let events = scene.look(|state| {
            let mut events = state.events("web", "RolloutStuck");
            // Until the test says what it waits for, the new pod has no node. That may be told too.
            events.retain(|event| !event.text("/message").contains("(NotScheduled)"));
            events.len()
        });
        assert_eq!(events, 1, "one event for one cause");
        scene.kubelet().auto();
        scene.until_settled("web").await;
        assert_eq!(held_up(scene, "ImagePullBackOff").await, 0);
    });
}

#[test]
fn a_rollout_that_meets_a_full_quota_says_so() {
    ours_only(async |scene| {
        scene
            .settle(deployment("web").replicas(2).rolling(1, 0).deadline_seconds(6))
            .await;
        let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "limit"},
            "spec": {"hard": {"pods": "2"}}});
        scene.create(quota).await;
        let enforced = async || scene.api().get(RESOURCE_QUOTA, "limit").await.unwrap()["status"]["hard"].is_object();
        scene.eventually("the quota is enforced", enforced).await;
        scene.set_image("web", "b").await;
        told(scene, "exceeded quota").await;
        assert_eq!(held_up(scene, "QuotaExceeded").await, 1);
        scene
            .merge(RESOURCE_QUOTA, "limit", json!({"spec": {"hard": {"pods": "9"}}}))
            .await;
        scene.scale(Kind::DEPLOYMENT, "web", 3).await;
        scene.until_settled("web").await;
        assert_eq!(held_up(scene, "QuotaExceeded").await, 0);
    });
}

#[test]
fn the_story_of_a_deployment_that_is_deleted_ends() {
    ours_only(async |scene| {
        scene.create(deployment("web").deadline_seconds(4)).await;
        told(scene, "(NotScheduled)").await;
        assert_eq!(held_up(scene, "NotScheduled").await, 1);
        scene.delete(Kind::DEPLOYMENT, "web").await;
        let ended = async || held_up(scene, "NotScheduled").await == 0;
        scene.eventually("the gauge is back at 0", ended).await;
    });
}
