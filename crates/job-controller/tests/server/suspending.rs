//! Jobs that wait.

use serde_json::json;
use testkit::Kind;
use testkit::builders::job;

use crate::{active, conditions, counts, has_ended, scenario};

// proves: job/J-100, job/J-103, job/J-104
#[test]
fn a_suspended_job_lets_its_pods_go_and_a_resumed_one_makes_new_ones() {
    scenario(async |scene| {
        scene.create(job("work").parallelism(2).completions(2)).await;
        let first = active(scene, 2).await;
        for pod in &first {
            scene.kubelet().bind(pod, "main").await;
        }
        scene.merge(Kind::JOB, "work", json!({"spec": {"suspend": true}})).await;
        let says = |state: &testkit::record::State| state.job("work").unwrap().says("Suspended");
        scene
            .until("it is suspended", |state| says(state) == "True JobSuspended")
            .await;
        let at_once = scene.look(|state| {
            let suspended = |write: &&testkit::record::Version| write.object.says("Suspended") == "True JobSuspended";
            state.writes(Kind::JOB).find(suspended).unwrap().object.clone()
        });
        assert_eq!((at_once.count("active"), at_once.count("failed")), (0, 0));
        assert_eq!(at_once.count("terminating"), 2);
        assert!(at_once.at("/status/startTime").is_null());
        for pod in &first {
            scene.kubelet().end(pod).await;
        }
        scene
            .until("its pods are gone", |state| counts(state) == [0, 0, 0, 0, 0])
            .await;
        scene
            .merge(Kind::JOB, "work", json!({"spec": {"suspend": false}}))
            .await;
        active(scene, 2).await;
        scene
            .until("it is resumed", |state| says(state) == "False JobResumed")
            .await;
        assert!(scene.look(|state| !state.job("work").unwrap().at("/status/startTime").is_null()));
        for reason in ["Suspended", "Resumed"] {
            scene
                .until(reason, |state| !state.events("work", reason).is_empty())
                .await;
        }
    });
}

// proves: job/J-105
#[test]
fn a_suspended_job_that_has_nothing_to_do_is_complete() {
    scenario(async |scene| {
        scene.create(job("work").completions(0).suspended()).await;
        scene.until("the end", has_ended).await;
        let both = ["SuccessCriteriaMet CompletionsReached", "Complete CompletionsReached"];
        assert_eq!(scene.look(conditions), both);
        assert!(scene.look(|state| state.job("work").unwrap().at("/status/startTime").is_null()));
    });
}
