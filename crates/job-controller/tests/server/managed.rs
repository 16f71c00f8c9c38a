//! Jobs of other controllers.

use std::time::Duration;

use serde_json::json;
use testkit::builders::{Manifest as _, job, pod};
use testkit::controller::Controller;
use testkit::record::State;
use testkit::{Kind, Program, Scene, beside_upstream, scenario_with};

use crate::{PROGRAM, TRACKING, active, end, has_ended, scenario};

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
async fn active_of_other(scene: &Scene) {
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

/// The instances for the Jobs of two names, each with the rights that a release of its own grants.
const INSTANCES: [(Program, &str); 2] = [
    (
        PROGRAM.released_as("jobs-of-a", &["args.managedBy=example.com/a"]),
        "example.com/a",
    ),
    (
        PROGRAM.released_as("jobs-of-b", &["args.managedBy=example.com/b"]),
        "example.com/b",
    ),
];

/// Starts the instance for the Jobs of one name. It stands for election.
async fn serve(scene: &Scene, at: usize) -> Controller {
    let (program, name) = &INSTANCES[at];
    scene.start(program, &[&format!("--managed-by={name}")]).await
}

/// Creates a Job that this controller is to serve.
async fn create_for(scene: &Scene, job_name: &str, manager: &str) {
    scene.create(job(job_name).set("/spec/managedBy", manager)).await;
}

fn active_of(state: &State, job_name: &str) -> i64 {
    state.job(job_name).unwrap().count("active")
}

/// How many pods an instance has made.
async fn made_by(instance: &Controller) -> u64 {
    let metrics = instance.metrics().await;
    metrics.count("job_controller_job_pods_creation_total", &[("status", "succeeded")])
}

// proves: job/J-160, job/J-161
#[test]
fn two_instances_beside_upstream_serve_each_its_own_jobs() {
    beside_upstream(async |scene| {
        let a = serve(scene, 0).await;
        let b = serve(scene, 1).await;
        let built_in = "kubernetes.io/job-controller";
        for (name, manager) in [
            ("of-a", INSTANCES[0].1),
            ("of-b", INSTANCES[1].1),
            ("of-nobody", "example.com/c"),
            ("of-upstream", built_in),
        ] {
            create_for(scene, name, manager).await;
        }
        scene.create(job("plain")).await;
        let served = ["of-a", "of-b", "of-upstream", "plain"];
        scene
            .until("each has its pod", |state| {
                served.iter().all(|name| active_of(state, name) == 1)
            })
            .await;
        scene.quiet_for(Duration::from_secs(2)).await;
        assert_eq!(scene.look(|state| state.pods().len()), 4);
        assert_eq!((made_by(&a).await, made_by(&b).await), (1, 1));

        // Neither does the work of the other one.
        a.kill();
        create_for(scene, "of-a-too", INSTANCES[0].1).await;
        create_for(scene, "of-b-too", INSTANCES[1].1).await;
        scene
            .until("the other one works on", |state| active_of(state, "of-b-too") == 1)
            .await;
        scene.quiet_for(Duration::from_secs(3)).await;
        assert_eq!(scene.look(|state| active_of(state, "of-a-too")), 0);

        let a = serve(scene, 0).await;
        scene
            .until("a successor takes over", |state| active_of(state, "of-a-too") == 1)
            .await;
        scene.kubelet().auto_exit(|_| Some(0));
        let complete = |state: &State, name: &str| state.job(name).unwrap().says("Complete").starts_with("True");
        let all = ["of-a", "of-a-too", "of-b", "of-b-too", "of-upstream", "plain"];
        scene
            .until("all are complete", |state| all.iter().all(|name| complete(state, name)))
            .await;
        assert_eq!(scene.look(|state| state.pods().len()), all.len());
        assert!(scene.look(|state| state.pods().iter().all(|pod| !pod.has_finalizer(TRACKING))));
        assert_eq!((made_by(&a).await, made_by(&b).await), (1, 2));
        for instance in [a, b] {
            assert!(instance.stop().await.success());
        }
    });
}

// proves: job/J-172, job/J-160
#[test]
fn a_pod_whose_job_is_missing_is_left_to_upstream() {
    scenario_with(&PROGRAM, &["--managed-by=example.com/x"], async |scene| {
        let orphan = pod("orphan").finalizer(TRACKING);
        scene.create(orphan).await;
        create_for(scene, "work", "example.com/x").await;
        scene
            .until("the Job is served", |state| active_of(state, "work") == 1)
            .await;
        scene.quiet_for(Duration::from_secs(2)).await;
        assert!(scene.look(|state| state.get(Kind::POD, "orphan").unwrap().has_finalizer(TRACKING)));
    });
}
