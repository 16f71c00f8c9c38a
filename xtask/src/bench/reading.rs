//! What the controller says of itself, and what the API server has counted, at one moment.

use std::collections::BTreeMap;
use std::fmt::Display;

use anyhow::{Result, ensure};

use crate::demo::scrape;
use crate::demo::stage::Stage;

/// What a replica says of itself.
pub(super) struct Reading {
    /// Bytes.
    pub(super) memory: f64,
    /// Seconds.
    pub(super) cpu: f64,
    /// By method.
    pub(super) requests: BTreeMap<String, f64>,
    /// Writes of plans, by what came of them.
    pub(super) results: BTreeMap<String, f64>,
}

impl Reading {
    pub(super) fn take(stage: &Stage, replica: usize) -> Result<Self> {
        let text = stage.metrics(replica)?;
        Ok(Self {
            memory: scrape::sum(&text, "process_resident_memory_bytes"),
            cpu: scrape::sum(&text, "process_cpu_seconds_total"),
            requests: scrape::by_label(&text, "rest_client_requests_total", "method"),
            results: scrape::by_label(&text, "write_attempts_total", "result"),
        })
    }

    /// Fails if a write was not taken for another reason than that it came too late.
    pub(super) fn nothing_refused(&self) -> Result<()> {
        let refused: Vec<_> = self
            .results
            .keys()
            .filter(|result| !matches!(result.as_str(), "stored" | "gone" | "conflict"))
            .collect();
        ensure!(refused.is_empty(), "some writes were not taken: {refused:?}");
        Ok(())
    }
}

/// What has grown, with its names.
pub(super) fn difference<K: Display + Ord>(before: &BTreeMap<K, f64>, after: &BTreeMap<K, f64>) -> String {
    let grown = after
        .iter()
        .map(|(name, count)| (name, count - before.get(name).copied().unwrap_or(0.0)));
    let words: Vec<_> = grown
        .filter(|(_, count)| *count > 0.0)
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    words.join(", ")
}

/// Bytes as MiB.
pub(super) fn mebibytes(bytes: f64) -> f64 {
    bytes / 1_048_576.0
}

/// What the writes of a Job's controller are called, and how the API server's metrics name them: resource, subresource, verbs.
/// Nobody else in a bench sends such requests: pods choose their nodes themselves, so that the scheduler has nothing to say.
const WRITES: [(&str, &str, &str, &[&str]); 4] = [
    ("pods created", "pods", "", &["POST"]),
    ("finalizers removed", "pods", "", &["PATCH", "PUT"]),
    ("status writes", "jobs", "status", &["PATCH", "PUT"]),
    ("events", "events", "", &["POST", "PATCH"]),
];

/// Writes that the API server has counted, whoever sent them.
pub(super) fn writes(stage: &Stage) -> Result<BTreeMap<&'static str, f64>> {
    let text = stage.quietly(&["get", "--raw=/metrics"])?;
    let count = |resource, subresource, verb| {
        let labels = [("resource", resource), ("subresource", subresource), ("verb", verb)];
        scrape::sum_where(&text, "apiserver_request_total", &labels)
    };
    let counted = WRITES.iter().map(|(name, resource, subresource, verbs)| {
        let sum: f64 = verbs.iter().map(|verb| count(resource, subresource, verb)).sum();
        (*name, sum)
    });
    Ok(counted.collect())
}
