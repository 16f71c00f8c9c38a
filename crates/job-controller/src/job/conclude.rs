//! What to report about a Job once the plan was tried (J-44, J-47, J-100…J-105, J-150…J-157), what of it to remember, and what
//! it comes to in numbers.

use std::collections::BTreeSet;
use std::time::Duration;

use workload_core::condition::Status;
use workload_core::id::{Kind, ObjectKey, Uid};
use workload_core::mistake::{Mistake, made};
use workload_core::outcome::{Attempt, Failure, FailureClass, Outcome, Receipt, Retry, Verb};
use workload_core::plan::{Claim, ClaimChange, Note, Wake};
use workload_core::time::{self, Timestamp};
use workload_core::workload::Conclusion;

use super::conditions::{Cause, Change};
use super::decide::verdict::completions_reached;
use super::decide::{Action, Counts, End, Extent, Step, Verdict};
use super::facts::{How, KnownBy};
use super::memory::{Kill, Learnt};
use super::observe::Observed;
use super::pod::Start;
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

/// What became of the record of ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The plan did not write one, or did not come to it.
    NotWritten,
    /// It is stored.
    Applied,
    /// It is not.
    Failed,
}

/// What the plan has come to.
pub(super) struct Done {
    pub(super) record: Fate,
    /// Pods that were let go of.
    pub(super) released: Vec<Uid>,
    /// Pods that still have their finalizer.
    unreleased: usize,
    /// Pods after it.
    counts: Counts,
    /// True if the verdict has to wait.
    is_withheld: bool,
}

impl Done {
    pub(super) fn of(action: &Action, outcome: &Outcome) -> Self {
        let applied = |verb: Verb| -> BTreeSet<&ObjectKey> {
            let of_verb = outcome.attempts.iter().filter(|attempt| attempt.verb == verb);
            let worked = of_verb.filter(|attempt| attempt.result.is_ok());
            worked.map(|attempt| &attempt.key).collect()
        };
        let (patched, deleted) = (applied(Verb::Patch), applied(Verb::Delete));
        let record = match outcome.attempts.iter().find(|attempt| attempt.verb == Verb::Status) {
            None => Fate::NotWritten,
            Some(Attempt { result: Ok(_), .. }) => Fate::Applied,
            Some(Attempt { result: Err(_), .. }) => Fate::Failed,
        };
        let pods = action.selection.pods.iter();
        let (released, unreleased): (Vec<_>, Vec<_>) = pods.partition(|pod| patched.contains(&pod.key));
        let (going, must_all_go) = match &action.step {
            Step::Wait => (&[][..], false),
            Step::Manage { removed, .. } => (&removed[..], false),
            Step::Kill(killed) => (&killed[..], true),
        };
        let gone: Vec<_> = going.iter().filter(|(key, ..)| deleted.contains(key)).collect();
        let mut counts = action.counts;
        counts.active = counts.active.saturating_sub(gone.len()) + applied(Verb::Create).len();
        counts.ready = counts
            .ready
            .saturating_sub(gone.iter().filter(|(.., is_ready)| *is_ready).count());
        counts.terminating += gone.len();
        Self {
            record,
            is_withheld: must_all_go && gone.len() < going.len(),
            released: released.into_iter().map(|pod| pod.uid.clone()).collect(),
            unreleased: unreleased.len(),
            counts,
        }
    }
}

/// What is to be remembered of the turn.
pub(super) fn learnt(seen: &Observed, action: &Action, outcome: &Outcome) -> Learnt {
    let done = Done::of(action, outcome);
    let is_recorded = done.record == Fate::Applied;
    let released: BTreeSet<&Uid> = done.released.iter().collect();
    let known = |how: How| -> Vec<Timestamp> {
        let ends = action.ends.iter().filter(|end| end.how == how);
        let known = ends.filter(|end| match end.known_by {
            KnownBy::Record => is_recorded,
            KnownBy::Release => released.contains(&end.pod),
        });
        known.filter_map(|end| end.at).collect()
    };
    Learnt {
        record: action.record.after(&known(How::Failed), &known(How::Succeeded)),
        kill: kill(action, &done, outcome),
        released: done.released,
        begun: begun(seen, action),
        ran: ran(seen),
        has_dropped: matches!(&action.step, Step::Manage { removed, .. } if !removed.is_empty()),
    }
}

/// The start time that this turn gives to a Job none of whose pods has run, if that matters to anybody.
fn begun(seen: &Observed, action: &Action) -> Option<Timestamp> {
    seen.job.opt_ins.start_deadline?;
    let start = action.selection.status.start_time?;
    let is_new = seen.job.status.start_time != Some(start);
    let has_run = seen.pods.iter().any(|pod| pod.start == Start::Once);
    (is_new && !has_run).then_some(start)
}

/// The start time of a Job one of whose pods has run, or is let go of in this turn, if that matters to anybody.
fn ran(seen: &Observed) -> Option<Timestamp> {
    seen.job.opt_ins.start_deadline?;
    let has_run = seen.pods.iter().any(|pod| pod.start == Start::Once);
    let is_release = |claim: &Claim| matches!(claim.change, ClaimChange::Release(_));
    let may_have_run = has_run || seen.claims.iter().any(is_release);
    seen.job.status.start_time.filter(|_| may_have_run)
}

/// A kill that was not sent, or whose plan ended before, tells nothing.
fn kill(action: &Action, done: &Done, outcome: &Outcome) -> Option<Kill> {
    let mut failures = outcome.failures_of(Verb::Delete, Kind::POD);
    match &action.step {
        Step::Wait => None,
        Step::Manage { .. } => Some(Kill::Complete),
        Step::Kill(_) if failures.any(|failure| failure.class != FailureClass::Fenced) => Some(Kill::Refused),
        Step::Kill(_) => (!done.is_withheld).then_some(Kill::Complete),
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
