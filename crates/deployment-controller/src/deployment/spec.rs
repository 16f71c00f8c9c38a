//! A Deployment as it is stored, checked: every default and every choice of its spec is settled here.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use workload_core::condition::Conditions;
use workload_core::id::Kind;
use workload_core::labels::Interner;
use workload_core::meta::{DecodeError, KeepAnnotations, Meta, Object, RawObject};
use workload_core::mistake::{Mistake, made};
use workload_core::number::{IntOrPercent, Round};
use workload_core::opt_in::Amount;
use workload_core::selector::{LabelSelector, Selector, SelectorError};
use workload_core::template::Template;

use super::opt_ins::OptIns;
use super::words;

/// A Deployment.
#[derive(Clone, Debug)]
pub struct Deployment {
    /// Metadata with all annotations, which its newest ReplicaSet gets too.
    pub meta: Meta,
    /// What its user wants.
    pub spec: DeploymentSpec,
    /// What was last reported about it.
    pub status: DeploymentStatus,
    /// What its user wants beyond upstream's behaviour.
    pub opt_ins: OptIns,
}

/// What the user of a Deployment wants.
#[derive(Clone, Debug)]
pub struct DeploymentSpec {
    /// How many pods; 1 if it does not say.
    pub replicas: i32,
    /// Which ReplicaSets and pods are its own. One that no server would have accepted stays an error: its Deployment is left
    /// alone (D-3).
    pub selector: Result<Selector, SelectorError>,
    /// The selector as it is written, for those of new ReplicaSets.
    pub raw_selector: LabelSelector,
    /// What the pods are made of.
    pub template: Template,
    /// How old pods make room for new ones.
    pub strategy: Strategy,
    /// How long a pod must be ready, in seconds, before it counts as available; 0 if it does not say.
    pub min_ready_seconds: i32,
    /// Which old ReplicaSets stay.
    pub history: History,
    /// Whether a changed template is rolled out.
    pub rollout: Rollout,
    /// After how long without progress a rollout counts as stuck; absent if nobody wants to know.
    pub deadline: Option<Duration>,
}

/// How old pods make room for new ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// All old pods go before the first new one comes.
    Recreate,
    /// Step by step, within two bounds that are read as parts of `spec.replicas`.
    RollingUpdate {
        /// How many pods there may be beyond `spec.replicas`.
        max_surge: IntOrPercent,
        /// How many of `spec.replicas` may be unavailable.
        max_unavailable: IntOrPercent,
    },
}

/// Which old ReplicaSets stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum History {
    /// All.
    KeepAll,
    /// This many.
    Keep(usize),
}

/// Whether a changed template is rolled out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rollout {
    /// At once.
    Active,
    /// Not until the user resumes it.
    Paused,
}

/// The status of a Deployment (D-60…D-62).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeploymentStatus {
    /// Generation of the spec that this status is about.
    pub observed_generation: i64,
    /// Active pods.
    pub replicas: i32,
    /// Active pods of the new ReplicaSet.
    pub updated_replicas: i32,
    /// Active pods that are ready.
    pub ready_replicas: i32,
    /// Active pods that have been ready for `min_ready_seconds`.
    pub available_replicas: i32,
    /// Pods that are wanted and not available.
    pub unavailable_replicas: i32,
    /// Pods on their way out; absent if a ReplicaSet does not say.
    pub terminating_replicas: Option<i32>,
    /// How often the name of a new ReplicaSet was taken; goes into the name (C-60, D-14).
    pub collision_count: Option<i32>,
    /// Conditions, those of others included.
    pub conditions: Conditions,
}

/// The two bounds of a rollout, in pods (D-30).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// How many pods the ReplicaSets may want together: replicas + surge.
    pub most: i64,
    /// How many pods must stay available: replicas − maxUnavailable.
    pub least_available: i64,
}

/// A number of pods as the API stores it.
pub(super) fn to_count(pods: i64) -> i32 {
    i32::try_from(pods.max(0)).unwrap_or(i32::MAX)
}

impl Deployment {
    /// The revision to which the old rollback annotation asks to go back; one that is no number does not ask (D-50).
    pub fn rollback_to(&self) -> Option<i64> {
        self.meta.annotations.get(words::ROLLBACK_TO)?.parse().ok()
    }

    /// At how many updated replicas a rollout stops; nothing if it goes to its end (field FR-DP-07). Rounding leaves at least
    /// one old replica, or scaling down would let a canary take all.
    pub fn hold(&self) -> Option<i64> {
        let Amount(at) = self.opt_ins.hold_at?;
        let (replicas, wanted) = (at.scaled(self.spec.replicas, Round::Up), self.spec.wanted());
        match at {
            IntOrPercent::Percent(0..100) => Some(replicas.min(wanted - 1)).filter(|at| *at >= 0),
            IntOrPercent::Percent(_) | IntOrPercent::Int(_) => Some(replicas).filter(|at| *at < wanted),
        }
    }

    /// True if its selector is `{}`, which would make every ReplicaSet of the namespace its own (D-3).
    pub fn selects_everything(&self) -> bool {
        self.spec.selector.as_ref().is_ok_and(Selector::is_empty)
    }
}

impl DeploymentSpec {
    /// Replicas as a summand.
    pub fn wanted(&self) -> i64 {
        i64::from(self.replicas)
    }

    /// The bounds of a rollout (D-30): surge rounds up, unavailability down; both 0 would mean standstill, then one pod may
    /// be unavailable. Without rolling updates there is neither surge nor unavailability.
    pub fn bounds(&self) -> Bounds {
        let wanted = self.wanted();
        let (surge, unavailable) = match self.strategy {
            Strategy::Recreate => (0, 0),
            Strategy::RollingUpdate {
                max_surge,
                max_unavailable,
            } => match (
                max_surge.scaled(self.replicas, Round::Up),
                max_unavailable.scaled(self.replicas, Round::Down),
            ) {
                (0, 0) => (0, 1),
                resolved => resolved,
            },
        };
        Bounds {
            most: wanted.saturating_add(surge) + i64::from(made(Mistake::SurgeTooLarge)),
            least_available: wanted - unavailable.min(wanted) - i64::from(made(Mistake::TooManyUnavailable)),
        }
    }
}

impl Object for Deployment {
    const KIND: Kind = Kind::DEPLOYMENT;

    fn decode(json: &[u8], interner: &Interner) -> Result<Self, DecodeError> {
        let raw: RawObject<'_, RawSpec<'_>, _> = serde_json::from_slice(json)?;
        let meta = raw.metadata.into_meta(KeepAnnotations::All, interner)?;
        let spec = raw.spec.check(interner)?;
        let mut opt_ins = OptIns::read(&meta.annotations);
        opt_ins.fit(spec.strategy, &meta.annotations);
        Ok(Self {
            meta,
            spec,
            status: raw.status,
            opt_ins,
        })
    }

    fn meta(&self) -> &Meta {
        &self.meta
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawSpec<'a> {
    replicas: Option<i32>,
    selector: Option<LabelSelector>,
    #[serde(borrow)]
    template: &'a RawValue,
    #[serde(default)]
    strategy: RawStrategy,
    min_ready_seconds: Option<i32>,
    revision_history_limit: Option<i32>,
    paused: Option<bool>,
    progress_deadline_seconds: Option<i32>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawStrategy {
    r#type: String,
    rolling_update: Option<RawRollingUpdate>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawRollingUpdate {
    max_surge: Option<IntOrPercent>,
    max_unavailable: Option<IntOrPercent>,
}

/// The number that means "never" in `revisionHistoryLimit` and `progressDeadlineSeconds`.
const OFF: i32 = i32::MAX;

impl RawSpec<'_> {
    fn check(self, interner: &Interner) -> Result<DeploymentSpec, DecodeError> {
        Ok(DeploymentSpec {
            replicas: self.replicas.unwrap_or(1),
            selector: Selector::new(self.selector.as_ref()),
            raw_selector: self.selector.unwrap_or_default(),
            template: Template::decode(self.template, interner)?,
            strategy: self.strategy.check()?,
            min_ready_seconds: self.min_ready_seconds.unwrap_or(0),
            history: self
                .revision_history_limit
                .filter(|limit| *limit != OFF)
                .and_then(|limit| usize::try_from(limit).ok())
                .map_or(History::KeepAll, History::Keep),
            rollout: match self.paused {
                Some(true) => Rollout::Paused,
                Some(false) | None => Rollout::Active,
            },
            deadline: self
                .progress_deadline_seconds
                .filter(|seconds| *seconds != OFF)
                .and_then(|seconds| u64::try_from(seconds).ok())
                .map(Duration::from_secs),
        })
    }
}

impl RawStrategy {
    /// A server always stores a type; one that this version does not know must not be guessed at (D-2).
    fn check(self) -> Result<Strategy, DecodeError> {
        match self.r#type.as_str() {
            "Recreate" => Ok(Strategy::Recreate),
            "RollingUpdate" => {
                let bounds = self.rolling_update.unwrap_or_default();
                Ok(Strategy::RollingUpdate {
                    max_surge: bounds.max_surge.unwrap_or(IntOrPercent::Int(0)),
                    max_unavailable: bounds.max_unavailable.unwrap_or(IntOrPercent::Int(0)),
                })
            }
            _ => Err(DecodeError::Field("spec.strategy.type")),
        }
    }
}
