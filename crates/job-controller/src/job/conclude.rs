//! What to report about a Job once the plan was tried (J-44, J-47, J-100…J-105, J-150…J-157).

use std::time::Duration;

use workload_core::condition::Status;
use workload_core::id::Kind;
use workload_core::mistake::{Mistake, made};
use workload_core::outcome::{Failure, FailureClass, Outcome, Receipt, Retry, Verb};
use workload_core::plan::{Note, Wake};
use workload_core::time::{self, Timestamp};
use workload_core::workload::Conclusion;

use super::conditions::{Cause, Change};
use super::decide::verdict::completions_reached;
use super::decide::{Action, End, Extent, Step, Verdict};
use super::done::{Done, Fate};
use super::observe::Observed;
use super::status::JobStatus;
use super::words;

/// How soon a turn follows whose work this one did not finish.
const AT_ONCE: Duration = Duration::ZERO;

/// The report.
pub(super) fn conclude(seen: &Observed, action: &Action, outcome: &Outcome, now: Timestamp) -> Conclusion {
    let told = failures(outcome).map(note).collect();
    let Some(report) = Report::of(seen, action, outcome, now) else {
        return Conclusion {
            notes: told,
            ..Conclusion::default()
        };
    };
    // A turn that failed comes again with its back-off, and nothing may hasten that.
    let is_retried = outcome
        .failures()
        .any(|failure| failure.class.retry() != Retry::OnChange);
    let more = action.selection.extent == Extent::Capped || report.is_to_be_followed;
    let again = if more && !is_retried {
        Wake::After(AT_ONCE)
    } else {
        Wake::OnChange
    };
    Conclusion {
        status: report.status.write(&seen.job, report.stored, report.notes),
        notes: told,
        held_up: None,
        wake: again.sooner(after_vain_adoption(outcome)),
    }
}

/// A pod that vanished while it was adopted is counted until the cache shows that it is gone, and the removal of a pod that
/// nobody owns wakes nobody.
fn after_vain_adoption(outcome: &Outcome) -> Wake {
    let mut adoptions = outcome.attempts.iter().filter(|attempt| attempt.verb == Verb::Adopt);
    if adoptions.any(|attempt| attempt.result == Ok(Receipt::Gone)) {
        Wake::After(Duration::from_secs(1))
    } else {
        Wake::OnChange
    }
}

/// The last status of a turn.
pub(super) struct Report<'a> {
    pub(super) status: JobStatus,
    /// What is stored before it.
    stored: &'a JobStatus,
    notes: Vec<Note>,
    /// Whether something is left to do although nothing else may change.
    is_to_be_followed: bool,
}

impl<'a> Report<'a> {
    /// Nothing is reported if the record could not be stored: then the turn ends there (J-41).
    pub(super) fn of(seen: &'a Observed, action: &'a Action, outcome: &Outcome, now: Timestamp) -> Option<Self> {
        let done = Done::of(action, outcome);
        if done.record == Fate::Failed {
            return None;
        }
        let mut report = Self {
            status: action.selection.status.clone(),
            stored: if done.record == Fate::Applied {
                &action.selection.status
            } else {
                &seen.job.status
            },
            notes: action.notes.clone(),
            is_to_be_followed: false,
        };
        if done.is_withheld && action.verdict.is_some() {
            // Some pod could not be killed: nothing of the verdict is said (J-33).
            report.status = action.base.clone();
        }
        for pod in &done.released {
            report.status.count(pod);
        }
        done.counts.report(&mut report.status);
        let wanted = seen
            .job
            .spec
            .completions()
            .and_then(|wanted| i32::try_from(wanted).ok());
        if !done.is_withheld {
            match &action.verdict {
                Some(verdict) => report.finish(action, verdict, &done, wanted, now),
                None => report.go_on(seen, action, &done, now),
            }
        }
        Some(report)
    }

    /// The terminal condition comes once every pod is counted and gone (J-150…J-153).
    fn finish(&mut self, action: &Action, verdict: &Verdict, done: &Done, wanted: Option<i32>, now: Timestamp) {
        let counts = done.counts;
        let is_over = action.selection.extent == Extent::All
            && done.unreleased == 0
            && self.status.uncounted_terminated_pods.is_empty()
            && counts.terminating == 0
            && counts.active == 0;
        if !is_over && !made(Mistake::EndedTooEarly) {
            return;
        }
        if verdict.end == End::Success {
            let start = self.status.start_time.unwrap_or(Timestamp::MIN);
            self.status.completion_time = Some(time::to_seconds(now).max(start));
        }
        self.status
            .conditions
            .append(verdict.end.terminal(), &verdict.cause, now);
        if verdict.end == End::Success && wanted.is_some_and(|wanted| self.status.succeeded > wanted) {
            let message = "Too many succeeded pods running after completion count reached";
            self.notes.push(Note::warning(words::TOO_MANY_SUCCEEDED_PODS, message));
        }
        self.notes.push(farewell(verdict));
    }

    fn go_on(&mut self, seen: &Observed, action: &Action, done: &Done, now: Timestamp) {
        let Step::Manage { removed, suspended, .. } = &action.step else {
            return;
        };
        self.is_to_be_followed =
            !action.selection.pods.is_empty() && done.unreleased == 0 && is_gathering(seen, action);
        // Work that is done ends with its last active pod, suspended or not (J-105).
        if action.is_done && done.counts.active == 0 && !removed.is_empty() {
            let verdict = completions_reached();
            self.status
                .conditions
                .append(verdict.end.interim(), &verdict.cause, now);
            if self.status.start_time.is_none() && seen.job.spec.completions() != Some(0) {
                self.status.start_time = Some(time::to_seconds(now));
            }
        } else if *suspended {
            self.suspend(now);
        }
    }

    fn suspend(&mut self, now: Timestamp) {
        let cause = Cause {
            reason: words::JOB_SUSPENDED.to_owned(),
            message: "Job suspended".to_owned(),
        };
        self.status.start_time = None;
        if self
            .status
            .conditions
            .state(words::SUSPENDED, Status::True, &cause, now)
            == Change::Made
        {
            self.notes.push(Note::normal(words::EVENT_SUSPENDED, cause.message));
        }
    }
}

/// A round that ends lets go of the failures that do not count first; the one that does comes next (L-10).
fn is_gathering(seen: &Observed, action: &Action) -> bool {
    seen.job.opt_ins.on_pod_failure == super::opt_ins::OnPodFailure::RestartAll && action.ends.is_empty()
}

fn farewell(verdict: &Verdict) -> Note {
    match verdict.end {
        End::Success => Note::normal(words::COMPLETED, "Job completed"),
        End::Failure => Note::warning(verdict.cause.reason.clone(), verdict.cause.message.clone()),
    }
}

/// Creates and deletes of pods that failed. A namespace on its way out is no failure (J-64); neither is a write that was not
/// sent.
fn failures(outcome: &Outcome) -> impl Iterator<Item = (Verb, &Failure)> {
    outcome.attempts.iter().filter_map(|attempt| {
        let failure = attempt.result.as_ref().err()?;
        let counts = match (attempt.verb, failure.class) {
            (_, FailureClass::Fenced) | (Verb::Create, FailureClass::NamespaceEnding) => false,
            (verb, _) => attempt.kind == Kind::POD && matches!(verb, Verb::Create | Verb::Delete),
        };
        counts.then_some((attempt.verb, failure))
    })
}

fn note((verb, failure): (Verb, &Failure)) -> Note {
    if verb == Verb::Create {
        Note::warning(words::FAILED_CREATE, format!("Error creating: {failure}"))
    } else {
        Note::warning(words::FAILED_DELETE, format!("Error deleting: {failure}"))
    }
}
