//! One Deployment and its ReplicaSets as a server would hold them; turns of the controller are carried out at once.
//!
//! The controller's caches always show exactly what is stored. ReplicaSets are called by the image of their template.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use deployment_controller::deployment::{Deployments, Intent, Observed};
use serde_json::{Map, Value, json};
use testkit::builders::{Manifest, Templated};
use workload_core::cache::{Source, Store};
use workload_core::id::{Kind, ObjectKey, ResourceVersion, Uid};
use workload_core::meta::Object;
use workload_core::outcome::{Attempt, Failure, FailureClass, Outcome, Receipt, Verb};
use workload_core::plan::{Claim, ClaimChange, Create, NewName, Note, Patch, Plan, Stage, Target};
use workload_core::time::{self, Timestamp};
use workload_core::workload::{Aids, Children, Conclusion, LiveReads, Observation, Workload};

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
    /// How many pods of a set become ready in one step; all, unless it says.
    pub(super) pace: Option<i64>,
    /// Writes of this verb fail like that.
    pub(super) refusal: Option<(Verb, FailureClass)>,
    version: u64,
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
        let Observation::Ready(seen) = self.observation() else {
            panic!("nothing to act on")
        };
        let controller = self.controller();
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
        turn.told = reported(&before, &self.deployment);
        turn
    }

    /// What the controller sees.
    pub(super) fn observation(&self) -> Observation<Observed> {
        let live = LiveReads::default();
        let aids = Aids {
            children: self.children,
            live: &live,
            now: self.now,
        };
        let name = self.deployment["metadata"]["name"].as_str().unwrap();
        self.controller().observe(&ObjectKey::new("default", name), &aids)
    }

    fn controller(&self) -> Deployments {
        Deployments {
            deployments: Arc::new(cache(std::slice::from_ref(&self.deployment))),
            sets: Arc::new(cache(&self.sets)),
            pods: Arc::new(cache(&self.pods)),
        }
    }

    fn carry_out(&mut self, plan: &Plan<Intent>, turn: &mut Turn) -> Outcome {
        let mut outcome = Outcome::default();
        for stage in &plan.stages {
            let writes: Vec<(Attempt, Option<Note>, String)> = match stage {
                Stage::Claim(claims) => claims.iter().map(|claim| self.claim(claim)).collect(),
                Stage::Create(creates) => creates.iter().map(|create| self.create(create)).collect(),
                Stage::Patch(patches) => patches.iter().map(|patch| self.patch(patch)).collect(),
                Stage::Delete(deletes) => deletes.iter().map(|delete| self.delete(&delete.target)).collect(),
                Stage::Status(_) | Stage::Read(_) => panic!("never part of a plan for a Deployment: {stage:?}"),
            };
            for (attempt, note, line) in writes {
                if attempt.result.is_ok() {
                    turn.writes.push(line);
                    turn.notes.extend(note);
                }
                outcome.attempts.push(attempt);
            }
            if outcome.failure().is_some() {
                break;
            }
        }
        outcome
    }

    fn claim(&mut self, claim: &Claim) -> (Attempt, Option<Note>, String) {
        let at = self.index(&claim.child.key);
        let (verb, word) = match &claim.change {
            ClaimChange::Adopt(_) => (Verb::Adopt, "adopt"),
            ClaimChange::Release(_) => (Verb::Release, "release"),
        };
        let line = format!("{word} {}", image(&self.sets[at]));
        let owners = match &claim.change {
            ClaimChange::Adopt(owner) => json!([owner]),
            ClaimChange::Release(_) => Value::Null,
        };
        let patch = json!({"metadata": {"ownerReferences": owners}});
        let result = self.store(verb, &claim.child, &patch);
        (attempt(verb, &claim.child, result), None, line)
    }

    fn create(&mut self, create: &Create) -> (Attempt, Option<Note>, String) {
        let NewName::Exact(name) = &create.name else {
            panic!("a ReplicaSet's name is its Deployment's choice")
        };
        let new = &*create.object;
        let mut set = json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {
                "name": &**name, "namespace": &*create.namespace, "uid": format!("uid-of-{name}"), "generation": 1,
                "labels": new.labels, "annotations": new.annotations, "ownerReferences": [new.owner],
                "creationTimestamp": time::to_api(self.now),
            },
            "status": {"replicas": 0},
        });
        for (field, value) in &new.fields {
            set[*field] = value.to_value();
        }
        let line = format!("create {} {}", image(&set), set["spec"]["replicas"]);
        let key = ObjectKey::new(Arc::clone(&create.namespace), Arc::clone(name));
        let target = Target {
            kind: create.kind,
            uid: Uid::new(format!("uid-of-{name}")),
            version: ResourceVersion::new("0"),
            key,
        };
        let taken = self.sets.iter().any(|set| set["metadata"]["name"] == **name);
        let result = match self.refused(Verb::Create) {
            Some(failure) => Err(failure),
            None if taken => Err(Failure::new(FailureClass::AlreadyExists, "the name is taken")),
            None => {
                let set = self.stamped(set);
                self.sets.push(set);
                Ok(self.receipt(&target))
            }
        };
        (attempt(Verb::Create, &target, result), create.note.clone(), line)
    }

    fn patch(&mut self, patch: &Patch) -> (Attempt, Option<Note>, String) {
        let line = match patch.target.kind {
            Kind::DEPLOYMENT => "change the deployment".to_owned(),
            _ => changes(&self.sets[self.index(&patch.target.key)], &patch.body),
        };
        let result = self.store(Verb::Patch, &patch.target, &patch.body);
        (attempt(Verb::Patch, &patch.target, result), patch.note.clone(), line)
    }

    fn delete(&mut self, target: &Target) -> (Attempt, Option<Note>, String) {
        let at = self.index(&target.key);
        let line = format!("delete {}", image(&self.sets[at]));
        let result = match self.refused(Verb::Delete) {
            Some(failure) => Err(failure),
            None => {
                self.sets.remove(at);
                self.version += 1;
                Ok(Receipt::Gone)
            }
        };
        (attempt(Verb::Delete, target, result), None, line)
    }

    fn store(&mut self, verb: Verb, target: &Target, patch: &Value) -> Result<Receipt, Failure> {
        if let Some(failure) = self.refused(verb) {
            return Err(failure);
        }
        let mut object = match target.kind {
            Kind::DEPLOYMENT => self.deployment.clone(),
            _ => self.sets[self.index(&target.key)].clone(),
        };
        let spec = object["spec"].clone();
        merge(&mut object, patch);
        if object["spec"] != spec || target.kind == Kind::DEPLOYMENT {
            let generation = object["metadata"]["generation"].as_i64().unwrap();
            object["metadata"]["generation"] = (generation + 1).into();
        }
        let object = self.stamped(object);
        match target.kind {
            Kind::DEPLOYMENT => self.deployment = object,
            _ => {
                let at = self.index(&target.key);
                self.sets[at] = object;
            }
        }
        Ok(self.receipt(target))
    }

    fn refused(&self, verb: Verb) -> Option<Failure> {
        let (_, class) = self.refusal.filter(|(refused, _)| *refused == verb)?;
        Some(Failure::new(class, "refused"))
    }

    fn receipt(&self, target: &Target) -> Receipt {
        Receipt::Stored {
            uid: target.uid.clone(),
            version: ResourceVersion::new(self.version.to_string()),
        }
    }

    /// The object with the next version.
    fn stamped(&mut self, mut object: Value) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        object
    }

    fn position(&self, of: &str) -> usize {
        let found = self.sets.iter().position(|set| image(set) == of);
        found.unwrap_or_else(|| panic!("no ReplicaSet of image {of}"))
    }

    fn index(&self, key: &ObjectKey) -> usize {
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

fn attempt(verb: Verb, target: &Target, result: Result<Receipt, Failure>) -> Attempt {
    Attempt {
        verb,
        kind: target.kind,
        key: target.key.clone(),
        result,
    }
}

pub(super) fn image(set: &Value) -> String {
    let image = &set["spec"]["template"]["spec"]["containers"][0]["image"];
    image.as_str().unwrap().to_owned()
}

/// What a patch does to a ReplicaSet, such as `scale a 10 -> 8`, then other fields. The annotations that go with every size
/// are only told when they come alone.
fn changes(set: &Value, patch: &Value) -> String {
    let image = image(set);
    let mut changes = Vec::new();
    let resized = patch.pointer("/spec/replicas");
    if let Some(size) = resized {
        changes.push(format!("scale {image} {} -> {size}", set["spec"]["replicas"]));
    }
    if let Some(seconds) = patch.pointer("/spec/minReadySeconds") {
        changes.push(format!("min-ready of {image} {seconds}"));
    }
    let annotations = patch.pointer("/metadata/annotations").and_then(Value::as_object);
    for (key, value) in annotations.into_iter().flatten() {
        let short = key.rsplit_once('/').map_or(key.as_str(), |(_, name)| name);
        let of_size = ["desired-replicas", "max-replicas"].contains(&short);
        if !(of_size && resized.is_some()) {
            changes.push(format!("{short} of {image} {}", value.as_str().unwrap()));
        }
    }
    changes.join("; ")
}

/// What a turn has told about the rollout: changes of `Progressing`, of the revision and of the collision count.
fn reported(before: &Value, after: &Value) -> Vec<String> {
    let progressing = |deployment: &Value| {
        let conditions = deployment["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let found = conditions
            .into_iter()
            .find(|condition| condition["type"] == "Progressing");
        found.map(|condition| {
            let word = |field: &str| condition[field].as_str().unwrap().to_owned();
            format!("Progressing {} {}", word("status"), word("reason"))
        })
    };
    let revision = |deployment: &Value| {
        let revision = deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"].as_str();
        revision.map(|revision| format!("revision {revision}"))
    };
    let collisions = |deployment: &Value| {
        let count = deployment["status"]["collisionCount"].as_i64();
        count.map(|count| format!("collisions {count}"))
    };
    let new = |told: &dyn Fn(&Value) -> Option<String>| told(after).filter(|now| Some(now) != told(before).as_ref());
    [new(&progressing), new(&revision), new(&collisions)]
        .into_iter()
        .flatten()
        .collect()
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

/// Applies a JSON merge patch (RFC 7396).
fn merge(target: &mut Value, patch: &Value) {
    let Some(changes) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    for (key, change) in changes {
        if change.is_null() {
            target.as_object_mut().unwrap().remove(key);
        } else {
            merge(&mut target[key], change);
        }
    }
}
