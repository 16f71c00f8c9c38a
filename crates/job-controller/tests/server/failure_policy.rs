//! What the failure of a pod means.

use testkit::builders::{Manifest as _, job};

use crate::{active, conditions, counts, end, has_ended, ours_only, scenario};

// proves: job/J-241, job/J-243, job/J-213
#[test]
fn a_rule_that_has_a_name_is_told_by_it() {
    ours_only(async |scene| {
        let work = job("work")
            .backoff_limit(4)
            .on_exit_codes("FailJob", "In", &[42])
            .opt_in("job.rule-names", r#"{"0":"ExitCode42"}"#);
        scene.create(work).await;
        let pod = active(scene, 1).await.remove(0);
        end(scene, &pod, 42).await;
        scene.until("the end", has_ended).await;
        let both = [
            "FailureTarget PodFailurePolicy_ExitCode42",
            "Failed PodFailurePolicy_ExitCode42",
        ];
        assert_eq!(scene.look(conditions), both);
        let metrics = scene.controller().unwrap().metrics().await;
        let plain = [("result", "failed"), ("reason", "PodFailurePolicy")];
        assert_eq!(metrics.count("job_controller_jobs_finished_total", &plain), 1);
    });
}

// proves: job/J-140, job/J-142, job/J-143, job/J-211
#[test]
fn a_disruption_that_is_ignored_does_not_count_and_its_pod_is_replaced() {
    scenario(async |scene| {
        let work = job("work").backoff_limit(0).on_condition("Ignore", "DisruptionTarget");
        scene.create(work).await;
        let pod = active(scene, 1).await.remove(0);
        scene.kubelet().bind(&pod, "main").await;
        scene.kubelet().disrupt(&pod).await;
        let next = scene
            .find("its replacement", |state| {
                let pods = testkit::names(state.active_pods());
                pods.into_iter().find(|name| *name != pod)
            })
            .await;
        assert_eq!(scene.look(|state| counts(state)[4]), 0);
        end(scene, &next, 0).await;
        scene.until("the end", has_ended).await;
        assert_eq!(scene.look(counts), [0, 0, 0, 1, 0]);
        if let Some(controller) = scene.controller() {
            let metrics = controller.metrics().await;
            let handled = "job_controller_pod_failures_handled_by_failure_policy_total";
            assert_eq!(metrics.count(handled, &[("action", "Ignore")]), 1);
        }
    });
}
