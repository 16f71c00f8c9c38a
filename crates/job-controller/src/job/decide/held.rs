//! The end of a Job one of whose pods cannot be killed (J-33, J-191).
//!
//! Until all go nothing is said about the verdict. But what has ended, killed pods among them, is counted and let go of
//! meanwhile: one pod that a webhook protects must not keep the others from going.

use std::collections::BTreeSet;

use workload_core::plan::{Plan, Wake};

use super::manage::keys;
use super::verdict::{self, State};
use super::{Draft, Drafting, Intent, Step, Verdict, kills, releases};
use crate::job::memory::Kill;

impl Drafting<'_, '_> {
    /// True if the last kill was refused and pods are left to kill.
    pub(super) fn is_held_up(&self) -> bool {
        self.facts.seen.recalled.kill == Kill::Refused && !self.victims().is_empty()
    }

    /// Does what a turn without a verdict does about what has ended, and tries the kill again when that is done.
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
        self.plan(
            stages,
            Wake::OnChange,
            Vec::new(),
            Draft {
                selection,
                ahead,
                verdict: None,
                step: Step::Kill(keys(&victims)),
                notes: Vec::new(),
            },
        )
    }
}
