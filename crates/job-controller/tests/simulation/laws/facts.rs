//! What a Job asks for and what its pods are, read from the server's objects by themselves.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use testkit::Kind;
use testkit::object::Stored;
use testkit::record::{Change, State};

/// The finalizer of pods that are still to be counted.
pub(super) const TRACKING: &str = "batch.kubernetes.io/job-tracking";
const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// The uid of the Job that controls a pod.
pub(super) fn owner(pod: &Stored) -> Option<&str> {
    let owner = pod.controller().filter(|owner| owner["kind"] == "Job")?;
    owner["uid"].as_str()
}

/// The Job that controls a pod, if it is still there.
pub(super) fn job_of<'s>(state: &'s State, pod: &Stored) -> Option<&'s Stored> {
    let uid = owner(pod)?;
    state.all(Kind::JOB).into_iter().find(|job| job.uid() == uid)
}

/// The last version of every pod that a Job has ever had.
pub(super) fn pods_ever<'s>(state: &'s State, job: &Stored) -> Vec<&'s Stored> {
    let mut pods: Vec<&Stored> = Vec::new();
    for write in state.writes(Kind::POD) {
        let of_it = |pod: &Stored| owner(pod) == Some(job.uid());
        match pods.iter_mut().find(|pod| pod.uid() == write.object.uid()) {
            Some(known) => *known = &write.object,
            None if of_it(&write.object) => pods.push(&write.object),
            None => {}
        }
    }
    pods
}

/// Pods of a Job with a version of which this holds, that version the last such one.
pub(super) fn pods_that<'s>(state: &'s State, job: &Stored, holds: impl Fn(&Stored) -> bool) -> Vec<&'s Stored> {
    let ever: BTreeSet<&str> = pods_ever(state, job).into_iter().map(Stored::uid).collect();
    let versions = state.writes(Kind::POD).map(|write| &write.object);
    let fit = versions.filter(|pod| ever.contains(pod.uid()) && holds(pod));
    let last: BTreeMap<&str, &Stored> = fit.map(|pod| (pod.uid(), pod)).collect();
    last.into_values().collect()
}

/// Pods whose success counts: somebody waited for it.
pub(super) fn successes<'s>(state: &'s State, job: &Stored) -> Vec<&'s Stored> {
    pods_that(state, job, |pod| has_succeeded(pod) && pod.has_finalizer(TRACKING))
}

/// How many successes a Job that is not indexed has, counted or still to be counted: not those of surplus pods, which were let go
/// of before anybody saw their ends.
pub(super) fn successes_that_count(state: &State, job: &Stored) -> i64 {
    let listed = listed(job, "succeeded");
    let waits = |pod: &&Stored| has_succeeded(pod) && pod.has_finalizer(TRACKING) && !listed.contains(pod.uid());
    let waiting = pods(state, job).into_iter().filter(waits).count();
    job.count("succeeded") + i64::try_from(listed.len() + waiting).unwrap_or(i64::MAX)
}

/// Whether a pod is the one that the next pod of its index takes its counts from: it is counted once that is there (job J-126).
pub(super) fn waits_for_a_successor(state: &State, pod: &Stored) -> bool {
    let Some(job) = job_of(state, pod).filter(|job| job.at("/spec/backoffLimitPerIndex").is_number()) else {
        return false;
    };
    let is_over = |index| completed(job).contains(&index) || failed_indexes(job).contains(&index);
    let of_it = |index| {
        let mut siblings = pods(state, job)
            .into_iter()
            .filter(move |pod| self::index(pod) == Some(index));
        siblings.all(|other| other.has_ended() && (other.uid() == pod.uid() || !other.has_finalizer(TRACKING)))
    };
    !has_finished(job) && has_failed(pod) && index(pod).is_some_and(|index| !is_over(index) && of_it(index))
}

/// The pods of a Job that are there.
pub(super) fn pods<'s>(state: &'s State, job: &Stored) -> Vec<&'s Stored> {
    state.pods_of(job)
}

/// The versions of a Job that somebody may act on who has been shown `seen`: the last one of those, and all later ones.
pub(super) fn versions_from<'s>(state: &'s State, job: &Stored, seen: u64) -> Vec<&'s Stored> {
    let all: Vec<&Stored> = state
        .writes(Kind::JOB)
        .filter(|write| write.change != Change::Deleted && write.object.uid() == job.uid())
        .map(|write| &write.object)
        .collect();
    let known = all.iter().rposition(|version| version.version() <= seen).unwrap_or(0);
    all.into_iter().skip(known).collect()
}

/// The versions of a pod that somebody may act on who has been shown `seen`: the last one of those, or the first of all, and
/// all later ones.
pub(super) fn pod_versions_from<'s>(state: &'s State, pod: &Stored, seen: u64) -> Vec<&'s Stored> {
    let versions = state.writes(Kind::POD).map(|write| &write.object);
    let all: Vec<&Stored> = versions.filter(|version| version.uid() == pod.uid()).collect();
    let known = all.iter().rposition(|version| version.version() <= seen).unwrap_or(0);
    all.into_iter().skip(known).collect()
}

/// A pod as it was at version `seen`, or as it was first.
pub(super) fn pod_at<'s>(state: &'s State, pod: &Stored, seen: u64) -> Option<&'s Stored> {
    pod_versions_from(state, pod, seen).into_iter().next()
}

pub(super) fn is_indexed(job: &Stored) -> bool {
    job.text("/spec/completionMode") == "Indexed"
}

pub(super) fn completions(job: &Stored) -> Option<i64> {
    job.at("/spec/completions").as_i64()
}

/// Whether a replacement waits until its predecessor has ended.
pub(super) fn waits_for_ends(job: &Stored) -> bool {
    job.text("/spec/podReplacementPolicy") == "Failed"
}

/// The part of the work that a pod does, if it does one.
pub(super) fn index(pod: &Stored) -> Option<i64> {
    pod.annotation(INDEX)?.parse().ok().filter(|index| *index >= 0)
}

/// Whether a pod has a part in the work.
pub(super) fn takes_part(job: &Stored, pod: &Stored) -> bool {
    !is_indexed(job) || index(pod).is_some_and(|index| completions(job).is_some_and(|all| index < all))
}

/// Whether a pod has not ended.
pub(super) fn is_live(pod: &Stored) -> bool {
    !pod.has_ended()
}

pub(super) fn has_succeeded(pod: &Stored) -> bool {
    pod.text("/status/phase") == "Succeeded"
}

pub(super) fn has_failed(pod: &Stored) -> bool {
    pod.text("/status/phase") == "Failed"
}

/// Whether a pod counts as failed for its Job (job J-37).
pub(super) fn counts_as_failed(job: &Stored, pod: &Stored) -> bool {
    has_failed(pod) || (!waits_for_ends(job) && pod.is_terminating() && !has_succeeded(pod))
}

/// Whether it also counts by the failure policy.
pub(super) fn is_a_failure(job: &Stored, pod: &Stored) -> bool {
    counts_as_failed(job, pod) && action(job, pod) != Some("Ignore")
}

pub(super) fn holds(job: &Stored, condition: &str) -> bool {
    job.condition(condition)
        .is_some_and(|condition| condition["status"] == "True")
}

pub(super) fn has_finished(job: &Stored) -> bool {
    holds(job, "Complete") || holds(job, "Failed")
}

/// The action of the first rule of the failure policy that a pod matches (job J-141…J-143).
pub(super) fn action<'j>(job: &'j Stored, pod: &Stored) -> Option<&'j str> {
    let rules = job.at("/spec/podFailurePolicy/rules").as_array()?;
    let found = rules.iter().find(|rule| matches(rule, pod))?;
    found["action"].as_str()
}

fn matches(rule: &Value, pod: &Stored) -> bool {
    if let Some(patterns) = rule["onPodConditions"].as_array() {
        return patterns.iter().any(|pattern| {
            let kind = pattern["type"].as_str().unwrap_or_default();
            pod.condition(kind)
                .is_some_and(|condition| condition["status"] == pattern["status"])
        });
    }
    let codes = &rule["onExitCodes"];
    let wanted = &codes["values"];
    let containers = pod.at("/status/containerStatuses").as_array().into_iter().flatten();
    let fits = |container: &Value| {
        let code = container.pointer("/state/terminated/exitCode").unwrap_or(&Value::Null);
        let listed = wanted.as_array().is_some_and(|values| values.contains(code));
        let named = codes["containerName"].is_null() || codes["containerName"] == container["name"];
        named && code.as_i64().is_some_and(|code| code != 0) && listed == (codes["operator"] == "In")
    };
    containers.into_iter().any(fits)
}

/// The uids in one of the lists of a status.
pub(super) fn listed(job: &Stored, list: &str) -> BTreeSet<String> {
    let pods = job.at("/status/uncountedTerminatedPods")[list].as_array();
    let uids = pods.into_iter().flatten().filter_map(Value::as_str);
    uids.map(str::to_owned).collect()
}

/// The indexes of a text such as `1,3-5`.
pub(super) fn indexes(text: &str) -> BTreeSet<i64> {
    let run = |item: &str| {
        let (first, last) = item.split_once('-').unwrap_or((item, item));
        Some(first.parse::<i64>().ok()?..=last.parse::<i64>().ok()?)
    };
    text.split(',').filter_map(run).flatten().collect()
}

pub(super) fn completed(job: &Stored) -> BTreeSet<i64> {
    indexes(job.text("/status/completedIndexes"))
}

pub(super) fn failed_indexes(job: &Stored) -> BTreeSet<i64> {
    indexes(job.text("/status/failedIndexes"))
}
