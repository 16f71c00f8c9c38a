//! The writes of a plan, carried out on the pretended cluster, with everything that can go wrong.

use serde_json::{Value, json};
use workload_core::id::{Kind, ObjectKey, ResourceVersion, Uid};
use workload_core::outcome::{Attempt, Failure, FailureClass, Receipt, Verb};
use workload_core::plan::{ClaimChange, Create, Delete, DeleteGuard, Patch, Plan, Stage, StatusWrite, Target};
use workload_core::time;

use job_controller::job::decide::Intent;

use super::cluster::{Cluster, TRACKING, Trouble, Turn, without_finalizer};
use super::server::{merge, refusal};

impl Cluster {
    /// False if the process ended.
    pub(super) fn carry_out(&mut self, plan: Plan<Intent>, turn: &mut Turn) -> bool {
        let crash = self.crash_before.take();
        for (number, stage) in plan.stages.into_iter().enumerate() {
            if crash == Some(number) {
                return false;
            }
            let first = turn.outcome.attempts.len();
            let tolerant = matches!(stage, Stage::PatchEach(_));
            match stage {
                Stage::Claim(claims) => claims.into_iter().for_each(|claim| self.claim(claim, turn)),
                Stage::Status(write) => self.status(write, turn),
                Stage::PatchEach(patches) => {
                    turn.writes
                        .push(format!("release {}", names(patches.iter().map(|patch| &patch.target))));
                    for patch in &patches {
                        self.release(patch, turn);
                    }
                }
                Stage::Depart(departures) => {
                    turn.writes.push(format!(
                        "drop {}",
                        names(departures.iter().map(|each| &each.delete.target))
                    ));
                    for departure in &departures {
                        if self.release(&departure.patch, turn) {
                            self.delete(&departure.delete, turn);
                        }
                    }
                }
                Stage::Delete(deletes) => {
                    turn.writes
                        .push(format!("kill {}", names(deletes.iter().map(|each| &each.target))));
                    for delete in &deletes {
                        self.delete(delete, turn);
                    }
                }
                Stage::Create(creates) => self.create_all(&creates, turn),
                Stage::Patch(_) | Stage::Evict(_) | Stage::DeleteForeground(_) | Stage::Read(_) => {
                    panic!("never part of a plan for a Job: {stage:?}")
                }
            }
            let failed = turn.outcome.attempts[first..]
                .iter()
                .any(|attempt| attempt.result.is_err());
            if failed && !tolerant {
                return crash.is_none_or(|crash| crash <= number);
            }
        }
        crash.is_none()
    }

    /// Whether a write works, and what becomes of it if not.
    fn luck(&mut self, verb: Verb, name: &str) -> Option<Trouble> {
        if let Some((left, trouble)) = self.trouble {
            self.trouble = left.checked_sub(1).map(|left| (left, trouble));
            if left == 0 {
                return Some(trouble);
            }
        }
        let fault = self
            .faults
            .iter()
            .find(|(of, prefix, _)| *of == verb && name.starts_with(prefix));
        fault.map(|(.., class)| Trouble::Refused(*class))
    }

    fn attempt(turn: &mut Turn, verb: Verb, kind: Kind, name: &str, result: Result<Receipt, Trouble>) -> bool {
        let applied = result.is_ok();
        let failure = |trouble| match trouble {
            Trouble::Refused(class) => Failure::new(class, "refused"),
            Trouble::Lost => Failure::new(FailureClass::Unknown, "no answer"),
        };
        turn.outcome.attempts.push(Attempt {
            verb,
            kind,
            key: ObjectKey::new("default", name),
            result: result.map_err(failure),
        });
        applied
    }

    fn stored_as(&self, object: &Value) -> Receipt {
        Receipt::Stored {
            uid: Uid::new(object["metadata"]["uid"].as_str().unwrap()),
            version: ResourceVersion::new(self.version.to_string()),
        }
    }

    pub(super) fn status(&mut self, write: StatusWrite, turn: &mut Turn) {
        let StatusWrite {
            target, body, notes, ..
        } = write;
        let own = turn
            .outcome
            .attempts
            .iter()
            .any(|attempt| attempt.verb == Verb::Status && attempt.result.is_ok());
        let current = self.job["metadata"]["resourceVersion"] == target.version.as_str();
        let luck = self.luck(Verb::Status, "work");
        turn.writes.push("status".to_owned());
        let result = match luck {
            Some(Trouble::Refused(class)) => Err(Trouble::Refused(class)),
            _ if !own && !current => Err(Trouble::Refused(FailureClass::Conflict)),
            luck => {
                let mut job = self.job.clone();
                merge(&mut job, &body);
                if let Some(why) = refusal(&self.job, &job) {
                    panic!("the server refuses {body}\nof {}:\n{why}", self.job["status"]);
                }
                turn.statuses.push(body["status"].clone());
                self.put_job(job);
                self.stored.push(self.job["status"].clone());
                if luck.is_none() {
                    self.own.0 = self.jobs.len() - 1;
                }
                luck.map_or_else(|| Ok(self.stored_as(&self.job)), Err)
            }
        };
        if Self::attempt(turn, Verb::Status, Kind::JOB, "work", result) {
            turn.notes.extend(notes);
        }
    }

    fn claim(&mut self, claim: workload_core::plan::Claim, turn: &mut Turn) {
        let name = claim.child.key.name.to_string();
        let (verb, word) = match claim.change {
            ClaimChange::Adopt(_) => (Verb::Adopt, "adopt"),
            ClaimChange::Release(_) => (Verb::Release, "let go of"),
        };
        turn.writes.push(format!("{word} {name}"));
        assert_eq!(claim.finalizer, Some(TRACKING));
        if let Some(trouble) = self.luck(verb, &name) {
            let is_gone = trouble == Trouble::Refused(FailureClass::Missing);
            let result = if is_gone { Ok(Receipt::Gone) } else { Err(trouble) };
            Self::attempt(turn, verb, Kind::POD, &name, result);
            return;
        }
        let change = claim.change;
        self.change_pod(&name, |pod| match change {
            ClaimChange::Adopt(owner) => {
                pod["metadata"]["ownerReferences"] = json!([owner]);
                let finalizers = pod["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
                pod["metadata"]["finalizers"] = [finalizers, vec![TRACKING.into()]].concat().into();
            }
            ClaimChange::Release(_) => {
                pod["metadata"]["ownerReferences"] = Value::Null;
                without_finalizer(pod);
            }
        });
        self.own.1 = self.states.len() - 1;
        let receipt = self.find(&name).map_or(Receipt::Gone, |pod| self.stored_as(pod));
        Self::attempt(turn, verb, Kind::POD, &name, Ok(receipt));
    }

    /// True if the pod may be deleted now.
    fn release(&mut self, patch: &Patch, turn: &mut Turn) -> bool {
        let name = patch.target.key.name.to_string();
        assert_eq!(
            patch.body,
            json!({"metadata": {"$deleteFromPrimitiveList/finalizers": [TRACKING]}})
        );
        let luck = self.luck(Verb::Patch, &name);
        if !matches!(luck, Some(Trouble::Refused(_))) && self.find(&name).is_some() {
            self.change_pod(&name, without_finalizer);
            if luck.is_none() {
                self.own.1 = self.states.len() - 1;
            }
        }
        let receipt = self.find(&name).map_or(Receipt::Gone, |pod| self.stored_as(pod));
        Self::attempt(turn, Verb::Patch, Kind::POD, &name, luck.map_or(Ok(receipt), Err))
    }

    fn delete(&mut self, delete: &Delete, turn: &mut Turn) {
        let name = delete.target.key.name.to_string();
        let luck = self.luck(Verb::Delete, &name);
        let version = |pod: &Value| pod["metadata"]["resourceVersion"] == delete.target.version.as_str();
        let lapsed = delete.guard == DeleteGuard::UidAndVersion && !self.find(&name).is_some_and(version);
        let result = match luck {
            Some(Trouble::Refused(class)) => Err(Trouble::Refused(class)),
            None if lapsed => Err(Trouble::Refused(FailureClass::Conflict)),
            luck => {
                let known = self.find(&name).is_some();
                if known {
                    self.leaving.push(delete.target.uid.to_string());
                    self.delete_pod(&name);
                }
                let receipt = if known {
                    Receipt::Stored {
                        uid: delete.target.uid.clone(),
                        version: delete.target.version.clone(),
                    }
                } else {
                    Receipt::Gone
                };
                luck.map_or(Ok(receipt), Err)
            }
        };
        if Self::attempt(turn, Verb::Delete, Kind::POD, &name, result) {
            turn.notes.extend(delete.note.clone());
        }
    }

    fn create_all(&mut self, creates: &[Create], turn: &mut Turn) {
        let mut text = Vec::new();
        let mut left = creates;
        for size in workload_core::act::slow_start::batches(creates.len()) {
            let (batch, rest) = left.split_at(size);
            left = rest;
            let mut failed = false;
            for create in batch {
                let (name, worked) = self.create(create, turn);
                text.push(if worked { name } else { format!("({name})") });
                failed |= !worked;
            }
            if failed {
                break;
            }
        }
        turn.writes.push(format!("create {}", text.join(", ")));
    }

    fn create(&mut self, create: &Create, turn: &mut Turn) -> (String, bool) {
        let index = create
            .object
            .annotations
            .get("batch.kubernetes.io/job-completion-index");
        let series = index.map_or_else(|| "p".to_owned(), |index| format!("i{index}."));
        let number = self.made.get(&series).copied().unwrap_or_default();
        let name = if index.is_some() {
            format!("{series}{number}")
        } else {
            format!("{series}{number:03}")
        };
        let full = self.quota.is_some_and(|quota| self.pods.len() >= quota);
        let luck = self
            .luck(Verb::Create, &name)
            .or_else(|| full.then_some(Trouble::Refused(FailureClass::Rejected)));
        if !matches!(luck, Some(Trouble::Refused(_))) {
            self.made.insert(series, number + 1);
            let spec: Value = create.object.fields[0].1.to_value();
            self.put_pod(json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {
                    "name": name, "namespace": "default", "uid": format!("uid-of-{name}"),
                    "labels": create.object.labels, "annotations": create.object.annotations,
                    "finalizers": create.object.finalizers, "ownerReferences": [create.object.owner],
                    "creationTimestamp": time::to_api(self.now),
                },
                "spec": spec,
                "status": {"phase": "Pending"},
            }));
            self.own.1 = self.states.len() - 1;
        }
        let receipt = self.find(&name).map_or(Receipt::Gone, |pod| self.stored_as(pod));
        let worked = Self::attempt(turn, Verb::Create, Kind::POD, &name, luck.map_or(Ok(receipt), Err));
        if worked {
            turn.notes.extend(create.note.clone());
        }
        (name, worked)
    }
}

fn names<'t>(targets: impl Iterator<Item = &'t Target>) -> String {
    let mut names: Vec<&str> = targets.map(|target| &*target.key.name).collect();
    names.sort_unstable();
    if names.len() > 12 {
        format!("{} pods", names.len())
    } else {
        names.join(" ")
    }
}
