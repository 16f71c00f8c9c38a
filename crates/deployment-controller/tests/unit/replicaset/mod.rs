//! The ReplicaSet controller over caches that a test fills, its plans and reports as short texts.

mod backoff;
mod budgets;
mod claims;
mod laws;
mod opt_ins;
mod scale;
mod status;
mod victims;
mod watches;

use std::sync::Arc;

use deployment_controller::replicaset::ReplicaSets;
use deployment_controller::replicaset::decide::Intent;
use deployment_controller::replicaset::metrics::DeletionAges;
use deployment_controller::replicaset::observe::Observed;
use serde_json::{Value, json};
use testkit::builders::{Manifest, Pod, ReplicaSet, pod, replica_set};
use workload_core::cache::{Source, Store};
use workload_core::id::ObjectKey;
use workload_core::meta::Object;
use workload_core::outcome::Outcome;
use workload_core::plan::{ClaimChange, Delete, Plan, Stage};
use workload_core::time::Timestamp;
use workload_core::workload::{Aids, Children, Conclusion, LiveReads, Observation, Workload};

/// When a world's turns take place unless it says otherwise.
fn noon() -> Timestamp {
    at("2026-01-02T12:00:00Z")
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// ReplicaSet `web` of generation 1, with this many replicas.
fn web(replicas: u32) -> ReplicaSet {
    replica_set("web")
        .uid("uid-of-web")
        .generation(1)
        .set("/spec/replicas", replicas)
}

/// A pod that fits `web` and has no owner.
fn orphan(name: &str) -> Pod {
    pod(name).label("app", "web").phase("Running")
}

/// A pod of `web`.
fn owned(name: &str) -> Pod {
    orphan(name).owned_by(&web(0).json())
}

/// A pod of `web` that has been ready since then.
fn ready(name: &str, since: &str) -> Pod {
    owned(name).ready_since(at(since))
}

/// What the caches hold, and when.
#[derive(Clone, Debug)]
struct World {
    deployments: Vec<Value>,
    sets: Vec<Value>,
    pods: Vec<Value>,
    children: Children,
    now: Timestamp,
}

impl World {
    /// `set`, which turns are about, and these pods.
    fn of(set: impl Manifest, pods: impl IntoIterator<Item = Pod>) -> Self {
        Self {
            deployments: Vec::new(),
            sets: vec![set.json()],
            pods: pods.into_iter().map(Manifest::json).collect(),
            children: Children::Settled,
            now: noon(),
        }
    }

    /// Another ReplicaSet beside it.
    fn beside(mut self, set: impl Manifest) -> Self {
        self.sets.push(set.json());
        self
    }

    /// This Deployment controls the ReplicaSet.
    fn under(mut self, deployment: impl Manifest) -> Self {
        let deployment = deployment.json();
        let set = Stored(self.sets.remove(0)).owned_by(&deployment);
        self.sets.insert(0, set.json());
        self.with(Stored(deployment))
    }

    /// This Deployment exists.
    fn with(mut self, deployment: impl Manifest) -> Self {
        self.deployments.push(deployment.json());
        self
    }

    /// Creates or deletes of ours are not all in the cache yet.
    fn unsettled(mut self) -> Self {
        self.children = Children::Unsettled;
        self
    }

    /// Another time.
    fn at(mut self, now: &str) -> Self {
        self.now = at(now);
        self
    }

    fn controller(&self) -> ReplicaSets {
        ReplicaSets {
            deployments: Some(Arc::new(cache(&self.deployments))),
            sets: Arc::new(cache(&self.sets)),
            pods: Arc::new(cache(&self.pods)),
            ages: DeletionAges::default(),
        }
    }

    fn observation(&self, controller: &ReplicaSets) -> Observation<Observed> {
        let live = LiveReads::default();
        let aids = Aids {
            children: self.children,
            live: &live,
            now: self.now,
        };
        controller.observe(&ObjectKey::new("default", "web"), &aids)
    }

    /// One turn up to its plan.
    fn turn(&self) -> Turn {
        let controller = self.controller();
        let Observation::Ready(seen) = self.observation(&controller) else {
            panic!("nothing to act on")
        };
        Turn {
            plan: controller.decide(&seen, self.now),
            now: self.now,
            controller,
            seen,
        }
    }

    /// The plan as text.
    fn plan(&self) -> String {
        text(&self.turn().plan)
    }

    /// The report of a turn whose writes all succeed.
    fn report(&self) -> Conclusion {
        self.turn().report(&Outcome::default())
    }
}

/// A turn that has decided.
struct Turn {
    controller: ReplicaSets,
    now: Timestamp,
    seen: Observed,
    plan: Plan<Intent>,
}

impl Turn {
    fn report(&self, outcome: &Outcome) -> Conclusion {
        self.controller
            .conclude(&self.seen, &self.plan.intent, outcome, self.now)
    }
}

/// A manifest that is JSON already.
struct Stored(Value);

impl Manifest for Stored {
    fn value(&mut self) -> &mut Value {
        &mut self.0
    }

    fn json(self) -> Value {
        self.0
    }
}

fn cache<T: Object>(objects: &[Value]) -> Store<T> {
    let store = Store::default();
    for object in objects {
        store.apply(Stored(object.clone()).decode(), Source::Watch);
    }
    store
}

/// Stages in order, such as `adopt a; release b; create 3; delete c, d`.
fn text(plan: &Plan<Intent>) -> String {
    let stages: Vec<String> = plan.stages.iter().map(stage).collect();
    if stages.is_empty() {
        "nothing".to_owned()
    } else {
        stages.join("; ")
    }
}

fn stage(stage: &Stage) -> String {
    match stage {
        Stage::Claim(claims) => {
            let each = claims.iter().map(|claim| match &claim.change {
                ClaimChange::Adopt(_) => format!("adopt {}", claim.child.key.name),
                ClaimChange::Release(_) => format!("release {}", claim.child.key.name),
            });
            each.collect::<Vec<_>>().join("; ")
        }
        Stage::Create(creates) => format!("create {}", creates.len()),
        Stage::Delete(deletes) => format!("delete {}", names(deletes)),
        Stage::Evict(deletes) => format!("evict {}", names(deletes)),
        Stage::Status(_)
        | Stage::Patch(_)
        | Stage::PatchEach(_)
        | Stage::Depart(_)
        | Stage::DeleteForeground(_)
        | Stage::Read(_) => {
            panic!("never part of a plan for a ReplicaSet: {stage:?}")
        }
    }
}

fn names(deletes: &[Delete]) -> String {
    let mut names: Vec<&str> = deletes.iter().map(|delete| &*delete.target.key.name).collect();
    names.sort_unstable();
    names.join(", ")
}

/// The status fields that a report changes; `null` for none.
fn changed(report: &Conclusion) -> Value {
    report
        .status
        .as_ref()
        .map_or(Value::Null, |write| write.body["status"].clone())
}

/// A status as the API server stores it after upstream or we have written it.
fn status(replicas: u32, ready: u32, available: u32, terminating: u32) -> Value {
    let mut status = json!({"replicas": replicas, "terminatingReplicas": terminating, "observedGeneration": 1});
    let counts = [
        ("fullyLabeledReplicas", replicas),
        ("readyReplicas", ready),
        ("availableReplicas", available),
    ];
    for (field, count) in counts {
        if count > 0 {
            status[field] = count.into();
        }
    }
    status
}
