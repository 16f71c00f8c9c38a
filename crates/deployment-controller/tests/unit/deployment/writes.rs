//! How the pretended cluster carries out plans.

use std::sync::Arc;

use deployment_controller::deployment::Intent;
use serde_json::{Map, Value, json};
use workload_core::id::{Kind, ObjectKey, ResourceVersion, Uid};
use workload_core::outcome::{Attempt, Failure, FailureClass, Outcome, Receipt, Verb};
use workload_core::plan::{Claim, ClaimChange, Create, NewName, Note, Patch, Plan, Stage, Target};
use workload_core::time;

use super::cluster::{Cluster, Turn, image};
use super::text;

impl Cluster {
    pub(super) fn carry_out(&mut self, plan: &Plan<Intent>, turn: &mut Turn) -> Outcome {
        let mut outcome = Outcome::default();
        for stage in &plan.stages {
            let writes: Vec<(Attempt, Option<Note>, String)> = match stage {
                Stage::Claim(claims) => claims.iter().map(|claim| self.claim(claim)).collect(),
                Stage::Create(creates) => creates.iter().map(|create| self.create(create)).collect(),
                Stage::Patch(patches) => patches.iter().map(|patch| self.patch(patch)).collect(),
                Stage::Delete(deletes) => deletes.iter().map(|delete| self.delete(&delete.target)).collect(),
                Stage::Status(_)
                | Stage::PatchEach(_)
                | Stage::Depart(_)
                | Stage::Evict(_)
                | Stage::DeleteForeground(_)
                | Stage::Read(_) => {
                    panic!("never part of a plan for a Deployment: {stage:?}")
                }
            };
            for (attempt, note, line) in writes {
                if attempt.result.is_ok() {
                    turn.writes.push(line);
                    turn.notes.extend(note);
                }
                outcome.attempts.push(attempt);
            }
            if outcome.failure().is_some() {
                break;
            }
        }
        outcome
    }

    fn claim(&mut self, claim: &Claim) -> (Attempt, Option<Note>, String) {
        let at = self.index(&claim.child.key);
        let (verb, word) = match &claim.change {
            ClaimChange::Adopt(_) => (Verb::Adopt, "adopt"),
            ClaimChange::Release(_) => (Verb::Release, "release"),
        };
        let line = format!("{word} {}", image(&self.sets[at]));
        let owners = match &claim.change {
            ClaimChange::Adopt(owner) => json!([owner]),
            ClaimChange::Release(_) => Value::Null,
        };
        let patch = json!({"metadata": {"ownerReferences": owners}});
        let result = self.store(verb, &claim.child, &patch);
        (attempt(verb, &claim.child, result), None, line)
    }

    fn create(&mut self, create: &Create) -> (Attempt, Option<Note>, String) {
        let NewName::Exact(name) = &create.name else {
            panic!("a ReplicaSet's name is its Deployment's choice")
        };
        let new = &*create.object;
        let mut set = json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {
                "name": &**name, "namespace": &*create.namespace, "uid": format!("uid-of-{name}"), "generation": 1,
                "labels": new.labels, "annotations": new.annotations, "ownerReferences": [new.owner],
                "creationTimestamp": time::to_api(self.now),
            },
            "status": {"replicas": 0},
        });
        for (field, value) in &new.fields {
            set[*field] = value.to_value();
        }
        let line = format!("create {} {}", image(&set), set["spec"]["replicas"]);
        let key = ObjectKey::new(Arc::clone(&create.namespace), Arc::clone(name));
        let target = Target {
            kind: create.kind,
            uid: Uid::new(format!("uid-of-{name}")),
            version: ResourceVersion::new("0"),
            key,
        };
        let taken = self.sets.iter().any(|set| set["metadata"]["name"] == **name);
        let result = match self.refused(Verb::Create) {
            Some(failure) => Err(failure),
            None if taken => Err(Failure::new(FailureClass::AlreadyExists, "the name is taken")),
            None => {
                let set = self.stamped(set);
                self.sets.push(set);
                Ok(self.receipt(&target))
            }
        };
        (attempt(Verb::Create, &target, result), create.note.clone(), line)
    }

    fn patch(&mut self, patch: &Patch) -> (Attempt, Option<Note>, String) {
        let line = match patch.target.kind {
            Kind::DEPLOYMENT => "change the deployment".to_owned(),
            _ => text::changes(&self.sets[self.index(&patch.target.key)], &patch.body),
        };
        let result = self.store(Verb::Patch, &patch.target, &patch.body);
        (attempt(Verb::Patch, &patch.target, result), patch.note.clone(), line)
    }

    fn delete(&mut self, target: &Target) -> (Attempt, Option<Note>, String) {
        let at = self.index(&target.key);
        let line = format!("delete {}", image(&self.sets[at]));
        let result = self.refused(Verb::Delete).map_or(Ok(Receipt::Gone), Err);
        if result.is_ok() {
            self.sets.remove(at);
            self.version += 1;
        }
        (attempt(Verb::Delete, target, result), None, line)
    }

    fn store(&mut self, verb: Verb, target: &Target, patch: &Value) -> Result<Receipt, Failure> {
        if let Some(failure) = self.refused(verb) {
            return Err(failure);
        }
        let mut object = match target.kind {
            Kind::DEPLOYMENT => self.deployment.clone(),
            _ => self.sets[self.index(&target.key)].clone(),
        };
        let spec = object["spec"].clone();
        merge(&mut object, patch);
        if object["spec"] != spec || target.kind == Kind::DEPLOYMENT {
            let generation = object["metadata"]["generation"].as_i64().unwrap();
            object["metadata"]["generation"] = (generation + 1).into();
        }
        let object = self.stamped(object);
        if target.kind == Kind::DEPLOYMENT {
            self.deployment = object;
        } else {
            let at = self.index(&target.key);
            self.sets[at] = object;
        }
        Ok(self.receipt(target))
    }

    fn refused(&self, verb: Verb) -> Option<Failure> {
        let (_, class) = self.refusal.filter(|(refused, _)| *refused == verb)?;
        Some(Failure::new(class, "refused"))
    }

    fn receipt(&self, target: &Target) -> Receipt {
        Receipt::Stored {
            uid: target.uid.clone(),
            version: ResourceVersion::new(self.version.to_string()),
        }
    }
}

fn attempt(verb: Verb, target: &Target, result: Result<Receipt, Failure>) -> Attempt {
    Attempt {
        verb,
        kind: target.kind,
        key: target.key.clone(),
        result,
    }
}

/// Applies a JSON merge patch (RFC 7396).
pub(super) fn merge(target: &mut Value, patch: &Value) {
    let Some(changes) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    for (key, change) in changes {
        if change.is_null() {
            target.as_object_mut().unwrap().remove(key);
        } else {
            merge(&mut target[key], change);
        }
    }
}
