//! What is to be remembered of a turn.

use std::collections::BTreeSet;

use workload_core::id::{Kind, Uid};
use workload_core::outcome::{FailureClass, Outcome, Verb};
use workload_core::plan::{Claim, ClaimChange};
use workload_core::time::Timestamp;

use super::decide::{Action, Step};
use super::done::{Done, Fate};
use super::facts::{How, KnownBy};
use super::memory::{Kill, Learnt};
use super::observe::Observed;

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
    (is_new && !seen.has_run()).then_some(start)
}

/// The start time of a Job one of whose pods has run, or is let go of in this turn, if that matters to anybody.
fn ran(seen: &Observed) -> Option<Timestamp> {
    seen.job.opt_ins.start_deadline?;
    let is_release = |claim: &Claim| matches!(claim.change, ClaimChange::Release(_));
    let may_have_run = seen.has_run() || seen.claims.iter().any(is_release);
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
