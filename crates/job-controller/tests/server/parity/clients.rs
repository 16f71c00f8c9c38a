//! What kubectl prints of Jobs.

use testkit::Scene;
use testkit::builders::{Manifest as _, job};
use testkit::parity::{Lines, Transcript, kubectl_parity};

use super::{REST, end_first, has_begun};
use crate::PROGRAM;

// proves: job/J-251, job/J-252
#[test]
fn kubectl_prints_the_same_of_a_job() {
    kubectl_parity(&PROGRAM, &async |scene: &Scene, transcript: &mut Transcript| {
        let created = ["create", "job", "work", "--image=a"];
        transcript.run(scene, &created).await;
        scene.until("somebody has looked at it", has_begun).await;
        scene.until_quiet_for(REST).await;
        for args in [&["get", "job", "work"][..], &["describe", "job", "work"]] {
            transcript.run(scene, args).await;
        }
        end_first(scene, 0).await;
        scene
            .until("the event", |state| !state.events("work", "Completed").is_empty())
            .await;
        for args in [
            &["get", "job", "work", "--output=wide"][..],
            &["describe", "job", "work"],
            &["wait", "--for=condition=complete", "--timeout=5s", "job/work"],
        ] {
            transcript.run(scene, args).await;
        }
        transcript
            .run_as(scene, Lines::AnyOrder, &["get", "pods", "--selector=job-name=work"])
            .await;
    });
}

// proves: job/J-144, job/J-250, job/J-251
#[test]
fn kubectl_prints_the_same_of_a_job_that_its_failure_policy_has_ended() {
    kubectl_parity(&PROGRAM, &async |scene: &Scene, transcript: &mut Transcript| {
        let work = job("work").backoff_limit(4).on_exit_codes("FailJob", "In", &[42]);
        scene.create(work.set("/spec/completions", 1)).await;
        scene.until("somebody has looked at it", has_begun).await;
        scene.until_quiet_for(REST).await;
        end_first(scene, 42).await;
        scene
            .until("the event", |state| {
                !state.events("work", "PodFailurePolicy").is_empty()
            })
            .await;
        for args in [
            &["wait", "--for=condition=failed", "--timeout=5s", "job/work"][..],
            &["get", "job", "work"],
            &["describe", "job", "work"],
        ] {
            transcript.run(scene, args).await;
        }
        transcript
            .run_as(scene, Lines::AnyOrder, &["get", "pods", "--selector=job-name=work"])
            .await;
    });
}
