//! A pod, decoded to what Jobs ask of it; everything else is dropped while it is read.
//!
//! Of a pod that something else than a Job controls nothing is kept but who it is, whose, and its finalizers.

mod decode;

use std::sync::Arc;

use workload_core::condition::Status;
use workload_core::labels::Pairs;
use workload_core::meta::Meta;
use workload_core::pod::{Phase, Ready};
use workload_core::time::Timestamp;

use super::words;

/// A pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// Metadata; no annotations.
    pub meta: Meta,
    /// How far it has come.
    pub phase: Phase,
    /// Whether it has a node.
    pub placement: Placement,
    /// Its `Ready` condition.
    pub ready: Option<Ready>,
    /// Which index it works on, if it says so in an annotation that makes sense (J-73).
    pub index: Option<u32>,
    /// How often its index had failed before, counted and ignored (J-122).
    pub predecessors: Predecessors,
    /// Restarts of its containers.
    pub restarts: RestartCounts,
    /// When it ended or was asked to end (J-110); nothing while neither is so.
    pub ended: Option<Timestamp>,
    /// Containers that have ended with an exit code other than 0, regular ones first (J-141).
    pub exits: Arc<[Exit]>,
    /// Type and status of its conditions (J-142).
    pub conditions: Pairs,
    /// Whether one of its containers has ever run.
    pub start: Start,
    /// The wait for an image or for configuration, if it is in one.
    pub hindrance: Option<Hindrance>,
}

/// Whether a pod has a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Placement {
    /// Not yet.
    Unbound,
    /// It has.
    Bound,
}

/// Whether a container of a pod has ever run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// None that the pod tells of.
    Never,
    /// At least one.
    Once,
}

/// How often an index had failed before its pod was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Predecessors {
    /// Failures that count.
    pub failed: u32,
    /// Failures that a rule ignored.
    pub ignored: u32,
}

/// Restarts of a pod's containers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RestartCounts {
    /// Most of a regular container.
    pub most: i32,
    /// Most of a restartable init container (sidecar).
    pub most_of_sidecars: i32,
    /// All, init containers included (J-121).
    pub sum: i64,
}

/// How a container ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Its name.
    pub container: Arc<str>,
    /// Its exit code, not 0.
    pub code: i32,
}

/// A wait that only a change of image or configuration is likely to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hindrance {
    /// Reason of the container that waits, such as `ImagePullBackOff`.
    pub reason: Arc<str>,
    /// Since when nothing kept that container from starting but this.
    pub since: Timestamp,
}

impl Pod {
    /// True if its containers have ended for good.
    pub fn is_finished(&self) -> bool {
        matches!(self.phase, Phase::Succeeded | Phase::Failed)
    }

    /// True if it neither has ended nor was asked to go.
    pub fn is_active(&self) -> bool {
        !self.is_finished() && !self.meta.is_terminating()
    }

    /// True if it was asked to go and has not ended.
    pub fn is_terminating(&self) -> bool {
        !self.is_finished() && self.meta.is_terminating()
    }

    /// True if it is active and its `Ready` condition holds.
    pub fn is_ready(&self) -> bool {
        self.is_active() && self.ready.is_some_and(|ready| ready.status == Status::True)
    }

    /// A pod that something else than a Job controls: neither adopted nor counted.
    fn of_others(meta: Meta) -> Self {
        Self {
            meta,
            phase: Phase::Unknown,
            placement: Placement::Unbound,
            ready: None,
            index: None,
            predecessors: Predecessors::default(),
            restarts: RestartCounts::default(),
            ended: None,
            exits: Arc::default(),
            conditions: Arc::default(),
            start: Start::Never,
            hindrance: None,
        }
    }

    /// True if it still has to be counted (J-40).
    pub fn has_finalizer(&self) -> bool {
        self.meta
            .finalizers
            .iter()
            .any(|finalizer| **finalizer == *words::TRACKING)
    }
}
