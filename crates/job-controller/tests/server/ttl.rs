//! Jobs that go some time after their end.

use std::time::Duration;

use serde_json::json;
use testkit::builders::{Job, Manifest as _, job};
use testkit::record::State;
use testkit::{Kind, Scene};
use workload_core::time::{Clock as _, SystemClock, Timestamp, to_api};

use crate::{TRACKING, has_ended, scenario};

/// Creates this Job and lets it succeed. Returns when it ended.
async fn ended(scene: &Scene, work: Job) -> Timestamp {
    scene.kubelet().auto_exit(|_| Some(0));
    scene.create(work).await;
    scene.until("the end", has_ended).await;
    scene.look(|state| {
        let complete = state.job("work").unwrap().condition("Complete").unwrap();
        complete["lastTransitionTime"].as_str().unwrap().parse().unwrap()
    })
}

// proves: job/TTL-1, job/TTL-2, job/TTL-3, job/TTL-4, job/TTL-5, job/TTL-6, job/TTL-10, job/S-44
#[test]
fn a_finished_job_goes_when_its_time_has_come_and_not_before() {
    scenario(async |scene| {
        let end = ended(scene, job("work").ttl_seconds(4).finalizer("test/keep")).await;
        scene
            .until("it is deleted", |state| state.job("work").unwrap().is_terminating())
            .await;
        let now = SystemClock.now();
        let late = now.duration_since(end).as_secs_f64();
        assert!((4.0..60.0).contains(&late), "{late} s after its end");
        let is_foreground = |state: &State| {
            state
                .writes(Kind::JOB)
                .any(|write| write.object.has_finalizer("foregroundDeletion"))
        };
        assert!(scene.look(is_foreground));
        scene.until("its pods are gone", |state| state.pods().is_empty()).await;
        scene
            .holds_for(Duration::from_secs(1), "its user keeps it", |state| {
                state.job("work").is_some()
            })
            .await;
        if let Some(controller) = scene.controller() {
            let metrics = controller.metrics().await;
            let lateness = "ttl_after_finished_controller_job_deletion_duration_seconds_count";
            assert_eq!(metrics.count(lateness, &[]), 1);
        }
        let free = json!({"metadata": {"finalizers": null}});
        scene.api().merge(Kind::JOB, "work", &free).await.unwrap();
        scene.until("it is gone", |state| state.job("work").is_none()).await;
    });
}

// proves: job/TTL-4, job/TTL-8
#[test]
fn the_time_can_be_changed_while_it_runs_and_after_it() {
    scenario(async |scene| {
        ended(scene, job("work").ttl_seconds(8)).await;
        let ttl = |seconds: u32| json!({"spec": {"ttlSecondsAfterFinished": seconds}});
        scene.merge(Kind::JOB, "work", ttl(3600)).await;
        scene
            .holds_for(Duration::from_secs(10), "it stays", |state| {
                state.job("work").is_some_and(|work| !work.is_terminating())
            })
            .await;
        scene.merge(Kind::JOB, "work", ttl(0)).await;
        scene.until("it is gone", |state| state.job("work").is_none()).await;
    });
}

// proves: job/TTL-3, job/TTL-8, job/S-45
#[test]
fn a_time_of_nothing_that_comes_later_deletes_at_once() {
    scenario(async |scene| {
        ended(scene, job("work")).await;
        let ttl = json!({"spec": {"ttlSecondsAfterFinished": 0}});
        scene.api().merge(Kind::JOB, "work", &ttl).await.unwrap();
        scene
            .until("all is gone", |state| {
                state.job("work").is_none() && state.pods().is_empty()
            })
            .await;
    });
}

// proves: job/TTL-9
#[test]
fn a_job_of_another_controller_goes_too() {
    scenario(async |scene| {
        let work = job("work").ttl_seconds(0).set("/spec/managedBy", "example.com/x");
        scene.create(work).await;
        let now = to_api(SystemClock.now());
        let condition = |kind: &str| json!({"type": kind, "status": "True", "reason": "CompletionsReached", "lastTransitionTime": now, "lastProbeTime": now});
        let status = json!({
            "succeeded": 1, "startTime": now, "completionTime": now,
            "conditions": [condition("SuccessCriteriaMet"), condition("Complete")],
        });
        scene
            .api()
            .merge(Kind::JOB, "work/status", &json!({ "status": status }))
            .await
            .unwrap();
        scene.until("it is gone", |state| state.job("work").is_none()).await;
    });
}

// proves: job/J-172, job/J-173, field/FR-TT-02
#[test]
fn a_finished_job_goes_though_a_pod_of_it_has_the_finalizer() {
    scenario(async |scene| {
        ended(scene, job("work")).await;
        let pod = scene.look(|state| state.pods()[0].name().to_owned());
        let held = json!({"metadata": {"finalizers": [TRACKING]}});
        scene.merge(Kind::POD, &pod, held).await;
        let due = json!({"spec": {"ttlSecondsAfterFinished": 0}});
        scene.merge(Kind::JOB, "work", due).await;
        scene
            .until("it is gone, and its pod", |state| {
                state.job("work").is_none() && state.pods().is_empty()
            })
            .await;
    });
}
