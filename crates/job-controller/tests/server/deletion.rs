//! What becomes of the pods of a Job that is deleted.

use serde_json::json;
use testkit::Kind;
use testkit::builders::job;
use testkit::record::State;

use crate::{PROGRAM, TRACKING, active, conditions, counts, end, ended_at, has_ended, made_after, ours_only, scenario};

/// Deletes a Job of two running pods in this way.
fn scenario_of(propagation: &'static str) {
    scenario(async |scene| {
        scene.create(job("work").parallelism(2).completions(2)).await;
        let pods = active(scene, 2).await;
        for pod in &pods {
            scene.kubelet().bind(pod, "main").await;
        }
        let options = json!({"propagationPolicy": propagation});
        scene.delete_with(Kind::JOB, "work", &options).await;
        scene
            .until("no pod waits to be counted", |state| {
                state.pods().iter().all(|pod| !pod.has_finalizer(TRACKING))
            })
            .await;
        if propagation == "Orphan" {
            scene
                .until("the Job is gone, its pods stay", |state| {
                    state.job("work").is_none() && state.active_pods().len() == 2
                })
                .await;
        } else {
            scene.kubelet().auto();
            scene
                .until("all is gone", |state| {
                    state.job("work").is_none() && state.pods().is_empty()
                })
                .await;
        }
    });
}

// proves: job/J-170, job/J-171, job/J-172, job/J-173
#[test]
fn pods_that_are_orphaned_run_on_without_the_finalizer() {
    scenario_of("Orphan");
}

// proves: job/J-172, job/J-173
#[test]
fn pods_of_a_job_that_is_gone_are_not_kept() {
    scenario_of("Background");
}

// proves: job/J-171
#[test]
fn pods_of_a_job_that_waits_for_them_are_not_kept() {
    scenario_of("Foreground");
}

// proves: job/J-112, job/J-175, job/S-39
#[test]
fn a_job_that_comes_again_under_its_name_waits_for_no_failure_of_its_predecessor() {
    scenario(async |scene| {
        scene.create(job("work").parallelism(3).completions(3)).await;
        let pods = active(scene, 3).await;
        for pod in &pods {
            end(scene, pod, 1).await;
        }
        scene.until("the failures count", |state| counts(state)[4] == 3).await;
        let failure = scene.look(|state| ended_at(state, &pods[2]));
        let background = json!({"propagationPolicy": "Background"});
        scene.delete_with(Kind::JOB, "work", &background).await;
        scene.create(job("work")).await;
        let pod = scene
            .find("a pod of the new one", |state| {
                let work = state.job("work")?;
                let pod = state.pods_of(work).into_iter().find(|pod| pod.is_active())?;
                Some(pod.name().to_owned())
            })
            .await;
        // Two failures in a row are waited for for 20 s, three for 40 s.
        let waited = scene.look(|state| made_after(state, &pod, failure));
        assert!(waited < 20, "{waited} s");
    });
}

// proves: job/J-31, job/J-40, job/J-151, job/S-8
#[test]
fn an_end_that_was_decided_is_carried_out_by_a_successor() {
    ours_only(async |scene| {
        let work = job("work")
            .parallelism(2)
            .completions(2)
            .on_exit_codes("FailJob", "In", &[42]);
        scene.create(work).await;
        let pods = active(scene, 2).await;
        scene.kubelet().bind(&pods[1], "main").await;
        end(scene, &pods[0], 42).await;
        scene
            .until("it is decided", |state| {
                conditions(state) == ["FailureTarget PodFailurePolicy"]
            })
            .await;
        let message =
            |state: &State, kind: &str| state.job("work").unwrap().condition(kind).unwrap()["message"].clone();
        let decided = scene.look(|state| message(state, "FailureTarget"));
        scene
            .until("it is counted", |state| {
                !state.get(Kind::POD, &pods[0]).unwrap().has_finalizer(TRACKING)
            })
            .await;
        scene.take_controller().unwrap().kill();
        scene.delete(Kind::POD, &pods[0]).await;
        scene
            .until("the failed pod is gone", |state| {
                state.get(Kind::POD, &pods[0]).is_none()
            })
            .await;
        let successor = scene.start(&PROGRAM, &["--leader-elect=false"]).await;
        scene.put_controller(successor);
        scene.kubelet().fail(&pods[1], 143).await;
        scene.until("the end", has_ended).await;
        assert_eq!(scene.look(|state| message(state, "Failed")), decided);
        assert_eq!(scene.look(counts), [0, 0, 0, 0, 2]);
    });
}
