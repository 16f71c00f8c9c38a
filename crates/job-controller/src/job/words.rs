//! Words that people and tools match on, as upstream says them (J-22, J-71, J-122, J-144, J-210).

/// Finalizer of every pod that has still to be counted (J-40).
pub const TRACKING: &str = "batch.kubernetes.io/job-tracking";

/// Who reconciles a Job that names nobody else (J-160).
pub const BUILT_IN: &str = "kubernetes.io/job-controller";

/// Annotation and label of a pod: which index it works on (J-71).
pub const COMPLETION_INDEX: &str = "batch.kubernetes.io/job-completion-index";
/// Annotation of a pod: how often its index has failed before (J-122).
pub const INDEX_FAILURES: &str = "batch.kubernetes.io/job-index-failure-count";
/// Annotation of a pod: how often its index has failed before without being counted (J-122).
pub const INDEX_IGNORED: &str = "batch.kubernetes.io/job-index-ignored-failure-count";
/// Variable that tells a container its index (J-72).
pub const INDEX_VARIABLE: &str = "JOB_COMPLETION_INDEX";

/// Condition: the Job has failed.
pub const FAILED: &str = "Failed";
/// Condition: the Job is done.
pub const COMPLETE: &str = "Complete";
/// Condition: the Job is going to have failed.
pub const FAILURE_TARGET: &str = "FailureTarget";
/// Condition: the Job is going to be done.
pub const SUCCESS_CRITERIA_MET: &str = "SuccessCriteriaMet";
/// Condition: the Job runs no pods, because its user wants so.
pub const SUSPENDED: &str = "Suspended";

/// Reason: a rule of the pod failure policy says so (J-31c). With names it is followed by `_` and the rule (J-243).
pub const POD_FAILURE_POLICY: &str = "PodFailurePolicy";
/// Reason: more pods have failed than may (J-31d).
pub const BACKOFF_LIMIT_EXCEEDED: &str = "BackoffLimitExceeded";
/// Reason: it has run for too long (J-31e).
pub const DEADLINE_EXCEEDED: &str = "DeadlineExceeded";
/// Reason: more indexes have failed than may (J-31f).
pub const MAX_FAILED_INDEXES_EXCEEDED: &str = "MaxFailedIndexesExceeded";
/// Reason: every index has ended, some of them failed (J-31f).
pub const FAILED_INDEXES: &str = "FailedIndexes";
/// Reason: the success policy is met (J-31g).
pub const SUCCESS_POLICY: &str = "SuccessPolicy";
/// Reason: as many pods have succeeded as were wanted (J-31h).
pub const COMPLETIONS_REACHED: &str = "CompletionsReached";
/// Reason of condition `Suspended` being true.
pub const JOB_SUSPENDED: &str = "JobSuspended";
/// Reason of condition `Suspended` being false.
pub const JOB_RESUMED: &str = "JobResumed";

/// Event: a pod was created.
pub const SUCCESSFUL_CREATE: &str = "SuccessfulCreate";
/// Event: a pod could not be created.
pub const FAILED_CREATE: &str = "FailedCreate";
/// Event: a pod was deleted.
pub const SUCCESSFUL_DELETE: &str = "SuccessfulDelete";
/// Event: a pod could not be deleted.
pub const FAILED_DELETE: &str = "FailedDelete";
/// Event: the Job runs no pods any more.
pub const EVENT_SUSPENDED: &str = "Suspended";
/// Event: the Job runs pods again.
pub const EVENT_RESUMED: &str = "Resumed";
/// Event: the Job is done.
pub const COMPLETED: &str = "Completed";
/// Event: more pods have succeeded than were wanted.
pub const TOO_MANY_SUCCEEDED_PODS: &str = "TooManySucceededPods";
/// Event: nobody knows this completion mode.
pub const UNKNOWN_COMPLETION_MODE: &str = "UnknownCompletionMode";
