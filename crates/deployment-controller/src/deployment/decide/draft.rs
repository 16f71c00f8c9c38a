//! A plan in the making. Everything that is wanted of one ReplicaSet ends up in one patch.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};
use workload_core::id::Kind;
use workload_core::plan::{Create, Delete, DeleteGuard, Note, Patch, PatchForm, Plan, Stage, Target, Wake};

use super::{Intent, Newest, Report};
use crate::deployment::observe::{NewSet, Observed, Occupancy};
use crate::deployment::spec::{Bounds, to_count};
use crate::deployment::words;
use crate::replicaset::spec::ReplicaSet;

/// A plan in the making.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    /// What it is made from.
    pub(super) seen: &'a Observed,
    /// The bounds of a rollout.
    pub(super) bounds: Bounds,
    newest: Newest,
    revision: Option<String>,
    create: Option<Create>,
    /// One for each ReplicaSet, the new one first.
    changes: Vec<Change<'a>>,
    rollback: Option<Patch>,
    deletes: Vec<Delete>,
    notes: Vec<Note>,
}

/// How often it is looked whether pods that cannot be decoded are still there.
const UNREAD: Duration = Duration::from_mins(1);

/// All that is wanted of one ReplicaSet.
#[derive(Debug)]
struct Change<'a> {
    set: &'a ReplicaSet,
    size: i32,
    min_ready_seconds: i32,
    /// Values, or nothing for those to remove.
    annotations: BTreeMap<String, Option<String>>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(seen: &'a Observed) -> Self {
        Self {
            seen,
            bounds: seen.deployment.spec.bounds(),
            newest: match &seen.new {
                NewSet::Found(_) => Newest::Found,
                NewSet::Missing(_) => Newest::Missing,
            },
            revision: None,
            create: None,
            changes: seen
                .found()
                .into_iter()
                .chain(seen.old.iter().map(|set| &**set))
                .map(Change::nothing)
                .collect(),
            rollback: None,
            deletes: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The size that `set` has after what is planned so far.
    pub(super) fn size(&self, set: &ReplicaSet) -> i64 {
        let planned = self.changes.iter().find(|change| change.is_of(set));
        i64::from(planned.map_or(set.replicas, |change| change.size))
    }

    /// The sizes of all ReplicaSets together, the one to create included.
    pub(super) fn total(&self) -> i64 {
        self.created() + self.changes.iter().map(|change| i64::from(change.size)).sum::<i64>()
    }

    /// True if a ReplicaSet is resized.
    pub(super) fn resizes(&self) -> bool {
        self.changes.iter().any(|change| change.size != change.set.replicas)
    }

    /// How far a ReplicaSet may grow, the one to create if none is named: as far as the pods of the others leave room, if
    /// those that terminate count (L-2). What it has itself it may want again: it replaces none before it has gone. Nobody
    /// grows on account of what another one gives up in the same turn, for that one may still be making pods.
    pub(super) fn ceiling(&self, set: Option<&ReplicaSet>) -> i64 {
        let size = set.map_or(0, |set| self.size(set));
        match &self.seen.occupancy {
            Occupancy::Unasked => i64::MAX,
            Occupancy::Unsure => size,
            pods @ Occupancy::Known(_) => {
                let others = self
                    .changes
                    .iter()
                    .filter(|change| !set.is_some_and(|set| change.is_of(set)));
                let taken =
                    others.map(|change| i64::from(change.size.max(change.set.replicas)).max(pods.of(change.set)));
                (self.bounds.most - self.created() - taken.sum::<i64>()).max(size)
            }
        }
    }

    /// Resizes a ReplicaSet, but not above its [`ceiling`](Self::ceiling), and notes on it for what Deployment size that was
    /// (D-24); nothing if it has that size.
    pub(super) fn resize(&mut self, set: &ReplicaSet, size: i64) {
        let size = size.min(self.ceiling(Some(set)));
        if size != self.size(set) {
            self.change(set, |change| change.size = to_count(size));
            self.restate(set);
        }
    }

    /// Notes on a ReplicaSet for what Deployment size it has its own.
    pub(super) fn restate(&mut self, set: &ReplicaSet) {
        for (key, value) in self.size_annotations() {
            self.annotate(set, key, &value);
        }
    }

    /// The Deployment's replicas, and those with surge, as ReplicaSets carry them.
    pub(super) fn size_annotations(&self) -> [(&'static str, String); 2] {
        [
            (words::DESIRED_REPLICAS, self.seen.deployment.spec.replicas.to_string()),
            (words::MAX_REPLICAS, to_count(self.bounds.most).to_string()),
        ]
    }

    /// Sets an annotation; nothing if it has this value.
    pub(super) fn annotate(&mut self, set: &ReplicaSet, key: &str, value: &str) {
        if !set.meta.annotations.has(key, value) {
            self.change(set, |change| {
                change.annotations.insert(key.to_owned(), Some(value.to_owned()));
            });
        }
    }

    /// Removes an annotation that the ReplicaSet has.
    pub(super) fn unannotate(&mut self, set: &ReplicaSet, key: &str) {
        self.change(set, |change| {
            change.annotations.insert(key.to_owned(), None);
        });
    }

    /// Sets how long pods must be ready.
    pub(super) fn set_min_ready_seconds(&mut self, set: &ReplicaSet, seconds: i32) {
        self.change(set, |change| change.min_ready_seconds = seconds);
    }

    /// Creates the ReplicaSet for the template with this size.
    pub(super) fn create(&mut self, create: Create, name: &str, size: i32) {
        self.newest = Newest::Created(self.seen.deployment.meta.key.sibling(name), size);
        self.create = Some(create);
    }

    /// Reports that the name of the ReplicaSet for the template is taken.
    pub(super) fn collide(&mut self) {
        self.newest = Newest::Collided;
    }

    /// The revision of the ReplicaSet for the template after what is planned so far.
    pub(super) fn revision(&self) -> Option<&str> {
        self.revision.as_deref()
    }

    /// Gives the Deployment this revision, once its new ReplicaSet has it.
    pub(super) fn set_revision(&mut self, revision: String) {
        self.revision = Some(revision);
    }

    /// Removes an old ReplicaSet, provided that it does not change meanwhile: somebody may want it back (D-55).
    pub(super) fn delete(&mut self, set: &ReplicaSet) {
        self.deletes.push(Delete {
            target: Target::of(Kind::REPLICA_SET, &set.meta),
            guard: DeleteGuard::UidAndVersion,
            note: None,
        });
    }

    /// Changes the Deployment itself.
    pub(super) fn change_deployment(&mut self, body: Value, note: Note) {
        self.rollback = Some(Patch {
            target: Target::of(Kind::DEPLOYMENT, &self.seen.deployment.meta),
            form: PatchForm::Fields,
            body,
            note: Some(note),
        });
    }

    /// Says something whatever becomes of the plan.
    pub(super) fn say(&mut self, note: Note) {
        self.notes.push(note);
    }

    /// The plan: claims, the new ReplicaSet, the others, what is no longer needed, the Deployment itself.
    pub(super) fn finish(self, report: Report) -> Plan<Intent> {
        let seen = self.seen;
        let (changed, patches): (Vec<_>, Vec<_>) = self
            .changes
            .iter()
            .filter_map(|change| Some(((change.set.meta.key.clone(), change.size), change.patch()?)))
            .unzip();
        let stages = [
            some(seen.claims.clone()).map(Stage::Claim),
            self.create.map(|create| Stage::Create(vec![create])),
            some(patches).map(Stage::Patch),
            some(self.deletes).map(Stage::Delete),
            self.rollback.map(|patch| Stage::Patch(vec![patch])),
        ];
        Plan {
            stages: stages.into_iter().flatten().collect(),
            intent: Intent {
                report,
                newest: self.newest,
                patched: changed.into_iter().collect(),
                revision: self.revision,
            },
            notes: self.notes,
            wake: if seen.unread {
                Wake::After(UNREAD)
            } else {
                Wake::OnChange
            },
        }
    }

    /// The size of the ReplicaSet to create; 0 if there is none.
    fn created(&self) -> i64 {
        match &self.newest {
            Newest::Created(_, size) => i64::from(*size),
            Newest::Found | Newest::Collided | Newest::Missing => 0,
        }
    }

    fn change(&mut self, set: &ReplicaSet, edit: impl FnOnce(&mut Change<'a>)) {
        if let Some(change) = self.changes.iter_mut().find(|change| change.is_of(set)) {
            edit(change);
        }
    }
}

impl<'a> Change<'a> {
    fn nothing(set: &'a ReplicaSet) -> Self {
        Self {
            set,
            size: set.replicas,
            min_ready_seconds: set.min_ready_seconds,
            annotations: BTreeMap::new(),
        }
    }

    fn is_of(&self, set: &ReplicaSet) -> bool {
        self.set.meta.uid == set.meta.uid
    }

    /// The patch, if anything is wanted.
    fn patch(&self) -> Option<Patch> {
        let mut spec = Map::new();
        if self.size != self.set.replicas {
            spec.insert("replicas".to_owned(), self.size.into());
        }
        if self.min_ready_seconds != self.set.min_ready_seconds {
            spec.insert("minReadySeconds".to_owned(), self.min_ready_seconds.into());
        }
        let mut body = Map::new();
        if !self.annotations.is_empty() {
            let metadata = serde_json::json!({ "annotations": self.annotations });
            body.insert("metadata".to_owned(), metadata);
        }
        if !spec.is_empty() {
            body.insert("spec".to_owned(), Value::Object(spec));
        }
        (!body.is_empty()).then(|| Patch {
            target: Target::of(Kind::REPLICA_SET, &self.set.meta),
            form: PatchForm::Fields,
            body: Value::Object(body),
            note: scaled(&self.set.meta.key.name, self.set.replicas, self.size),
        })
    }
}

/// What people are told when a ReplicaSet is resized; others parse it (C-74).
pub(super) fn scaled(name: &str, from: i32, to: i32) -> Option<Note> {
    let direction = match from.cmp(&to) {
        Ordering::Less => "up",
        Ordering::Greater => "down",
        Ordering::Equal => return None,
    };
    let message = format!("Scaled {direction} replica set {name} from {from} to {to}");
    Some(Note::normal(words::SCALING_REPLICA_SET, message))
}

fn some<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}
