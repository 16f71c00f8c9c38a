//! Reading a pod's JSON into a [`PodView`].

use super::wire::{WireContainerStatus, WirePod, WireStatus, most_restarts};
use super::{DELETION_COST, Hindrance, Phase, PodView};
use crate::id::Kind;
use crate::labels::Interner;
use crate::meta::{DecodeError, KeepAnnotations, Meta, Object};
use crate::time::Timestamp;

impl Object for PodView {
    const KIND: Kind = Kind::POD;

    fn decode(json: &[u8], interner: &Interner) -> Result<Self, DecodeError> {
        let pod = WirePod::read(json)?;
        let (spec, status) = (pod.spec, pod.status);
        Ok(Self {
            node: (!spec.node_name.is_empty()).then(|| interner.string(&spec.node_name)),
            phase: status.phase(),
            ready: status.ready(),
            restarts: most_restarts(status.regular()),
            sidecar_restarts: most_restarts(status.sidecars(&spec.sidecars())),
            failed_after: failed_after(pod.metadata.created(), failed_at(&status)),
            deletion_cost: deletion_cost(pod.metadata.annotation(DELETION_COST)),
            hindrance: hindrance(&status, interner),
            meta: pod.metadata.into_meta(KeepAnnotations::Only(&[]), interner)?,
        })
    }

    fn meta(&self) -> &Meta {
        &self.meta
    }
}

impl Phase {
    /// The phase that this word stands for; any other is `Pending`, for a pod may not have one yet.
    pub fn of(word: &str) -> Self {
        match word {
            "Running" => Self::Running,
            "Succeeded" => Self::Succeeded,
            "Failed" => Self::Failed,
            "Unknown" => Self::Unknown,
            _ => Self::Pending,
        }
    }
}

/// Seconds from creation to failure; none where clocks disagree about what came first.
fn failed_after(created: Option<Timestamp>, failed: Option<Timestamp>) -> Option<u32> {
    let seconds = failed?.as_second().saturating_sub(created?.as_second());
    Some(u32::try_from(seconds.max(0)).unwrap_or(u32::MAX))
}

/// The cost that an annotation states: a 32-bit decimal without plus sign and leading zeros, else 0 (deployment C-53).
fn deletion_cost(annotation: Option<&str>) -> i32 {
    annotation
        .filter(|text| *text == "0" || !text.starts_with(['0', '+']))
        .and_then(|text| text.parse().ok())
        .unwrap_or_default()
}

/// When a failed pod's last container ended. Of a pod that its node has refused, or that ended while its node was away,
/// no container tells; then it is the latest moment that its status knows of. A kubelet that refuses a pod states when it
/// first saw it, and takes all its own conditions away.
fn failed_at(status: &WireStatus<'_>) -> Option<Timestamp> {
    if status.phase() != Phase::Failed {
        return None;
    }
    let ends = status.regular().filter_map(WireContainerStatus::ended);
    ends.max().or_else(|| {
        let changes = status
            .conditions()
            .filter_map(|condition| condition.last_transition_time);
        changes.chain(status.start_time).max()
    })
}

/// An unscheduled pod has no waiting container. Of several waiting ones the first in starting order counts, one that
/// only waits for its turn last.
fn hindrance(status: &WireStatus<'_>, interner: &Interner) -> Option<Hindrance> {
    let scheduled = status.condition("PodScheduled");
    if let Some(condition) = scheduled.filter(|condition| condition.status == "False") {
        return Some(Hindrance::Unscheduled(interner.string(&condition.reason)));
    }
    let containers = status.init().chain(status.regular());
    containers
        .filter_map(|container| container.state.waiting.as_ref())
        .min_by_key(|waiting| matches!(&*waiting.reason, "PodInitializing" | "ContainerCreating"))
        .map(|waiting| Hindrance::Waiting(interner.string(&waiting.reason)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod::tests::{at, decode, with_status};
    use rstest::rstest;
    use serde_json::{Value, json};

    #[test]
    fn a_running_pod_is_read() {
        let spec = json!({"nodeName": "node-1", "containers": [{"name": "app"}], "initContainers": [
            {"name": "setup"}, {"name": "proxy", "restartPolicy": "Always"}, {"name": "logs", "restartPolicy": "Always"}]});
        let status = json!({"phase": "Running",
            "conditions": [
                {"type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": "2026-01-02T03:04:01Z"},
                {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z"}],
            "initContainerStatuses": [{"name": "setup", "restartCount": 9}, {"name": "proxy", "restartCount": 2},
                {"name": "logs", "restartCount": 1}],
            "containerStatuses": [{"name": "app", "restartCount": 3, "state": {"running": {"startedAt": "2026-01-02T03:04:02Z"}}},
                {"name": "other", "restartCount": 4}]});
        let pod = decode(&spec, &status);
        assert_eq!(pod.node.as_deref(), Some("node-1"));
        assert_eq!(pod.phase, Phase::Running);
        assert_eq!(pod.ready_since(), Some(at("05")));
        assert_eq!((pod.restarts, pod.sidecar_restarts), (4, 2));
        assert_eq!(pod.deletion_cost, 0);
        assert_eq!(pod.hindrance, None);
    }

    #[test]
    fn a_pod_fresh_from_the_server_is_pending_and_unscheduled() {
        let pod = with_status(&json!({"phase": "Pending"}));
        assert_eq!(
            (pod.phase, pod.node.as_deref(), pod.ready),
            (Phase::Pending, None, None)
        );
        assert_eq!(with_status(&json!({})).phase, Phase::Pending);
        assert_eq!(decode(&json!({"nodeName": ""}), &json!({})).node, None);
    }

    // proves: deployment/C-53
    #[rstest]
    #[case::absent(None, 0)]
    #[case::zero(Some("0"), 0)]
    #[case::positive(Some("10"), 10)]
    #[case::negative(Some("-10"), -10)]
    #[case::negative_with_a_zero(Some("-08"), -8)]
    #[case::largest(Some("2147483647"), i32::MAX)]
    #[case::plus(Some("+10"), 0)]
    #[case::leading_zeros(Some("008"), 0)]
    #[case::empty(Some(""), 0)]
    #[case::overflow(Some("2147483648"), 0)]
    #[case::text(Some("cheap"), 0)]
    #[case::space(Some(" 1"), 0)]
    fn costs_are_plain_decimals(#[case] annotation: Option<&str>, #[case] expected: i32) {
        let annotations = annotation.map(|cost| json!({ DELETION_COST: cost, "other": "1" }));
        let pod =
            json!({"metadata": {"name": "web-1", "uid": "u1", "resourceVersion": "7", "annotations": annotations}});
        let pod = PodView::decode(pod.to_string().as_bytes(), &Interner::default()).unwrap();
        assert_eq!(pod.deletion_cost, expected);
        assert!(pod.meta.annotations.is_empty());
    }

    #[rstest]
    #[case::no_node(
        json!({"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]}),
        Some(Hindrance::Unscheduled("Unschedulable".into()))
    )]
    #[case::image(
        json!({"containerStatuses": [{"name": "a", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "m"}}}]}),
        Some(Hindrance::Waiting("ImagePullBackOff".into()))
    )]
    #[case::not_its_turn_yet(
        json!({"initContainerStatuses": [{"name": "i", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}],
               "containerStatuses": [{"name": "a", "state": {"waiting": {"reason": "PodInitializing"}}}]}),
        Some(Hindrance::Waiting("CrashLoopBackOff".into()))
    )]
    #[case::second_container(
        json!({"containerStatuses": [{"name": "a", "state": {"waiting": {"reason": "ContainerCreating"}}},
                                     {"name": "b", "state": {"waiting": {"reason": "ErrImagePull"}}}]}),
        Some(Hindrance::Waiting("ErrImagePull".into()))
    )]
    #[case::starting(
        json!({"containerStatuses": [{"name": "a", "state": {"waiting": {"reason": "ContainerCreating"}}}]}),
        Some(Hindrance::Waiting("ContainerCreating".into()))
    )]
    #[case::running(json!({"containerStatuses": [{"name": "a", "state": {"running": {}}}]}), None)]
    fn a_stuck_pod_says_why(#[case] status: Value, #[case] expected: Option<Hindrance>) {
        assert_eq!(with_status(&status).hindrance, expected);
    }

    // proves: field/FR-DP-01
    #[rstest]
    #[case::its_last_container(
        json!({"startTime": "2026-01-02T03:04:01Z",
               "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-02T03:04:30Z"}],
               "containerStatuses": [
                   {"name": "a", "state": {"terminated": {"exitCode": 1, "finishedAt": "2026-01-02T03:04:09Z"}}},
                   {"name": "b", "state": {"terminated": {"exitCode": 0, "finishedAt": "2026-01-02T03:04:07Z"}}}]}),
        Some("09")
    )]
    #[case::refused_by_its_node(
        json!({"reason": "OutOfcpu", "startTime": "2026-01-02T03:04:05Z",
               "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-02T03:04:04Z"}]}),
        Some("05")
    )]
    #[case::ended_while_its_node_was_away(
        json!({"startTime": "2026-01-02T03:04:05Z",
               "conditions": [{"type": "DisruptionTarget", "status": "True", "lastTransitionTime": "2026-01-02T03:04:40Z"}],
               "containerStatuses": [{"name": "a", "state": {"terminated": {"exitCode": 137, "finishedAt": null}}}]}),
        Some("40")
    )]
    #[case::says_nothing(json!({}), None)]
    fn a_failed_pod_says_when(#[case] status: Value, #[case] expected: Option<&str>) {
        let in_phase = |phase: &str| {
            let mut status = status.clone();
            status["phase"] = phase.into();
            let metadata = json!({"name": "web-1", "uid": "u1", "resourceVersion": "7",
                                  "creationTimestamp": "2026-01-02T03:04:02Z"});
            let pod = json!({"metadata": metadata, "status": status}).to_string();
            PodView::decode(pod.as_bytes(), &Interner::default()).unwrap()
        };
        assert_eq!(in_phase("Failed").failed_at(), expected.map(at));
        assert_eq!(in_phase("Succeeded").failed_at(), None);
        assert_eq!(in_phase("Running").failed_at(), None);
    }

    #[test]
    fn clocks_that_disagree_make_no_negative_age() {
        let after = |created, failed| failed_after(Some(at(created)), Some(at(failed)));
        assert_eq!([after("05", "09"), after("09", "05")], [Some(4), Some(0)]);
    }

    // proves: field/FR-XC-05
    #[test]
    fn a_cached_pod_is_small() {
        assert!(size_of::<PodView>() <= 256, "{} bytes", size_of::<PodView>());
    }

    // proves: field/FR-XC-05, field/FR-RS-07
    #[test]
    fn of_a_large_pod_only_what_decides_is_kept() {
        let padding = "padding".repeat(1_000);
        let pod = json!({
            "metadata": {
                "name": "web-1", "uid": "u1", "resourceVersion": "7", "labels": {"app": "web"},
                "annotations": {"note": padding}, "managedFields": [{"manager": padding}],
            },
            "spec": {
                "volumes": [{"name": padding}],
                "containers": [{"name": "main", "image": padding, "args": [padding], "env": [{"name": padding}]}],
            },
            "status": {"containerStatuses": [{"name": "main", "imageID": padding, "state": {"running": {}}}]},
        });
        let kept = format!(
            "{:?}",
            PodView::decode(pod.to_string().as_bytes(), &Interner::default()).unwrap()
        );
        assert!(kept.contains("web-1"), "{kept}");
        assert!(!kept.contains("padding"), "{kept}");
    }
}
