//! What a write was decided on.

use std::collections::BTreeMap;

use testkit::Kind;
use testkit::object::Stored;
use testkit::simulation::oracle::Asking;
use testkit::simulation::schedule::{Fault, Schedule};

/// Up to which versions a process has been shown pods and Jobs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shown {
    pub(super) pods: u64,
    pub(super) jobs: u64,
}

/// What was shown at the last write of a status, and at the one before.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    before: Shown,
    last: Shown,
}

/// What whoever has written last has been shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Basis {
    now: Shown,
    /// The same at the last write of the status of each Job: what follows in the same turn was decided on no less than that.
    told: BTreeMap<String, Told>,
    /// Whether a write may be on its way for long after it was decided.
    is_slow: bool,
}

impl Basis {
    pub(super) fn under(schedule: &Schedule) -> Self {
        let delays = |fault: Fault| {
            matches!(
                fault,
                Fault::Slow(_)
                    | Fault::Late(_)
                    | Fault::Freeze(..)
                    | Fault::Answer(..)
                    | Fault::Silence(_)
                    | Fault::Cut(..)
            )
        };
        Self {
            is_slow: schedule.0.iter().any(|planned| delays(planned.fault)),
            ..Self::default()
        }
    }

    pub(super) fn asked(&mut self, asking: &Asking<'_>) {
        self.now = Shown {
            pods: (asking.seen)(Kind::POD),
            jobs: (asking.seen)(Kind::JOB),
        };
        if asking.asked.plural == "jobs" {
            let told = self.told.entry(asking.asked.name.clone()).or_default();
            *told = Told {
                before: told.last,
                last: self.now,
            };
        }
    }

    /// What a write about this Job was decided on, at the least, if several writes follow one decision.
    pub(super) fn of_turn(&self, job: &Stored) -> Shown {
        self.told.get(job.name()).map_or_else(Shown::default, |told| told.last)
    }

    /// What a write about this Job was decided on, at the least.
    pub(super) fn of(&self, job: &Stored) -> Shown {
        if self.is_slow {
            self.told
                .get(job.name())
                .map_or_else(Shown::default, |told| told.before)
        } else {
            self.now
        }
    }
}
