//! What a turn has done, in numbers: for metrics, which are counted elsewhere (J-211…J-213).

use std::collections::BTreeMap;
use std::time::Duration;

use super::policy::failure::Action;
use super::spec::{JobSpec, Work};

/// What one turn has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Completion mode of the Job.
    pub mode: Mode,
    /// What the turn was mostly about.
    pub action: TurnAction,
    /// Whether all of it succeeded.
    pub result: TurnResult,
    /// How long it took.
    pub took: Duration,
    /// The end of the Job, if its status tells it since this turn.
    pub finished: Option<Finished>,
    /// Pods that were recorded as succeeded.
    pub pods_succeeded: u64,
    /// Pods that were recorded as failed.
    pub pods_failed: u64,
    /// Indexes that were recorded as done.
    pub indexes_succeeded: u64,
    /// Indexes that were recorded as failed.
    pub indexes_failed: u64,
    /// Whether failures are limited per index.
    pub limit: Limit,
    /// Failures that the pod failure policy decided, by action.
    pub handled: BTreeMap<Action, u64>,
    /// Why pods were made.
    pub reason: CreationReason,
    /// Pods that were made.
    pub created: u64,
    /// Pods that could not be made; each counts here only (L-12).
    pub not_created: u64,
}

/// Label `completion_mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Any pod does any work.
    NonIndexed,
    /// Each pod does a numbered part.
    Indexed,
}

/// Label `action` of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TurnAction {
    /// Neither pods nor records changed much.
    Reconciling,
    /// Ends of pods were recorded.
    Tracking,
    /// Pods were made.
    PodsCreated,
    /// Pods were removed.
    PodsDeleted,
}

/// Label `result` of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TurnResult {
    /// Every write was applied.
    Success,
    /// Some write was not.
    Error,
}

/// The end of a Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Label `result`: `succeeded` or `failed`.
    pub result: &'static str,
    /// Label `reason`: one of upstream's, whatever a user calls the rules of a policy (J-213, J-243).
    pub reason: &'static str,
}

/// Label `backoffLimit` of indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// Only failures of all pods together are limited.
    Global,
    /// Those of each index are.
    PerIndex,
}

/// Label `reason` of created pods (J-212).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CreationReason {
    /// None has failed before.
    New,
    /// Others have failed or were asked to go.
    RecreateTerminatingOrFailed,
    /// Others have failed.
    RecreateFailed,
}

impl Mode {
    /// The mode of this Job.
    pub fn of(spec: &JobSpec) -> Self {
        match spec.work {
            Work::Indexed(_) => Self::Indexed,
            Work::Queue | Work::Fixed(_) | Work::Unknown(_) => Self::NonIndexed,
        }
    }

    /// The label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NonIndexed => "NonIndexed",
            Self::Indexed => "Indexed",
        }
    }
}

impl TurnAction {
    /// The label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reconciling => "reconciling",
            Self::Tracking => "tracking",
            Self::PodsCreated => "pods_created",
            Self::PodsDeleted => "pods_deleted",
        }
    }
}

impl TurnResult {
    /// The label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
        }
    }
}

impl Limit {
    /// The label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::PerIndex => "perIndex",
        }
    }
}

impl CreationReason {
    /// The label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::RecreateTerminatingOrFailed => "recreate_terminating_or_failed",
            Self::RecreateFailed => "recreate_failed",
        }
    }
}
