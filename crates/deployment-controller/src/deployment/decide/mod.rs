//! What to do about one Deployment: the policies in their order (D-2). Follows upstream's `syncDeployment`.
//!
//! Upstream writes up to four times to one object within a sync and each time runs into its own change (D-65). Here all
//! that a turn wants of one ReplicaSet is one patch, and all that it wants to report is one status write, made by
//! [`super::conclude`] once the patches are through.

mod cleanup;
mod draft;
mod hold;
mod recreate;
pub(super) mod revisions;
mod rollback;
mod rolling;
mod scale;

use std::collections::BTreeMap;

use workload_core::id::ObjectKey;
use workload_core::plan::{Note, Plan};

use self::draft::Draft;
use super::observe::Observed;
use super::spec::{Rollout, Strategy};
use super::words;

/// What conclusions are drawn from, beside what was observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// How much of the status follows from this turn.
    pub report: Report,
    /// What becomes of the ReplicaSet for the template.
    pub newest: Newest,
    /// Every ReplicaSet that is patched, and the size it has then.
    pub patched: BTreeMap<ObjectKey, i32>,
    /// The revision that the Deployment has once its new ReplicaSet has it (D-12).
    pub revision: Option<String>,
}

/// How much of the status follows from a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// That the spec was seen, nothing else (D-3).
    Generation,
    /// What happened, without counting: the turn was cut short (D-14, D-15, D-53).
    Marks,
    /// That, and the counts (D-25, D-80).
    Counts,
    /// That, the counts and how the rollout gets on (D-70).
    Progress,
    /// That, the counts and that the rollout stands still at this many updated replicas, as its user wants (FR-DP-07).
    Held(i64),
}

/// What becomes of the ReplicaSet for the Deployment's template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Newest {
    /// It existed before.
    Found,
    /// It is created under this key with this many replicas.
    Created(ObjectKey, i32),
    /// It is to be created, but its name is taken; the next turn takes another (D-14).
    Collided,
    /// There is none and none is created in this turn.
    Missing,
}

pub(super) fn decide(seen: &Observed) -> Plan<Intent> {
    let mut draft = Draft::new(seen);
    let report = steps(&mut draft);
    draft.finish(report)
}

fn steps(draft: &mut Draft<'_>) -> Report {
    let deployment = &*draft.seen.deployment;
    if deployment.selects_everything() {
        draft.say(Note::warning(
            words::SELECTING_ALL,
            "This deployment selects every pod of its namespace; its selector must not be empty.",
        ));
        return Report::Generation;
    }
    if deployment.meta.is_terminating() {
        revisions::refresh(draft);
        return Report::Counts;
    }
    if deployment.spec.rollout == Rollout::Paused {
        revisions::refresh(draft);
        scale::step(draft);
        if deployment.rollback_to().is_none() {
            cleanup::step(draft);
        }
        return Report::Counts;
    }
    if let Some(revision) = deployment.rollback_to() {
        return rollback::step(draft, revision);
    }
    if scale::is_due(draft.seen) {
        revisions::refresh(draft);
        scale::step(draft);
        return Report::Counts;
    }
    match deployment.spec.strategy {
        Strategy::Recreate => recreate::step(draft),
        Strategy::RollingUpdate { .. } => rolling::step(draft),
    }
}
