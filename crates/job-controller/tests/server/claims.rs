//! Which pods belong to a Job.

use serde_json::json;
use testkit::Kind;
use testkit::builders::job;

use crate::{TRACKING, active, scenario};

// proves: job/J-20, job/J-21, job/J-22
#[test]
fn a_pod_that_lost_its_owner_is_adopted_and_one_that_lost_its_labels_is_let_go() {
    scenario(async |scene| {
        scene.create(job("work")).await;
        let pod = active(scene, 1).await.remove(0);
        let orphaned = json!({"metadata": {"ownerReferences": null}});
        scene.merge(Kind::POD, &pod, orphaned).await;
        scene
            .until("it is adopted", |state| {
                let pod = state.get(Kind::POD, &pod).unwrap();
                pod.is_controlled_by(state.job("work").unwrap()) && pod.has_finalizer(TRACKING)
            })
            .await;
        scene
            .merge(Kind::POD, &pod, json!({"metadata": {"labels": null}}))
            .await;
        scene
            .until("it is let go and replaced", |state| {
                let work = state.job("work").unwrap();
                let left = state.get(Kind::POD, &pod).unwrap();
                left.controller().is_none() && !left.has_finalizer(TRACKING) && state.pods_of(work).len() == 1
            })
            .await;
    });
}
