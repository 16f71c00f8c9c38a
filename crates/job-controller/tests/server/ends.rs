//! The ways in which a Job comes to its end.

use testkit::builders::job;

use crate::{TRACKING, active, conditions, counts, has_ended, scenario, status_writes};

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
