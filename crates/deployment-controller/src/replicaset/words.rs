//! Words that people and tools match on, as upstream says them (deployment RS-22, C-71, C-73).

/// Type of the condition that says that pods could not be created or deleted.
pub const REPLICA_FAILURE: &str = "ReplicaFailure";

/// Reason of the condition and of a Warning event: a pod could not be created.
pub const FAILED_CREATE: &str = "FailedCreate";

/// Reason of the condition and of a Warning event: a pod could not be deleted.
pub const FAILED_DELETE: &str = "FailedDelete";

/// Reason of a Normal event, and cause in metrics: disruption budgets keep pods that a rollout wants to remove (L-4).
pub const DISRUPTION_BUDGET: &str = "DisruptionBudget";

/// Reason of a Warning event, and cause in metrics: pods failed soon after they were made, the next ones have to wait (L-7).
pub const FAILED_POD_BACKOFF: &str = "FailedPodBackoff";

/// Reason of a Normal event: a pod was created.
pub const SUCCESSFUL_CREATE: &str = "SuccessfulCreate";

/// Reason of a Normal event: a pod was deleted.
pub const SUCCESSFUL_DELETE: &str = "SuccessfulDelete";
