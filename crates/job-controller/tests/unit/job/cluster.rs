//! One Job and its pods as a server holds them; turns of the controller are carried out at once, or go wrong as a test says.
//!
//! Pods are called by their index and how many there were of it before, such as `i2.0`, or `p000` where there are no indexes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use job_controller::job::decide::{Bounds, Intent};
use job_controller::job::memory::Memory;
use job_controller::job::observe::Observed;
use job_controller::job::pod::Pod;
use job_controller::job::tally::Tally;
use job_controller::job::{Jobs, Manager, Serves};
use serde_json::{Value, json};
use workload_core::cache::{Identity, Source, Store};
use workload_core::id::{Kind, ObjectKey, ResourceVersion, Uid};
use workload_core::labels::Interner;
use workload_core::meta::Object;
use workload_core::outcome::{Attempt, Failure, FailureClass, Outcome, Receipt, Verb};
use workload_core::plan::{
    ClaimChange, Create, Delete, DeleteGuard, Note, Patch, Plan, Stage, StatusWrite, Target, Wake,
};
use workload_core::time::{self, Timestamp};
use workload_core::workload::{Aids, Children, LiveReads, Observation, Workload};

use super::server::{holds, merge, refusal};

pub(super) const TRACKING: &str = "batch.kubernetes.io/job-tracking";

/// How many turns a Job may take before it counts as endless.
const PATIENCE: usize = 100;

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
    version: u64,
    jobs: Vec<Value>,
    states: Vec<Vec<Arc<Value>>>,
    own: (usize, usize),
    leaving: Vec<String>,
    made: BTreeMap<String, usize>,
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

    fn put_job(&mut self, mut job: Value) {
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

    fn catch_up(&mut self) {
        self.own = (self.jobs.len() - 1, self.states.len() - 1);
    }

    /// One turn.
    pub(super) fn turn(&mut self) -> Turn {
        let mut turn = Turn::default();
        // A cache that has shown something never goes back behind it.
        self.own = self.places();
        let tallies = Arc::new(Mutex::new(None));
        let controller = self.controller(&tallies);
        let Observation::Ready(seen) = self.observation_by(&controller) else {
            return turn;
        };
        let plan = controller.decide(&seen, self.now);
        let (wake, intent, notes) = (plan.wake, plan.intent.clone(), plan.notes.clone());
        turn.notes.extend(notes);
        if !self.carry_out(plan, &mut turn) {
            self.restart();
            return turn;
        }
        let failed_claim =
            |attempt: &Attempt| matches!(attempt.verb, Verb::Adopt | Verb::Release) && attempt.result.is_err();
        if turn.outcome.attempts.iter().any(failed_claim) {
            return turn;
        }
        let conclusion = controller.conclude(&seen, &intent, &turn.outcome, self.now);
        turn.notes.extend(conclusion.notes);
        turn.wake = wake.sooner(conclusion.wake);
        if let Some(write) = conclusion.status {
            self.status(write, &mut turn);
        }
        controller.settled(&seen, &intent, &turn.outcome, self.now);
        turn.tally = tallies.lock().unwrap().take();
        turn
    }

    /// Turns until nothing is written any more; what was written, a line for each turn.
    pub(super) fn settle(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        for _ in 0..PATIENCE {
            let turn = self.turn();
            if turn.writes.is_empty() {
                return lines;
            }
            lines.push(turn.text());
        }
        panic!("no end of it: {lines:#?}");
    }

    /// What the controller sees.
    pub(super) fn observation(&self) -> Observation<Observed> {
        self.observation_by(&self.controller(&Arc::default()))
    }

    fn observation_by(&self, controller: &Jobs) -> Observation<Observed> {
        let live = LiveReads::default();
        let aids = Aids {
            children: self.children.unwrap_or_else(|| self.settlement()),
            live: &live,
            now: self.now,
        };
        controller.observe(&ObjectKey::new("default", "work"), &aids)
    }

    /// The controller on caches that show everything.
    pub(super) fn controller_of_all(&self) -> Jobs {
        self.controller(&Arc::default())
    }

    /// What it sees of the Job of this name.
    pub(super) fn observation_of(&self, controller: &Jobs, name: &str) -> Observation<Observed> {
        let live = LiveReads::default();
        let aids = Aids {
            children: Children::Settled,
            live: &live,
            now: self.now,
        };
        controller.observe(&ObjectKey::new("default", name), &aids)
    }

    fn settlement(&self) -> Children {
        let pods = self.seen_pods();
        let unseen = |name: &String| {
            let pod = pods.iter().find(|pod| pod["metadata"]["uid"] == **name);
            pod.is_some_and(|pod| pod["metadata"]["deletionTimestamp"].is_null())
        };
        if self.leaving.iter().any(unseen) {
            Children::Unsettled
        } else {
            Children::Settled
        }
    }

    fn seen_pods(&self) -> &[Arc<Value>] {
        &self.states[self.places().1]
    }

    /// How far the caches have come: at least to what this process has written itself.
    fn places(&self) -> (usize, usize) {
        let place = |own: usize, changes: usize, lag: usize| own.max(changes.saturating_sub(1 + lag));
        (
            place(self.own.0, self.jobs.len(), self.lag.0),
            place(self.own.1, self.states.len(), self.lag.1),
        )
    }

    fn controller(&self, tallies: &Arc<Mutex<Option<Tally>>>) -> Jobs {
        let job = &self.jobs[self.places().0];
        let tallies = Arc::clone(tallies);
        Jobs {
            jobs: Arc::new(cache(std::slice::from_ref(job))),
            pods: Arc::new(self.pod_cache()),
            serves: self.serves.clone(),
            memory: Arc::clone(&self.memory),
            bounds: self.bounds,
            counter: Box::new(move |tally| *tallies.lock().unwrap() = Some(tally.clone())),
        }
    }

    fn pod_cache(&self) -> Store<Pod> {
        let is_unread = |pod: &&Arc<Value>| self.unread.contains(&&*name(pod));
        let (unread, read): (Vec<_>, Vec<_>) = self.seen_pods().iter().partition(is_unread);
        let store = cache::<Pod>(&read.into_iter().map(|pod| Value::clone(pod)).collect::<Vec<_>>());
        for pod in unread {
            let text = |pointer: &str| pod.pointer(pointer).unwrap().as_str().unwrap().to_owned();
            let identity = Identity {
                key: ObjectKey::new("default", text("/metadata/name")),
                uid: Uid::new(text("/metadata/uid")),
                version: ResourceVersion::new(text("/metadata/resourceVersion")),
                controller: Some(Uid::new(text("/metadata/ownerReferences/0/uid"))),
            };
            store.keep(&identity, Source::List);
        }
        store
    }

    /// False if the process ended.
    fn carry_out(&mut self, plan: Plan<Intent>, turn: &mut Turn) -> bool {
        let crash = self.crash_before.take();
        for (number, stage) in plan.stages.into_iter().enumerate() {
            if crash == Some(number) {
                return false;
            }
            let first = turn.outcome.attempts.len();
            let tolerant = matches!(stage, Stage::PatchEach(_));
            match stage {
                Stage::Claim(claims) => claims.into_iter().for_each(|claim| self.claim(claim, turn)),
                Stage::Status(write) => self.status(write, turn),
                Stage::PatchEach(patches) => {
                    turn.writes
                        .push(format!("release {}", names(patches.iter().map(|patch| &patch.target))));
                    for patch in &patches {
                        self.release(patch, turn);
                    }
                }
                Stage::Depart(departures) => {
                    turn.writes.push(format!(
                        "drop {}",
                        names(departures.iter().map(|each| &each.delete.target))
                    ));
                    for departure in &departures {
                        if self.release(&departure.patch, turn) {
                            self.delete(&departure.delete, turn);
                        }
                    }
                }
                Stage::Delete(deletes) => {
                    turn.writes
                        .push(format!("kill {}", names(deletes.iter().map(|each| &each.target))));
                    for delete in &deletes {
                        self.delete(delete, turn);
                    }
                }
                Stage::Create(creates) => self.create_all(&creates, turn),
                Stage::Patch(_) | Stage::Evict(_) | Stage::DeleteForeground(_) | Stage::Read(_) => {
                    panic!("never part of a plan for a Job: {stage:?}")
                }
            }
            let failed = turn.outcome.attempts[first..]
                .iter()
                .any(|attempt| attempt.result.is_err());
            if failed && !tolerant {
                return crash.is_none_or(|crash| crash <= number);
            }
        }
        crash.is_none()
    }

    /// Whether a write works, and what becomes of it if not.
    fn luck(&mut self, verb: Verb, name: &str) -> Option<Trouble> {
        if let Some((left, trouble)) = self.trouble {
            self.trouble = left.checked_sub(1).map(|left| (left, trouble));
            if left == 0 {
                return Some(trouble);
            }
        }
        let fault = self
            .faults
            .iter()
            .find(|(of, prefix, _)| *of == verb && name.starts_with(prefix));
        fault.map(|(.., class)| Trouble::Refused(*class))
    }

    fn attempt(turn: &mut Turn, verb: Verb, kind: Kind, name: &str, result: Result<Receipt, Trouble>) -> bool {
        let applied = result.is_ok();
        let failure = |trouble| match trouble {
            Trouble::Refused(class) => Failure::new(class, "refused"),
            Trouble::Lost => Failure::new(FailureClass::Unknown, "no answer"),
        };
        turn.outcome.attempts.push(Attempt {
            verb,
            kind,
            key: ObjectKey::new("default", name),
            result: result.map_err(failure),
        });
        applied
    }

    fn stored_as(&self, object: &Value) -> Receipt {
        Receipt::Stored {
            uid: Uid::new(object["metadata"]["uid"].as_str().unwrap()),
            version: ResourceVersion::new(self.version.to_string()),
        }
    }

    fn status(&mut self, write: StatusWrite, turn: &mut Turn) {
        let StatusWrite {
            target, body, notes, ..
        } = write;
        let own = turn
            .outcome
            .attempts
            .iter()
            .any(|attempt| attempt.verb == Verb::Status && attempt.result.is_ok());
        let current = self.job["metadata"]["resourceVersion"] == target.version.as_str();
        let luck = self.luck(Verb::Status, "work");
        turn.writes.push("status".to_owned());
        let result = match luck {
            Some(Trouble::Refused(class)) => Err(Trouble::Refused(class)),
            _ if !own && !current => Err(Trouble::Refused(FailureClass::Conflict)),
            luck => {
                let mut job = self.job.clone();
                merge(&mut job, &body);
                if let Some(why) = refusal(&self.job, &job) {
                    panic!("the server refuses {body}\nof {}:\n{why}", self.job["status"]);
                }
                turn.statuses.push(body["status"].clone());
                self.put_job(job);
                self.stored.push(self.job["status"].clone());
                if luck.is_none() {
                    self.own.0 = self.jobs.len() - 1;
                }
                luck.map_or_else(|| Ok(self.stored_as(&self.job)), Err)
            }
        };
        if Self::attempt(turn, Verb::Status, Kind::JOB, "work", result) {
            turn.notes.extend(notes);
        }
    }

    fn claim(&mut self, claim: workload_core::plan::Claim, turn: &mut Turn) {
        let name = claim.child.key.name.to_string();
        let (verb, word) = match claim.change {
            ClaimChange::Adopt(_) => (Verb::Adopt, "adopt"),
            ClaimChange::Release(_) => (Verb::Release, "let go of"),
        };
        turn.writes.push(format!("{word} {name}"));
        assert_eq!(claim.finalizer, Some(TRACKING));
        if let Some(trouble) = self.luck(verb, &name) {
            Self::attempt(turn, verb, Kind::POD, &name, Err(trouble));
            return;
        }
        let change = claim.change;
        self.change_pod(&name, |pod| match change {
            ClaimChange::Adopt(owner) => {
                pod["metadata"]["ownerReferences"] = json!([owner]);
                let finalizers = pod["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
                pod["metadata"]["finalizers"] = [finalizers, vec![TRACKING.into()]].concat().into();
            }
            ClaimChange::Release(_) => {
                pod["metadata"]["ownerReferences"] = Value::Null;
                without_finalizer(pod);
            }
        });
        self.own.1 = self.states.len() - 1;
        let receipt = Receipt::Gone;
        Self::attempt(turn, verb, Kind::POD, &name, Ok(receipt));
    }

    /// True if the pod may be deleted now.
    fn release(&mut self, patch: &Patch, turn: &mut Turn) -> bool {
        let name = patch.target.key.name.to_string();
        assert_eq!(
            patch.body,
            json!({"metadata": {"$deleteFromPrimitiveList/finalizers": [TRACKING]}})
        );
        let luck = self.luck(Verb::Patch, &name);
        if !matches!(luck, Some(Trouble::Refused(_))) && self.find(&name).is_some() {
            self.change_pod(&name, without_finalizer);
            if luck.is_none() {
                self.own.1 = self.states.len() - 1;
            }
        }
        let receipt = self.find(&name).map_or(Receipt::Gone, |pod| self.stored_as(pod));
        Self::attempt(turn, Verb::Patch, Kind::POD, &name, luck.map_or(Ok(receipt), Err))
    }

    fn delete(&mut self, delete: &Delete, turn: &mut Turn) {
        let name = delete.target.key.name.to_string();
        let luck = self.luck(Verb::Delete, &name);
        let version = |pod: &Value| pod["metadata"]["resourceVersion"] == delete.target.version.as_str();
        let lapsed = delete.guard == DeleteGuard::UidAndVersion && !self.find(&name).is_some_and(version);
        let result = match luck {
            Some(Trouble::Refused(class)) => Err(Trouble::Refused(class)),
            None if lapsed => Err(Trouble::Refused(FailureClass::Conflict)),
            luck => {
                let known = self.find(&name).is_some();
                if known {
                    self.leaving.push(delete.target.uid.to_string());
                    self.delete_pod(&name);
                }
                let receipt = if known {
                    Receipt::Stored {
                        uid: delete.target.uid.clone(),
                        version: delete.target.version.clone(),
                    }
                } else {
                    Receipt::Gone
                };
                luck.map_or(Ok(receipt), Err)
            }
        };
        if Self::attempt(turn, Verb::Delete, Kind::POD, &name, result) {
            turn.notes.extend(delete.note.clone());
        }
    }

    fn create_all(&mut self, creates: &[Create], turn: &mut Turn) {
        let mut text = Vec::new();
        let mut left = creates;
        for size in workload_core::act::slow_start::batches(creates.len()) {
            let (batch, rest) = left.split_at(size);
            left = rest;
            let mut failed = false;
            for create in batch {
                let (name, worked) = self.create(create, turn);
                text.push(if worked { name } else { format!("({name})") });
                failed |= !worked;
            }
            if failed {
                break;
            }
        }
        turn.writes.push(format!("create {}", text.join(", ")));
    }

    fn create(&mut self, create: &Create, turn: &mut Turn) -> (String, bool) {
        let index = create
            .object
            .annotations
            .get("batch.kubernetes.io/job-completion-index");
        let series = index.map_or_else(|| "p".to_owned(), |index| format!("i{index}."));
        let number = self.made.get(&series).copied().unwrap_or_default();
        let name = if index.is_some() {
            format!("{series}{number}")
        } else {
            format!("{series}{number:03}")
        };
        let full = self.quota.is_some_and(|quota| self.pods.len() >= quota);
        let luck = self
            .luck(Verb::Create, &name)
            .or_else(|| full.then_some(Trouble::Refused(FailureClass::Rejected)));
        if !matches!(luck, Some(Trouble::Refused(_))) {
            self.made.insert(series, number + 1);
            let spec: Value = create.object.fields[0].1.to_value();
            self.put_pod(json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {
                    "name": name, "namespace": "default", "uid": format!("uid-of-{name}"),
                    "labels": create.object.labels, "annotations": create.object.annotations,
                    "finalizers": create.object.finalizers, "ownerReferences": [create.object.owner],
                    "creationTimestamp": time::to_api(self.now),
                },
                "spec": spec,
                "status": {"phase": "Pending"},
            }));
            self.own.1 = self.states.len() - 1;
        }
        let receipt = self.find(&name).map_or(Receipt::Gone, |pod| self.stored_as(pod));
        let worked = Self::attempt(turn, Verb::Create, Kind::POD, &name, luck.map_or(Ok(receipt), Err));
        if worked {
            turn.notes.extend(create.note.clone());
        }
        (name, worked)
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

fn without_finalizer(pod: &mut Value) {
    if let Some(finalizers) = pod["metadata"]["finalizers"].as_array_mut() {
        finalizers.retain(|finalizer| finalizer != TRACKING);
    }
}

fn names<'t>(targets: impl Iterator<Item = &'t Target>) -> String {
    let mut names: Vec<&str> = targets.map(|target| &*target.key.name).collect();
    names.sort_unstable();
    if names.len() > 12 {
        format!("{} pods", names.len())
    } else {
        names.join(" ")
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
