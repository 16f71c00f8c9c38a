//! The same script played by us and by kube-controller-manager, and what came of it compared.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::builders::{Job, Manifest as _, job};
use testkit::parity::{Lines, Pace, Transcript, kubectl_parity};
use testkit::record::State;
use testkit::{Kind, Scene, names};

use crate::{PROGRAM, TRACKING, counts, end, pod_of_index};

/// Longer than anybody gathers changes.
const REST: Duration = Duration::from_secs(2);

#[allow(clippy::needless_pass_by_value, reason = "a script is written in place")]
fn parity(script: impl AsyncFn(&Scene)) {
    testkit::parity::parity(&PROGRAM, Pace::Stepwise, &script);
}

/// Creates a Job and waits until it runs, or waits to, and nothing is left to do.
async fn make(scene: &Scene, work: Job) {
    scene.create(work).await;
    scene.until("somebody has looked at it", has_begun).await;
    scene.until_quiet_for(REST).await;
}

fn has_begun(state: &State) -> bool {
    counts(state)[0] > 0
        || state
            .job("work")
            .is_some_and(|work| work.says("Suspended").starts_with("True"))
}

/// Changes the spec, and waits until so many pods are active and nothing is left to do.
async fn change(scene: &Scene, spec: Value, active: i64) {
    scene.merge(Kind::JOB, "work", json!({ "spec": spec })).await;
    scene
        .until(&format!("{active} active pods"), |state| counts(state)[0] == active)
        .await;
    scene.until_quiet_for(REST).await;
}

/// Ends the oldest active pod, and waits until it is counted and nothing is left to do.
async fn end_first(scene: &Scene, exit_code: u8) {
    let pod = scene.look(|state| names(state.active_pods()).remove(0));
    end_and_rest(scene, &pod, exit_code).await;
}

/// As [`end_first`], the active pod of an index.
async fn end_of(scene: &Scene, index: u32, exit_code: u8) {
    let pod = scene
        .look(|state| pod_of_index(state, index))
        .expect("a pod of that index");
    end_and_rest(scene, &pod, exit_code).await;
}

async fn end_and_rest(scene: &Scene, pod: &str, exit_code: u8) {
    end(scene, pod, exit_code).await;
    until_counted(scene, &[pod.to_owned()]).await;
}

async fn until_counted(scene: &Scene, pods: &[String]) {
    let waits = |state: &State, pod: &String| state.get(Kind::POD, pod).is_some_and(|pod| pod.has_finalizer(TRACKING));
    scene
        .until("none waits to be counted", |state| {
            !pods.iter().any(|pod| waits(state, pod))
        })
        .await;
    scene.until_quiet_for(REST).await;
}

/// Ends all pods that were asked to go, step by step: who is faster, a kubelet or whoever counts, decides about writes.
async fn end_terminating(scene: &Scene) {
    let going = scene.look(|state| names(state.pods().into_iter().filter(|pod| pod.is_terminating())));
    for pod in &going {
        scene.kubelet().fail(pod, 143).await;
    }
    until_counted(scene, &going).await;
    for pod in &going {
        scene.kubelet().end(pod).await;
    }
    scene.until_quiet_for(REST).await;
}

/// Binds all pods: one that has no node goes at once.
async fn bind_all(scene: &Scene) {
    for pod in scene.look(|state| names(state.active_pods())) {
        scene.kubelet().ready(&pod).await;
    }
    scene.until_quiet_for(REST).await;
}

// proves: job/J-65, job/J-66, job/J-157, job/J-232
#[test]
fn a_job_of_one_pod() {
    parity(async |scene| {
        make(scene, job("work").label("team", "a").annotation("note", "1")).await;
        let pod = scene.look(|state| state.pods()[0].name().to_owned());
        scene.kubelet().ready(&pod).await;
        scene.until_quiet_for(REST).await;
        end_first(scene, 0).await;
    });
}

// proves: job/J-65
#[test]
fn pods_of_a_template_in_which_everything_is_set() {
    parity(async |scene| {
        let mut template = job("work").json()["spec"]["template"].clone();
        template["metadata"] = json!({
            "labels": {"app": "work"}, "annotations": {"note": "1"}, "finalizers": ["test/keep"], "name": "dropped",
        });
        let container = &mut template["spec"]["containers"][0];
        container["env"] = json!([{"name": "A", "value": "1"}]);
        container["resources"] = json!({"requests": {"cpu": "10m"}});
        template["spec"]["initContainers"] = json!([{"name": "first", "image": "b"}]);
        template["spec"]["hostname"] = "host".into();
        for (name, work) in [
            ("plain", job("plain")),
            ("parts", job("parts").indexed(2).parallelism(2)),
        ] {
            scene.create(work.set("/spec/template", template.clone())).await;
            scene
                .until(name, |state| state.job(name).is_some_and(|job| job.count("active") > 0))
                .await;
        }
    });
}

// proves: job/J-144, job/J-150, job/J-152, job/J-153
#[test]
fn a_job_that_its_failure_policy_ends_while_others_run() {
    parity(async |scene| {
        let work = job("work")
            .parallelism(3)
            .completions(3)
            .on_exit_codes("FailJob", "In", &[42]);
        make(scene, work).await;
        bind_all(scene).await;
        end_first(scene, 42).await;
        end_terminating(scene).await;
    });
}

// proves: job/J-120, job/J-150
#[test]
fn a_job_with_too_many_failures() {
    parity(async |scene| {
        make(scene, job("work").backoff_limit(0)).await;
        end_first(scene, 1).await;
    });
}

// proves: job/J-70, job/J-74, job/J-75
#[test]
fn indexes_that_are_done_one_by_one_and_a_job_that_is_scaled() {
    parity(async |scene| {
        make(scene, job("work").indexed(4).parallelism(4)).await;
        end_of(scene, 1, 0).await;
        end_of(scene, 3, 0).await;
        change(scene, json!({"completions": 3, "parallelism": 3}), 2).await;
        end_of(scene, 0, 0).await;
        end_of(scene, 2, 0).await;
    });
}

// proves: job/J-123, job/J-124
#[test]
fn indexes_that_fail_by_themselves() {
    parity(async |scene| {
        make(scene, job("work").indexed(3).parallelism(3).backoff_limit_per_index(0)).await;
        end_of(scene, 1, 1).await;
        end_of(scene, 0, 0).await;
        end_of(scene, 2, 0).await;
    });
}

// proves: job/J-148, job/J-149
#[test]
fn a_success_policy_that_is_met() {
    parity(async |scene| {
        let rules = json!({"rules": [{"succeededIndexes": "0-1", "succeededCount": 1}]});
        make(
            scene,
            job("work").indexed(3).parallelism(3).set("/spec/successPolicy", rules),
        )
        .await;
        bind_all(scene).await;
        end_of(scene, 1, 0).await;
        end_terminating(scene).await;
    });
}

// proves: job/J-100, job/J-102, job/J-103
#[test]
fn a_job_that_is_suspended_and_resumed() {
    parity(async |scene| {
        make(scene, job("work").parallelism(2).completions(2).suspended()).await;
        change(scene, json!({"suspend": false}), 2).await;
        bind_all(scene).await;
        change(scene, json!({"suspend": true}), 0).await;
        end_terminating(scene).await;
        change(scene, json!({"suspend": false}), 2).await;
    });
}

// proves: job/J-91, job/J-92
#[test]
fn parallelism_that_falls_to_nothing_and_comes_back() {
    parity(async |scene| {
        make(scene, job("work").parallelism(3).completions(5)).await;
        bind_all(scene).await;
        for parallelism in [1, 0, 2] {
            change(scene, json!({"parallelism": parallelism}), parallelism).await;
            end_terminating(scene).await;
        }
    });
}

// proves: job/J-80, job/J-81
#[test]
fn a_queue_of_work() {
    parity(async |scene| {
        make(scene, job("work").parallelism(3)).await;
        end_first(scene, 0).await;
        change(scene, json!({"parallelism": 5}), 2).await;
        end_first(scene, 0).await;
        end_first(scene, 0).await;
    });
}

// proves: job/J-170, job/J-172
#[test]
fn a_job_that_is_deleted_without_its_pods() {
    parity(async |scene| {
        make(scene, job("work").parallelism(2).completions(2)).await;
        let orphan = json!({"propagationPolicy": "Orphan"});
        let pods = scene.look(|state| names(state.pods()));
        scene.delete_with(Kind::JOB, "work", &orphan).await;
        until_counted(scene, &pods).await;
    });
}

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
