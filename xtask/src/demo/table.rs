//! A rollout as rows: one for each change of what kubectl shows.

use std::fmt;
use std::time::Duration;

use anyhow::{Result, bail};
use serde_json::Value;

use super::stage::Stage;
use crate::clock;

/// The longest that a rollout of the demo may take, on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);

/// What a row shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    wanted: i64,
    updated: i64,
    ready: i64,
    available: i64,
    /// Revision, size and ready pods of each ReplicaSet that has or wants pods, oldest first.
    sets: Vec<(i64, i64, i64)>,
    reason: String,
    seen_generation: bool,
}

impl Row {
    /// From the list of Deployments and ReplicaSets that `kubectl get` prints.
    fn of(list: &Value) -> Option<Self> {
        let items = list["items"].as_array()?;
        let deployment = items.iter().find(|item| item["kind"] == "Deployment")?;
        let mut sets: Vec<_> = items
            .iter()
            .filter(|item| item["kind"] == "ReplicaSet")
            .map(set)
            .collect();
        sets.retain(|(_, size, ready)| *size + *ready > 0);
        sets.sort_unstable();
        let count = |field: &str| number(deployment, &format!("/status/{field}"));
        let conditions = deployment.pointer("/status/conditions").and_then(Value::as_array);
        let progressing = conditions.and_then(|all| all.iter().find(|condition| condition["type"] == "Progressing"));
        Some(Self {
            wanted: number(deployment, "/spec/replicas"),
            updated: count("updatedReplicas"),
            ready: count("readyReplicas"),
            available: count("availableReplicas"),
            sets,
            reason: progressing
                .and_then(|condition| condition["reason"].as_str())
                .unwrap_or_default()
                .to_owned(),
            seen_generation: count("observedGeneration") == number(deployment, "/metadata/generation"),
        })
    }

    /// Everything updated and available, nothing old left.
    pub(crate) fn is_complete(&self) -> bool {
        let [(_, size, ready)] = self.sets[..] else {
            return false;
        };
        self.seen_generation
            && [size, ready, self.updated, self.available]
                .iter()
                .all(|count| *count == self.wanted)
    }

    /// Pods wanted by all ReplicaSets together.
    pub(crate) fn sizes(&self) -> i64 {
        self.sets.iter().map(|(_, size, _)| size).sum()
    }

    /// Available pods, as the status says.
    pub(crate) fn available(&self) -> i64 {
        self.available
    }

    /// The rollout has missed its deadline.
    pub(crate) fn is_stuck(&self) -> bool {
        self.seen_generation && self.reason == "ProgressDeadlineExceeded"
    }

    /// At least this many pods are of the new template.
    pub(crate) fn has_updated(&self, count: i64) -> bool {
        self.seen_generation && self.sets.len() > 1 && self.updated >= count
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:>7} {:>7} {:>7} {:>9}   ",
            self.wanted, self.updated, self.ready, self.available
        )?;
        let sets: Vec<_> = self
            .sets
            .iter()
            .map(|(revision, size, ready)| format!("#{revision}: {ready}/{size}"))
            .collect();
        write!(f, "{:<24} {}", sets.join("  "), self.reason)
    }
}

fn set(item: &Value) -> (i64, i64, i64) {
    let revision = item.pointer("/metadata/annotations/deployment.kubernetes.io~1revision");
    (
        revision
            .and_then(Value::as_str)
            .and_then(|text| text.parse().ok())
            .unwrap_or(0),
        number(item, "/spec/replicas"),
        number(item, "/status/readyReplicas"),
    )
}

/// The number at a JSON pointer; 0 if there is none.
fn number(item: &Value, pointer: &str) -> i64 {
    item.pointer(pointer).and_then(Value::as_i64).unwrap_or(0)
}

/// Prints rows until `done`.
pub(crate) fn follow(stage: &mut Stage, mut done: impl FnMut(&Row) -> bool) -> Result<()> {
    println!();
    println!("   time  wanted updated   ready available   ready/size by revision   Progressing");
    let started = clock::now();
    let mut shown: Option<Row> = None;
    let finished = clock::wait_until(PATIENCE, || {
        stage.check()?;
        let list = stage.quietly(&["get", "deployments,replicasets", "--selector=app=web", "--output=json"])?;
        let Some(row) = Row::of(&serde_json::from_str(&list)?) else {
            return Ok(false);
        };
        let is_done = done(&row);
        if shown.as_ref() != Some(&row) {
            println!("{:>6.1}s {row}", started.elapsed().as_secs_f64());
            shown = Some(row);
        }
        Ok(is_done)
    })?;
    if !finished {
        bail!("the rollout did not get there within {}", clock::for_people(PATIENCE));
    }
    println!();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn set(revision: &str, size: i64, ready: i64) -> Value {
        json!({
            "kind": "ReplicaSet",
            "metadata": {"annotations": {"deployment.kubernetes.io/revision": revision}},
            "spec": {"replicas": size},
            "status": {"readyReplicas": ready},
        })
    }

    fn row(status: &Value, sets: &[Value]) -> Row {
        let deployment =
            json!({"kind": "Deployment", "metadata": {"generation": 2}, "spec": {"replicas": 4}, "status": status});
        let items = [&[deployment], sets].concat();
        Row::of(&json!({ "items": items })).unwrap()
    }

    #[test]
    fn a_rollout_is_complete_when_only_new_pods_are_left_and_available() {
        let done = json!({"observedGeneration": 2, "updatedReplicas": 4, "readyReplicas": 4, "availableReplicas": 4});
        assert!(row(&done, &[set("1", 0, 0), set("2", 4, 4)]).is_complete());
        assert!(!row(&done, &[set("1", 1, 1), set("2", 4, 4)]).is_complete());
        let unseen = json!({"observedGeneration": 1, "updatedReplicas": 4, "readyReplicas": 4, "availableReplicas": 4});
        assert!(!row(&unseen, &[set("2", 4, 4)]).is_complete());
    }

    #[test]
    fn a_row_shows_the_sets_that_have_pods() {
        let status = json!({
            "observedGeneration": 2, "updatedReplicas": 1, "readyReplicas": 3, "availableReplicas": 3,
            "conditions": [{"type": "Progressing", "reason": "ReplicaSetUpdated"}],
        });
        let text = row(&status, &[set("2", 1, 0), set("1", 3, 3), set("0", 0, 0)]).to_string();
        assert_eq!(
            text,
            "      4       1       3         3   #1: 3/3  #2: 0/1         ReplicaSetUpdated"
        );
    }
}
