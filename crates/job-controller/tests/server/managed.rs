//! Jobs of other controllers.

use std::time::Duration;

use serde_json::json;
use testkit::builders::{Manifest as _, job};
use testkit::scenario_with;

use crate::{PROGRAM, active, end, has_ended, scenario};

// proves: job/J-160, job/J-161
#[test]
fn a_job_that_names_another_controller_is_left_alone() {
    scenario(async |scene| {
        scene.create(job("work").set("/spec/managedBy", "example.com/x")).await;
        scene.create(job("other")).await;
        active_of_other(scene).await;
        scene.quiet_for(Duration::from_secs(2)).await;
        let status = scene.look(|state| state.job("work").unwrap().at("/status").clone());
        assert_eq!(status, json!({}));
        if let Some(controller) = scene.controller() {
            let metrics = controller.metrics().await;
            let external = "job_controller_jobs_by_external_controller_total";
            assert_eq!(metrics.count(external, &[("controller_name", "example.com/x")]), 1);
        }
    });
}

/// A Job beside it is served.
async fn active_of_other(scene: &testkit::Scene) {
    scene
        .until("the pod of the other Job", |state| {
            state.pods().len() == 1 && state.job("other").is_some_and(|other| other.count("active") == 1)
        })
        .await;
}

// proves: job/J-160
#[test]
fn an_instance_with_a_name_of_its_own_serves_the_jobs_that_name_it_and_no_others() {
    scenario_with(&PROGRAM, &["--managed-by=example.com/x"], async |scene| {
        scene.create(job("other")).await;
        scene
            .create(job("work").set("/spec/managedBy", "example.com/x").ttl_seconds(0))
            .await;
        let pod = active(scene, 1).await.remove(0);
        end(scene, &pod, 0).await;
        scene.until("the end", has_ended).await;
        scene.quiet_for(Duration::from_secs(2)).await;
        let status = scene.look(|state| state.job("other").unwrap().at("/status").clone());
        assert_eq!(status, json!({}));
    });
}
