//! Whether the pods that go are the young ones (deployment C-34).

use std::collections::BTreeSet;

use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use workload_core::plan::{Plan, Stage};
use workload_core::pod::PodView;
use workload_core::time::Timestamp;

use super::decide::Intent;
use super::observe::Observed;

/// Ages of ready pods that were chosen to go, relative to the youngest ready pod of their ReplicaSet.
#[derive(Clone, Debug)]
pub struct DeletionAges(Histogram);

impl Default for DeletionAges {
    fn default() -> Self {
        Self(Histogram::new(exponential_buckets(0.25, 2.0, 6)))
    }
}

impl DeletionAges {
    /// A metric that `registry` will export as `replicaset_controller_sorting_deletion_age_ratio`.
    pub fn register(registry: &mut Registry) -> Self {
        let ages = Self::default();
        registry.register(
            "replicaset_controller_sorting_deletion_age_ratio",
            "Age of each ready pod chosen to be deleted, divided by the age of the youngest ready pod",
            ages.0.clone(),
        );
        ages
    }

    /// Counts the victims of a plan.
    pub(super) fn count(&self, seen: &Observed, plan: &Plan<Intent>, now: Timestamp) {
        for ratio in ratios(seen, plan, now) {
            self.0.observe(ratio);
        }
    }
}

/// One ratio for each ready victim, if some pods go and others stay. Upstream cuts them to whole numbers.
pub fn ratios(seen: &Observed, plan: &Plan<Intent>, now: Timestamp) -> Vec<f64> {
    let Some(Stage::Delete(deletes) | Stage::Evict(deletes)) = plan.stages.last() else {
        return Vec::new();
    };
    if deletes.len() >= seen.active.len() {
        return Vec::new();
    }
    let doomed: BTreeSet<&str> = deletes.iter().map(|delete| delete.target.uid.as_str()).collect();
    let age = |pod: &PodView| Some(now.duration_since(pod.meta.created?).as_secs_f64());
    let ready = || seen.active.iter().filter(|pod| pod.is_ready());
    let youngest = ready().filter_map(|pod| age(pod)).fold(f64::INFINITY, f64::min);
    if youngest <= 0.0 {
        return Vec::new();
    }
    ready()
        .filter(|pod| doomed.contains(pod.meta.uid.as_str()))
        .filter_map(|pod| Some(age(pod)? / youngest))
        .collect()
}
