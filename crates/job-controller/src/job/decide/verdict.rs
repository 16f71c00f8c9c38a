//! Whether the Job is over, and why: the first rule that applies (J-31).

use workload_core::time::Timestamp;

use crate::job::conditions::Cause;
use crate::job::facts::Facts;
use crate::job::observe::Observed;
use crate::job::opt_ins::OnPodFailure;
use crate::job::pod::{Pod, Start};
use crate::job::policy::deadline::{self, Deadline};
use crate::job::policy::failure::{self, Action, Match};
use crate::job::policy::{limits, success};
use crate::job::words;

/// How a Job ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Well or not.
    pub end: End,
    /// Why.
    pub cause: Cause,
    /// Whether its status says so already.
    pub state: State,
}

/// Well or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Its work is done.
    Success,
    /// It has failed.
    Failure,
}

/// Whether a verdict is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is, and cannot be taken back.
    Stored,
    /// It is new.
    New,
}

impl End {
    /// The condition that says that it is going to end so.
    pub fn interim(self) -> &'static str {
        match self {
            Self::Success => words::SUCCESS_CRITERIA_MET,
            Self::Failure => words::FAILURE_TARGET,
        }
    }

    /// The condition that says that it has ended so.
    pub fn terminal(self) -> &'static str {
        match self {
            Self::Success => words::COMPLETE,
            Self::Failure => words::FAILED,
        }
    }
}

/// The verdict, if there is one. A new one has to wait until earlier creates and deletes are in the cache (J-33), and is not
/// looked for while the Job is being deleted: its pods are to be let go of, not killed (J-38, J-171).
pub(super) fn reach(facts: &Facts<'_>, now: Timestamp) -> Option<Verdict> {
    let stored = stored(facts);
    if stored.is_some() || !facts.seen.is_settled() {
        return stored.filter(|_| facts.seen.is_settled());
    }
    if facts.seen.job.meta.is_terminating() {
        return done(facts);
    }
    failure(facts, now).or_else(|| success(facts)).or_else(|| done(facts))
}

/// True if another reason would apply as soon as `killed` pods that the verdict kills count as failed: its limit comes before most
/// others, and failed indexes before success (J-31).
pub(super) fn can_be_overtaken(facts: &Facts<'_>, verdict: &Verdict, killed: usize) -> bool {
    if verdict.state == State::Stored || killed == 0 {
        return false;
    }
    let seen = facts.seen;
    let spec = &seen.job.spec;
    let is_past = |failed: usize| limits::is_past_backoff_limit(spec, failed, seen.pods.iter().map(|pod| &**pod));
    let comes_first = met_fail_job(facts).next().is_some() || is_past(facts.failed());
    let comes_then = is_past(facts.failed() + killed) || (spec.per_index().is_some() && verdict.end == End::Success);
    !comes_first && comes_then
}

fn stored(facts: &Facts<'_>) -> Option<Verdict> {
    let conditions = &facts.seen.job.status.conditions;
    [End::Success, End::Failure].into_iter().find_map(|end| {
        let cause = conditions.holds(end.interim())?;
        let state = State::Stored;
        Some(Verdict { end, cause, state })
    })
}

fn failure(facts: &Facts<'_>, now: Timestamp) -> Option<Verdict> {
    let seen = facts.seen;
    let (job, spec) = (&seen.job, &seen.job.spec);
    let pods = || seen.pods.iter().map(|pod| &**pod);
    let failed = |reason: &str, message: &str| Some(new(End::Failure, reason, message));
    if let Some(cause) = fail_job(facts) {
        return Some(Verdict {
            end: End::Failure,
            cause,
            state: State::New,
        });
    }
    if limits::is_past_backoff_limit(spec, facts.failed(), pods()) {
        let message = "Job has reached the specified backoff limit";
        return failed(words::BACKOFF_LIMIT_EXCEEDED, message);
    }
    if deadline::of(job, now) == Deadline::Passed {
        let message = "Job was active longer than specified deadline";
        return failed(words::DEADLINE_EXCEEDED, message);
    }
    if deadline::of_start(job, now) == Deadline::Passed && !has_started(facts) {
        let message = "no pod of the Job has started to run within its start deadline";
        return failed(words::DEADLINE_EXCEEDED, message);
    }
    let (reason, message) = limits::of_indexes(spec.indexed()?, &facts.failed_indexes, &facts.completed)?;
    failed(reason, message)
}

/// A FailJob rule that any failed pod meets, counted already or not (J-31c).
fn fail_job(facts: &Facts<'_>) -> Option<Cause> {
    let seen = facts.seen;
    let spec = &seen.job.spec;
    let names = seen.job.opt_ins.rule_names.as_ref();
    let (_, matched) = met_fail_job(facts).next()?;
    Some(Cause {
        reason: failure::reason(&spec.failure_rules, names, matched.rule),
        message: matched.message,
    })
}

/// The failed pods that a FailJob rule meets, and how.
pub(super) fn met_fail_job<'f>(facts: &'f Facts<'_>) -> impl Iterator<Item = (&'f Pod, Match)> {
    let seen = facts.seen;
    let failed = seen.pods.iter().filter(|pod| seen.has_failed(pod));
    let met = failed.filter_map(|pod| Some((&**pod, failure::first_match(&seen.job.spec.failure_rules, pod)?)));
    met.filter(|(_, matched)| matched.action == Action::FailJob)
}

/// True unless it is certain that no pod has run: none is seen that has, nothing has succeeded, every failure that was counted
/// is one of pods that are still there and never ran, and no other pod can have come and gone.
pub(super) fn has_started(facts: &Facts<'_>) -> bool {
    let seen = facts.seen;
    let rules = &seen.job.spec.failure_rules;
    let never_ran = |pod: &&std::sync::Arc<Pod>| {
        seen.has_failed(pod) && pod.start == Start::Never && failure::action(rules, pod) != Action::Ignore
    };
    let vain = match seen.job.opt_ins.on_pod_failure {
        OnPodFailure::ReplaceIt => seen.pods.iter().filter(never_ran).count(),
        // Nobody knows which of the failures of a round was counted.
        OnPodFailure::RestartAll => 0,
    };
    let start = seen.job.status.start_time;
    let ran = seen.has_run() || (start.is_some() && seen.recalled.ran_since == start);
    ran || facts.succeeded() > 0 || facts.failed() > vain || !(is_idle(seen) || leaves_traces(seen))
}

/// True if this process has watched the Job since its clock began, and no pod has run.
fn is_idle(seen: &Observed) -> bool {
    let start = seen.job.status.start_time;
    start.is_none_or(|start| seen.recalled.idle_since == Some(start))
}

/// True if every end of a pod is counted, and always was: nothing is ignored, and a spec that has never changed has made no
/// pod superfluous.
fn leaves_traces(seen: &Observed) -> bool {
    let job = &seen.job;
    let is_as_made = job.meta.generation <= 1;
    is_as_made
        && !failure::ignores_any(&job.spec.failure_rules)
        && job.opt_ins.on_pod_failure == OnPodFailure::ReplaceIt
}

fn success(facts: &Facts<'_>) -> Option<Verdict> {
    let work = facts.seen.job.spec.indexed()?;
    let rule = success::first_met(work, &facts.completed)?;
    Some(new(
        End::Success,
        words::SUCCESS_POLICY,
        &format!("Matched rules at index {rule}"),
    ))
}

/// As many have succeeded as were wanted, and none is left (J-31h).
fn done(facts: &Facts<'_>) -> Option<Verdict> {
    (facts.active.is_empty() && facts.is_done()).then(completions_reached)
}

/// The verdict on work that is done.
pub(crate) fn completions_reached() -> Verdict {
    new(
        End::Success,
        words::COMPLETIONS_REACHED,
        "Reached expected number of succeeded pods",
    )
}

fn new(end: End, reason: &str, message: &str) -> Verdict {
    Verdict {
        end,
        cause: Cause {
            reason: reason.to_owned(),
            message: message.to_owned(),
        },
        state: State::New,
    }
}
