//! States that would take long to reach: ReplicaSets made by hand, which the Deployment then adopts.

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
