//! The trait that a controller implements: four synchronous functions around which [`crate::reconcile`] puts the phases.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;

use crate::id::{Kind, ObjectKey};
use crate::opt_in::Rejected;
use crate::outcome::Outcome;
use crate::plan::{Address, Note, Plan, StatusWrite, Target, Wake};
use crate::time::Timestamp;

/// One controller loop over one kind.
///
/// All of them are total, synchronous and free of I/O; only the loop awaits. Order of one turn: gate → observe → decide →
/// act → conclude → status → wake.
pub trait Workload: Send + Sync + 'static {
    /// What one turn knows of one object.
    type Observed: Send + Sync;
    /// What `decide` wants `conclude` to know of the decision.
    type Intent: Send + Sync;

    /// The kind whose objects are reconciled.
    const KIND: Kind;
    /// Name of the work queue in metrics, as upstream names it (deployment C-7).
    const QUEUE: &'static str;
    /// `source.component` of events (deployment C-73, C-74).
    const COMPONENT: &'static str;
    /// After how many failed turns in a row a key is left alone until it changes (deployment C-4).
    const RETRIES: RetryLimit;

    /// What the caches know of the object and its children.
    fn observe(&self, key: &ObjectKey, aids: &Aids<'_>) -> Observation<Self::Observed>;

    /// The object under `key` as the root cache has it, for the gates that come before `observe`.
    fn root(&self, key: &ObjectKey) -> Option<Target>;

    /// Whether a look at all objects, at the start and every now and then, has to look at this one. A loop that regards few of
    /// them says so here.
    fn concerns(&self, _key: &ObjectKey) -> bool {
        true
    }

    /// The object's opt-ins that have no effect; the loop tells people once.
    fn rejected_opt_ins<'a>(&self, _seen: &'a Self::Observed) -> &'a [Rejected] {
        &[]
    }

    /// What to do about it.
    fn decide(&self, seen: &Self::Observed, now: Timestamp) -> Plan<Self::Intent>;

    /// What to report once it was tried.
    fn conclude(&self, seen: &Self::Observed, intent: &Self::Intent, outcome: &Outcome, now: Timestamp) -> Conclusion;

    /// What has become of the turn, its last status write included: for metrics and what is remembered. Not called for a turn
    /// whose claims failed.
    fn settled(&self, _seen: &Self::Observed, _intent: &Self::Intent, _outcome: &Outcome, _now: Timestamp) {}

    /// Forgets what was remembered of the server, which is not what it was: called when turns begin, at first and after it was
    /// restored from a backup ([`crate::continuity`]). No turn is under way, and the caches show what the server holds now.
    fn start_over(&self) {}
}

/// How often a failing key is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryLimit {
    /// Always.
    Unlimited,
    /// This many times in a row; then only when it changes.
    Times(u32),
    /// Always, each key by itself: first after this time, doubled with each failure up to that (job J-10).
    Paced {
        /// The first wait.
        first: Duration,
        /// The longest wait.
        longest: Duration,
    },
}

/// What the loop lends to `observe` beside the caches.
#[derive(Debug)]
pub struct Aids<'a> {
    /// Whether every create and delete of ours has been seen in the caches. While not, children are neither created nor
    /// deleted; claims and status go on (deployment C-25).
    pub children: Children,
    /// Answers to [`crate::plan::Stage::Read`] of earlier rounds of this turn.
    pub live: &'a LiveReads,
    /// Time at the start of the turn.
    pub now: Timestamp,
}

/// Whether the cache shows all that this process has written of an owner's children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Children {
    /// All of it.
    Settled,
    /// Creates or deletes are still on their way (deployment C-22).
    Unsettled,
}

/// Answers of live reads, by what was asked for.
#[derive(Debug, Default)]
pub struct LiveReads(HashMap<Address, LiveRead>);

/// The answer to one live read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiveRead {
    /// The object as JSON.
    Found(Bytes),
    /// It does not exist.
    Missing,
}

impl LiveReads {
    /// The answer for `address`, if it was read in this turn.
    pub fn get(&self, address: &Address) -> Option<&LiveRead> {
        self.0.get(address)
    }

    /// Records an answer.
    pub fn insert(&mut self, address: Address, answer: LiveRead) {
        self.0.insert(address, answer);
    }
}

/// What observing a key came to.
#[derive(Clone, Debug)]
pub enum Observation<O> {
    /// The object is gone: everything remembered under the key is forgotten.
    Absent,
    /// The object is there but not to be acted on; the reason is for the log.
    Ignored(&'static str),
    /// Ready for a decision.
    Ready(O),
}

/// What a turn ends with.
#[derive(Clone, Debug, Default)]
pub struct Conclusion {
    /// The status write, if anything in it changed.
    pub status: Option<StatusWrite>,
    /// Events that depend on what came of the plan.
    pub notes: Vec<Note>,
    /// What holds the object up, if anything; nothing if this turn cannot tell. The loop says each cause at most once in ten
    /// minutes and counts the objects by cause.
    pub held_up: Option<Vec<Explanation>>,
    /// When to look again; the plan's own wake counts too.
    pub wake: Wake,
}

/// Why an object does not get on, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The cause in one word, for metrics.
    pub cause: &'static str,
    /// The whole story.
    pub note: Note,
}
