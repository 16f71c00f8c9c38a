//! How much may fail (J-120, J-121, J-127, J-128).

use workload_core::mistake::{Mistake, made};
use workload_core::pod::Phase;

use crate::job::indexes::Indexes;
use crate::job::pod::Pod;
use crate::job::spec::{Indexed, JobSpec, Restarts};
use crate::job::words;

/// True if more pods have failed than may, or containers were restarted too often.
pub fn is_past_backoff_limit<'a>(spec: &JobSpec, failed: usize, pods: impl Iterator<Item = &'a Pod>) -> bool {
    let limit = i64::from(spec.backoff_limit) + i64::from(made(Mistake::LimitTooLarge));
    i64::try_from(failed).unwrap_or(i64::MAX) > limit || is_past_restart_limit(spec, limit, pods)
}

/// Restarts of pods that have ended are forgotten, as upstream has it; so one restart fewer is allowed than with policy Never.
fn is_past_restart_limit<'a>(spec: &JobSpec, limit: i64, pods: impl Iterator<Item = &'a Pod>) -> bool {
    if spec.restarts != Restarts::OnFailure {
        return false;
    }
    let there = pods.filter(|pod| matches!(pod.phase, Phase::Pending | Phase::Running));
    let restarts: i64 = there.map(|pod| pod.restarts.sum).sum();
    if limit == 0 { restarts > 0 } else { restarts >= limit }
}

/// The reason and message with which failed indexes end the Job, if they do.
pub fn of_indexes(work: &Indexed, failed: &Indexes, completed: &Indexes) -> Option<(&'static str, &'static str)> {
    let limits = work.per_index?;
    let most = limits
        .max_failed
        .map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
    if failed.len() > most {
        let message = "Job has exceeded the specified maximal number of failed indexes";
        return Some((words::MAX_FAILED_INDEXES_EXCEEDED, message));
    }
    let all = usize::try_from(work.completions).unwrap_or(usize::MAX);
    let over = !failed.is_empty() && failed.len().saturating_add(completed.len()) >= all;
    over.then_some((words::FAILED_INDEXES, "Job has failed indexes"))
}
