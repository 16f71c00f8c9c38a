//! States that would take long to reach: ReplicaSets made by hand, which the Deployment then adopts.

use testkit::Scene;
use testkit::builders::{Manifest as _, ReplicaSet, Templated as _, replica_set};

/// A ReplicaSet as a rollout of `deployment` at that size would have left it; it has no owner yet.
pub(crate) fn old_set(deployment: &str, hash: &str, size: u32, desired: u32, max: u32) -> ReplicaSet {
    replica_set(&format!("{deployment}-{hash}"))
        .set("/spec/selector/matchLabels/app", deployment)
        .set("/spec/template/metadata/labels/app", deployment)
        .selected_label("pod-template-hash", hash)
        .label("app", deployment)
        .label("pod-template-hash", hash)
        .annotation("deployment.kubernetes.io/desired-replicas", &desired.to_string())
        .annotation("deployment.kubernetes.io/max-replicas", &max.to_string())
        .replicas(size)
}

/// Waits until the controllers know every ReplicaSet. A Deployment made before that might be reconciled with only some.
pub(crate) async fn until_known(scene: &Scene) {
    scene
        .until("every set is known", |state| {
            state.replica_sets().iter().all(|set| set.is_observed())
        })
        .await;
}
