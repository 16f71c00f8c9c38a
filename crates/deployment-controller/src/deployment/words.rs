//! The words that Deployments, their ReplicaSets and their readers agree on: annotations, labels, condition types, reasons.
//!
//! All of them are interface: kubectl, Argo CD, kube-state-metrics and scripts match on them, so they are upstream's.

/// Label that tells the ReplicaSets of one Deployment, and their pods, apart (C-65).
pub use workload_core::template::HASH_LABEL;

/// Annotation on a Deployment and its ReplicaSets: the number of the rollout (D-8, D-12).
pub const REVISION: &str = "deployment.kubernetes.io/revision";

/// Annotation on a ReplicaSet: the numbers that it had before it was rolled out again (D-10).
pub const REVISION_HISTORY: &str = "deployment.kubernetes.io/revision-history";

/// Annotation on a ReplicaSet: the Deployment's replicas when the ReplicaSet was last sized (D-20).
pub const DESIRED_REPLICAS: &str = "deployment.kubernetes.io/desired-replicas";

/// Annotation on a ReplicaSet: the Deployment's replicas and surge when the ReplicaSet was last sized (D-22).
pub const MAX_REPLICAS: &str = "deployment.kubernetes.io/max-replicas";

/// Annotation on a Deployment: the revision to go back to, left over from extensions/v1beta1 (D-50).
pub const ROLLBACK_TO: &str = "deprecated.deployment.rollback.to";

/// Annotation in which `kubectl apply` keeps what was last applied.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Annotations that are never copied between a Deployment and its ReplicaSets (D-9).
pub const NOT_COPIED: [&str; 6] = [
    LAST_APPLIED,
    REVISION,
    REVISION_HISTORY,
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    ROLLBACK_TO,
];

/// Condition: enough pods are available (D-61).
pub const AVAILABLE: &str = "Available";
/// Condition: the rollout is going on, done or stuck (D-71…D-77).
pub const PROGRESSING: &str = "Progressing";
/// Condition of Deployments and ReplicaSets: pods cannot be created or deleted (D-75).
pub const REPLICA_FAILURE: &str = "ReplicaFailure";

/// Available: at least replicas − maxUnavailable.
pub const MINIMUM_REPLICAS_AVAILABLE: &str = "MinimumReplicasAvailable";
/// Not available: fewer than that.
pub const MINIMUM_REPLICAS_UNAVAILABLE: &str = "MinimumReplicasUnavailable";

/// Progressing: a ReplicaSet for the template was created.
pub const NEW_REPLICA_SET_CREATED: &str = "NewReplicaSetCreated";
/// Progressing: a ReplicaSet for the template was there before progress was watched.
pub const FOUND_NEW_REPLICA_SET: &str = "FoundNewReplicaSet";
/// Progressing: pods were updated, became ready or available, or old ones went.
pub const REPLICA_SET_UPDATED: &str = "ReplicaSetUpdated";
/// Progressing: the rollout is complete.
pub const NEW_REPLICA_SET_AVAILABLE: &str = "NewReplicaSetAvailable";
/// Not progressing, and event: the ReplicaSet for the template could not be created.
pub const REPLICA_SET_CREATE_ERROR: &str = "ReplicaSetCreateError";
/// Not progressing: nothing moved for `progressDeadlineSeconds`.
pub const PROGRESS_DEADLINE_EXCEEDED: &str = "ProgressDeadlineExceeded";
/// Progressing unknown: the rollout was paused.
pub const DEPLOYMENT_PAUSED: &str = "DeploymentPaused";
/// Progressing unknown: the rollout was resumed.
pub const DEPLOYMENT_RESUMED: &str = "DeploymentResumed";

/// Event: a ReplicaSet was resized.
pub const SCALING_REPLICA_SET: &str = "ScalingReplicaSet";
/// Event of ours: the rollout stands still at the number of updated replicas that its user has set (FR-DP-07).
pub const ROLLOUT_HELD: &str = "RolloutHeld";
/// Cause of that in metrics.
pub const HOLD_AT: &str = "HoldAt";
/// Event of ours: what a rollout that does not get on waits for.
pub const ROLLOUT_STUCK: &str = "RolloutStuck";
/// Event: the selector is empty (D-3).
pub const SELECTING_ALL: &str = "SelectingAll";
/// Event: the Deployment was set back to an earlier template.
pub const ROLLBACK_DONE: &str = "DeploymentRollback";
/// Event: no ReplicaSet has the revision to go back to.
pub const ROLLBACK_REVISION_NOT_FOUND: &str = "DeploymentRollbackRevisionNotFound";
/// Event: the revision to go back to has the template that is there already.
pub const ROLLBACK_TEMPLATE_UNCHANGED: &str = "DeploymentRollbackTemplateUnchanged";
