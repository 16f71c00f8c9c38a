//! When Jobs and their pods came and ended, to the millisecond: each event of a watch gets the time.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::clock;
use crate::demo::stage::Stage;

/// An event of a watch, as far as it matters here.
#[derive(Deserialize)]
struct Event {
    object: Object,
}

#[derive(Deserialize)]
struct Object {
    metadata: Metadata,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    #[serde(rename = "resourceVersion", default)]
    version: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

/// Phase of a pod, conditions of a Job.
#[derive(Default, Deserialize)]
struct Status {
    #[serde(default)]
    phase: String,
    #[serde(default)]
    conditions: Vec<Condition>,
}

#[derive(Deserialize)]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
}

/// Where the server tells every change of a namespace's Jobs.
pub(super) fn of_jobs(namespace: &str) -> String {
    format!("/apis/batch/v1/namespaces/{namespace}/jobs")
}

/// The same of its pods.
pub(super) fn of_pods(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/pods")
}

/// A kubectl that passes on what the server tells. It ends with this value.
pub(super) struct Watch {
    path: String,
    /// The version of the last event.
    version: String,
    child: Child,
    lines: Receiver<(Instant, String)>,
}

impl Watch {
    /// Watches what is at this path from the beginning.
    pub(super) fn start(stage: &Stage, path: String) -> Result<Self> {
        let (child, lines) = open(stage, &path, "")?;
        Ok(Self {
            path,
            version: String::new(),
            child,
            lines,
        })
    }

    /// What has come since. The server cuts off who reads slowly, as happens on a busy machine: then it goes on from there.
    fn news(&mut self, stage: &Stage) -> Result<Vec<(Instant, Object)>> {
        let has_ended = self.child.try_wait()?.is_some();
        let mut news = Vec::new();
        for (at, line) in self.lines.try_iter() {
            let event: Event = serde_json::from_str(&line).with_context(|| line.clone())?;
            self.version.clone_from(&event.object.metadata.version);
            news.push((at, event.object));
        }
        if has_ended {
            (self.child, self.lines) = open(stage, &self.path, &self.version)?;
        }
        Ok(news)
    }
}

fn open(stage: &Stage, path: &str, version: &str) -> Result<(Child, Receiver<(Instant, String)>)> {
    let raw = format!("--raw={path}?watch=1&timeoutSeconds=3600&resourceVersion={version}");
    let mut child = stage
        .watching(&["get", &raw])?
        .stdout(Stdio::piped())
        .spawn()
        .context("kubectl")?;
    let output = child.stdout.take().context("the output of kubectl")?;
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send((clock::now(), line)).is_err() {
                return;
            }
        }
    });
    Ok((child, lines))
}

impl Drop for Watch {
    fn drop(&mut self) {
        // It may have ended; then there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What happened to Jobs, by name.
#[derive(Default)]
pub(super) struct Lives {
    jobs: BTreeMap<String, Life>,
    /// Whether each pod that was seen has ended.
    pods: BTreeMap<String, bool>,
}

/// What happened to one Job.
#[derive(Clone, Copy, Default)]
struct Life {
    made: Option<Instant>,
    last_pod: Option<Instant>,
    last_pod_ended: Option<Instant>,
    complete: Option<Instant>,
    /// Somebody has reconciled it.
    is_known: bool,
}

impl Lives {
    /// Takes in what the watches have printed.
    pub(super) fn follow(&mut self, stage: &Stage, jobs: &mut Watch, pods: &mut Watch) -> Result<()> {
        for (at, job) in jobs.news(stage)? {
            self.job(at, &job);
        }
        for (at, pod) in pods.news(stage)? {
            self.pod(at, pod);
        }
        Ok(())
    }

    fn job(&mut self, at: Instant, job: &Object) {
        let life = self.jobs.entry(job.metadata.name.clone()).or_default();
        life.made.get_or_insert(at);
        for condition in job
            .status
            .conditions
            .iter()
            .filter(|condition| condition.status == "True")
        {
            life.is_known = true;
            if condition.kind == "Complete" {
                life.complete.get_or_insert(at);
            }
        }
    }

    fn pod(&mut self, at: Instant, pod: Object) {
        let Object { metadata, status } = pod;
        let (name, phase) = (metadata.name, status.phase);
        let owner = metadata.labels.get("job-name").cloned().unwrap_or_default();
        let life = self.jobs.entry(owner).or_default();
        let has_ended = phase == "Succeeded";
        let before = self.pods.insert(name, has_ended);
        if before.is_none() {
            life.last_pod = life.last_pod.max(Some(at));
        }
        if has_ended && before != Some(true) {
            life.last_pod_ended = life.last_pod_ended.max(Some(at));
        }
    }

    /// How many are complete.
    pub(super) fn complete(&self) -> usize {
        self.jobs.values().filter(|life| life.complete.is_some()).count()
    }

    /// True once this Job has a condition and a pod of no Job has been seen: both watches are open, and somebody reconciles.
    pub(super) fn has_begun(&self, probe: &str) -> bool {
        let has = |name: &str, what: fn(&Life) -> bool| self.jobs.get(name).is_some_and(what);
        has(probe, |life| life.is_known) && has("", |life| life.last_pod.is_some())
    }

    /// When the last Job was made, when the last pod ended, when the last Job was complete.
    pub(super) fn last(&self) -> [Option<Instant>; 3] {
        let done = || self.jobs.values().filter(|life| life.complete.is_some());
        [
            done().filter_map(|life| life.made).max(),
            done().filter_map(|life| life.last_pod_ended).max(),
            done().filter_map(|life| life.complete).max(),
        ]
    }

    /// From each Job to its last pod.
    pub(super) fn to_last_pod(&self) -> Lags {
        Lags::of(self.jobs.values().filter_map(|life| Some((life.made?, life.last_pod?))))
    }

    /// From the end of each Job's last pod to its completion.
    pub(super) fn to_completion(&self) -> Lags {
        Lags::of(
            self.jobs
                .values()
                .filter_map(|life| Some((life.last_pod_ended?, life.complete?))),
        )
    }
}

/// How long something took each time, in order.
pub(super) struct Lags(Vec<Duration>);

impl Lags {
    /// The two watches may be apart by some milliseconds; what seems to be before its cause took no time.
    fn of(spans: impl Iterator<Item = (Instant, Instant)>) -> Self {
        let mut lags: Vec<Duration> = spans.map(|(from, to)| to.saturating_duration_since(from)).collect();
        lags.sort();
        Self(lags)
    }

    /// Median, 99th percentile and longest.
    pub(super) fn quantiles(&self) -> [Duration; 3] {
        let last = self.0.len().saturating_sub(1);
        [last / 2, last.saturating_mul(99) / 100, last].map(|at| self.0.get(at).copied().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn job(name: &str, conditions: &[&str]) -> Object {
        let condition = |kind: &&str| json!({"type": kind, "status": "True"});
        let conditions: Vec<_> = conditions.iter().map(condition).collect();
        serde_json::from_value(json!({"metadata": {"name": name}, "status": {"conditions": conditions}})).unwrap()
    }

    fn pod(name: &str, phase: &str, job: &str) -> Object {
        let labels = if job.is_empty() {
            json!({})
        } else {
            json!({"job-name": job})
        };
        let conditions = json!([{"type": "Ready", "status": "False"}]);
        let status = json!({"phase": phase, "conditions": conditions});
        serde_json::from_value(json!({"metadata": {"name": name, "labels": labels}, "status": status})).unwrap()
    }

    #[test]
    fn lags_run_from_the_job_to_its_last_pod_and_from_the_end_of_its_last_pod_to_completion() {
        let start = clock::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut lives = Lives::default();
        lives.job(at(0), &job("a", &[]));
        for (millis, name, phase) in [
            (5, "a-1", "Pending"),
            (20, "a-1", "Succeeded"),
            (50, "a-2", "Succeeded"),
            (60, "a-1", "Succeeded"),
        ] {
            lives.pod(at(millis), pod(name, phase, "a"));
        }
        lives.job(at(70), &job("a", &["SuccessCriteriaMet"]));
        assert_eq!(lives.complete(), 0);
        lives.job(at(80), &job("a", &["SuccessCriteriaMet", "Complete"]));
        assert_eq!(lives.complete(), 1);
        let millis = |lags: &Lags| lags.quantiles().map(|lag| lag.as_millis());
        assert_eq!(millis(&lives.to_last_pod()), [50; 3]);
        assert_eq!(millis(&lives.to_completion()), [30; 3]);
    }

    #[test]
    fn both_watches_are_open_and_somebody_reconciles_when_both_probes_say_so() {
        let mut lives = Lives::default();
        lives.job(clock::now(), &job("probe", &[]));
        lives.pod(clock::now(), pod("probe", "Running", ""));
        assert!(!lives.has_begun("probe"));
        lives.job(clock::now(), &job("probe", &["Suspended"]));
        assert!(lives.has_begun("probe"));
    }
}
