//! Pods, decoded to what controllers ask of them; everything else of a pod is dropped while it is read.

mod decode;
pub mod wire;

use std::sync::Arc;
use std::time::Duration;

use crate::condition::Status;
use crate::meta::Meta;
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
    /// How many seconds after its creation it failed, as far as its status tells; nothing unless it is [`Phase::Failed`].
    pub failed_after: Option<u32>,
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

    /// When it failed, to the second, cut off; nothing if it did not fail, or does not say when.
    pub fn failed_at(&self) -> Option<Timestamp> {
        let age = Duration::from_secs(self.failed_after?.into());
        Some(time::plus(self.meta.created?, age))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labels::Interner;
    use crate::meta::Object;
    use rstest::rstest;
    use serde_json::{Value, json};

    pub(super) fn decode(spec: &Value, status: &Value) -> PodView {
        let metadata = json!({"name": "web-1", "namespace": "shop", "uid": "u1", "resourceVersion": "7"});
        let pod = json!({"metadata": metadata, "spec": spec, "status": status});
        PodView::decode(pod.to_string().as_bytes(), &Interner::default()).unwrap()
    }

    pub(super) fn with_status(status: &Value) -> PodView {
        decode(&json!({}), status)
    }

    pub(super) fn at(text: &str) -> Timestamp {
        format!("2026-01-02T03:04:{text}Z").parse().unwrap()
    }

    // proves: deployment/RS-4, deployment/RS-5
    #[rstest]
    #[case::pending("Pending", false, true, false)]
    #[case::running("Running", false, true, false)]
    #[case::unknown("Unknown", false, true, false)]
    #[case::succeeded("Succeeded", false, false, false)]
    #[case::failed("Failed", false, false, false)]
    #[case::running_asked_to_go("Running", true, false, true)]
    #[case::unknown_asked_to_go("Unknown", true, false, true)]
    #[case::failed_asked_to_go("Failed", true, false, false)]
    fn a_pod_is_active_or_terminating_or_finished(
        #[case] phase: &str,
        #[case] asked_to_go: bool,
        #[case] active: bool,
        #[case] terminating: bool,
    ) {
        let mut pod = with_status(&json!({ "phase": phase }));
        if asked_to_go {
            pod.meta.lifecycle = crate::meta::Lifecycle::Terminating;
        }
        assert_eq!((pod.is_active(), pod.is_terminating()), (active, terminating));
    }

    // proves: deployment/RS-20, deployment/RS-30, deployment/T-19
    #[rstest]
    #[case::not_ready("False", Some("00"), 5, false, None)]
    #[case::unknown("Unknown", Some("00"), 0, false, None)]
    #[case::just_ready("True", Some("10"), 5, false, Some(5000))]
    #[case::two_seconds_ago("True", Some("08"), 5, false, Some(3000))]
    #[case::a_little_missing("True", Some("05.7"), 5, false, Some(700))]
    #[case::to_the_second("True", Some("05"), 5, true, None)]
    #[case::long_ago("True", Some("01"), 5, true, None)]
    #[case::no_time_demanded("True", Some("10"), 0, true, None)]
    #[case::clock_behind("True", Some("12"), 0, true, Some(2000))]
    #[case::unknown_time("True", None, 5, false, None)]
    #[case::unknown_time_and_none_demanded("True", None, 0, true, None)]
    #[case::negative("True", Some("10"), -5, true, None)]
    #[case::nearly_for_ever("True", Some("10"), i32::MAX, false, Some(2_147_483_647_000))]
    fn a_pod_is_available_once_it_was_ready_for_long_enough(
        #[case] status: &str,
        #[case] since: Option<&str>,
        #[case] min_ready_seconds: i32,
        #[case] available: bool,
        #[case] wait_ms: Option<u64>,
    ) {
        let since = since.map(|since| at(since).to_string());
        let pod =
            with_status(&json!({"conditions": [{"type": "Ready", "status": status, "lastTransitionTime": since}]}));
        assert_eq!(pod.is_available_at(at("10"), min_ready_seconds), available);
        assert_eq!(
            pod.available_in(at("10"), min_ready_seconds),
            wait_ms.map(Duration::from_millis)
        );
    }
}
