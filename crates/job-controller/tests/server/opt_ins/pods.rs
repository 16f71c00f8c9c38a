//! Opt-ins about single pods: `job.ignored-failures-no-backoff`, `job.bad-image-after`, `job.start-deadline`.

use std::time::Duration;

use testkit::builders::{Job, Manifest as _, job};
use testkit::record::State;
use testkit::{Scene, names};

use crate::{active, conditions, counts, end, ended_at, has_ended, made_after, most_of_back_off, ours_only, scenario};

/// Longer than any time that is set here.
const LONGER: Duration = Duration::from_secs(7);

/// Lets the pod of a Job be disrupted, which its policy ignores.
async fn disrupted(scene: &Scene, work: Job) -> String {
    scene
        .create(work.backoff_limit(0).on_condition("Ignore", "DisruptionTarget"))
        .await;
    let pod = active(scene, 1).await.remove(0);
    scene.kubelet().bind(&pod, "main").await;
    scene.kubelet().disrupt(&pod).await;
    pod
}

fn another(state: &State, pod: &str) -> Option<String> {
    names(state.active_pods()).into_iter().find(|name| name != pod)
}

// proves: field/FR-JB-09
#[test]
fn an_ignored_failure_costs_no_time_if_so_wished() {
    ours_only(async |scene| {
        let work = job("work").opt_in("job.ignored-failures-no-backoff", "true");
        let pod = disrupted(scene, work).await;
        let next = scene.find("its replacement", |state| another(state, &pod)).await;
        let waited = scene.look(|state| made_after(state, &next, ended_at(state, &pod)));
        assert!(waited < 10, "{waited} s: as long as the first back-off");
        end(scene, &next, 0).await;
        scene.until("the end", has_ended).await;
        assert_eq!(scene.look(counts), [0, 0, 0, 1, 0]);
    });
}

// proves: job/J-111, job/J-143, field/FR-JB-09
#[test]
fn an_ignored_failure_is_waited_for_by_default() {
    scenario(async |scene| {
        let pod = disrupted(scene, job("work")).await;
        let failure = scene.look(|state| ended_at(state, &pod));
        scene
            .holds_for(most_of_back_off(failure), "nobody takes its place yet", |state| {
                another(state, &pod).is_none()
            })
            .await;
        let next = scene.find("its replacement", |state| another(state, &pod)).await;
        let waited = scene.look(|state| made_after(state, &next, failure));
        assert!(waited >= 10, "{waited} s");
        assert_eq!(scene.look(|state| counts(state)[4]), 0);
    });
}

/// A pod whose image cannot be pulled.
async fn without_image(scene: &Scene, work: Job) {
    scene.create(work.backoff_limit(0)).await;
    let pod = active(scene, 1).await.remove(0);
    scene.kubelet().waiting(&pod, "ImagePullBackOff").await;
}

// proves: job/L-2
#[test]
fn a_pod_without_image_fails_after_a_time_that_its_user_has_set() {
    ours_only(async |scene| {
        let work = job("work").opt_in("job.bad-image-after", "3s");
        without_image(scene, work).await;
        // Its kubelet ends it when it is asked to, and starts nothing.
        scene.kubelet().auto_for_image("none");
        scene.until("the end", has_ended).await;
        let both = ["FailureTarget BackoffLimitExceeded", "Failed BackoffLimitExceeded"];
        assert_eq!(scene.look(conditions), both);
        assert_eq!(scene.look(counts), [0, 0, 0, 0, 1]);
    });
}

// proves: job/L-2
#[test]
fn a_pod_without_image_waits_by_default() {
    scenario(async |scene| {
        without_image(scene, job("work")).await;
        scene
            .holds_for(LONGER, "it waits", |state| {
                counts(state)[4] == 0 && state.active_pods().len() == 1 && conditions(state).is_empty()
            })
            .await;
    });
}

// proves: job/L-2
#[test]
fn a_job_whose_pods_find_no_node_fails_after_a_time_that_its_user_has_set() {
    ours_only(async |scene| {
        let work = job("work").opt_in("job.start-deadline", "3s");
        scene.create(work.parallelism(2).completions(2)).await;
        scene.until("the end", has_ended).await;
        let both = ["FailureTarget DeadlineExceeded", "Failed DeadlineExceeded"];
        assert_eq!(scene.look(conditions), both);
    });
}

// proves: job/L-2
#[test]
fn a_job_that_has_begun_in_time_goes_on() {
    ours_only(async |scene| {
        let work = job("work").opt_in("job.start-deadline", "6s");
        scene.create(work.parallelism(2).completions(2)).await;
        let pods = active(scene, 2).await;
        scene.kubelet().ready(&pods[0]).await;
        scene
            .holds_for(LONGER, "it goes on", |state| conditions(state).is_empty())
            .await;
        for pod in &pods {
            end(scene, pod, 0).await;
        }
        scene.until("the end", has_ended).await;
        assert_eq!(scene.look(counts), [0, 0, 0, 2, 0]);
    });
}

// proves: job/J-130, job/L-2
#[test]
fn a_job_whose_pods_find_no_node_waits_by_default() {
    scenario(async |scene| {
        scene.create(job("work").parallelism(2).completions(2)).await;
        active(scene, 2).await;
        scene
            .holds_for(LONGER, "it waits", |state| {
                state.active_pods().len() == 2 && conditions(state).is_empty()
            })
            .await;
    });
}
