//! The ways in which a Job comes to its end.

use serde_json::json;
use testkit::Kind;
use testkit::builders::{Manifest as _, job};

use crate::{
    TRACKING, active, conditions, counts, end, end_index, ended_at, has_ended, made_after, most_of_back_off, ours_only,
    scenario, status_writes, until_indexes,
};

// proves: job/J-31, job/J-40, job/J-130, job/J-150, job/J-250, job/J-232
#[test]
fn an_exit_code_that_the_failure_policy_names_ends_the_job_without_another_try() {
    scenario(async |scene| {
        let work = job("work").backoff_limit(4).on_exit_codes("FailJob", "In", &[42]);
        scene.create(work).await;
        let pod = active(scene, 1).await.remove(0);
        scene.kubelet().ready(&pod).await;
        scene.kubelet().fail(&pod, 42).await;
        scene.until("the end", has_ended).await;
        let both = ["FailureTarget PodFailurePolicy", "Failed PodFailurePolicy"];
        assert_eq!(scene.look(conditions), both);
        assert_eq!(scene.look(counts), [0, 0, 0, 0, 1]);
        let failed = scene.look(|state| state.job("work").unwrap().condition("Failed").unwrap().clone());
        let message = failed["message"].as_str().unwrap();
        let words = "failed with exit code 42 matching FailJob rule at index 0";
        assert!(message.ends_with(words), "{message}");
        assert!(scene.look(|state| state.job("work").unwrap().at("/status/completionTime").is_null()));
        let writes = scene.look(status_writes);
        assert!((3..=4).contains(&writes), "{writes} status writes");
        let pods = scene.look(|state| state.pods().into_iter().cloned().collect::<Vec<_>>());
        assert_eq!(pods.len(), 1, "{pods:?}");
        assert!(!pods[0].has_finalizer(TRACKING));
        scene
            .until("the event", |state| {
                let events = state.events("work", "PodFailurePolicy");
                events.iter().any(|event| event.text("/type") == "Warning")
            })
            .await;
        let waited = ["wait", "--for=condition=failed", "--timeout=10s", "job/work"];
        scene.kubectl(&waited).await.printed();
    });
}

// proves: job/J-35, job/J-40, job/J-44, job/J-150, job/J-153, job/J-232
#[test]
fn a_pod_that_succeeds_completes_its_job() {
    scenario(async |scene| {
        scene.create(job("work")).await;
        let pod = active(scene, 1).await.remove(0);
        assert!(scene.look(|state| state.pods()[0].has_finalizer(TRACKING)));
        scene.kubelet().bind(&pod, "main").await;
        scene.kubelet().succeed(&pod).await;
        scene.until("the end", has_ended).await;
        let both = ["SuccessCriteriaMet CompletionsReached", "Complete CompletionsReached"];
        assert_eq!(scene.look(conditions), both);
        assert_eq!(scene.look(counts), [0, 0, 0, 1, 0]);
        assert!(scene.look(|state| !state.job("work").unwrap().at("/status/completionTime").is_null()));
        assert!(scene.look(|state| !state.pods()[0].has_finalizer(TRACKING)));
        assert_eq!(scene.look(status_writes), 3);
        scene
            .until("the event", |state| !state.events("work", "Completed").is_empty())
            .await;
        let waited = ["wait", "--for=condition=complete", "--timeout=10s", "job/work"];
        scene.kubectl(&waited).await.printed();
    });
}

// proves: job/J-110, job/J-111, job/J-113, job/J-120
#[test]
fn a_pod_that_fails_is_replaced_after_ten_seconds() {
    scenario(async |scene| {
        let work = job("work").backoff_limit(4).on_exit_codes("FailJob", "In", &[42]);
        scene.create(work).await;
        let pod = active(scene, 1).await.remove(0);
        end(scene, &pod, 1).await;
        scene
            .until("the failure counts", |state| counts(state) == [0, 0, 0, 0, 1])
            .await;
        let failure = scene.look(|state| ended_at(state, &pod));
        scene
            .holds_for(most_of_back_off(failure), "nobody takes its place yet", |state| {
                state.pods().len() == 1
            })
            .await;
        let next = active(scene, 1).await.remove(0);
        assert_eq!(scene.look(|state| state.pods().len()), 2);
        let waited = scene.look(|state| made_after(state, &next, failure));
        // A second failure would be waited for for 20 s.
        assert!((10..20).contains(&waited), "{waited} s");
    });
}

// proves: job/J-31, job/J-130, job/J-131, job/J-150
#[test]
fn a_job_that_runs_for_too_long_fails() {
    scenario(async |scene| {
        scene.kubelet().auto();
        scene.create(job("work").deadline_seconds(4)).await;
        let pod = active(scene, 1).await.remove(0);
        scene.until("the end", has_ended).await;
        let both = ["FailureTarget DeadlineExceeded", "Failed DeadlineExceeded"];
        assert_eq!(scene.look(conditions), both);
        assert_eq!(scene.look(counts), [0, 0, 0, 0, 1]);
        scene
            .until("its pod is gone", |state| state.get(Kind::POD, &pod).is_none())
            .await;
    });
}

// proves: job/J-130
#[test]
fn a_job_with_the_longest_deadline_runs_as_any_other() {
    // Upstream's sum of seconds wraps: there such a Job fails at once.
    ours_only(async |scene| {
        scene
            .create(job("work").set("/spec/activeDeadlineSeconds", i64::MAX))
            .await;
        let pod = active(scene, 1).await.remove(0);
        end(scene, &pod, 0).await;
        scene.until("the end", has_ended).await;
        let both = ["SuccessCriteriaMet CompletionsReached", "Complete CompletionsReached"];
        assert_eq!(scene.look(conditions), both);
        assert_eq!(scene.look(counts), [0, 0, 0, 1, 0]);
    });
}

// proves: job/J-31, job/J-148, job/J-149, job/J-150
#[test]
fn the_success_policy_ends_a_job_before_all_indexes_are_done() {
    scenario(async |scene| {
        scene.kubelet().auto();
        let rules = json!({"rules": [{"succeededIndexes": "0"}]});
        let work = job("work").indexed(5).parallelism(5).set("/spec/successPolicy", rules);
        scene.create(work).await;
        active(scene, 5).await;
        end_index(scene, 0, 0).await;
        scene.until("the end", has_ended).await;
        let both = ["SuccessCriteriaMet SuccessPolicy", "Complete SuccessPolicy"];
        assert_eq!(scene.look(conditions), both);
        assert_eq!(scene.look(counts), [0, 0, 0, 1, 0]);
        until_indexes(scene, "0", "").await;
        scene
            .until("the others are gone", |state| state.pods().len() == 1)
            .await;
    });
}
