//! Jobs on a cluster with nodes: their pods start and end by themselves, as their commands say.

use std::time::Duration;

use serde_json::json;

use testkit::builders::{Job, Manifest as _, job};
use testkit::object::Stored;
use testkit::record::State;
use testkit::{Kind, Scene};

use crate::fleet::JOBS;
use crate::scenario;

/// An image that has a shell; simulated nodes do not need it.
const IMAGE: &str = "registry.k8s.io/e2e-test-images/busybox:1.36.1-1";

/// The finalizer of pods that have still to be counted.
const TRACKING: &str = "batch.kubernetes.io/job-tracking";

/// A Job whose pods run this.
pub(crate) fn running(name: &str, script: &str) -> Job {
    let container = json!({"name": "main", "image": IMAGE, "command": ["sh", "-c", script]});
    job(name)
        .set("/spec/template/spec/terminationGracePeriodSeconds", 1)
        .set("/spec/template/spec/containers", json!([container]))
}

/// Waits for the end of Job `work`; at the end no pod waits to be counted.
pub(crate) async fn ended(scene: &Scene) {
    let ended = |state: &State| {
        let work = state.job("work").unwrap();
        ["Complete", "Failed"]
            .iter()
            .any(|kind| work.says(kind).starts_with("True"))
    };
    scene
        .find_within(Duration::from_mins(3), "the end", |state| ended(state).then_some(()))
        .await;
    let waits = |state: &State| state.pods().iter().any(|pod| pod.has_finalizer(TRACKING));
    scene.until("no pod waits", |state| !waits(state)).await;
}

/// What Job `work` reports at its end: succeeded and failed pods.
pub(crate) fn counts(state: &State) -> [i64; 2] {
    let work = state.job("work").unwrap();
    for field in ["active", "ready", "terminating"] {
        assert_eq!(work.count(field), 0, "{field}");
    }
    ["succeeded", "failed"].map(|field| work.count(field))
}

fn conditions(state: &State) -> Vec<String> {
    state.job("work").map(Stored::true_conditions).unwrap_or_default()
}

/// Applies a manifest by kubectl, as its user does.
async fn apply(scene: &Scene, work: Job) {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("job.json");
    std::fs::write(&file, work.json().to_string()).expect("a file");
    let file = file.to_str().expect("a path in UTF-8");
    scene.kubectl(&["apply", "--filename", file]).await.printed();
    scene.until("it is there", |state| state.job("work").is_some()).await;
}

// proves: job/S-1, job/J-140, job/J-144, job/J-153, job/J-250, job/J-251, job/J-252
#[test]
fn a_job_whose_pod_exits_with_42_fails_at_once_and_kubectl_says_why() {
    scenario(JOBS, async |scene| {
        let work = running("work", "exit 42")
            .backoff_limit(4)
            .on_exit_codes("FailJob", "In", &[42]);
        apply(scene, work).await;
        let waited = ["wait", "--for=condition=failed", "--timeout=120s", "job/work"];
        assert_eq!(
            scene.kubectl(&waited).await.printed().trim(),
            "job.batch/work condition met"
        );
        ended(scene).await;
        let both = ["FailureTarget PodFailurePolicy", "Failed PodFailurePolicy"];
        assert_eq!(scene.look(conditions), both);
        assert_eq!(scene.look(counts), [0, 1]);
        let listed = ["get", "pods", "--selector=job-name=work", "--output=name"];
        assert_eq!(scene.kubectl(&listed).await.printed().lines().count(), 1);
        scene
            .until("the event", |state| {
                !state.events("work", "PodFailurePolicy").is_empty()
            })
            .await;
        let described = scene.kubectl(&["describe", "job", "work"]).await.printed();
        for words in [
            "0 Active (0 Ready) / 0 Succeeded / 1 Failed",
            "failed with exit code 42 matching FailJob rule at index 0",
        ] {
            assert!(described.contains(words), "{described}");
        }
    });
}

/// The same with a rule for each of three exit codes, each with a name.
fn with_named_rules(exit_code: u8) -> Job {
    running("work", &format!("exit {exit_code}"))
        .backoff_limit(4)
        .on_exit_codes("FailJob", "In", &[42])
        .on_exit_codes("FailJob", "In", &[43])
        .on_exit_codes("FailJob", "In", &[44, 45])
        .opt_in("job.rule-names", r#"{"0":"BadInput","1":"NoLicence","2":"DiskFull"}"#)
}

// proves: job/J-241, job/J-243
#[test]
fn rules_with_names_are_told_apart() {
    for (exit_code, rule, name) in [(42, 0, "BadInput"), (43, 1, "NoLicence"), (45, 2, "DiskFull")] {
        scenario(JOBS, async |scene| {
            apply(scene, with_named_rules(exit_code)).await;
            ended(scene).await;
            let reason = format!("PodFailurePolicy_{name}");
            let both = ["FailureTarget", "Failed"].map(|kind| format!("{kind} {reason}"));
            assert_eq!(scene.look(conditions), both);
            assert_eq!(scene.look(counts), [0, 1]);
            let message = scene.look(|state| {
                let failed = state.job("work").unwrap().condition("Failed").cloned();
                failed.unwrap()["message"].as_str().unwrap_or_default().to_owned()
            });
            let words = format!("exit code {exit_code} matching FailJob rule at index {rule}");
            assert!(message.ends_with(&words), "{message}");
            scene
                .until("the event", |state| !state.events("work", &reason).is_empty())
                .await;
        });
    }
}

// proves: job/S-9, job/TTL-5
#[test]
fn a_job_succeeds_and_goes_when_its_time_has_come() {
    scenario(JOBS, async |scene| {
        scene
            .create(running("work", "exit 0").completions(3).parallelism(2).ttl_seconds(5))
            .await;
        ended(scene).await;
        let both = ["SuccessCriteriaMet CompletionsReached", "Complete CompletionsReached"];
        assert_eq!(scene.look(conditions), both);
        assert_eq!(scene.look(counts), [3, 0]);
        scene
            .until("all is gone", |state| {
                state.job("work").is_none() && state.pods().is_empty()
            })
            .await;
    });
}

// proves: job/J-103, job/J-104
#[test]
fn indexed_work_goes_on_where_it_was_suspended() {
    scenario(JOBS, async |scene| {
        scene.create(running("work", "sleep 4").indexed(6).parallelism(3)).await;
        scene
            .until("the first are done", |state| {
                state.job("work").unwrap().count("succeeded") >= 3
            })
            .await;
        let suspend = |on: bool| json!({"spec": {"suspend": on}});
        scene.merge(Kind::JOB, "work", suspend(true)).await;
        scene
            .until("it is suspended", |state| {
                state.job("work").unwrap().says("Suspended") == "True JobSuspended" && state.active_pods().is_empty()
            })
            .await;
        let done = scene.look(|state| state.job("work").unwrap().count("succeeded"));
        assert!(done < 6, "nothing was left to do");
        scene.merge(Kind::JOB, "work", suspend(false)).await;
        ended(scene).await;
        assert_eq!(scene.look(counts), [6, 0]);
        let indexes = scene.look(|state| state.job("work").unwrap().text("/status/completedIndexes").to_owned());
        assert_eq!(indexes, "0-5");
    });
}

// proves: job/J-37, job/J-158
#[test]
fn a_pod_that_is_deleted_is_replaced() {
    scenario(JOBS, async |scene| {
        scene.create(running("work", "sleep 20")).await;
        let pod = scene
            .find("a running pod", |state| {
                let ready = state.active_pods().into_iter().find(|pod| pod.is_ready())?;
                Some(ready.name().to_owned())
            })
            .await;
        scene.delete(Kind::POD, &pod).await;
        ended(scene).await;
        assert_eq!(scene.look(counts), [1, 1]);
    });
}
