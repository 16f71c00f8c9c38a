//! One Deployment and its ReplicaSets as a server would hold them; turns of the controller are carried out at once.
//!
//! The controller's caches always show exactly what is stored. ReplicaSets are called by the image of their template.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use deployment_controller::deployment::opt_ins::ReplicaSetLoop;
use deployment_controller::deployment::{Deployments, Intent, Observed};
use serde_json::{Value, json};
use testkit::builders::{Manifest, Templated};
use workload_core::cache::{Identity, Source, Store};
use workload_core::id::{ObjectKey, ResourceVersion, Uid};
use workload_core::meta::Object;
use workload_core::outcome::{FailureClass, Verb};
use workload_core::plan::{Note, Plan};
use workload_core::time::{self, Timestamp};
use workload_core::workload::{Aids, Children, Conclusion, LiveReads, Observation, Workload};

use super::text;
use super::writes::merge;

/// How often a rollout may take a turn before it counts as endless.
const PATIENCE: usize = 200;

/// An object as it is stored.
#[derive(Clone, Debug)]
pub(super) struct Stored(pub(super) Value);

impl Manifest for Stored {
    fn value(&mut self) -> &mut Value {
        &mut self.0
    }

    fn json(self) -> Value {
        self.0
    }
}

impl Templated for Stored {}

impl Stored {
    /// The object after a JSON merge patch.
    pub(super) fn patched(mut self, patch: &Value) -> Self {
        merge(&mut self.0, patch);
        self
    }
}

/// A Deployment, ReplicaSets and pods.
#[derive(Clone, Debug)]
pub(super) struct Cluster {
    pub(super) deployment: Value,
    pub(super) sets: Vec<Value>,
    pub(super) pods: Vec<Value>,
    pub(super) now: Timestamp,
    pub(super) children: Children,
    /// Images whose pods never become ready.
    pub(super) broken: Vec<&'static str>,
    /// Images of sets that have a pod which cannot be decoded.
    pub(super) unread: Vec<&'static str>,
    /// How many pods of a set become ready in one step; all, unless it says.
    pub(super) pace: Option<i64>,
    /// Writes of this verb fail like that.
    pub(super) refusal: Option<(Verb, FailureClass)>,
    pub(super) version: u64,
}

/// One turn of the controller.
#[derive(Debug)]
pub(super) struct Turn {
    /// What the plan wrote.
    pub(super) writes: Vec<String>,
    /// What of `Progressing`, revision and collisions changed.
    pub(super) told: Vec<String>,
    /// All events, in the order in which they were said.
    pub(super) notes: Vec<Note>,
    pub(super) plan: Plan<Intent>,
    pub(super) conclusion: Conclusion,
}

impl Turn {
    /// What was written and told, in one line.
    pub(super) fn text(&self) -> String {
        [self.writes.as_slice(), self.told.as_slice()].concat().join("; ")
    }

    /// What the plan wrote, in one line.
    pub(super) fn written(&self) -> String {
        self.writes.join("; ")
    }

    /// Events as `reason: message`.
    pub(super) fn said(&self) -> Vec<String> {
        let each = self
            .notes
            .iter()
            .map(|note| format!("{}: {}", note.reason, note.message));
        each.collect()
    }

    /// The status fields that were written; `null` for none.
    pub(super) fn status(&self) -> &Value {
        let write = self.conclusion.status.as_ref();
        write.map_or(&Value::Null, |write| &write.body["status"])
    }
}

impl Cluster {
    /// `deployment` as a server stores it after its creation, and nothing else.
    pub(super) fn of(deployment: impl Manifest) -> Self {
        let mut cluster = Self {
            deployment: Value::Null,
            sets: Vec::new(),
            pods: Vec::new(),
            now: super::noon(),
            children: Children::Settled,
            broken: Vec::new(),
            unread: Vec::new(),
            pace: None,
            refusal: None,
            version: 10,
        };
        let mut json = deployment.json();
        let defaults = json!({
            "metadata": {"namespace": "default", "uid": "uid-of-web", "generation": 1},
            "spec": {
                "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
                "revisionHistoryLimit": 10,
                "progressDeadlineSeconds": 600,
            },
        });
        fill(&mut json, &defaults);
        cluster.deployment = cluster.stamped(json);
        cluster
    }

    /// The same after its first rollout.
    pub(super) fn settled(deployment: impl Manifest) -> Self {
        let mut cluster = Self::of(deployment);
        cluster.roll();
        cluster
    }

    /// Adds a ReplicaSet, as the server would store it, of the Deployment unless it has another owner already.
    pub(super) fn with(mut self, set: impl Manifest) -> Self {
        let mut set = set.owned_by(&self.deployment).json();
        let name = set["metadata"]["name"].clone();
        fill(
            &mut set,
            &json!({
                "metadata": {"namespace": "default", "uid": format!("uid-of-{}", name.as_str().unwrap()), "generation": 1},
                "status": {"replicas": 0, "observedGeneration": 1, "terminatingReplicas": 0},
            }),
        );
        let set = self.stamped(set);
        self.sets.push(set);
        self
    }

    /// Changes the Deployment as a user would.
    pub(super) fn edit(&mut self, change: impl FnOnce(Stored) -> Stored) {
        let changed = change(Stored(self.deployment.clone())).json();
        let generation = self.deployment["metadata"]["generation"].as_i64().unwrap() + 1;
        self.deployment = self.stamped(Stored(changed).generation(generation).json());
    }

    /// Changes the ReplicaSet of this image as a user would.
    pub(super) fn edit_set(&mut self, image: &str, change: impl FnOnce(Stored) -> Stored) {
        let at = self.position(image);
        let spec = self.sets[at]["spec"].clone();
        let mut changed = change(Stored(self.sets[at].clone())).json();
        if changed["spec"] != spec {
            let generation = changed["metadata"]["generation"].as_i64().unwrap();
            changed["metadata"]["generation"] = (generation + 1).into();
        }
        self.sets[at] = self.stamped(changed);
    }

    /// Sets what a ReplicaSet reports: pods, and how many of them are ready and available.
    pub(super) fn report(&mut self, image: &str, pods: i64, available: i64) {
        self.report_at(self.position(image), pods, available);
    }

    fn report_at(&mut self, at: usize, pods: i64, available: i64) {
        let generation = self.sets[at]["metadata"]["generation"].clone();
        let status = json!({
            "replicas": pods, "fullyLabeledReplicas": pods, "readyReplicas": available, "availableReplicas": available,
            "terminatingReplicas": 0, "observedGeneration": generation,
        });
        let mut set = self.sets[at].clone();
        let conditions = set["status"]["conditions"].take();
        set["status"] = status;
        if !conditions.is_null() {
            set["status"]["conditions"] = conditions;
        }
        if set["status"] != self.sets[at]["status"] {
            self.sets[at] = self.stamped(set);
        }
    }

    /// Lets every ReplicaSet make or delete its pods, and pods become ready.
    pub(super) fn settle(&mut self) {
        for (at, set) in self.sets.clone().iter().enumerate() {
            let image = image(set);
            let wanted = set["spec"]["replicas"].as_i64().unwrap();
            let before = set["status"]["availableReplicas"].as_i64().unwrap_or(0);
            let available = match self.pace {
                _ if self.broken.contains(&image.as_str()) => 0,
                Some(pace) => wanted.min(before + pace),
                None => wanted,
            };
            self.report_at(at, wanted, available);
        }
    }

    /// The JSON of the ReplicaSet of this image.
    pub(super) fn set(&self, image: &str) -> &Value {
        &self.sets[self.position(image)]
    }

    /// Images, each with the size its ReplicaSet wants, oldest first.
    pub(super) fn sizes(&self) -> String {
        let mut sets: Vec<_> = self.sets.iter().collect();
        sets.sort_by_key(|set| set["metadata"]["creationTimestamp"].to_string());
        let each = sets
            .iter()
            .map(|set| format!("{} {}", image(set), set["spec"]["replicas"]));
        each.collect::<Vec<_>>().join(", ")
    }

    /// The condition of this type on the Deployment: status, reason.
    pub(super) fn condition(&self, kind: &str) -> Option<&Value> {
        let conditions = self.deployment["status"]["conditions"].as_array()?;
        conditions.iter().find(|condition| condition["type"] == kind)
    }

    /// Turns of the controller and steps of the ReplicaSets until nothing changes any more: one line for each turn that wrote
    /// something.
    pub(super) fn roll(&mut self) -> String {
        let mut text = String::new();
        for _ in 0..PATIENCE {
            let before = self.version;
            let turn = self.turn();
            let line = turn.text();
            if !line.is_empty() {
                writeln!(text, "{line}").unwrap();
            }
            self.now = time::plus(self.now, Duration::from_secs(1));
            self.settle();
            if self.version == before {
                return text;
            }
        }
        panic!("no end of it:\n{text}");
    }

    /// One turn of the controller.
    pub(super) fn turn(&mut self) -> Turn {
        let controller = self.controller();
        let Observation::Ready(seen) = self.observation_by(&controller) else {
            panic!("nothing to act on")
        };
        let plan = controller.decide(&seen, self.now);
        let before = self.deployment.clone();
        let mut turn = Turn {
            writes: Vec::new(),
            told: Vec::new(),
            notes: plan.notes.clone(),
            plan: plan.clone(),
            conclusion: Conclusion::default(),
        };
        let outcome = self.carry_out(&plan, &mut turn);
        turn.conclusion = controller.conclude(&seen, &plan.intent, &outcome, self.now);
        turn.notes.extend(turn.conclusion.notes.clone());
        if let Some(write) = &turn.conclusion.status {
            let mut deployment = self.deployment.clone();
            merge(&mut deployment, &write.body);
            self.deployment = self.stamped(deployment);
        }
        turn.told = text::reported(&before, &self.deployment);
        turn
    }

    /// What the controller sees.
    pub(super) fn observation(&self) -> Observation<Observed> {
        self.observation_by(&self.controller())
    }

    fn observation_by(&self, controller: &Deployments) -> Observation<Observed> {
        let live = LiveReads::default();
        let aids = Aids {
            children: self.children,
            live: &live,
            now: self.now,
        };
        let name = self.deployment["metadata"]["name"].as_str().unwrap();
        controller.observe(&ObjectKey::new("default", name), &aids)
    }

    fn controller(&self) -> Deployments {
        let pods = cache(&self.pods);
        for image in &self.unread {
            let pod = Identity {
                key: ObjectKey::new("default", format!("unread-{image}")),
                uid: Uid::new("unread"),
                version: ResourceVersion::new("1"),
                controller: self.set(image)["metadata"]["uid"].as_str().map(Uid::new),
            };
            pods.keep(&pod, Source::List);
        }
        Deployments {
            deployments: Arc::new(cache(std::slice::from_ref(&self.deployment))),
            sets: Arc::new(cache(&self.sets)),
            pods: Arc::new(pods),
            replica_sets: ReplicaSetLoop::Here,
        }
    }

    /// The object with the next version.
    pub(super) fn stamped(&mut self, mut object: Value) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        object
    }

    fn position(&self, of: &str) -> usize {
        let found = self.sets.iter().position(|set| image(set) == of);
        found.unwrap_or_else(|| panic!("no ReplicaSet of image {of}"))
    }

    pub(super) fn index(&self, key: &ObjectKey) -> usize {
        let found = self.sets.iter().position(|set| set["metadata"]["name"] == *key.name);
        found.unwrap_or_else(|| panic!("no ReplicaSet {key}"))
    }
}

pub(super) fn cache<T: Object>(objects: &[Value]) -> Store<T> {
    let store = Store::default();
    for object in objects {
        store.apply(Stored(object.clone()).decode(), Source::List);
    }
    store
}

pub(super) fn image(set: &Value) -> String {
    let image = &set["spec"]["template"]["spec"]["containers"][0]["image"];
    image.as_str().unwrap().to_owned()
}

/// Adds what `object` lacks of `defaults`.
fn fill(object: &mut Value, defaults: &Value) {
    for (key, value) in defaults.as_object().into_iter().flatten() {
        let slot = &mut object[key];
        if slot.is_null() {
            *slot = value.clone();
        } else if slot.is_object() && key != "strategy" {
            fill(slot, value);
        }
    }
}
