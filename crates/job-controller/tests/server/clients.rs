//! What kubectl makes of Jobs.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::builders::{Manifest as _, job};

use crate::{active, end, has_ended, scenario};

/// The columns STATUS and COMPLETIONS of `kubectl get job work`.
async fn printed(scene: &testkit::Scene) -> String {
    let args = ["get", "job", "work", "--no-headers"];
    let line = scene.kubectl(&args).await.printed();
    let words: Vec<&str> = line.split_whitespace().collect();
    format!("{} {}", words[1], words[2])
}

// proves: job/J-250, job/J-251, job/J-252
#[test]
fn kubectl_shows_a_job_on_its_way_and_at_its_end() {
    scenario(async |scene| {
        scene.create(job("work").suspended()).await;
        scene
            .until("it is suspended", |state| {
                state.job("work").unwrap().says("Suspended") == "True JobSuspended"
            })
            .await;
        assert_eq!(printed(scene).await, "Suspended 0/1");
        let resume = ["patch", "job", "work", "--patch", r#"{"spec":{"suspend":false}}"#];
        scene.kubectl(&resume).await.printed();
        let pod = active(scene, 1).await.remove(0);
        assert_eq!(printed(scene).await, "Running 0/1");
        let listed = ["get", "pods", "--selector=job-name=work", "--output=name"];
        assert_eq!(scene.kubectl(&listed).await.printed().trim(), format!("pod/{pod}"));
        end(scene, &pod, 0).await;
        scene.until("the end", has_ended).await;
        assert_eq!(printed(scene).await, "Complete 1/1");
        scene
            .until("the event", |state| !state.events("work", "Completed").is_empty())
            .await;
        let described = scene.kubectl(&["describe", "job", "work"]).await.printed();
        let told = |words: &str| described.lines().any(|line| line.contains(words));
        assert!(told("0 Active (0 Ready) / 1 Succeeded / 0 Failed"), "{described}");
        scene
            .kubectl(&["delete", "job", "work", "--wait=false"])
            .await
            .printed();
        scene
            .until("all is gone", |state| {
                state.job("work").is_none() && state.pods().is_empty()
            })
            .await;
    });
}

// proves: job/J-156
#[test]
fn a_job_that_has_ended_is_not_looked_at_any_more() {
    scenario(async |scene| {
        scene.create(job("work").parallelism(1)).await;
        let pod = active(scene, 1).await.remove(0);
        end(scene, &pod, 0).await;
        scene.until("the end", has_ended).await;
        scene
            .merge(testkit::Kind::JOB, "work", json!({"spec": {"parallelism": 3}}))
            .await;
        scene.quiet_for(Duration::from_secs(2)).await;
        assert_eq!(scene.look(|state| state.pods().len()), 1);
    });
}

// proves: field/FR-JB-06
#[test]
fn a_sidecar_does_not_keep_a_job_from_its_end() {
    scenario(async |scene| {
        let sidecar: Value = json!([{"name": "mesh", "image": "b", "restartPolicy": "Always"}]);
        scene
            .create(job("work").set("/spec/template/spec/initContainers", sidecar))
            .await;
        let pod = active(scene, 1).await.remove(0);
        end(scene, &pod, 0).await;
        scene.until("the end", has_ended).await;
    });
}
