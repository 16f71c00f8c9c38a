//! How a rollout gets on: condition `Progressing` and the deadline behind it (D-71…D-77, D-84). Follows upstream's
//! `syncRolloutStatus`, `checkPausedConditions` and `requeueStuckDeployment`.

use std::time::Duration;

use workload_core::condition::{Condition, Status};
use workload_core::opt_in::PREFIX;
use workload_core::plan::Wake;
use workload_core::time::{self, Timestamp};

use super::opt_ins::HOLD_AT;
use super::spec::{Deployment, DeploymentStatus};
use super::words;

/// True if every replica is updated and available, no other is left, and the status is about the current spec (D-72).
pub(super) fn is_complete(status: &DeploymentStatus, deployment: &Deployment) -> bool {
    let wanted = deployment.spec.replicas;
    status.updated_replicas == wanted
        && status.replicas == wanted
        && status.available_replicas == wanted
        && status.observed_generation >= deployment.meta.generation
}

/// Whether a rollout stands still because its user wants it to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// It does not.
    None,
    /// It is paused.
    Paused,
    /// It holds at this many updated replicas.
    Held(i64),
}

/// Says that a rollout is paused, holds or goes on, which stops or restarts its deadline. A missed deadline is not papered
/// over (D-84). To everybody else a hold is a pause: kube-controller-manager goes on from it as after one.
pub(super) fn mark_pause(status: &mut DeploymentStatus, deployment: &Deployment, rest: Rest, now: Timestamp) {
    if deployment.spec.deadline.is_none() {
        return;
    }
    let reason = progressing(status).map(|condition| condition.reason);
    let (reason, message) = match (rest, reason.as_deref()) {
        (_, Some(words::PROGRESS_DEADLINE_EXCEEDED)) => return,
        (Rest::Paused, _) => (words::DEPLOYMENT_PAUSED, "Deployment is paused".to_owned()),
        (Rest::Held(at), _) => (words::DEPLOYMENT_PAUSED, held(at)),
        (Rest::None, Some(words::DEPLOYMENT_PAUSED)) => (words::DEPLOYMENT_RESUMED, "Deployment is resumed".to_owned()),
        (Rest::None, _) => return,
    };
    let condition = Condition::new(words::PROGRESSING, Status::Unknown, reason, message, now);
    status.conditions.set(condition);
}

/// Why a rollout holds.
pub(super) fn held(at: i64) -> String {
    format!("Deployment is held at {at} updated replicas by its annotation {PREFIX}{HOLD_AT}")
}

/// True if the rollout is said to be paused, or to hold.
pub(super) fn rests(status: &DeploymentStatus) -> bool {
    progressing(status).is_some_and(|condition| condition.reason == words::DEPLOYMENT_PAUSED)
}

/// Says in `status`, whose counts are new, how the rollout got on since `before` (D-71…D-74). `newest` is the name of the
/// ReplicaSet that is rolled out.
pub(super) fn estimate(
    before: &DeploymentStatus,
    status: &mut DeploymentStatus,
    deployment: &Deployment,
    newest: Option<&str>,
    now: Timestamp,
) {
    let Some(deadline) = deployment.spec.deadline else {
        return status.conditions.remove(words::PROGRESSING);
    };
    let current = progressing(before);
    let reason = current.as_ref().map(|condition| condition.reason.as_str());
    if status.replicas == status.updated_replicas && reason == Some(words::NEW_REPLICA_SET_AVAILABLE) {
        return;
    }
    let what = match newest {
        Some(name) => format!("ReplicaSet {name:?}"),
        None => format!("Deployment {:?}", &*deployment.meta.key.name),
    };
    let state = |state, reason, text: &str| {
        let message = format!("{what} {text}.");
        Condition::new(words::PROGRESSING, state, reason, message, now)
    };
    if is_complete(status, deployment) {
        let done = state(
            Status::True,
            words::NEW_REPLICA_SET_AVAILABLE,
            "has successfully progressed",
        );
        status.conditions.set(done);
    } else if has_progressed(before, status) {
        let moving = state(Status::True, words::REPLICA_SET_UPDATED, "is progressing");
        status.conditions.refresh(moving);
    } else if current.is_some_and(|current| is_overdue(&current, deadline, now)) {
        let stuck = state(
            Status::False,
            words::PROGRESS_DEADLINE_EXCEEDED,
            "has timed out progressing",
        );
        status.conditions.set(stuck);
    }
}

/// True if a rollout has not got on for half of its deadline, or has missed it. One without a deadline never has: nobody
/// wants to know.
pub(super) fn is_stalled(status: &DeploymentStatus, deployment: &Deployment, now: Timestamp) -> bool {
    let (Some(deadline), Some(current)) = (deployment.spec.deadline, progressing(status)) else {
        return false;
    };
    match current.reason.as_str() {
        words::NEW_REPLICA_SET_AVAILABLE | words::DEPLOYMENT_PAUSED => false,
        words::PROGRESS_DEADLINE_EXCEEDED => true,
        _ => expiry(&current, deadline / 2) <= now,
    }
}

/// True if nothing has been told of the rollout for this time.
pub(super) fn is_silent(status: &DeploymentStatus, time: Duration, now: Timestamp) -> bool {
    progressing(status).is_some_and(|current| expiry(&current, time) <= now)
}

/// When to look whether half of the deadline has passed, and then whether all of it has, if nothing moves until then: a
/// second after the deadline, as whole seconds are compared (D-76). Where no deadline can strike there is nothing to look for; upstream looks every 5 ms once less than a
/// second is left, and at a finished rollout that has lost a pod even without end.
pub(super) fn next_look(status: &DeploymentStatus, deployment: &Deployment, now: Timestamp) -> Wake {
    let (Some(deadline), Some(current)) = (deployment.spec.deadline, progressing(status)) else {
        return Wake::OnChange;
    };
    let settled = [words::NEW_REPLICA_SET_AVAILABLE, words::PROGRESS_DEADLINE_EXCEEDED];
    if is_complete(status, deployment) || settled.contains(&current.reason.as_str()) {
        return Wake::OnChange;
    }
    let rest = time::until(expiry(&current, deadline), now).unwrap_or_default();
    let half = time::until(expiry(&current, deadline / 2), now);
    Wake::After(half.unwrap_or(rest + Duration::from_secs(1)))
}

/// True if `status`, unlike `stored`, says that the rollout was resumed.
pub(super) fn has_resumed(stored: &DeploymentStatus, status: &DeploymentStatus) -> bool {
    let resumed = |status| progressing(status).is_some_and(|condition| condition.reason == words::DEPLOYMENT_RESUMED);
    resumed(status) && !resumed(stored)
}

fn progressing(status: &DeploymentStatus) -> Option<Condition> {
    status.conditions.get(words::PROGRESSING)
}

/// More updated, fewer old, more ready or more available pods than before (D-73).
fn has_progressed(before: &DeploymentStatus, after: &DeploymentStatus) -> bool {
    let old = |status: &DeploymentStatus| i64::from(status.replicas) - i64::from(status.updated_replicas);
    after.updated_replicas > before.updated_replicas
        || old(after) < old(before)
        || after.ready_replicas > before.ready_replicas
        || after.available_replicas > before.available_replicas
}

/// True if the deadline has passed, strictly, since the last progress (D-74). A finished rollout has no deadline.
fn is_overdue(current: &Condition, deadline: Duration, now: Timestamp) -> bool {
    match current.reason.as_str() {
        words::NEW_REPLICA_SET_AVAILABLE => false,
        words::PROGRESS_DEADLINE_EXCEEDED => true,
        _ => expiry(current, deadline) < now,
    }
}

/// When the deadline passes; a condition that does not say when it was updated is past any.
fn expiry(current: &Condition, deadline: Duration) -> Timestamp {
    current
        .last_update
        .map_or(Timestamp::MIN, |last_update| time::plus(last_update, deadline))
}
