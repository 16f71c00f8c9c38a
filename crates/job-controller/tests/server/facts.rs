//! What the API server itself sees to, so that nobody here has to.

use testkit::Kind;
use testkit::builders::{Job, Manifest as _, job};

/// Whether the server takes the Job, and what it complains about if not.
async fn complaint(scene: &testkit::Scene, work: Job) -> String {
    match scene.api().create(Kind::JOB, &work.json()).await {
        Ok(_) => "none".to_owned(),
        Err(error) => {
            assert_eq!(error.code, 422, "{error}");
            error.to_string()
        }
    }
}

fn on_code(values: &[i32]) -> Job {
    job("work").on_exit_codes("FailJob", "In", values)
}

// proves: job/J-146
#[test]
fn a_failure_policy_that_makes_no_sense_is_refused_by_the_server() {
    testkit::fact(async |scene| {
        let too_many: Vec<i32> = (1..=256).collect();
        let rules = (1..=21).fold(job("work"), |work, code| work.on_exit_codes("Count", "In", &[code]));
        let refused = [
            (on_code(&[0]), "must not be 0"),
            (on_code(&[2, 1]), "ordered"),
            (on_code(&[1, 1]), "Duplicate value"),
            (on_code(&too_many), "at most 255 items"),
            (rules, "at most 20 items"),
            (
                on_code(&[1]).set("/spec/podFailurePolicy/rules/0/onExitCodes/containerName", "none"),
                "containerName",
            ),
            (
                on_code(&[1]).set("/spec/template/spec/restartPolicy", "OnFailure"),
                "restartPolicy",
            ),
            (job("work").on_exit_codes("FailIndex", "In", &[1]), "FailIndex"),
        ];
        for (work, expected) in refused {
            let complaint = complaint(scene, work).await;
            assert!(complaint.contains(expected), "{expected}: {complaint}");
        }
        let whole = on_code(&too_many[..255]);
        assert_eq!(complaint(scene, whole).await, "none");
        let other = serde_json::json!({"spec": {"podFailurePolicy": {"rules": []}}});
        let changed = scene.api().merge(Kind::JOB, "work", &other).await;
        assert!(changed.unwrap_err().to_string().contains("immutable"));
    });
}
