//! The story of some Jobs, step by step.

use anyhow::Result;
use serde_json::{Value, json};

use super::counts::Row;
use super::stage::{JOBS, Stage};
use super::table::follow;
use super::{change_leaders, start_controller, title};

/// What `kubectl get job` shows of conditions with their reasons.
const REASONS: &str = "--output=custom-columns=JOB:.metadata.name,CONDITIONS:.status.conditions[*].type,\
                       REASONS:.status.conditions[*].reason";

/// The annotation that gives rules names.
const RULE_NAMES: &str = "opt-in.workload-controllers/job.rule-names";

/// Plays the story.
pub(super) fn play(stage: &mut Stage) -> Result<()> {
    start_controller(stage, JOBS)?;
    fail_at_once(stage)?;
    tell_rules_apart(stage)?;
    work_through_indexes(stage)?;
    lose_the_leader(stage)
}

fn fail_at_once(stage: &mut Stage) -> Result<()> {
    title("A Job whose failure policy says: with exit code 42 there is no use in trying again");
    stage.apply("exit-42.json", &failing("exit-42", 42, &[42], None))?;
    stage.kubectl(&["wait", "--for=condition=failed", "--timeout=60s", "job/exit-42"])?;
    stage.kubectl(&["describe", "job", "exit-42"])?;
    println!("One pod, no retry although backoffLimit is 4; the pod stays, to be looked at:");
    stage.kubectl(&["get", "pods", "--selector=job-name=exit-42"])
}

fn tell_rules_apart(stage: &mut Stage) -> Result<()> {
    title("The same with three rules that have names: the reason tells which one it was");
    let names = r#"{"0":"BadInput","1":"NoLicence","2":"DiskFull"}"#;
    println!("Each Job is annotated with {RULE_NAMES}: '{names}'");
    for code in [42, 43, 44] {
        let name = format!("named-{code}");
        stage.apply(
            &format!("{name}.json"),
            &failing(&name, code, &[42, 43, 44], Some(names)),
        )?;
    }
    for code in [42, 43, 44] {
        let job = format!("job/named-{code}");
        stage.quietly(&["wait", "--for=condition=failed", "--timeout=60s", &job])?;
    }
    stage.kubectl(&["get", "jobs", "--selector=app=failing", REASONS])
}

fn work_through_indexes(stage: &mut Stage) -> Result<()> {
    title("Indexed work: ten parts, four at a time");
    stage.apply("parts.json", &parts(10, 4))?;
    follow(stage, Row::has_ended)?;
    stage.kubectl(&["get", "jobs", "--selector=app=batch"])?;
    stage.kubectl(&["delete", "jobs", "--selector=app=batch"])
}

fn lose_the_leader(stage: &mut Stage) -> Result<()> {
    title("The leader is killed while a Job of 120 pods runs: each is made once and counted once");
    let leader = stage.leader(JOBS, None)?;
    stage.apply("many.json", &parts(120, 30))?;
    follow(stage, |row: &Row| row.has_succeeded(20))?;
    change_leaders(stage, JOBS, leader)?;
    follow(stage, Row::has_ended)?;
    stage.kubectl(&["get", "jobs", "--selector=app=batch"])?;
    let pods = stage.quietly(&["get", "pods", "--selector=job-name=parts", "--output=json"])?;
    let pods: Value = serde_json::from_str(&pods)?;
    let all = pods
        .get("items")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    let waiting = all.iter().filter(|pod| is_uncounted(pod)).count();
    println!("There are {} pods; {waiting} of them wait to be counted.", all.len());
    Ok(())
}

fn is_uncounted(pod: &Value) -> bool {
    let finalizers = pod.pointer("/metadata/finalizers").and_then(Value::as_array);
    finalizers
        .into_iter()
        .flatten()
        .any(|name| name == "batch.kubernetes.io/job-tracking")
}

/// A Job whose pods exit with `code`, and whose failure policy has a rule for each of these codes. With names each rule is told
/// by its own.
fn failing(name: &str, code: u8, rules: &[u8], names: Option<&str>) -> Value {
    let rule = |code: &u8| json!({"action": "FailJob", "onExitCodes": {"operator": "In", "values": [code]}});
    let rules: Vec<Value> = rules.iter().map(rule).collect();
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "labels": {"app": "failing"},
            "annotations": names.map(|names| json!({RULE_NAMES: names})),
        },
        "spec": {
            "backoffLimit": 4,
            "podFailurePolicy": {"rules": rules},
            "template": template(&format!("exit {code}")),
        },
    })
}

/// Indexed work of this many parts, so many at a time.
fn parts(completions: u32, parallelism: u32) -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "parts", "labels": {"app": "batch"}},
        "spec": {
            "completionMode": "Indexed",
            "completions": completions,
            "parallelism": parallelism,
            "template": template("sleep 1; exit 0"),
        },
    })
}

fn template(script: &str) -> Value {
    let container = json!({"name": "main", "image": "registry.example/main:1", "command": ["sh", "-c", script]});
    json!({"spec": {"restartPolicy": "Never", "containers": [container]}})
}
