//! The ReplicaSet loop and a kubelet beside the Deployment loop: the pretended cluster with real pods.
//!
//! A turn of the ReplicaSet loop may be carried out later than it is decided, and others act in between. Nobody else lags.

use std::sync::Arc;

use deployment_controller::replicaset::ReplicaSets;
use deployment_controller::replicaset::decide::Intent;
use deployment_controller::replicaset::metrics::DeletionAges;
use deployment_controller::replicaset::observe::Observed;
use serde_json::{Value, json};
use testkit::builders::{Manifest as _, pod};
use workload_core::id::ObjectKey;
use workload_core::outcome::Outcome;
use workload_core::plan::{Create, Plan, Stage};
use workload_core::time;
use workload_core::workload::{Aids, Children, LiveReads, Observation, Workload as _};

use super::cluster::{Cluster, Stored, cache};
use super::writes::merge;

/// How many rounds it may take until nothing changes any more.
const PATIENCE: usize = 300;

/// A cluster in which ReplicaSets make and delete pods.
#[derive(Debug)]
pub(super) struct Pods {
    pub(super) cluster: Cluster,
    decided: Option<Decided>,
    made: u32,
}

/// A turn of the ReplicaSet loop that is not carried out yet.
#[derive(Debug)]
struct Decided {
    seen: Observed,
    plan: Plan<Intent>,
    version: Value,
}

impl Pods {
    pub(super) fn of(cluster: Cluster) -> Self {
        let made = 0;
        Self {
            cluster,
            decided: None,
            made,
        }
    }

    /// A Deployment after its first rollout.
    pub(super) fn settled(cluster: Cluster) -> Self {
        let mut pods = Self::of(cluster);
        pods.settle();
        pods
    }

    fn replica_sets(&self) -> ReplicaSets {
        ReplicaSets {
            deployments: Some(Arc::new(cache(std::slice::from_ref(&self.cluster.deployment)))),
            sets: Arc::new(cache(&self.cluster.sets)),
            pods: Arc::new(cache(&self.cluster.pods)),
            ages: DeletionAges::default(),
        }
    }

    /// The ReplicaSet loop decides on this set, unless it is at work already.
    pub(super) fn decide(&mut self, at: usize) {
        if self.decided.is_some() || at >= self.cluster.sets.len() {
            return;
        }
        let set = &self.cluster.sets[at];
        let name = set["metadata"]["name"].as_str().unwrap();
        let (controller, live) = (self.replica_sets(), LiveReads::default());
        let aids = Aids {
            children: Children::Settled,
            live: &live,
            now: self.cluster.now,
        };
        let Observation::Ready(seen) = controller.observe(&ObjectKey::new("default", name), &aids) else {
            panic!("nothing to act on")
        };
        self.decided = Some(Decided {
            plan: controller.decide(&seen, self.cluster.now),
            seen,
            version: set["metadata"]["resourceVersion"].clone(),
        });
    }

    /// What was decided is done. The report is refused if the set has changed since.
    pub(super) fn carry_out(&mut self) {
        let Some(Decided { seen, plan, version }) = self.decided.take() else {
            return;
        };
        for stage in &plan.stages {
            match stage {
                Stage::Create(creates) => creates.iter().for_each(|create| self.create(create)),
                Stage::Delete(deletes) => {
                    for delete in deletes {
                        self.terminate(&delete.target.key.name);
                    }
                }
                Stage::Claim(_)
                | Stage::Status(_)
                | Stage::Patch(_)
                | Stage::PatchEach(_)
                | Stage::Depart(_)
                | Stage::Evict(_)
                | Stage::DeleteForeground(_)
                | Stage::Read(_) => {
                    panic!("not here: {stage:?}")
                }
            }
        }
        let now = self.cluster.now;
        let report = self
            .replica_sets()
            .conclude(&seen, &plan.intent, &Outcome::default(), now);
        let at = self.cluster.index(&seen.set.meta.key);
        if let Some(write) = report.status
            && self.cluster.sets[at]["metadata"]["resourceVersion"] == version
        {
            let mut set = self.cluster.sets[at].clone();
            merge(&mut set, &write.body);
            self.cluster.sets[at] = self.cluster.stamped(set);
        }
    }

    fn create(&mut self, create: &Create) {
        self.made += 1;
        let name = format!("p{}", self.made);
        let new = json!({"metadata": {
            "namespace": "default", "uid": name, "creationTimestamp": time::to_api(self.cluster.now),
            "labels": create.object.labels, "ownerReferences": [create.object.owner],
        }});
        let mut stored = pod(&name).phase("Pending").json();
        merge(&mut stored, &new);
        let stored = self.cluster.stamped(stored);
        self.cluster.pods.push(stored);
    }

    fn change(&mut self, at: usize, edit: impl FnOnce(Stored) -> Stored) {
        let changed = edit(Stored(self.cluster.pods[at].clone())).json();
        self.cluster.pods[at] = self.cluster.stamped(changed);
    }

    /// Somebody deletes this pod, if it is there and live; it stays until it is [ended](Self::end).
    pub(super) fn terminate(&mut self, name: &str) {
        let now = self.cluster.now;
        let live = |pod: &Value| pod["metadata"]["name"] == *name && pod["metadata"]["deletionTimestamp"].is_null();
        if let Some(at) = self.cluster.pods.iter().position(live) {
            self.change(at, |pod| pod.terminating(now));
        }
    }

    /// As [`terminate`](Self::terminate), of the pod in this place.
    pub(super) fn terminate_at(&mut self, at: usize) {
        if let Some(pod) = self.cluster.pods.get(at) {
            let name = pod["metadata"]["name"].as_str().unwrap().to_owned();
            self.terminate(&name);
        }
    }

    /// The pod in this place ends, if it terminates.
    pub(super) fn end(&mut self, at: usize) {
        if self.cluster.pods.get(at).is_some_and(is_terminating) {
            self.cluster.pods.remove(at);
            self.cluster.version += 1;
        }
    }

    /// The pod in this place fails.
    pub(super) fn fail(&mut self, at: usize) {
        if at < self.cluster.pods.len() {
            self.change(at, |pod| pod.set("/status/phase", "Failed"));
        }
    }

    /// The pod in this place gets ready, if it is live and not of a broken image.
    pub(super) fn ready(&mut self, at: usize) {
        let now = self.cluster.now;
        let Some(pod) = self.cluster.pods.get(at) else { return };
        let set = &pod["metadata"]["ownerReferences"][0]["uid"];
        let set = self.cluster.sets.iter().find(|each| each["metadata"]["uid"] == *set);
        let broken = set.is_some_and(|set| self.cluster.broken.contains(&&*super::cluster::image(set)));
        let ready = pod["status"]["phase"] != "Pending";
        if is_terminating(pod) || ready || broken {
            return;
        }
        let condition = json!([{"type": "Ready", "status": "True", "lastTransitionTime": time::to_api(now)}]);
        self.change(at, |pod| {
            pod.set("/status/phase", "Running").set("/status/conditions", condition)
        });
    }

    /// Pods of a set of this image that have not ended.
    pub(super) fn unfinished_of(&self, image: &str) -> usize {
        let uid = &self.cluster.set(image)["metadata"]["uid"];
        let own = |pod: &&Value| pod["metadata"]["ownerReferences"][0]["uid"] == *uid;
        self.cluster
            .pods
            .iter()
            .filter(|pod| takes_room(pod))
            .filter(own)
            .count()
    }

    /// All pods that have not ended.
    pub(super) fn unfinished(&self) -> i64 {
        let count = self.cluster.pods.iter().filter(|pod| takes_room(pod)).count();
        i64::try_from(count).unwrap()
    }

    /// True if no more than `most` pods are there or on their way.
    pub(super) fn has_room_in(&self, most: i64) -> bool {
        let observed = |set: &Value| set["status"]["observedGeneration"] == set["metadata"]["generation"];
        let taken = self.cluster.sets.iter().map(|set| {
            let own = i64::try_from(self.unfinished_of(&super::cluster::image(set))).unwrap();
            own.max(set["spec"]["replicas"].as_i64().unwrap())
        });
        self.decided.is_none() && self.cluster.sets.iter().all(observed) && taken.sum::<i64>() <= most
    }

    /// Both loops take turns until nothing changes; pods get ready, and stay while they terminate. `check` looks at every
    /// moment.
    pub(super) fn rest(&mut self, mut check: impl FnMut(&Self)) {
        for _ in 0..PATIENCE {
            let before = self.cluster.version;
            self.cluster.turn();
            for at in 0..self.cluster.sets.len() {
                self.decide(at);
                self.carry_out();
                check(self);
            }
            for at in 0..self.cluster.pods.len() {
                self.ready(at);
            }
            self.cluster.now = time::plus(self.cluster.now, std::time::Duration::from_secs(1));
            if self.cluster.version == before {
                return;
            }
        }
        panic!("no end of it: {}", self.cluster.sizes());
    }

    /// As [`rest`](Self::rest), and one terminating pod after the other ends.
    pub(super) fn settle_with(&mut self, mut check: impl FnMut(&Self)) {
        for _ in 0..PATIENCE {
            self.rest(&mut check);
            let Some(at) = self.cluster.pods.iter().position(is_terminating) else {
                return;
            };
            self.end(at);
        }
        panic!("pods terminate without end: {}", self.cluster.sizes());
    }

    pub(super) fn settle(&mut self) {
        self.settle_with(|_| {});
    }
}

fn is_terminating(pod: &Value) -> bool {
    !pod["metadata"]["deletionTimestamp"].is_null()
}

fn takes_room(pod: &Value) -> bool {
    pod["status"]["phase"] != "Failed"
}
