//! What a turn has done, in numbers (J-211…J-213).

use std::collections::BTreeMap;

use workload_core::outcome::{Outcome, Receipt, Verb};
use workload_core::time::{self, Timestamp};

use super::conclude::Report;
use super::decide::{Action, Ahead, End, Step};
use super::done::{Done, Fate};
use super::observe::Observed;
use super::policy::failure::Action as RuleAction;
use super::tally::{Finished, Limit, Mode, Tally, TurnAction, TurnResult};
use super::words;

/// The turn in numbers.
pub(super) fn tally(seen: &Observed, action: &Action, outcome: &Outcome, now: Timestamp) -> Tally {
    let done = Done::of(action, outcome);
    let spec = &seen.job.spec;
    let recorded = action.ahead == Ahead::Written && done.record == Fate::Applied;
    let (before, after) = (&action.base, &action.selection.status);
    let grown = |new: usize, old: usize| if recorded { count(new.saturating_sub(old)) } else { 0 };
    let (listed, were_listed) = (&after.uncounted_terminated_pods, &before.uncounted_terminated_pods);
    let indexes = spec.indexed().map(|work| {
        let done = grown(after.completed(work).len(), before.completed(work).len());
        (done, grown(after.failed_of(work).len(), before.failed_of(work).len()))
    });
    let (indexes_succeeded, indexes_failed) = indexes.unwrap_or_default();
    let creates = || outcome.attempts.iter().filter(|attempt| attempt.verb == Verb::Create);
    Tally {
        mode: Mode::of(spec),
        action: kind_of_turn(action, recorded, creates().count()),
        result: if outcome.failure().is_none() {
            TurnResult::Success
        } else {
            TurnResult::Error
        },
        took: time::until(now, seen.began).unwrap_or_default(),
        finished: finished(seen, action, outcome),
        pods_succeeded: match spec.indexed() {
            Some(_) => indexes_succeeded,
            None => grown(listed.succeeded.len(), were_listed.succeeded.len()),
        },
        pods_failed: grown(listed.failed.len(), were_listed.failed.len()),
        indexes_succeeded,
        indexes_failed,
        limit: if spec.per_index().is_some() {
            Limit::PerIndex
        } else {
            Limit::Global
        },
        handled: handled(action, &done, recorded),
        reason: action.reason,
        created: count(creates().filter(|attempt| attempt.result.is_ok()).count()),
        not_created: count(creates().filter(|attempt| attempt.result.is_err()).count()),
    }
}

/// A failure is decided once it is recorded; one that is ignored is recorded nowhere, and is over when its pod is let go of.
fn handled(action: &Action, done: &Done, recorded: bool) -> BTreeMap<RuleAction, u64> {
    let mut handled = BTreeMap::new();
    for (pod, by) in &action.selection.handled {
        let is_over = match by {
            RuleAction::Ignore => done.released.contains(pod),
            RuleAction::FailJob | RuleAction::FailIndex | RuleAction::Count => recorded,
        };
        if is_over {
            *handled.entry(*by).or_default() += 1;
        }
    }
    handled
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

fn kind_of_turn(action: &Action, recorded: bool, creates: usize) -> TurnAction {
    match &action.step {
        Step::Manage { removed, .. } if !removed.is_empty() => TurnAction::PodsDeleted,
        Step::Manage { .. } if creates > 0 => TurnAction::PodsCreated,
        Step::Wait | Step::Manage { .. } if recorded && action.verdict.is_none() => TurnAction::Tracking,
        Step::Wait | Step::Manage { .. } | Step::Kill(_) => TurnAction::Reconciling,
    }
}

/// The end of the Job, if the last write of the turn was stored and says so.
fn finished(seen: &Observed, action: &Action, outcome: &Outcome) -> Option<Finished> {
    let verdict = action.verdict.as_ref()?;
    let last = outcome.attempts.last().filter(|attempt| attempt.verb == Verb::Status)?;
    let stored = matches!(last.result, Ok(Receipt::Stored { .. }));
    let writes = outcome
        .attempts
        .iter()
        .filter(|attempt| attempt.verb == Verb::Status)
        .count();
    let is_final = writes > usize::from(action.ahead == Ahead::Written);
    let report = Report::of(seen, action, &before_the_last(outcome), Timestamp::MIN)?;
    let says_so = report.status.conditions.holds(verdict.end.terminal()).is_some();
    (stored && is_final && says_so).then(|| Finished {
        result: match verdict.end {
            End::Success => "succeeded",
            End::Failure => "failed",
        },
        reason: plain(&verdict.cause.reason),
    })
}

fn before_the_last(outcome: &Outcome) -> Outcome {
    let mut attempts = outcome.attempts.clone();
    attempts.pop();
    Outcome { attempts }
}

/// A reason as metrics have it: without the name of a rule.
fn plain(reason: &str) -> &'static str {
    let known = [
        words::COMPLETIONS_REACHED,
        words::SUCCESS_POLICY,
        words::BACKOFF_LIMIT_EXCEEDED,
        words::DEADLINE_EXCEEDED,
        words::MAX_FAILED_INDEXES_EXCEEDED,
        words::FAILED_INDEXES,
    ];
    known
        .into_iter()
        .find(|known| *known == reason)
        .unwrap_or(words::POD_FAILURE_POLICY)
}
