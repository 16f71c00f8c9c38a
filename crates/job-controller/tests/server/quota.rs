//! Creates that the server refuses.

use serde_json::json;
use testkit::Kind;
use testkit::api::RESOURCE_QUOTA;
use testkit::builders::job;

use crate::{active, counts, scenario};

// proves: job/J-61, job/J-62, job/J-63, job/J-10
#[test]
fn a_full_quota_is_told_and_met_again_when_there_is_room() {
    scenario(async |scene| {
        let quota = json!({
            "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "limit"}, "spec": {"hard": {"pods": "2"}},
        });
        scene.create(quota).await;
        let enforced = async || scene.api().get(RESOURCE_QUOTA, "limit").await.unwrap()["status"]["hard"].is_object();
        scene.eventually("the quota is enforced", enforced).await;
        scene.create(job("work").parallelism(5).completions(5)).await;
        active(scene, 2).await;
        scene
            .until("the event", |state| {
                let events = state.events("work", "FailedCreate");
                events
                    .iter()
                    .any(|event| event.text("/message").starts_with("Error creating: "))
            })
            .await;
        assert_eq!(scene.look(counts), [2, 0, 0, 0, 0]);
        scene
            .merge(RESOURCE_QUOTA, "limit", json!({"spec": {"hard": {"pods": "5"}}}))
            .await;
        active(scene, 5).await;
        assert_eq!(scene.look(|state| state.all(Kind::POD).len()), 5);
    });
}
