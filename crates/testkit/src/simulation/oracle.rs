//! What must hold in every history, whatever goes wrong.

use std::collections::BTreeMap;

use http::StatusCode;
use workload_core::id::Kind;
use workload_core::time::Timestamp;

use crate::api::EVENT;
use crate::proxy::{Asked, Verb};
use crate::state::{Change, State};

/// A law. What it says when it is broken ends the history.
pub trait Oracle: Send {
    /// A process is about to write; the server has not carried it out.
    fn asked(&mut self, asking: &Asking<'_>) -> Result<(), String> {
        let _ = asking;
        Ok(())
    }

    /// An object has changed: it is the last write in the state.
    fn changed(&mut self, state: &State) -> Result<(), String> {
        let _ = state;
        Ok(())
    }

    /// The history has come to its end.
    fn ended(&mut self, state: &State) -> Result<(), String> {
        let _ = state;
        Ok(())
    }
}

/// A write of a process, before it is carried out.
pub struct Asking<'a> {
    /// What is asked for.
    pub asked: &'a Asked,
    /// What the server holds.
    pub state: &'a State,
    /// Up to which version the process has been shown a kind.
    pub seen: &'a dyn Fn(Kind) -> u64,
    /// When it arrives, by the server's clock.
    pub now: Timestamp,
}

/// What was asked for, and what came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Reads of processes, leases left out.
    pub reads: u64,
    /// Writes of processes, leases left out.
    pub writes: u64,
    /// Of those, writes of events.
    pub events: u64,
    /// Deletions and evictions that processes asked for, but for those that a disruption budget has refused.
    pub deletions: u64,
    /// Pods that went because their nodes were lost.
    pub lost: u64,
    /// What the server has refused: creates by a quota, an admission plugin, a webhook; evictions by a disruption budget.
    pub refused: u64,
    /// Objects created, by kind.
    pub created: BTreeMap<&'static str, u64>,
}

impl Tally {
    pub(super) fn count(&mut self, asked: &Asked) {
        self.writes += 1;
        self.events += u64::from(asked.plural == EVENT.plural);
    }

    pub(super) fn answered(&mut self, asked: &Asked, code: StatusCode) {
        let evicts = asked.subresource == "eviction";
        let creates = asked.verb == Verb::Create && asked.subresource.is_empty();
        let spared = evicts && code == StatusCode::TOO_MANY_REQUESTS;
        let refused = creates && matches!(code, StatusCode::FORBIDDEN | StatusCode::UNPROCESSABLE_ENTITY);
        self.refused += u64::from(spared || refused);
        self.deletions += u64::from(asked.verb == Verb::Delete || (evicts && !spared));
    }

    pub(super) fn stored(&mut self, kind: Kind, change: Change) {
        if change == Change::Added {
            *self.created.entry(kind.plural).or_default() += 1;
        }
    }

    /// How many objects of a kind were created.
    pub fn created(&self, kind: Kind) -> u64 {
        self.created.get(kind.plural).copied().unwrap_or_default()
    }

    /// All requests.
    pub fn requests(&self) -> u64 {
        self.reads + self.writes
    }
}
