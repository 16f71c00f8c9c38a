//! Pods in numbers, and what keeps some from being made (D-60…D-62, D-75).

use workload_core::condition::{Condition, Status};
use workload_core::id::Kind;
use workload_core::outcome::Verb;

use super::Turn;
use crate::deployment::decide::Newest;
use crate::deployment::spec::{DeploymentStatus, to_count};
use crate::deployment::words;
use crate::replicaset::spec::ReplicaSet;

impl Turn<'_> {
    /// Counts pods as the ReplicaSets report them (D-60…D-62).
    pub(super) fn count(&self, status: &mut DeploymentStatus) {
        let deployment = &*self.seen.deployment;
        let sum = |count: fn(&ReplicaSet) -> i32| self.seen.sets().map(|set| i64::from(count(set))).sum::<i64>();
        let available = sum(|set| set.status.available_replicas);
        let wanted = self.seen.sets().map(|set| i64::from(self.size(set))).sum::<i64>() + self.created();
        status.observed_generation = deployment.meta.generation;
        status.replicas = to_count(sum(|set| set.status.replicas));
        status.updated_replicas = self.seen.found().map_or(0, |set| set.status.replicas);
        status.ready_replicas = to_count(sum(|set| set.status.ready_replicas));
        status.available_replicas = to_count(available);
        status.unavailable_replicas = to_count(wanted - available);
        status.terminating_replicas = self.terminating();
        let (state, reason, message) = if available >= deployment.spec.bounds().least_available {
            let message = "Deployment has minimum availability.";
            (Status::True, words::MINIMUM_REPLICAS_AVAILABLE, message)
        } else {
            let message = "Deployment does not have minimum availability.";
            (Status::False, words::MINIMUM_REPLICAS_UNAVAILABLE, message)
        };
        let condition = Condition::new(words::AVAILABLE, state, reason, message, self.now);
        status.conditions.set(condition);
    }

    /// The size of a ReplicaSet after this turn.
    fn size(&self, set: &ReplicaSet) -> i32 {
        match self.intent.patched.get(&set.meta.key) {
            Some(size) if self.was_patched(set) => *size,
            Some(_) | None => set.replicas,
        }
    }

    pub(super) fn was_patched(&self, set: &ReplicaSet) -> bool {
        self.outcome.applied(Verb::Patch, Kind::REPLICA_SET, &set.meta.key)
    }

    /// The size of the ReplicaSet that was created in this turn.
    fn created(&self) -> i64 {
        match &self.intent.newest {
            Newest::Created(_, size) => i64::from(*size),
            Newest::Found | Newest::Collided | Newest::Missing => 0,
        }
    }

    /// Terminating pods, unless a ReplicaSet that was reconciled does not say (D-62).
    fn terminating(&self) -> Option<i32> {
        let mut sum = 0;
        for set in self.seen.sets() {
            sum += match (set.status.terminating_replicas, set.status.observed_generation) {
                (Some(count), _) => i64::from(count),
                (None, 0) => 0,
                (None, _) => return None,
            };
        }
        Some(to_count(sum))
    }

    /// Passes on what keeps pods from being created or deleted: of the new ReplicaSet if it has such a condition, else of the
    /// oldest one that has (D-75).
    pub(super) fn copy_replica_failure(&self, status: &mut DeploymentStatus) {
        let failure = |set: &ReplicaSet| set.status.conditions.get(words::REPLICA_FAILURE);
        let found = self
            .seen
            .found()
            .and_then(failure)
            .or_else(|| self.seen.sets().find_map(failure));
        match found {
            Some(condition) => status.conditions.set(Condition {
                last_update: condition.last_transition,
                ..condition
            }),
            None => status.conditions.remove(words::REPLICA_FAILURE),
        }
    }
}
