//! What a Job reports of its pods, as rows of a table.

use std::fmt;

use serde_json::Value;

use super::table::{self, number};

/// What a row shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    active: i64,
    succeeded: i64,
    failed: i64,
    indexes: String,
    conditions: Vec<String>,
}

impl table::Row for Row {
    const HEADER: &str = "active succeeded  failed   completed indexes   conditions";
    const ARGS: &[&str] = &["jobs", "--selector=app=batch"];

    fn of(list: &Value) -> Option<Self> {
        let job = list["items"].as_array()?.first()?;
        let count = |field: &str| number(job, &format!("/status/{field}"));
        let conditions = job.pointer("/status/conditions").and_then(Value::as_array);
        let holds = |condition: &&Value| condition["status"] == "True";
        Some(Self {
            active: count("active"),
            succeeded: count("succeeded"),
            failed: count("failed"),
            indexes: job
                .pointer("/status/completedIndexes")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            conditions: conditions
                .into_iter()
                .flatten()
                .filter(holds)
                .filter_map(|condition| condition["type"].as_str().map(str::to_owned))
                .collect(),
        })
    }
}

impl Row {
    /// The Job has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.conditions
            .iter()
            .any(|condition| condition == "Complete" || condition == "Failed")
    }

    /// So many pods are counted as succeeded.
    pub(crate) fn has_succeeded(&self, count: i64) -> bool {
        self.succeeded >= count
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = format!(
            "{:>6} {:>9} {:>7}   {:<19} {}",
            self.active,
            self.succeeded,
            self.failed,
            self.indexes,
            self.conditions.join(", ")
        );
        f.write_str(line.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::demo::table::Row as _;

    fn row(status: &Value) -> Row {
        Row::of(&json!({"items": [{"kind": "Job", "status": status}]})).unwrap()
    }

    #[test]
    fn a_row_shows_counts_and_what_is_true() {
        let status = json!({
            "active": 2, "succeeded": 3, "completedIndexes": "0-2",
            "conditions": [{"type": "Suspended", "status": "False"}, {"type": "SuccessCriteriaMet", "status": "True"}],
        });
        let row = row(&status);
        assert!(row.has_succeeded(3) && !row.has_succeeded(4) && !row.has_ended());
        assert_eq!(
            row.to_string(),
            "     2         3       0   0-2                 SuccessCriteriaMet"
        );
    }

    #[test]
    fn a_job_has_ended_when_it_is_complete_or_failed() {
        let condition = |kind: &str| json!({"conditions": [{"type": kind, "status": "True"}]});
        assert!(row(&condition("Complete")).has_ended());
        assert!(row(&condition("Failed")).has_ended());
        assert!(!row(&condition("FailureTarget")).has_ended());
    }
}
