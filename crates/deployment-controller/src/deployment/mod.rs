//! The Deployment controller: rolls a template out by growing one ReplicaSet and shrinking the others.
//!
//! It never touches a pod. Everything it learns of pods comes through the status of ReplicaSets, except that a Recreate
//! rollout waits until the old pods themselves are gone (D-41). Rule ids are those of the deployment specification.

mod conclude;
mod decide;
mod explain;
mod observe;
pub mod opt_ins;
mod progress;
pub mod spec;
pub mod watches;
pub mod words;

use std::sync::Arc;

use workload_core::cache::Store;
use workload_core::id::{Kind, ObjectKey};
use workload_core::opt_in::Rejected;
use workload_core::outcome::Outcome;
use workload_core::plan::{Plan, Target};
use workload_core::pod::PodView;
use workload_core::time::Timestamp;
use workload_core::workload::{Aids, Conclusion, Observation, RetryLimit, Workload};

use self::opt_ins::ReplicaSetLoop;
use self::spec::Deployment;
use crate::replicaset::spec::ReplicaSet;

pub use self::decide::{Intent, Newest, Report};
pub use self::explain::Stall;
pub use self::observe::{Name, NewSet, Observed, Occupancy, OldPods, Vacancy, of_set};

/// The Deployment controller on its caches.
#[derive(Debug)]
pub struct Deployments {
    /// All Deployments.
    pub deployments: Arc<Store<Deployment>>,
    /// All ReplicaSets.
    pub sets: Arc<Store<ReplicaSet>>,
    /// All pods.
    pub pods: Arc<Store<PodView>>,
    /// Who reconciles those ReplicaSets.
    pub replica_sets: ReplicaSetLoop,
}

impl Workload for Deployments {
    type Observed = Observed;
    type Intent = Intent;

    const KIND: Kind = Kind::DEPLOYMENT;
    const QUEUE: &'static str = "deployment";
    const COMPONENT: &'static str = "deployment-controller";
    const RETRIES: RetryLimit = RetryLimit::Times(15);

    fn observe(&self, key: &ObjectKey, aids: &Aids<'_>) -> Observation<Observed> {
        observe::observe(self, key, aids)
    }

    fn root(&self, key: &ObjectKey) -> Option<Target> {
        let deployment = self.deployments.get(key)?;
        Some(Target::of(Self::KIND, &deployment.meta))
    }

    fn rejected_opt_ins<'a>(&self, seen: &'a Observed) -> &'a [Rejected] {
        &seen.deployment.opt_ins.rejected
    }

    fn decide(&self, seen: &Observed, _now: Timestamp) -> Plan<Intent> {
        decide::decide(seen)
    }

    fn conclude(&self, seen: &Observed, intent: &Intent, outcome: &Outcome, now: Timestamp) -> Conclusion {
        conclude::conclude(seen, intent, outcome, now)
    }
}
