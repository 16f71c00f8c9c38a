//! Pods, decoded to what controllers ask of them; everything else of a pod is dropped while it is read.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use crate::condition::Status;
use crate::id::Kind;
use crate::labels::Interner;
use crate::meta::{DecodeError, KeepAnnotations, Meta, Object, RawMeta};
use crate::time::{self, Timestamp};

/// Annotation with which a user says which pods to give up first (deployment C-51, C-53).
pub const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// A pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodView {
    /// Metadata; no annotations.
    pub meta: Meta,
    /// Name of the node it is bound to.
    pub node: Option<Arc<str>>,
    /// How far it has come.
    pub phase: Phase,
    /// Its `Ready` condition.
    pub ready: Option<Ready>,
    /// Largest restart count of its regular containers.
    pub restarts: i32,
    /// Largest restart count of its restartable init containers (sidecars).
    pub sidecar_restarts: i32,
    /// What its removal costs, from [`DELETION_COST`]; 0 if it does not say.
    pub deletion_cost: i32,
    /// Why it does not get on, as far as the pod tells.
    pub hindrance: Option<Hindrance>,
}

/// `status.phase`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Accepted, not all containers started yet; also a pod that has no phase yet.
    Pending,
    /// Started.
    Running,
    /// Finished, all containers well.
    Succeeded,
    /// Finished, a container failed.
    Failed,
    /// Its node does not answer.
    Unknown,
}

/// The `Ready` condition of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// Whether it holds.
    pub status: Status,
    /// Since when.
    pub since: Option<Timestamp>,
}

/// What keeps a pod from running.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Hindrance {
    /// The scheduler found no node; the reason of condition `PodScheduled`, such as `Unschedulable`.
    Unscheduled(Arc<str>),
    /// A container waits; its reason, such as `ImagePullBackOff`.
    Waiting(Arc<str>),
}

impl PodView {
    /// True if it neither has finished nor was asked to go.
    pub fn is_active(&self) -> bool {
        !self.is_finished() && !self.meta.is_terminating()
    }

    /// True if it was asked to go and has not finished.
    pub fn is_terminating(&self) -> bool {
        !self.is_finished() && self.meta.is_terminating()
    }

    /// True if its containers have ended for good.
    pub fn is_finished(&self) -> bool {
        matches!(self.phase, Phase::Succeeded | Phase::Failed)
    }

    /// True if its `Ready` condition holds.
    pub fn is_ready(&self) -> bool {
        self.ready.is_some_and(|ready| ready.status == Status::True)
    }

    /// Since when it is ready: nothing if it is not ready, or does not say since when.
    pub fn ready_since(&self) -> Option<Timestamp> {
        self.ready.filter(|ready| ready.status == Status::True)?.since
    }

    /// True if it has been ready for `min_ready_seconds` (deployment RS-20). A pod that does not say since when it is ready
    /// is available only where no time is demanded.
    pub fn is_available_at(&self, now: Timestamp, min_ready_seconds: i32) -> bool {
        self.is_ready()
            && (min_ready_seconds <= 0 || self.available_from(min_ready_seconds).is_some_and(|at| at <= now))
    }

    /// How long until a ready pod becomes available; nothing if it is available, not ready, or does not say since when
    /// (deployment RS-30).
    pub fn available_in(&self, now: Timestamp, min_ready_seconds: i32) -> Option<Duration> {
        time::until(self.available_from(min_ready_seconds)?, now)
    }

    fn available_from(&self, min_ready_seconds: i32) -> Option<Timestamp> {
        let wait = Duration::from_secs(u64::try_from(min_ready_seconds).unwrap_or_default());
        Some(time::plus(self.ready_since()?, wait))
    }
}

impl Object for PodView {
    const KIND: Kind = Kind::POD;

    fn decode(json: &[u8], interner: &Interner) -> Result<Self, DecodeError> {
        let pod: RawPod<'_> = serde_json::from_slice(json)?;
        let (spec, status) = (pod.spec, pod.status);
        let sidecars = spec.sidecars();
        let most = |counts: &mut dyn Iterator<Item = i32>| counts.max().unwrap_or_default();
        Ok(Self {
            node: spec
                .node_name
                .as_deref()
                .filter(|name| !name.is_empty())
                .map(|name| interner.string(name)),
            phase: Phase::of(status.phase.as_deref()),
            ready: status.condition("Ready").map(|ready| Ready {
                status: Status::of(&ready.status),
                since: ready.last_transition_time,
            }),
            restarts: most(&mut status.containers().map(|container| container.restart_count)),
            sidecar_restarts: most(
                &mut status
                    .init_containers()
                    .filter(|container| sidecars.contains(&*container.name))
                    .map(|container| container.restart_count),
            ),
            deletion_cost: deletion_cost(pod.metadata.annotation(DELETION_COST)),
            hindrance: status.hindrance(interner),
            meta: pod.metadata.into_meta(KeepAnnotations::Only(&[]), interner)?,
        })
    }

    fn meta(&self) -> &Meta {
        &self.meta
    }
}

impl Phase {
    fn of(word: Option<&str>) -> Self {
        match word {
            Some("Running") => Self::Running,
            Some("Succeeded") => Self::Succeeded,
            Some("Failed") => Self::Failed,
            Some("Unknown") => Self::Unknown,
            _ => Self::Pending,
        }
    }
}

/// The cost that an annotation states: a 32-bit decimal without plus sign and leading zeros, else 0 (deployment C-53).
fn deletion_cost(annotation: Option<&str>) -> i32 {
    annotation
        .filter(|text| *text == "0" || !text.starts_with(['0', '+']))
        .and_then(|text| text.parse().ok())
        .unwrap_or_default()
}

#[derive(Deserialize)]
struct RawPod<'a> {
    #[serde(borrow)]
    metadata: RawMeta<'a>,
    #[serde(borrow, default)]
    spec: RawSpec<'a>,
    #[serde(borrow, default)]
    status: RawStatus<'a>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawSpec<'a> {
    #[serde(borrow)]
    node_name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    init_containers: Option<Vec<RawContainer<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawContainer<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    restart_policy: Option<Cow<'a, str>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawStatus<'a> {
    #[serde(borrow)]
    phase: Option<Cow<'a, str>>,
    #[serde(borrow)]
    conditions: Option<Vec<RawCondition<'a>>>,
    #[serde(borrow)]
    init_container_statuses: Option<Vec<RawContainerStatus<'a>>>,
    #[serde(borrow)]
    container_statuses: Option<Vec<RawContainerStatus<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawCondition<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow)]
    status: Cow<'a, str>,
    #[serde(borrow)]
    reason: Cow<'a, str>,
    last_transition_time: Option<Timestamp>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawContainerStatus<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    restart_count: i32,
    #[serde(borrow)]
    state: Option<RawState<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawState<'a> {
    #[serde(borrow)]
    waiting: Option<RawWaiting<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawWaiting<'a> {
    #[serde(borrow)]
    reason: Cow<'a, str>,
}

impl RawSpec<'_> {
    fn sidecars(&self) -> HashSet<&str> {
        let restartable = |container: &&RawContainer<'_>| container.restart_policy.as_deref() == Some("Always");
        self.init_containers
            .iter()
            .flatten()
            .filter(restartable)
            .map(|container| &*container.name)
            .collect()
    }
}

impl RawStatus<'_> {
    fn condition(&self, kind: &str) -> Option<&RawCondition<'_>> {
        self.conditions
            .iter()
            .flatten()
            .find(|condition| condition.r#type == kind)
    }

    fn containers(&self) -> impl Iterator<Item = &RawContainerStatus<'_>> {
        self.container_statuses.iter().flatten()
    }

    fn init_containers(&self) -> impl Iterator<Item = &RawContainerStatus<'_>> {
        self.init_container_statuses.iter().flatten()
    }

    /// An unscheduled pod has no waiting container. Of several waiting ones the first in starting order counts, one that
    /// only waits for its turn last.
    fn hindrance(&self, interner: &Interner) -> Option<Hindrance> {
        let unscheduled = self
            .condition("PodScheduled")
            .filter(|condition| condition.status == "False");
        if let Some(condition) = unscheduled {
            return Some(Hindrance::Unscheduled(interner.string(&condition.reason)));
        }
        self.init_containers()
            .chain(self.containers())
            .filter_map(|container| container.state.as_ref()?.waiting.as_ref())
            .min_by_key(|waiting| matches!(&*waiting.reason, "PodInitializing" | "ContainerCreating"))
            .map(|waiting| Hindrance::Waiting(interner.string(&waiting.reason)))
    }
}
