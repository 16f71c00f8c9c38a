//! One Job and its pods as a server holds them; turns of the controller are carried out at once, or go wrong as a test says.
//!
//! Pods are called by their index and how many there were of it before, such as `i2.0`, or `p000` where there are no indexes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use job_controller::job::decide::Bounds;
use job_controller::job::memory::Memory;
use job_controller::job::tally::Tally;
use job_controller::job::{Manager, Serves};
use serde_json::{Value, json};
use workload_core::cache::{Source, Store};
use workload_core::labels::Interner;
use workload_core::meta::Object;
use workload_core::outcome::{FailureClass, Outcome, Verb};
use workload_core::plan::{Note, Wake};
use workload_core::time::{self, Timestamp};
use workload_core::workload::Children;

use super::server::{holds, merge};

pub(super) const TRACKING: &str = "batch.kubernetes.io/job-tracking";

/// What goes wrong with a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The server refuses it.
    Refused(FailureClass),
    /// It is applied, and the answer is lost.
    Lost,
}

/// A Job and its pods.
#[derive(Clone)]
pub(super) struct Cluster {
    pub(super) job: Value,
    pub(super) pods: Vec<Arc<Value>>,
    pub(super) now: Timestamp,
    pub(super) memory: Arc<Memory>,
    pub(super) bounds: Bounds,
    pub(super) serves: Serves,
    /// Whether earlier writes are in the cache, whatever the cache holds.
    pub(super) children: Option<Children>,
    /// Writes of this verb on pods whose name begins like that fail.
    pub(super) faults: Vec<(Verb, &'static str, FailureClass)>,
    /// The write with this number from now on goes wrong.
    pub(super) trouble: Option<(usize, Trouble)>,
    /// The process ends before this stage of its next plan.
    pub(super) crash_before: Option<usize>,
    /// Names of pods that cannot be decoded.
    pub(super) unread: Vec<&'static str>,
    /// How many pods may be there at once.
    pub(super) quota: Option<usize>,
    /// How far behind the caches are, in changes: of the Job, and of pods.
    pub(super) lag: (usize, usize),
    pub(super) version: u64,
    pub(super) jobs: Vec<Value>,
    pub(super) states: Vec<Vec<Arc<Value>>>,
    pub(super) own: (usize, usize),
    pub(super) leaving: Vec<String>,
    pub(super) made: BTreeMap<String, usize>,
    /// Every status that was stored after the first.
    pub(super) stored: Vec<Value>,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {:?}", self.job["spec"], self.bounds)
    }
}

/// One turn of the controller.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// What was written, in order.
    pub(super) writes: Vec<String>,
    /// The status fields that were written, one entry for each write.
    pub(super) statuses: Vec<Value>,
    /// All events.
    pub(super) notes: Vec<Note>,
    pub(super) wake: Wake,
    pub(super) outcome: Outcome,
    pub(super) tally: Option<Tally>,
}

impl Turn {
    /// What was written, in one line.
    pub(super) fn text(&self) -> String {
        self.writes.join("; ")
    }

    /// Reasons of events.
    pub(super) fn said(&self) -> Vec<&str> {
        self.notes.iter().map(|note| &*note.reason).collect()
    }

    /// When the Job is looked at again if nothing changes, in seconds.
    pub(super) fn again_in(&self) -> Option<u64> {
        match self.wake {
            Wake::After(wait) => Some(wait.as_secs()),
            Wake::OnChange => None,
        }
    }
}

pub(super) fn noon() -> Timestamp {
    "2026-01-02T12:00:00Z".parse().unwrap()
}

impl Cluster {
    /// A Job `work` with this spec, and what a server adds.
    pub(super) fn of(spec: Value) -> Self {
        let mut all = json!({
            "parallelism": 1, "backoffLimit": 6, "completionMode": "NonIndexed", "suspend": false,
            "podReplacementPolicy": "TerminatingOrFailed",
            "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "uid-of-work"}},
            "template": {
                "metadata": {"labels": {
                    "batch.kubernetes.io/controller-uid": "uid-of-work", "batch.kubernetes.io/job-name": "work",
                }},
                "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "a"}]},
            },
        });
        if !spec["backoffLimitPerIndex"].is_null() {
            all["backoffLimit"] = i32::MAX.into();
        }
        if !spec["podFailurePolicy"].is_null() {
            all["podReplacementPolicy"] = "Failed".into();
        }
        merge(&mut all, &spec);
        let job = json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": "work", "namespace": "default", "uid": "uid-of-work", "generation": 1,
                         "resourceVersion": "1", "creationTimestamp": time::to_api(noon())},
            "spec": all,
        });
        Self {
            jobs: vec![job.clone()],
            job,
            pods: Vec::new(),
            now: noon(),
            memory: Arc::default(),
            bounds: Bounds::default(),
            serves: Serves(Manager::BuiltIn),
            children: None,
            faults: Vec::new(),
            trouble: None,
            crash_before: None,
            unread: Vec::new(),
            quota: None,
            lag: (0, 0),
            version: 1,
            states: vec![Vec::new()],
            own: (0, 0),
            leaving: Vec::new(),
            made: BTreeMap::new(),
            stored: Vec::new(),
        }
    }

    /// The same with an opt-in.
    pub(super) fn opt_in(mut self, name: &str, value: &str) -> Self {
        self.edit(json!({"metadata": {"annotations": {format!("opt-in.workload-controllers/{name}"): value}}}));
        self
    }

    /// Changes the Job as a user would.
    pub(super) fn edit(&mut self, patch: Value) {
        let mut job = self.job.clone();
        merge(&mut job, &patch);
        if job["spec"] != self.job["spec"] {
            let generation = job["metadata"]["generation"].as_i64().unwrap();
            job["metadata"]["generation"] = (generation + 1).into();
        }
        self.put_job(job);
    }

    pub(super) fn after(&mut self, seconds: u64) {
        self.now = time::plus(self.now, Duration::from_secs(seconds));
    }

    pub(super) fn put_job(&mut self, mut job: Value) {
        self.version += 1;
        job["metadata"]["resourceVersion"] = self.version.to_string().into();
        self.job = job.clone();
        self.jobs.push(job);
    }

    /// A process that has just started: it remembers nothing, and has listed everything.
    pub(super) fn restart(&mut self) {
        self.memory = Arc::default();
        self.leaving.clear();
        self.catch_up();
    }

    pub(super) fn catch_up(&mut self) {
        self.own = (self.jobs.len() - 1, self.states.len() - 1);
    }

    /// Adds a pod, or replaces the one of its name.
    pub(super) fn put_pod(&mut self, mut pod: Value) {
        self.version += 1;
        pod["metadata"]["resourceVersion"] = self.version.to_string().into();
        let name = pod["metadata"]["name"].clone();
        match self.pods.iter().position(|known| known["metadata"]["name"] == name) {
            Some(at) => self.pods[at] = Arc::new(pod),
            None => self.pods.push(Arc::new(pod)),
        }
        self.pods.retain(|pod| !is_gone(pod));
        self.states.push(self.pods.clone());
    }

    pub(super) fn find(&self, name: &str) -> Option<&Value> {
        self.pods
            .iter()
            .map(|pod| &**pod)
            .find(|pod| pod["metadata"]["name"] == name)
    }

    /// Changes a pod as somebody else would.
    pub(super) fn change_pod(&mut self, name: &str, change: impl FnOnce(&mut Value)) {
        let mut pod = self.find(name).unwrap_or_else(|| panic!("no pod {name}")).clone();
        change(&mut pod);
        self.put_pod(pod);
    }

    /// Asks a pod to go. One that runs goes when its kubelet says so; one that has no node, at once.
    pub(super) fn delete_pod(&mut self, name: &str) {
        let now = self.now;
        self.change_pod(name, |pod| {
            if pod["metadata"]["deletionTimestamp"].is_null() {
                let bound = !pod["spec"]["nodeName"].is_null();
                let grace = if bound && pod["status"]["phase"] == "Running" {
                    30
                } else {
                    0
                };
                pod["metadata"]["deletionTimestamp"] = time::to_api(time::plus(now, Duration::from_secs(grace))).into();
                pod["metadata"]["deletionGracePeriodSeconds"] = grace.into();
            }
        });
    }

    /// A pod gets a node and runs; it is ready.
    pub(super) fn run(&mut self, name: &str) {
        let now = time::to_api(self.now);
        self.change_pod(name, |pod| {
            pod["spec"]["nodeName"] = "n".into();
            pod["status"] = json!({
                "phase": "Running", "startTime": now,
                "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": now}],
                "containerStatuses": [{"name": "main", "restartCount": 0, "state": {"running": {"startedAt": now}}}],
            });
        });
    }

    /// The only container of a pod ends with this exit code, now.
    pub(super) fn end(&mut self, name: &str, code: i32) {
        let now = time::to_api(self.now);
        self.change_pod(name, |pod| {
            pod["spec"]["nodeName"] = "n".into();
            let terminated = json!({"exitCode": code, "finishedAt": now});
            pod["status"] = json!({
                "phase": if code == 0 { "Succeeded" } else { "Failed" },
                "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": now}],
                "containerStatuses": [{"name": "main", "restartCount": 0, "state": {"terminated": terminated}}],
            });
        });
    }

    /// Kubelets end the pods that were asked to go.
    pub(super) fn kubelet(&mut self) {
        let leaving = |pod: &&Arc<Value>| !pod["metadata"]["deletionTimestamp"].is_null() && !is_over(pod);
        let names: Vec<String> = self.pods.iter().filter(leaving).map(|pod| name(pod)).collect();
        for name in names {
            self.end(&name, 137);
        }
    }

    /// Names of pods that are to be counted still.
    pub(super) fn tracked(&self) -> String {
        let with = self.pods.iter().filter(|pod| is_tracked(pod)).map(|pod| name(pod));
        with.collect::<Vec<_>>().join(" ")
    }

    /// Names of the pods that neither have ended nor were asked to go.
    pub(super) fn active(&self) -> String {
        let active = |pod: &&Arc<Value>| pod["metadata"]["deletionTimestamp"].is_null() && !is_over(pod);
        self.pods
            .iter()
            .filter(active)
            .map(|pod| name(pod))
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// `active ready terminating succeeded failed`.
    pub(super) fn counts(&self) -> [i64; 5] {
        ["active", "ready", "terminating", "succeeded", "failed"]
            .map(|field| self.job["status"][field].as_i64().unwrap_or_default())
    }

    /// True conditions with their reasons, in order.
    pub(super) fn conditions(&self) -> String {
        let conditions = self.job["status"]["conditions"].as_array();
        let each = conditions.into_iter().flatten().map(|condition| {
            let [kind, status, reason] = ["type", "status", "reason"].map(|key| condition[key].as_str().unwrap());
            if status == "True" {
                format!("{kind}/{reason}")
            } else {
                format!("not {kind}/{reason}")
            }
        });
        each.collect::<Vec<_>>().join(", ")
    }

    /// The message of a condition.
    pub(super) fn message(&self, kind: &str) -> String {
        let conditions = self.job["status"]["conditions"].as_array();
        let found = conditions
            .into_iter()
            .flatten()
            .find(|condition| condition["type"] == kind);
        found.map_or_else(String::new, |condition| {
            condition["message"].as_str().unwrap().to_owned()
        })
    }

    pub(super) fn is_finished(&self) -> bool {
        holds(&self.job, "Complete") || holds(&self.job, "Failed")
    }

    /// A field of the status.
    pub(super) fn status_of(&self, field: &str) -> &Value {
        &self.job["status"][field]
    }
}

pub(super) fn is_tracked(pod: &Value) -> bool {
    let finalizers = pod["metadata"]["finalizers"].as_array();
    finalizers.into_iter().flatten().any(|finalizer| finalizer == TRACKING)
}

pub(super) fn is_over(pod: &Value) -> bool {
    pod["status"]["phase"] == "Succeeded" || pod["status"]["phase"] == "Failed"
}

/// A pod that was asked to go stays while it runs or has finalizers.
fn is_gone(pod: &Value) -> bool {
    let held = pod["metadata"]["finalizers"]
        .as_array()
        .is_some_and(|finalizers| !finalizers.is_empty());
    let runs = !pod["spec"]["nodeName"].is_null() && !is_over(pod);
    !pod["metadata"]["deletionTimestamp"].is_null() && !held && !runs
}

pub(super) fn name(pod: &Value) -> String {
    pod["metadata"]["name"].as_str().unwrap().to_owned()
}

pub(super) fn without_finalizer(pod: &mut Value) {
    if let Some(finalizers) = pod["metadata"]["finalizers"].as_array_mut() {
        finalizers.retain(|finalizer| finalizer != TRACKING);
    }
}

pub(super) fn cache<T: Object>(objects: &[impl std::borrow::Borrow<Value>]) -> Store<T> {
    let store = Store::default();
    for object in objects {
        let object: &Value = object.borrow();
        let json = serde_json::to_vec(object).unwrap();
        let decoded = T::decode(&json, &Interner::default()).unwrap_or_else(|error| panic!("{object}: {error}"));
        store.apply(decoded, Source::List);
    }
    store
}
