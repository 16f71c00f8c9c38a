//! Many Jobs at once, each batch in a namespace of its own.

use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::lives::{self, Lives, Watch};
use crate::clock;
use crate::demo::stage::Stage;

/// The longest that a batch may take.
const PATIENCE: Duration = Duration::from_mins(15);
/// How many kubectls make Jobs at once.
const HANDS: usize = 8;
/// A Job that does nothing, and a pod of no Job.
const PROBE: &str = "probe";
/// Simulated nodes that take the pods.
const NODES: usize = 5;

/// How a batch went.
pub(super) struct Course {
    /// What happened to each Job.
    pub(super) lives: Lives,
    began: Instant,
}

impl Course {
    /// How long it took until all Jobs were made, all pods had ended, all Jobs were complete.
    pub(super) fn took(&self) -> [Duration; 3] {
        let since = |at: Instant| at.saturating_duration_since(self.began);
        self.lives.last().map(|at| at.map(since).unwrap_or_default())
    }
}

/// Makes these Jobs and waits until all are complete.
pub(super) fn play(stage: &mut Stage, namespace: &str, jobs: &[Value]) -> Result<Course> {
    open(stage, namespace)?;
    let mut of_jobs = Watch::start(stage, lives::of_jobs(namespace))?;
    let mut of_pods = Watch::start(stage, lives::of_pods(namespace))?;
    let mut lives = Lives::default();
    make(stage, namespace, &[probe_job(), probe_pod()])?;
    let open = clock::wait_until(PATIENCE, || {
        lives.follow(stage, &mut of_jobs, &mut of_pods)?;
        Ok(lives.has_begun(PROBE))
    })?;
    ensure!(open, "the watches do not open");
    let began = clock::now();
    let mut hands = Hands::set_to_work(stage, namespace, jobs)?;
    let done = clock::wait_until(PATIENCE, || {
        stage.check()?;
        lives.follow(stage, &mut of_jobs, &mut of_pods)?;
        Ok(lives.complete() == jobs.len())
    })?;
    ensure!(done, "{} of {} Jobs are complete", lives.complete(), jobs.len());
    hands.finish()?;
    Ok(Course { lives, began })
}

/// kubectls that make Jobs, each one after the other. They end with this value.
struct Hands(Vec<Child>);

impl Hands {
    fn set_to_work(stage: &Stage, namespace: &str, jobs: &[Value]) -> Result<Self> {
        let mut hands = Self(Vec::new());
        for (hand, part) in jobs.chunks(jobs.len().div_ceil(HANDS)).enumerate() {
            let file = stage.dir().join(format!("{namespace}-{hand}.json"));
            fs::write(&file, list(part).to_string())?;
            let args = ["create", "--validate=false", "--namespace", namespace, "--filename"];
            let mut kubectl = stage.watching(&args)?;
            kubectl.arg(&file).stdout(Stdio::null());
            hands.0.push(kubectl.spawn().context("kubectl")?);
        }
        Ok(hands)
    }

    fn finish(&mut self) -> Result<()> {
        for hand in &mut self.0 {
            ensure!(hand.wait()?.success(), "not all Jobs were made");
        }
        Ok(())
    }
}

impl Drop for Hands {
    fn drop(&mut self) {
        for hand in &mut self.0 {
            // It may have ended; then there is nothing to do.
            let _ = hand.kill();
            let _ = hand.wait();
        }
    }
}

/// A namespace in which pods can be made: its ServiceAccount is there.
fn open(stage: &Stage, namespace: &str) -> Result<()> {
    stage.quietly(&["create", "namespace", namespace])?;
    let account = ["get", "serviceaccounts", "--namespace", namespace, "--output=name"];
    let ready = clock::wait_until(PATIENCE, || Ok(stage.quietly(&account)?.contains("default")))?;
    ensure!(ready, "namespace {namespace} gets no ServiceAccount");
    Ok(())
}

fn make(stage: &Stage, namespace: &str, objects: &[Value]) -> Result<()> {
    let file = stage.dir().join(format!("{namespace}.json"));
    fs::write(&file, list(objects).to_string())?;
    let file = file.display().to_string();
    stage.quietly(&[
        "create",
        "--validate=false",
        "--namespace",
        namespace,
        "--filename",
        &file,
    ])?;
    Ok(())
}

fn list(items: &[Value]) -> Value {
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

/// So many Jobs of one pod each.
pub(super) fn of_one_pod(count: usize) -> Vec<Value> {
    let of_node = |at: usize| job(&format!("work-{at}"), &json!({"template": template(at)}));
    (0..count).map(of_node).collect()
}

/// So many Jobs that have nothing to do.
pub(super) fn of_no_pod(count: usize) -> Vec<Value> {
    let spec = json!({"completions": 0, "template": template(0)});
    (0..count).map(|at| job(&format!("nothing-{at}"), &spec)).collect()
}

/// One Job with so many indexes, all at once.
pub(super) fn indexed(count: u32) -> Vec<Value> {
    let spec = json!({
        "completionMode": "Indexed",
        "completions": count,
        "parallelism": count,
        "template": template(0),
    });
    vec![job("parts", &spec)]
}

fn job(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec})
}

/// Pods of a Job that go to one node and end at once.
fn template(node: usize) -> Value {
    json!({ "spec": pod_spec(node) })
}

fn pod_spec(node: usize) -> Value {
    json!({
        "nodeName": format!("node-{}", node % NODES),
        "restartPolicy": "Never",
        "containers": [{"name": "main", "image": "registry.example/main:1"}],
    })
}

fn probe_job() -> Value {
    job(PROBE, &json!({"suspend": true, "template": template(0)}))
}

fn probe_pod() -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": PROBE}, "spec": pod_spec(0)})
}
