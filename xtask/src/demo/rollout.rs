//! A rollout as rows of a table.

use std::fmt;

use serde_json::Value;

use super::table::{self, number};

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

impl table::Row for Row {
    const HEADER: &str = " wanted updated   ready available   ready/size by revision   Progressing";
    const ARGS: &[&str] = &["deployments,replicasets", "--selector=app=web"];

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
}

impl Row {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::demo::table::Row as _;

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
