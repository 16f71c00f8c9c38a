//! The ReplicaSet controller: keeps as many pods of one template as a ReplicaSet wants.

pub mod conclude;
pub mod decide;
pub mod failures;
pub mod metrics;
pub mod observe;
pub mod spec;
pub mod watches;
pub mod words;

use std::sync::Arc;

use workload_core::cache::Store;
use workload_core::id::{Kind, ObjectKey};
use workload_core::outcome::Outcome;
use workload_core::plan::{Plan, Target};
use workload_core::pod::PodView;
use workload_core::time::Timestamp;
use workload_core::workload::{Aids, Conclusion, Observation, RetryLimit, Workload};

use self::decide::Intent;
use self::metrics::DeletionAges;
use self::observe::Observed;
use self::spec::ReplicaSet;
use crate::deployment::spec::Deployment;

/// The ReplicaSet controller on its caches.
#[derive(Debug)]
pub struct ReplicaSets {
    /// All Deployments, for the opt-ins of those that control a ReplicaSet; nothing where another process reconciles them: they
    /// ask both loops of one process.
    pub deployments: Option<Arc<Store<Deployment>>>,
    /// All ReplicaSets.
    pub sets: Arc<Store<ReplicaSet>>,
    /// All pods.
    pub pods: Arc<Store<PodView>>,
    /// Ages of the pods that it gives up.
    pub ages: DeletionAges,
}

impl Workload for ReplicaSets {
    type Observed = Observed;
    type Intent = Intent;

    const KIND: Kind = Kind::REPLICA_SET;
    const QUEUE: &'static str = "replicaset";
    const COMPONENT: &'static str = "replicaset-controller";
    const RETRIES: RetryLimit = RetryLimit::Unlimited;

    fn root(&self, key: &ObjectKey) -> Option<Target> {
        self.sets.get(key).map(|set| Target::of(Kind::REPLICA_SET, &set.meta))
    }

    fn observe(&self, key: &ObjectKey, aids: &Aids<'_>) -> Observation<Observed> {
        observe::observe(self, key, aids)
    }

    fn decide(&self, seen: &Observed, now: Timestamp) -> Plan<Intent> {
        let plan = decide::decide(seen, now);
        self.ages.count(seen, &plan, now);
        plan
    }

    fn conclude(&self, seen: &Observed, intent: &Intent, outcome: &Outcome, now: Timestamp) -> Conclusion {
        conclude::conclude(seen, *intent, outcome, now)
    }
}
