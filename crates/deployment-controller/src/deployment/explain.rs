//! Why a rollout does not get on: which pods wait for what, and what keeps pods from being made.
//!
//! Conditions and their messages stay upstream's; this is told in events and counted in a gauge. It is looked for only once
//! half of the progress deadline has passed without progress ([`progress::is_stalled`]).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use workload_core::cache::Store;
use workload_core::plan::Note;
use workload_core::pod::{Hindrance, Phase, PodView};
use workload_core::time::Timestamp;
use workload_core::workload::Explanation;

use super::observe::{NewSet, Observed, takes_room};
use super::opt_ins::{DisruptionBudgets, PodReplacement};
use super::spec::{Deployment, DeploymentStatus, Strategy};
use super::{progress, words};
use crate::replicaset;
use crate::replicaset::spec::ReplicaSet;

/// How long a ReplicaSet must have been left alone before it is told that nobody reconciles it: whoever does may be slow.
const SILENCE: Duration = Duration::from_secs(30);

/// How many pods are named.
const NAMED: usize = 3;

/// How the server begins to say that a quota is full.
const OVER_QUOTA: &str = "exceeded quota";

/// Pods that a rollout which does not get on may be waiting for.
#[derive(Clone, Debug, Default)]
pub struct Stall {
    /// Pods of the new ReplicaSet that are not ready.
    new: Vec<Arc<PodView>>,
    /// Pods whose end the rollout waits for.
    old: Vec<Arc<PodView>>,
}

impl Stall {
    /// What the cache shows of a rollout; nothing if it gets on.
    pub(super) fn observe(
        deployment: &Deployment,
        new: &NewSet,
        old: &[Arc<ReplicaSet>],
        pods: &Store<PodView>,
        now: Timestamp,
    ) -> Option<Self> {
        if !progress::is_stalled(&deployment.status, deployment, now) {
            return None;
        }
        let of = |set: &ReplicaSet, waits: fn(&PodView) -> bool| {
            let mut waiting = pods.controlled_by(&set.meta.uid);
            waiting.retain(|pod| waits(pod));
            waiting
        };
        Some(Self {
            new: match new {
                NewSet::Found(set) => unready(set, pods),
                NewSet::Missing(_) => Vec::new(),
            },
            old: match (deployment.spec.strategy, deployment.opt_ins.pod_replacement) {
                (Strategy::Recreate, _) => old.iter().flat_map(|set| of(set, takes_room)).collect(),
                (Strategy::RollingUpdate { .. }, PodReplacement::TerminationComplete) => {
                    old.iter().flat_map(|set| of(set, PodView::is_terminating)).collect()
                }
                (Strategy::RollingUpdate { .. }, PodReplacement::TerminationStarted) => Vec::new(),
            },
        })
    }
}

/// Pods of a ReplicaSet that are not ready. Those that have ended stay for long; they count while nothing is in their place.
fn unready(set: &ReplicaSet, pods: &Store<PodView>) -> Vec<Arc<PodView>> {
    let mut own = pods.controlled_by(&set.meta.uid);
    let active = own.iter().filter(|pod| pod.is_active()).count();
    let replaced = i64::try_from(active).unwrap_or(i64::MAX) >= i64::from(set.replicas);
    own.retain(|pod| {
        let passed = pod.is_finished() && replaced;
        !(pod.is_ready() || pod.meta.is_terminating() || passed)
    });
    own
}

/// What holds the rollout up, as far as can be seen; nothing if it gets on by `status`.
pub(super) fn explain(seen: &Observed, status: &DeploymentStatus, now: Timestamp) -> Vec<Explanation> {
    let Some(stall) = seen.stall.as_ref() else {
        return Vec::new();
    };
    if !progress::is_stalled(status, &seen.deployment, now) {
        return Vec::new();
    }
    let mut found = Vec::new();
    if let Some(set) = seen.found() {
        found.extend(unreconciled(set).filter(|_| progress::is_silent(status, SILENCE, now)));
        found.extend(refused(set));
    }
    found.extend(without_replica_set(status));
    found.extend(seen.old.iter().find_map(|set| undeletable(set)));
    found.extend(of_new_pods(&stall.new));
    if seen.deployment.opt_ins.disruption_budgets == DisruptionBudgets::Respect {
        found.extend(seen.old.iter().find_map(|set| protected(set)));
    }
    if !stall.old.is_empty() {
        let message = format!("old pods have not ended: {}", some_of(&stall.old));
        found.push(stuck("OldPodsRemain", &message));
    }
    found
}

/// The ReplicaSet was changed and nobody has taken notice: perhaps nobody reconciles ReplicaSets.
fn unreconciled(set: &ReplicaSet) -> Option<Explanation> {
    let name = &set.meta.key.name;
    let message = format!("replica set {name} was changed, and no ReplicaSet controller has taken notice");
    (!set.is_observed()).then(|| stuck("ReplicaSetNotReconciled", &message))
}

/// Pods cannot be made or deleted; the condition has the server's words.
fn refused(set: &ReplicaSet) -> Option<Explanation> {
    let failure = set.status.conditions.get(words::REPLICA_FAILURE)?;
    let message = format!("pods of replica set {}: {}", set.meta.key.name, failure.message);
    Some(stuck(refusal(&failure.message, words::REPLICA_FAILURE), &message))
}

/// Pods of an old ReplicaSet cannot be deleted.
fn undeletable(set: &ReplicaSet) -> Option<Explanation> {
    let failure = set.status.conditions.get(words::REPLICA_FAILURE)?;
    (failure.reason == replicaset::words::FAILED_DELETE).then(|| refused(set))?
}

/// Old pods stay that are to go by eviction.
fn protected(set: &ReplicaSet) -> Option<Explanation> {
    let (name, kept) = (&set.meta.key.name, set.kept());
    let message = format!("disruption budgets keep {kept} of the pods of old replica set {name} that are to go");
    (kept > 0).then(|| stuck(replicaset::words::DISRUPTION_BUDGET, &message))
}

/// The new ReplicaSet cannot be made; the condition has the server's words.
fn without_replica_set(status: &DeploymentStatus) -> Option<Explanation> {
    let current = status.conditions.get(words::PROGRESSING)?;
    let reason = words::REPLICA_SET_CREATE_ERROR;
    (current.reason == reason).then(|| stuck(refusal(&current.message, reason), &current.message))
}

/// What a refusal in the server's words comes from; `otherwise` if it cannot be told.
fn refusal(message: &str, otherwise: &'static str) -> &'static str {
    if message.contains(OVER_QUOTA) {
        "QuotaExceeded"
    } else {
        otherwise
    }
}

/// One explanation for each cause.
fn of_new_pods(pods: &[Arc<PodView>]) -> Vec<Explanation> {
    let mut by_cause: BTreeMap<&'static str, Vec<Arc<PodView>>> = BTreeMap::new();
    for pod in pods {
        by_cause.entry(cause(pod)).or_default().push(Arc::clone(pod));
    }
    let each = by_cause.into_iter().map(|(cause, pods)| {
        let word = pods.first().and_then(|pod| word(pod)).unwrap_or(cause);
        stuck(cause, &format!("new pods are not ready ({word}): {}", some_of(&pods)))
    });
    each.collect()
}

/// Why a pod is not ready, in one of a few words.
fn cause(pod: &PodView) -> &'static str {
    match (&pod.hindrance, pod.phase) {
        (_, Phase::Failed | Phase::Succeeded) => "PodEnded",
        (Some(Hindrance::Unscheduled(reason)), _) => known(&["SchedulingGated"], reason).unwrap_or("Unschedulable"),
        (Some(Hindrance::Waiting(reason)), _) => known(&WAITING, reason).unwrap_or("ContainerWaiting"),
        (None, Phase::Pending) if pod.node.is_none() => "NotScheduled",
        (None, Phase::Pending) => "NotStarted",
        (None, Phase::Unknown) => "NodeSilent",
        (None, Phase::Running) => "NotReady",
    }
}

/// Reasons of waiting containers that are causes of their own; others come from outside and could be any number.
const WAITING: [&str; 11] = [
    "ContainerCreating",
    "CrashLoopBackOff",
    "CreateContainerConfigError",
    "CreateContainerError",
    "ErrImageNeverPull",
    "ErrImagePull",
    "ImageInspectError",
    "ImagePullBackOff",
    "InvalidImageName",
    "PodInitializing",
    "RunContainerError",
];

fn known(words: &[&'static str], reason: &str) -> Option<&'static str> {
    words.iter().copied().find(|word| *word == reason)
}

/// The pod's own word for it.
fn word(pod: &PodView) -> Option<&str> {
    match (&pod.hindrance, pod.is_finished()) {
        (Some(Hindrance::Unscheduled(reason) | Hindrance::Waiting(reason)), false) if !reason.is_empty() => {
            Some(reason)
        }
        _ => None,
    }
}

/// The first names in their order, and how many there are beside.
fn some_of(pods: &[Arc<PodView>]) -> String {
    let mut names: Vec<&str> = pods.iter().map(|pod| &*pod.meta.key.name).collect();
    names.sort_unstable();
    let rest = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let text = names.join(", ");
    if rest == 0 {
        text
    } else {
        format!("{text} and {rest} more")
    }
}

fn stuck(cause: &'static str, message: &str) -> Explanation {
    let note = Note::warning(words::ROLLOUT_STUCK, format!("The rollout does not get on: {message}"));
    Explanation { cause, note }
}
