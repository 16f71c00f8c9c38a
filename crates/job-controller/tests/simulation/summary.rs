//! What must be the same at the end of every history of a story: all but times, uids, versions and the names of pods. That the
//! counters tell the truth is up to the laws.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;
use testkit::Kind;
use testkit::object::Stored;
use testkit::record::State;

/// The Jobs of a state, with what they count, and its pods.
pub(crate) fn of(state: &State) -> String {
    told(state, true)
}

/// The same without numbers of pods that follow from times.
pub(crate) fn without_counts(state: &State) -> String {
    told(state, false)
}

fn told(state: &State, counts: bool) -> String {
    let mut text = String::new();
    for job in state.all(Kind::JOB) {
        let _ = writeln!(text, "{}", one(job, counts));
    }
    let mut pods: BTreeMap<String, u32> = BTreeMap::new();
    for pod in state.pods().into_iter().filter(|pod| counts || !pod.has_ended()) {
        *pods.entry(self::pod(pod)).or_default() += 1;
    }
    for (pod, count) in pods {
        let _ = writeln!(text, "{count} {pod}");
    }
    text
}

fn one(job: &Stored, counts: bool) -> String {
    let mut status = job.at("/status").clone();
    if let Some(fields) = status.as_object_mut() {
        for field in ["startTime", "completionTime"] {
            if fields.contains_key(field) {
                fields.insert(field.to_owned(), "set".into());
            }
        }
        fields.remove("conditions");
        if !counts {
            fields.remove("succeeded");
            fields.remove("failed");
        }
    }
    let all = job.at("/status/conditions").as_array();
    let conditions: Vec<String> = all.into_iter().flatten().map(condition).collect();
    format!("Job {}: {}, status {status}", job.name(), conditions.join(", "))
}

fn condition(condition: &Value) -> String {
    let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    format!("{} {} {}", text("type"), text("status"), text("reason"))
}

fn pod(pod: &Stored) -> String {
    let owner = pod
        .controller()
        .and_then(|owner| owner["name"].as_str())
        .unwrap_or("nobody");
    let finalizers = pod.at("/metadata/finalizers");
    format!(
        "pods of {owner}, {}, finalizers {finalizers}",
        pod.text("/status/phase")
    )
}
