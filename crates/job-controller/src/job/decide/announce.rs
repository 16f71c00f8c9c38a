//! A verdict that its own kill could turn into another one (J-33).
//!
//! Killed pods count as failed, and the limit of failures is looked at before most other reasons of an end. If the kill does
//! not go through at once, or its process dies, the next turn would find too many failures: a Job that has succeeded by its
//! success policy would have failed. Such a verdict is stored before anything is killed.

use workload_core::plan::{Plan, Wake};

use super::verdict::{self, Verdict};
use super::{Draft, Drafting, Intent, Selection, Step};

impl Drafting<'_, '_> {
    /// True if this verdict has to be stored first.
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
        self.plan(
            stages,
            Wake::OnChange,
            Vec::new(),
            Draft {
                selection,
                ahead,
                verdict: None,
                step: Step::Wait,
                notes: Vec::new(),
            },
        )
    }
}
