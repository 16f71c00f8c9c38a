//! How a Job ends (J-33, J-45, J-191): what is active is killed, the verdict is said, all pods are let go of. In one turn if
//! nothing speaks against it; a verdict that its own kill could change is said before ([`Drafting::announce`]), and while a pod
//! cannot be killed the others are counted ([`Drafting::hold`]).

use std::collections::BTreeSet;

use workload_core::plan::{Note, Plan, Stage, Wake};

use super::intent::{Ahead, Step};
use super::manage::keys;
use super::verdict::{self, State, Verdict};
use super::{Draft, Drafting, Intent, Selection, releases, surplus};
use crate::job::memory::Kill;
use crate::job::pod::Pod;
use crate::job::status::JobStatus;

impl Drafting<'_, '_> {
    /// Kills what is active, then says that the Job is going to end, then lets go of all pods.
    pub(super) fn end(&self, verdict: Verdict) -> Plan<Intent> {
        let facts = self.facts;
        let mut selection = self.select(Some(&verdict), &BTreeSet::new());
        let mut stages = self.claims();
        let killed = self.victims();
        stages.extend(kills(&killed));
        let has_news = selection.records_more_than(&facts.base) || verdict.state == State::New;
        let notes = self.say(&verdict, &mut selection.status);
        let step = if killed.is_empty() {
            Step::Wait
        } else {
            Step::Kill(keys(&killed))
        };
        let mut counts = self.counts();
        counts.active -= killed.len();
        counts.ready -= killed.iter().filter(|pod| pod.is_ready()).count();
        counts.terminating += killed.len();
        counts.report(&mut selection.status);
        let ahead = self.write_ahead(&mut stages, &selection, has_news, notes);
        stages.extend(releases(&selection));
        self.close(stages, selection, ahead, Some(verdict), step)
    }

    /// True if this verdict has to be said first. Killed pods count as failed, and the limit of failures is looked at before most
    /// other reasons of an end: if the kill does not go through at once, or its process dies, the next turn would find too many
    /// failures, and a Job that has succeeded by its success policy would have failed.
    pub(super) fn can_be_overtaken(&self, verdict: &Verdict) -> bool {
        verdict::can_be_overtaken(self.facts, verdict, self.victims().len())
    }

    /// Says that the Job is going to end, and why. The next turn does the rest.
    pub(super) fn announce(&self, verdict: &Verdict) -> Plan<Intent> {
        let mut selection = Selection::nothing(self.facts.base.clone());
        let notes = self.say(verdict, &mut selection.status);
        self.counts().report(&mut selection.status);
        let mut stages = self.claims();
        let ahead = self.write_ahead(&mut stages, &selection, true, notes);
        self.close(stages, selection, ahead, None, Step::Wait)
    }

    /// True if the last kill was refused and pods are left to kill.
    pub(super) fn is_held_up(&self) -> bool {
        self.facts.seen.recalled.kill == Kill::Refused && !self.victims().is_empty()
    }

    /// Does what a turn without a verdict does about what has ended, and tries the kill again when that is done: one pod that a
    /// webhook protects must not keep the others from going. Until all go nothing is said about the verdict.
    pub(super) fn hold(&self, verdict: &Verdict) -> Plan<Intent> {
        let facts = self.facts;
        // The pod that tells why the Job fails has to stay until that is stored (J-145).
        let kept: BTreeSet<_> = match verdict.state {
            State::New => verdict::met_fail_job(facts)
                .map(|(pod, _)| pod.meta.uid.clone())
                .collect(),
            State::Stored => BTreeSet::new(),
        };
        let mut selection = self.select(None, &kept);
        let has_news = selection.records_more_than(&facts.base);
        self.start(&mut selection.status, Some(verdict));
        self.counts().report(&mut selection.status);
        let mut stages = self.claims();
        let ahead = self.write_ahead(&mut stages, &selection, has_news, Vec::new());
        stages.extend(releases(&selection));
        let victims = self.victims();
        stages.extend(kills(&victims));
        self.close(stages, selection, ahead, None, Step::Kill(keys(&victims)))
    }

    fn close(
        &self,
        stages: Vec<Stage>,
        selection: Selection,
        ahead: Ahead,
        verdict: Option<Verdict>,
        step: Step,
    ) -> Plan<Intent> {
        let draft = Draft {
            selection,
            ahead,
            verdict,
            step,
            notes: Vec::new(),
        };
        self.plan(stages, Wake::OnChange, Vec::new(), draft)
    }

    /// Says that the Job is going to end, if it is not said already.
    fn say(&self, verdict: &Verdict, status: &mut JobStatus) -> Vec<Note> {
        let mut notes = Vec::new();
        if verdict.state == State::New {
            // Its pods may have ended before anybody could say that it was resumed.
            notes.extend(self.resume(status));
            let conditions = &mut status.conditions;
            conditions.append(verdict.end.interim(), &verdict.cause, self.now);
        }
        self.start(status, Some(verdict));
        notes
    }

    /// The pods that a verdict kills. Whoever deletes a Job decides what becomes of its pods (J-38).
    fn victims(&self) -> Vec<&Pod> {
        let may_kill = !self.facts.seen.job.meta.is_terminating();
        self.facts.active.iter().copied().filter(|_| may_kill).collect()
    }
}

fn kills(victims: &[&Pod]) -> Option<Stage> {
    let deletes: Vec<_> = victims.iter().map(|pod| surplus::kill(pod)).collect();
    (!deletes.is_empty()).then_some(Stage::Delete(deletes))
}
