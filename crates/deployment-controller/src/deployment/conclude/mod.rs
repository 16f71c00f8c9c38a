//! What a turn has come to: the status of the Deployment and its revision annotation, in one write (D-60…D-70).
//!
//! Sizes are those after the patches that went through, so that the next turn has nothing to correct. Follows upstream's
//! `calculateStatus` and the status writes on the way to it.

mod counts;

use std::sync::Arc;

use serde_json::{Map, Value, json};
use workload_core::condition::{Condition, Conditions, Status};
use workload_core::id::Kind;
use workload_core::outcome::{FailureClass, Outcome, Verb};
use workload_core::plan::{Note, StatusWrite, Target, Wake};
use workload_core::time::Timestamp;
use workload_core::workload::{Conclusion, Explanation};

use super::decide::{Intent, Newest, Report, revisions::revision};
use super::observe::{NewSet, Observed};
use super::progress::Rest;
use super::spec::{Deployment, DeploymentStatus, Rollout};
use super::{explain, progress, words};
use crate::replicaset::spec::ReplicaSet;

/// Fields that a server without them, or with their gate off, drops.
const MAY_LACK: &[&str] = &["terminatingReplicas"];

pub(super) fn conclude(seen: &Observed, intent: &Intent, outcome: &Outcome, now: Timestamp) -> Conclusion {
    let deployment = &*seen.deployment;
    let turn = Turn {
        seen,
        intent,
        outcome,
        now,
    };
    let mut status = deployment.status.clone();
    if intent.report == Report::Generation {
        status.observed_generation = status.observed_generation.max(deployment.meta.generation);
        return turn.told(&status, Vec::new());
    }
    if !deployment.meta.is_terminating() {
        progress::mark_pause(&mut status, deployment, turn.rest(), now);
    }
    match turn.obstacle() {
        // That a rollout has begun must not be lost with the rest of the turn: it starts the deadline (D-12, D-13).
        Some(Obstacle::Passing) if turn.has_created() => {
            turn.mark(&mut status);
            turn.told(&status, Vec::new())
        }
        Some(Obstacle::Passing) => Conclusion::default(),
        Some(Obstacle::NoReplicaSet(message)) => turn.without_replica_set(status, &message),
        None => {
            turn.mark(&mut status);
            let before = status.clone();
            match intent.report {
                Report::Held(_) if progress::rests(&status) => {
                    turn.count(&mut status);
                    turn.copy_replica_failure(&mut status);
                }
                Report::Progress | Report::Held(_) => {
                    turn.count(&mut status);
                    progress::estimate(&before, &mut status, deployment, turn.newest().as_deref(), now);
                    turn.copy_replica_failure(&mut status);
                }
                Report::Counts => turn.count(&mut status),
                Report::Marks | Report::Generation => {}
            }
            turn.told(&status, Vec::new())
        }
    }
}

/// One turn in retrospect.
struct Turn<'a> {
    seen: &'a Observed,
    intent: &'a Intent,
    outcome: &'a Outcome,
    now: Timestamp,
}

/// What kept a plan from being carried out.
enum Obstacle {
    /// Something that the next turn will see clearer, or that leaves nothing to report: what is known now may be out of date.
    Passing,
    /// The new ReplicaSet could not be created, in the server's words (D-15).
    NoReplicaSet(String),
}

impl Turn<'_> {
    /// A refused patch or delete is no obstacle: the pods are counted all the same (D-36).
    fn obstacle(&self) -> Option<Obstacle> {
        if self.intent.newest == Newest::Collided && self.seen.deployment.status.collision_count == Some(i32::MAX) {
            let message = format!("its name is taken, and collisionCount cannot grow beyond {}", i32::MAX);
            return Some(Obstacle::NoReplicaSet(message));
        }
        let failure = self.outcome.failure()?;
        let creating = self
            .outcome
            .failures_of(Verb::Create, Kind::REPLICA_SET)
            .next()
            .is_some();
        match failure.class {
            FailureClass::AlreadyExists | FailureClass::NamespaceEnding | FailureClass::Fenced => {
                Some(Obstacle::Passing)
            }
            _ if creating => Some(Obstacle::NoReplicaSet(failure.message.clone())),
            FailureClass::Rejected | FailureClass::Invalid | FailureClass::Protected => None,
            FailureClass::Conflict
            | FailureClass::Missing
            | FailureClass::Replaced
            | FailureClass::OwnerUnfit
            | FailureClass::Throttled(_)
            | FailureClass::Unknown
            | FailureClass::Transient => Some(Obstacle::Passing),
        }
    }

    /// True if the new ReplicaSet was created in this turn.
    fn has_created(&self) -> bool {
        match &self.intent.newest {
            Newest::Created(key, _) => self.outcome.applied(Verb::Create, Kind::REPLICA_SET, key),
            Newest::Found | Newest::Collided | Newest::Missing => false,
        }
    }

    /// Reports that the new ReplicaSet could not be created (D-15).
    fn without_replica_set(&self, mut status: DeploymentStatus, cause: &str) -> Conclusion {
        let name = match (&self.intent.newest, &self.seen.new) {
            (Newest::Created(key, _), _) => &*key.name,
            (Newest::Collided, NewSet::Missing(vacancy)) => &*vacancy.name,
            (Newest::Collided | Newest::Found | Newest::Missing, _) => "",
        };
        let reason = words::REPLICA_SET_CREATE_ERROR;
        let message = format!("Failed to create new replica set {name:?}: {cause}");
        if self.seen.deployment.spec.deadline.is_some() {
            let failed = Condition::new(words::PROGRESSING, Status::False, reason, message.as_str(), self.now);
            status.conditions.set(failed);
        }
        self.told(&status, vec![Note::warning(reason, message)])
    }

    /// Records what has become of the new ReplicaSet (D-12, D-13, D-14). That a rollout was resumed a moment ago is the better
    /// news of the two: upstream's second write fails on its first (D-65, T-10).
    fn mark(&self, status: &mut DeploymentStatus) {
        let deployment = &*self.seen.deployment;
        let watched = deployment.spec.deadline.is_some() && !progress::has_resumed(&deployment.status, status);
        let conditions = &mut status.conditions;
        let found = |reason, message| Condition::new(words::PROGRESSING, Status::True, reason, message, self.now);
        match (&self.intent.newest, self.seen.found()) {
            (Newest::Collided, _) => {
                status.collision_count = Some(status.collision_count.unwrap_or(0).saturating_add(1));
            }
            (Newest::Created(key, _), _) if watched => {
                let message = format!("Created new replica set {:?}", &*key.name);
                conditions.set(found(words::NEW_REPLICA_SET_CREATED, message));
            }
            (Newest::Found, Some(set)) if watched && self.nothing_tells_of(set, conditions) => {
                let message = format!("Found new replica set {:?}", &*set.meta.key.name);
                conditions.set(found(words::FOUND_NEW_REPLICA_SET, message));
            }
            (Newest::Created(..) | Newest::Found | Newest::Missing, _) => {}
        }
    }

    /// True if no condition tells that this ReplicaSet is rolled out. The write that did may have been lost: then the Deployment
    /// still carries the revision before, and says that the rollout of another ReplicaSet is complete. Without a word the
    /// deadline would never strike, as it does not with upstream.
    fn nothing_tells_of(&self, set: &ReplicaSet, conditions: &Conditions) -> bool {
        let Some(current) = conditions.get(words::PROGRESSING) else {
            return true;
        };
        let told = self.seen.deployment.meta.annotations.get(words::REVISION);
        let told = || told.and_then(|text| text.parse::<i64>().ok());
        let is_later = || told().zip(revision(set)).is_some_and(|(told, found)| told < found);
        let names_it = || current.message.contains(&format!("{:?}", &*set.meta.key.name));
        current.reason == words::NEW_REPLICA_SET_AVAILABLE && is_later() && !names_it()
    }

    /// Name of the ReplicaSet that is rolled out.
    fn newest(&self) -> Option<Arc<str>> {
        match &self.intent.newest {
            Newest::Created(key, _) => Some(Arc::clone(&key.name)),
            Newest::Found | Newest::Collided | Newest::Missing => {
                self.seen.found().map(|set| Arc::clone(&set.meta.key.name))
            }
        }
    }

    /// The revision to write on the Deployment: that of its new ReplicaSet, once the server has that one (D-12).
    fn revision(&self) -> Option<&str> {
        let unsettled = |set: &ReplicaSet| self.intent.patched.contains_key(&set.meta.key) && !self.was_patched(set);
        let revision = self.intent.revision.as_deref()?;
        let written = self.seen.deployment.meta.annotations.has(words::REVISION, revision);
        let uncertain = self
            .outcome
            .failures_of(Verb::Create, Kind::REPLICA_SET)
            .next()
            .is_some()
            || self.seen.found().is_some_and(unsettled);
        (!written && !uncertain).then_some(revision)
    }

    /// Whether the rollout stands still because its user wants it to.
    fn rest(&self) -> Rest {
        match (self.seen.deployment.spec.rollout, self.intent.report) {
            (Rollout::Paused, _) => Rest::Paused,
            (Rollout::Active, Report::Held(at)) => Rest::Held(at),
            (Rollout::Active, _) => Rest::None,
        }
    }

    fn held_up(&self, status: &DeploymentStatus) -> Vec<Explanation> {
        match self.intent.report {
            Report::Held(at) => vec![Explanation {
                cause: words::HOLD_AT,
                note: Note::normal(words::ROLLOUT_HELD, progress::held(at)),
            }],
            Report::Progress => explain::explain(self.seen, status, self.now),
            Report::Counts | Report::Marks | Report::Generation => Vec::new(),
        }
    }

    /// The conclusion: one write of all that differs from what is stored, or else a time to look again.
    fn told(&self, status: &DeploymentStatus, notes: Vec<Note>) -> Conclusion {
        let deployment = &*self.seen.deployment;
        let write = write(deployment, status, self.revision());
        let wake = match (&write, self.intent.report) {
            (None, Report::Progress) => progress::next_look(status, deployment, self.now),
            _ => Wake::OnChange,
        };
        Conclusion {
            status: write,
            notes,
            held_up: Some(self.held_up(status)),
            wake,
        }
    }
}

/// The status write, if anything differs (D-64). It names the fields that differ, conditions as a whole list.
fn write(deployment: &Deployment, status: &DeploymentStatus, revision: Option<&str>) -> Option<StatusWrite> {
    let fields = |status| match serde_json::to_value(status) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) | Err(_) => Map::new(),
    };
    let stored = fields(&deployment.status);
    let changed: Map<_, _> = fields(status)
        .into_iter()
        .filter(|(field, value)| stored.get(field) != Some(value))
        .collect();
    let mut body = Map::new();
    if !changed.is_empty() {
        body.insert("status".to_owned(), Value::Object(changed));
    }
    if let Some(revision) = revision {
        let annotations = json!({ "annotations": { words::REVISION: revision } });
        body.insert("metadata".to_owned(), annotations);
    }
    (!body.is_empty()).then(|| StatusWrite {
        target: Target::of(Kind::DEPLOYMENT, &deployment.meta),
        body: Value::Object(body),
        may_lack: MAY_LACK,
        notes: Vec::new(),
    })
}
