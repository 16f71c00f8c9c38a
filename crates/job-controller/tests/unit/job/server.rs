//! What a server does with the status of a Job: merges patches, and refuses what upstream's validation refuses.

use std::collections::BTreeSet;

use serde_json::Value;

/// Applies a JSON merge patch.
pub(super) fn merge(object: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *object = patch.clone();
        return;
    };
    if !object.is_object() {
        *object = Value::Object(serde_json::Map::new());
    }
    for (key, value) in fields {
        if value.is_null() {
            object.as_object_mut().unwrap().remove(key);
        } else {
            merge(&mut object[key], value);
        }
    }
}

pub(super) fn holds(job: &Value, kind: &str) -> bool {
    let conditions = job["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|condition| condition["type"] == kind && condition["status"] == "True")
}

fn number(job: &Value, field: &str) -> i64 {
    job["status"][field].as_i64().unwrap_or_default()
}

fn list<'v>(job: &'v Value, which: &str) -> Vec<&'v str> {
    let pods = job["status"]["uncountedTerminatedPods"][which].as_array();
    pods.into_iter().flatten().filter_map(Value::as_str).collect()
}

fn indexes(text: &Value) -> BTreeSet<u64> {
    let items = text
        .as_str()
        .unwrap_or_default()
        .split(',')
        .filter(|item| !item.is_empty());
    let run = |item: &str| {
        let (first, last) = item.split_once('-').unwrap_or((item, item));
        first.parse::<u64>().unwrap()..=last.parse::<u64>().unwrap()
    };
    items.flat_map(run).collect()
}

/// Why the server would not take this status in the place of that one (J-200…J-202).
pub(super) fn refusal(old: &Value, new: &Value) -> Option<String> {
    [counts(old, new), pods(new), texts(new), ends(old, new), times(old, new)]
        .into_iter()
        .find_map(Result::err)
}

fn demand(holds: bool, what: impl Into<String>) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what.into()) }
}

fn counts(old: &Value, new: &Value) -> Result<(), String> {
    for field in ["active", "succeeded", "failed", "ready", "terminating"] {
        demand(number(new, field) >= 0, format!("{field} is negative"))?;
    }
    demand(
        number(new, "ready") <= number(new, "active"),
        "more are ready than active",
    )?;
    demand(number(new, "failed") >= number(old, "failed"), "failed shrinks")?;
    let spec = &new["spec"];
    let elastic = spec["completionMode"] == "Indexed" && spec["completions"] == spec["parallelism"];
    demand(
        elastic || number(new, "succeeded") >= number(old, "succeeded"),
        "succeeded shrinks",
    )
}

fn pods(new: &Value) -> Result<(), String> {
    let all = [list(new, "succeeded"), list(new, "failed")].concat();
    let different: BTreeSet<_> = all.iter().collect();
    demand(different.len() == all.len(), format!("a pod is listed twice: {all:?}"))
}

fn texts(new: &Value) -> Result<(), String> {
    let (done, failed) = (&new["status"]["completedIndexes"], &new["status"]["failedIndexes"]);
    let indexed = new["spec"]["completionMode"] == "Indexed";
    demand(indexed || indexes(done).is_empty(), "completedIndexes without indexes")?;
    let limited = !new["spec"]["backoffLimitPerIndex"].is_null();
    demand(
        limited || failed.is_null(),
        "failedIndexes without backoffLimitPerIndex",
    )?;
    demand(
        indexes(done).is_disjoint(&indexes(failed)),
        "an index is done and has failed",
    )
}

fn ends(old: &Value, new: &Value) -> Result<(), String> {
    let is = |kind| holds(new, kind);
    for kind in ["Complete", "Failed", "FailureTarget", "SuccessCriteriaMet"] {
        demand(!holds(old, kind) || is(kind), format!("{kind} is withdrawn"))?;
    }
    demand(
        !(is("Complete") && (is("Failed") || is("FailureTarget"))),
        "complete and failed",
    )?;
    demand(
        !(is("SuccessCriteriaMet") && (is("Failed") || is("FailureTarget"))),
        "success and failure",
    )?;
    demand(
        !is("Complete") || is("SuccessCriteriaMet"),
        "complete without SuccessCriteriaMet",
    )?;
    demand(!is("Failed") || is("FailureTarget"), "failed without FailureTarget")?;
    let completed = !new["status"]["completionTime"].is_null();
    demand(
        completed == is("Complete"),
        "completionTime without Complete, or the other way",
    )?;
    if !(is("Complete") || is("Failed")) {
        return Ok(());
    }
    demand(number(new, "active") == 0, "finished with active pods")?;
    demand(number(new, "terminating") == 0, "finished with terminating pods")?;
    let uncounted = list(new, "succeeded").len() + list(new, "failed").len();
    demand(uncounted == 0, "finished with uncounted pods")?;
    let nothing_to_do = new["spec"]["suspend"] == true && new["spec"]["completions"] == 0;
    demand(
        nothing_to_do || !new["status"]["startTime"].is_null(),
        "finished without startTime",
    )
}

fn times(old: &Value, new: &Value) -> Result<(), String> {
    let (was, is) = (&old["status"]["startTime"], &new["status"]["startTime"]);
    let suspended = new["spec"]["suspend"] == true;
    let resumed = holds(old, "Suspended") && !holds(new, "Suspended");
    demand(
        was.is_null() || was == is || suspended || resumed,
        format!("startTime changes from {was} to {is}"),
    )?;
    let (was, done) = (&old["status"]["completionTime"], &new["status"]["completionTime"]);
    demand(was.is_null() || was == done, "completionTime changes")?;
    let ordered = done.is_null() || is.is_null() || done.as_str() >= is.as_str();
    demand(ordered, "completionTime before startTime")
}
