//! What to do about a Job: claim pods, record those that have ended, let go of them, then make or remove pods; or end it
//! (J-30…J-52).
//!
//! The order of the stages is the protocol. What has ended is recorded before its finalizer goes (J-41). A verdict first kills
//! (J-33): a kill that fails ends the plan, and nothing is said about the verdict. The turns that follow count and let go of what
//! has ended before they try again. Where the kill itself could change the verdict, that is said first.

mod create;
mod end;
mod finalizers;
mod intent;
mod manage;
mod pods;
mod surplus;
pub mod verdict;

use std::collections::BTreeSet;
use std::time::Duration;

use workload_core::condition::Status;
use workload_core::id::Uid;
use workload_core::mistake::{Mistake, made};
use workload_core::plan::{Note, Plan, Stage, Wake};
use workload_core::time::{self, Timestamp};

pub(super) use self::finalizers::{Extent, Selection};
pub use self::intent::{Action, Intent};
pub(super) use self::intent::{Ahead, Counts, Step};
use self::manage::{Management, manage};
pub use self::verdict::{End, State, Verdict};
use super::conditions::{Cause, Change};
use super::facts::Facts;
use super::observe::Observed;
use super::policy::deadline::{self, Deadline};
use super::spec::{Replacement, Work};
use super::status::JobStatus;
use super::tally::CreationReason;
use super::words;

/// Upper bounds of one turn. Only tests have others than upstream's (J-6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// How many ends of pods may be recorded and not counted yet (J-48).
    pub uncounted: usize,
    /// How many pods are made, or surplus ones removed (J-61, J-91).
    pub burst: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            uncounted: finalizers::CAP,
            burst: 500,
        }
    }
}

/// How often a Job is looked at of whose pods some cannot be decoded: when such a pod goes, no event tells.
const UNREAD: Duration = Duration::from_mins(1);

/// The plan for one turn.
pub fn decide(seen: &Observed, bounds: Bounds, now: Timestamp) -> Plan<Intent> {
    if let Work::Unknown(mode) = &seen.job.spec.work {
        let mut plan = Plan::quiet(Intent::Leave);
        let message = format!("Skipped Job sync because completion mode is unknown: {mode}");
        plan.notes.push(Note::warning(words::UNKNOWN_COMPLETION_MODE, message));
        return plan;
    }
    let facts = Facts::of(seen);
    let verdict = verdict::reach(&facts, now);
    let drafting = Drafting {
        facts: &facts,
        bounds,
        now,
    };
    match verdict {
        Some(verdict) if drafting.can_be_overtaken(&verdict) => drafting.announce(&verdict),
        Some(verdict) if drafting.is_held_up() => drafting.hold(&verdict),
        Some(verdict) => drafting.end(verdict),
        None => drafting.go_on(drafting.select(None, &BTreeSet::new())),
    }
}

struct Drafting<'d, 'a> {
    facts: &'d Facts<'a>,
    bounds: Bounds,
    now: Timestamp,
}

impl Drafting<'_, '_> {
    /// Records what has ended, lets go of it, and makes or removes pods.
    fn go_on(&self, mut selection: Selection) -> Plan<Intent> {
        let facts = self.facts;
        let has_news = selection.records_more_than(&facts.base);
        let managed = facts.seen.is_settled() && !facts.seen.job.meta.is_terminating();
        let management = if managed {
            manage(facts, self.bounds.burst, self.now)
        } else {
            Management::default()
        };
        let mut notes = Vec::new();
        if managed {
            notes.extend(self.resume(&mut selection.status));
        }
        self.start(&mut selection.status, None);
        let mut stages = self.claims();
        // With the pods that are about to be made: if all goes well no other write has to correct it.
        let mut counts = self.counts();
        counts.active += management.created();
        counts.report(&mut selection.status);
        let ahead = self.write_ahead(&mut stages, &selection, has_news, notes.clone());
        if ahead == Ahead::Written {
            notes.clear();
        }
        stages.extend(releases(&selection));
        let step = if managed {
            management.step(facts.seen.job.spec.is_suspended())
        } else {
            Step::Wait
        };
        let wake = self.deadlines().sooner(management.wake());
        let said = management.notes.clone();
        stages.extend(management.stage);
        self.plan(
            stages,
            wake,
            said,
            Draft {
                selection,
                ahead,
                verdict: None,
                step,
                notes,
            },
        )
    }

    fn select(&self, verdict: Option<&Verdict>, kept: &BTreeSet<Uid>) -> Selection {
        finalizers::select(self.facts, verdict, kept, self.bounds.uncounted)
    }

    fn claims(&self) -> Vec<Stage> {
        let claims = &self.facts.seen.claims;
        if claims.is_empty() {
            Vec::new()
        } else {
            vec![Stage::Claim(claims.clone())]
        }
    }

    fn write_ahead(&self, stages: &mut Vec<Stage>, selection: &Selection, has_news: bool, notes: Vec<Note>) -> Ahead {
        let job = &self.facts.seen.job;
        let write = selection
            .status
            .write(job, &job.status, notes)
            .filter(|_| has_news && !made(Mistake::EndsUnrecorded));
        match write {
            None => Ahead::Nothing,
            Some(write) => {
                stages.push(Stage::Status(write));
                Ahead::Written
            }
        }
    }

    /// The Job has begun to run, unless it is suspended. One that ends has begun too, or the server would not take it; only
    /// one that has nothing to do may end while it is suspended without having begun (J-105, J-108).
    fn start(&self, status: &mut JobStatus, verdict: Option<&Verdict>) {
        let spec = &self.facts.seen.job.spec;
        let runs = !spec.is_suspended() || (verdict.is_some() && spec.completions() != Some(0));
        if runs && status.start_time.is_none() {
            status.start_time = Some(time::to_seconds(self.now));
        }
    }

    /// A Job that was suspended begins anew (J-103).
    fn resume(&self, status: &mut JobStatus) -> Option<Note> {
        // The server lets nobody change the start of a Job that was not suspended.
        if self.facts.seen.job.spec.is_suspended() || status.conditions.holds(words::SUSPENDED).is_none() {
            return None;
        }
        let cause = Cause {
            reason: words::JOB_RESUMED.to_owned(),
            message: "Job resumed".to_owned(),
        };
        let change = status
            .conditions
            .state(words::SUSPENDED, Status::False, &cause, self.now);
        (change == Change::Made).then(|| {
            status.start_time = Some(time::to_seconds(self.now));
            Note::normal(words::EVENT_RESUMED, cause.message)
        })
    }

    /// When a deadline passes (J-13).
    fn deadlines(&self) -> Wake {
        let job = &self.facts.seen.job;
        let wake = |deadline| match deadline {
            Deadline::In(rest) => Wake::After(rest),
            Deadline::None | Deadline::Passed => Wake::OnChange,
        };
        let start = if verdict::has_started(self.facts) {
            Deadline::None
        } else {
            deadline::of_start(job, self.now)
        };
        wake(deadline::of(job, self.now)).sooner(wake(start))
    }

    fn counts(&self) -> Counts {
        Counts {
            active: self.facts.active.len(),
            ready: self.facts.ready(),
            terminating: self.facts.terminating,
        }
    }

    fn plan(&self, stages: Vec<Stage>, wake: Wake, said: Vec<Note>, draft: Draft) -> Plan<Intent> {
        let facts = self.facts;
        let ends = facts.ends(&draft.selection);
        let Draft {
            selection,
            ahead,
            verdict,
            step,
            notes,
        } = draft;
        Plan {
            stages,
            notes: said,
            wake: if facts.seen.unread > 0 {
                wake.sooner(Wake::After(UNREAD))
            } else {
                wake
            },
            intent: Intent::Act(Box::new(Action {
                base: facts.base.clone(),
                counts: self.counts(),
                record: facts.seen.recalled.record,
                ends,
                is_done: facts.is_done(),
                reason: self.reason(),
                selection,
                ahead,
                notes,
                verdict,
                step,
            })),
        }
    }

    /// Why pods are made, for metrics (J-212).
    fn reason(&self) -> CreationReason {
        let has_failed = self.facts.failed() > 0;
        let again = has_failed || self.facts.terminating > 0;
        match (self.facts.seen.job.spec.replacement, has_failed, again) {
            (Replacement::Failed, true, _) => CreationReason::RecreateFailed,
            (_, _, true) => CreationReason::RecreateTerminatingOrFailed,
            (_, _, false) => CreationReason::New,
        }
    }
}

/// Parts of an [`Action`] that differ between an end and a turn like any other.
struct Draft {
    selection: Selection,
    ahead: Ahead,
    verdict: Option<Verdict>,
    step: Step,
    notes: Vec<Note>,
}

fn releases(selection: &Selection) -> Option<Stage> {
    let patches: Vec<_> = selection.pods.iter().cloned().map(finalizers::removal).collect();
    (!patches.is_empty()).then_some(Stage::PatchEach(patches))
}
