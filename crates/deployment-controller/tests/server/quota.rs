//! Quotas, to make creates fail.

use serde_json::{Value, json};
use testkit::Scene;
use testkit::api::RESOURCE_QUOTA;

/// Lets the namespace have so much, such as `{"pods": 10}`, and waits until the server enforces it.
pub(crate) async fn limit(scene: &Scene, hard: Value) {
    let quota =
        json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "limit"}, "spec": {"hard": hard}});
    scene.create(quota).await;
    let enforced = async || scene.api().get(RESOURCE_QUOTA, "limit").await.unwrap()["status"]["hard"].is_object();
    scene.eventually("the quota is enforced", enforced).await;
}

/// Changes the limit. It counts from the next request on.
pub(crate) async fn change(scene: &Scene, hard: Value) {
    scene
        .merge(RESOURCE_QUOTA, "limit", json!({"spec": {"hard": hard}}))
        .await;
}
