//! Opt-in `job.rule-names`.

use serde_json::json;
use testkit::builders::{Job, Manifest as _, job};
use testkit::record::State;
use testkit::{Kind, Scene};
use workload_core::opt_in::PREFIX;

use crate::{active, conditions, end, has_ended, ours_only, scenario};

/// Rules for three sorts of failure; two of them have names.
const NAMES: &str = r#"{"0":"BadInput","2":"DiskFull"}"#;

fn three_rules() -> Job {
    job("work")
        .backoff_limit(4)
        .on_exit_codes("FailJob", "In", &[42])
        .on_exit_codes("FailJob", "In", &[43])
        .on_exit_codes("FailJob", "In", &[44, 45])
}

/// Lets the pod end so, and returns the conditions and the message of the last one.
async fn ended(scene: &Scene, work: Job, exit_code: u8) -> (Vec<String>, String) {
    scene.create(work).await;
    let pod = active(scene, 1).await.remove(0);
    end(scene, &pod, exit_code).await;
    scene.until("the end", has_ended).await;
    scene.look(|state| {
        let failed = state.job("work").unwrap().condition("Failed").unwrap();
        (conditions(state), failed["message"].as_str().unwrap().to_owned())
    })
}

// proves: job/J-241, job/J-242, job/J-243
#[test]
fn three_rules_are_told_apart_by_name_or_number() {
    for (exit_code, reason, rule) in [(42, "BadInput", 0), (43, "1", 1), (45, "DiskFull", 2)] {
        ours_only(async |scene| {
            let (said, message) = ended(scene, three_rules().opt_in("job.rule-names", NAMES), exit_code).await;
            let reason = format!("PodFailurePolicy_{reason}");
            assert_eq!(said, ["FailureTarget", "Failed"].map(|kind| format!("{kind} {reason}")));
            let words = format!("exit code {exit_code} matching FailJob rule at index {rule}");
            assert!(message.ends_with(&words), "{message}");
            scene
                .until("the event", |state| !state.events("work", &reason).is_empty())
                .await;
        });
    }
}

// proves: job/J-242
#[test]
fn without_names_all_rules_have_one_reason() {
    for (exit_code, rule) in [(42, 0), (43, 1), (45, 2)] {
        scenario(async |scene| {
            let (said, message) = ended(scene, three_rules(), exit_code).await;
            assert_eq!(said, ["FailureTarget PodFailurePolicy", "Failed PodFailurePolicy"]);
            let words = format!("exit code {exit_code} matching FailJob rule at index {rule}");
            assert!(message.ends_with(&words), "{message}");
        });
    }
}

// proves: job/J-243, job/S-4
#[test]
fn a_name_that_goes_after_the_decision_changes_nothing() {
    ours_only(async |scene| {
        let work = three_rules().parallelism(2).completions(2);
        scene.create(work.opt_in("job.rule-names", NAMES)).await;
        let pods = active(scene, 2).await;
        scene.kubelet().bind(&pods[1], "main").await;
        end(scene, &pods[0], 42).await;
        let decided = |state: &State| conditions(state) == ["FailureTarget PodFailurePolicy_BadInput"];
        scene.until("it is decided", decided).await;
        let without = json!({format!("{PREFIX}job.rule-names"): null});
        scene
            .merge(Kind::JOB, "work", json!({"metadata": {"annotations": without}}))
            .await;
        scene.kubelet().fail(&pods[1], 143).await;
        scene.until("the end", has_ended).await;
        let both = ["FailureTarget", "Failed"].map(|kind| format!("{kind} PodFailurePolicy_BadInput"));
        assert_eq!(scene.look(conditions), both);
    });
}
