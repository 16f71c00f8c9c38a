//! What to report about a ReplicaSet after a turn: its status (deployment RS-20…RS-23), events about failures (C-73) and
//! when to look again (RS-30). Follows upstream's `calculateStatus`.

use std::time::Duration;

use serde_json::{Map, Value, json};
use workload_core::condition::{Condition, Status};
use workload_core::id::{Kind, ObjectKey};
use workload_core::outcome::{Attempt, Failure, FailureClass, Outcome, Receipt, Verb};
use workload_core::plan::{Note, StatusWrite, Target, Wake};
use workload_core::pod::PodView;
use workload_core::time::{self, Timestamp};
use workload_core::workload::{Children, Conclusion, Explanation};

use super::decide::Intent;
use super::failures::Pace;
use super::observe::Observed;
use super::spec::{ReplicaSet, ReplicaSetStatus};
use super::words;
use crate::deployment::opt_ins::PodReplacement;

/// Status fields that servers before 1.35, or with a gate off, do not store (RS-20).
const MAY_LACK: &[&str] = &["terminatingReplicas"];

/// When to look again if a pod vanished while it was adopted: the cache still shows it, and the removal of a pod that
/// nobody owns wakes nobody (C-17).
const AFTER_VAIN_ADOPTION: Duration = Duration::from_secs(1);

/// The report. Its counts are those from before the turn's creates and deletes.
pub(super) fn conclude(seen: &Observed, intent: Intent, outcome: &Outcome, now: Timestamp) -> Conclusion {
    let set = &seen.set;
    let mut pods: Vec<&PodView> = seen.active.iter().map(|pod| &**pod).collect();
    pods.retain(|pod| !adopted_in_vain(pod, outcome));
    let mut status = counted(seen, &pods, now);
    state_failure(&mut status, intent, outcome, now);
    let vain = if pods.len() < seen.active.len() {
        Wake::After(AFTER_VAIN_ADOPTION)
    } else {
        Wake::OnChange
    };
    Conclusion {
        wake: wake(set, &status, &pods, now)
            .sooner(vain)
            .sooner(protection_ends(outcome))
            .sooner(next_trial(seen, now)),
        status: write(set, &status),
        notes: failures(outcome).map(note).collect(),
        held_up: held_up(seen, outcome),
    }
}

fn counted(seen: &Observed, pods: &[&PodView], now: Timestamp) -> ReplicaSetStatus {
    let set = &*seen.set;
    let those = |fits: &dyn Fn(&PodView) -> bool| count(pods.iter().filter(|pod| fits(pod)).count());
    ReplicaSetStatus {
        replicas: count(pods.len()),
        fully_labeled_replicas: those(&|pod| pod.meta.labels.contains(set.template.labels())),
        ready_replicas: those(&PodView::is_ready),
        available_replicas: those(&|pod| pod.is_available_at(now, set.min_ready_seconds)),
        terminating_replicas: Some(count(seen.terminating)),
        observed_generation: observed_generation(seen),
        conditions: set.status.conditions.clone(),
    }
}

/// The generation that the report is about. Where terminating pods count (L-2) a Deployment takes it for a promise that no
/// pod beyond the size is on its way, which cannot be given while creates are not all in the cache.
fn observed_generation(seen: &Observed) -> i64 {
    match (seen.pod_replacement(), seen.children) {
        (PodReplacement::TerminationComplete, Children::Unsettled) => seen.set.status.observed_generation,
        _ => seen.set.meta.generation,
    }
}

fn count(pods: usize) -> i32 {
    i32::try_from(pods).unwrap_or(i32::MAX)
}

/// `ReplicaFailure` stands while creates or deletes fail. The first reason and message stay until a turn without a
/// failure, even one that tried nothing (RS-22, L-6).
fn state_failure(status: &mut ReplicaSetStatus, intent: Intent, outcome: &Outcome, now: Timestamp) {
    let cause = match intent {
        Intent::Refuse(why) => Some((words::FAILED_CREATE, why.to_owned())),
        Intent::Scale => failures(outcome)
            .next()
            .map(|(verb, failure)| (reason(verb), failure.message.clone())),
    };
    match cause {
        None => status.conditions.remove(words::REPLICA_FAILURE),
        Some(_) if status.conditions.get(words::REPLICA_FAILURE).is_some() => {}
        Some((reason, message)) => {
            let condition = Condition::new(words::REPLICA_FAILURE, Status::True, reason, message, now);
            status.conditions.set(condition.without_update_time());
        }
    }
}

/// What keeps the turn from reaching the wanted number of pods, beside failures; a turn that may not try cannot tell.
fn held_up(seen: &Observed, outcome: &Outcome) -> Option<Vec<Explanation>> {
    (seen.children == Children::Settled).then(|| protection(outcome).into_iter().chain(backing_off(seen)).collect())
}

/// Pods are missing that are made one after the other, because others failed soon (L-7).
fn backing_off(seen: &Observed) -> Option<Explanation> {
    let (tries, from) = trial(seen)?;
    let message = format!(
        "pods failed within 30 s of their creation, {tries} times in a row; next try at {}",
        time::to_api(from)
    );
    Some(Explanation {
        cause: words::FAILED_POD_BACKOFF,
        note: Note::warning(words::FAILED_POD_BACKOFF, message),
    })
}

/// When a pod may be made that had to wait.
fn next_trial(seen: &Observed, now: Timestamp) -> Wake {
    let wait = trial(seen).and_then(|(_, from)| time::until(from, now));
    wait.map_or(Wake::OnChange, Wake::After)
}

fn trial(seen: &Observed) -> Option<(u32, Timestamp)> {
    match seen.pace() {
        Pace::Trial { tries, from } if seen.surplus() < 0 && !seen.set.meta.is_terminating() => Some((tries, from)),
        Pace::Trial { .. } | Pace::Full => None,
    }
}

/// The pods that disruption budgets keep (L-4).
fn protection(outcome: &Outcome) -> Option<Explanation> {
    let (pod, words, _) = protected(outcome).next()?;
    let message = match protected(outcome).count() {
        1 => format!("pod {} is not evicted yet: {words}", pod.name),
        // Not every pod is asked for at once.
        count => format!(
            "at least {count} pods are not evicted yet, the first of them {}: {words}",
            pod.name
        ),
    };
    Some(Explanation {
        cause: words::DISRUPTION_BUDGET,
        note: Note::normal(words::DISRUPTION_BUDGET, message),
    })
}

/// When the first of them may be asked for again: budgets wake nobody.
fn protection_ends(outcome: &Outcome) -> Wake {
    let first = protected(outcome).map(|(_, _, again_in)| again_in).min();
    first.map_or(Wake::OnChange, Wake::After)
}

fn protected(outcome: &Outcome) -> impl Iterator<Item = (&ObjectKey, &str, Duration)> {
    outcome.attempts.iter().filter_map(|attempt| match &attempt.result {
        Ok(Receipt::Protected { words, again_in }) => Some((&attempt.key, &**words, *again_in)),
        Ok(Receipt::Stored { .. } | Receipt::Gone) | Err(_) => None,
    })
}

/// The creates and removals of pods that failed. A namespace on its way out, or a pod gone already, is no failure (C-24,
/// C-73); neither is a write that was not sent, nor an eviction that met a change of the pod.
fn failures(outcome: &Outcome) -> impl Iterator<Item = (Verb, &Failure)> {
    outcome.attempts.iter().filter_map(|Attempt { verb, result, .. }| {
        let failure = result.as_ref().err()?;
        let counts = match (verb, failure.class) {
            (_, FailureClass::Fenced)
            | (Verb::Create, FailureClass::NamespaceEnding)
            | (Verb::Delete | Verb::Evict, FailureClass::Missing | FailureClass::Replaced)
            | (Verb::Evict, FailureClass::Conflict) => false,
            (verb, _) => matches!(verb, Verb::Create | Verb::Delete | Verb::Evict),
        };
        counts.then_some((*verb, failure))
    })
}

fn reason(verb: Verb) -> &'static str {
    if verb == Verb::Create {
        words::FAILED_CREATE
    } else {
        words::FAILED_DELETE
    }
}

fn note((verb, failure): (Verb, &Failure)) -> Note {
    let doing = if verb == Verb::Create { "creating" } else { "deleting" };
    Note::warning(reason(verb), format!("Error {doing}: {failure}"))
}

fn adopted_in_vain(pod: &PodView, outcome: &Outcome) -> bool {
    let on_pod = |attempt: &&Attempt| attempt.verb == Verb::Adopt && attempt.key == pod.meta.key;
    outcome
        .attempts
        .iter()
        .find(on_pod)
        .is_some_and(|attempt| attempt.result == Ok(Receipt::Gone))
}

/// The fields that differ from what is stored; none, no write (RS-23).
fn write(set: &ReplicaSet, status: &ReplicaSetStatus) -> Option<StatusWrite> {
    let changed: Map<String, Value> = fields(&set.status)
        .into_iter()
        .zip(fields(status))
        .filter(|(old, new)| old != new)
        .map(|(_, (field, value))| (field.to_owned(), value))
        .collect();
    (!changed.is_empty()).then(|| StatusWrite {
        target: Target::of(Kind::REPLICA_SET, &set.meta),
        body: json!({ "status": changed }),
        may_lack: MAY_LACK,
        notes: Vec::new(),
    })
}

fn fields(status: &ReplicaSetStatus) -> [(&'static str, Value); 7] {
    [
        ("replicas", status.replicas.into()),
        ("fullyLabeledReplicas", status.fully_labeled_replicas.into()),
        ("readyReplicas", status.ready_replicas.into()),
        ("availableReplicas", status.available_replicas.into()),
        ("terminatingReplicas", status.terminating_replicas.into()),
        ("observedGeneration", status.observed_generation.into()),
        ("conditions", json!(status.conditions)),
    ]
}

/// While a ready pod is not available yet: the moment when the first one will be. A pod that does not say since when it is
/// ready never will be, and is looked at again after the whole time (RS-30).
fn wake(set: &ReplicaSet, status: &ReplicaSetStatus, pods: &[&PodView], now: Timestamp) -> Wake {
    if status.ready_replicas == status.available_replicas {
        return Wake::OnChange;
    }
    let first = pods
        .iter()
        .filter_map(|pod| pod.available_in(now, set.min_ready_seconds))
        .min();
    Wake::After(first.unwrap_or_else(|| set.min_ready()))
}
