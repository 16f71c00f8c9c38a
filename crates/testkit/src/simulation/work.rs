//! Kubelets with pods that work and come to an end, and pod garbage collection: what happens to them is up to the scenario's
//! fates and to the schedule.

use std::time::Duration;

use serde_json::{Value, json};
use workload_core::id::{Kind, ObjectKey};
use workload_core::time::{Clock as _, Timestamp, to_api};

use super::fate::{Beginning, Fate};
use super::node::{pod_at, ready, running};
use super::server::DeleteOptions;
use super::world::{Event, World};
use crate::object::Stored;
use crate::state::Change;

/// How long pod garbage collection takes to find a pod that was deleted before it was bound, in milliseconds.
const COLLECTED: std::ops::RangeInclusive<u64> = 1_000..=20_000;
/// When the node of a pod that was to end is looked at again.
const SILENT: Duration = Duration::from_secs(1);
/// The exit code of containers that were killed.
const KILLED: u8 = 137;
/// The longest wait for the replacement of a failed pod, and the first (job J-113).
const LONGEST_WAIT: u64 = 600;
const FIRST_WAIT: u64 = 10;

/// What happens next to a pod that works.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    key: ObjectKey,
    uid: String,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Exit(u8),
    Evict,
    Delete,
    Collect,
}

impl World {
    /// Something has happened to a pod: one that is deleted before it is bound is found by pod garbage collection (job J-147),
    /// one that has failed may be replaced late.
    pub(super) fn notice_work(&mut self, change: Change, pod: &Stored) {
        let before = self.state.newest().and_then(|write| write.before.as_ref());
        let goes = pod.is_terminating() && !before.is_some_and(Stored::is_terminating);
        let fails = pod.text("/status/phase") == "Failed" && before.is_none_or(|before| !before.has_ended());
        if change == Change::Deleted || !is_work(pod) || !(goes || fails) {
            return;
        }
        if goes && pod.text("/spec/nodeName").is_empty() {
            let soon = self.node.stream.millis(&COLLECTED);
            self.in_turn(soon, pod, What::Collect);
        }
        self.excuse_a_failure(pod);
    }

    /// What a Job waits for after a failure is no fault of its controller.
    fn excuse_a_failure(&mut self, pod: &Stored) {
        let owner = pod.controller().and_then(|owner| owner["uid"].as_str());
        let failures = self
            .node
            .failures
            .entry(owner.unwrap_or_default().to_owned())
            .or_default();
        *failures += 1;
        let doubled = FIRST_WAIT.saturating_mul(1 << (*failures - 1).min(10));
        let until = self.now() + Duration::from_secs(doubled.min(LONGEST_WAIT));
        self.excused_until = self.excused_until.max(until);
    }

    /// A pod's containers start.
    pub(super) fn run(&mut self, key: &ObjectKey, pod: &Stored) {
        let now = self.clock.now();
        let fates = self.node.habits.fates.clone().filter(|_| is_work(pod));
        let fate = fates.filter(|_| pod.text("/status/startTime").is_empty()).map(|fates| {
            let stream = self.node.stream.clone();
            fates.of(&self.beginning(pod, 0), &stream)
        });
        if fate == Some(Fate::Rejected) {
            return self.report(key, &rejected(now));
        }
        self.report(key, &running("True", now));
        if let Some(fate) = fate {
            self.meet_fate(pod, fate);
        }
    }

    fn beginning<'p>(&self, pod: &'p Stored, restarts: u64) -> Beginning<'p> {
        let owner = pod.controller().map(|owner| &owner["uid"]);
        let births = self
            .state
            .writes(Kind::POD)
            .filter(|write| write.change == Change::Added);
        let siblings = births
            .map(|write| &write.object)
            .take_while(|other| other.uid() != pod.uid());
        let siblings: Vec<&Stored> = siblings
            .filter(|other| other.controller().map(|owner| &owner["uid"]) == owner)
            .collect();
        let mut beginning = Beginning {
            pod,
            number: siblings.len(),
            attempt: 0,
            restarts,
        };
        let index = beginning.index();
        let same = |other: &&&Stored| {
            Beginning {
                pod: other,
                ..beginning
            }
            .index()
                == index
        };
        beginning.attempt = siblings.iter().filter(same).count();
        beginning
    }

    fn meet_fate(&mut self, pod: &Stored, fate: Fate) {
        match fate {
            Fate::Exit(after, code) => self.in_turn(after, pod, What::Exit(code)),
            Fate::Evicted(after) => self.in_turn(after, pod, What::Evict),
            Fate::Deleted(after) => self.in_turn(after, pod, What::Delete),
            Fate::Rejected | Fate::Stays => {}
        }
    }

    fn in_turn(&mut self, after: Duration, pod: &Stored, what: What) {
        let turn = Turn {
            key: ObjectKey::new(pod.text("/metadata/namespace"), pod.name()),
            uid: pod.uid().to_owned(),
            what,
        };
        self.busy_for(after);
        self.later(after, Event::Work(turn));
    }

    /// What was to happen to a pod happens, if it still is as it was.
    pub(super) fn take_turn(&mut self, turn: Turn) {
        let Turn { key, uid, what } = turn;
        let pod = self.server.get(Kind::POD, &key.namespace, &key.name);
        let Some(pod) = pod.filter(|pod| pod.uid() == uid && !pod.has_ended()) else {
            return;
        };
        if pod.is_terminating() != (what == What::Collect) {
            return;
        }
        if !self.node.machines.serves(&pod) && matches!(what, What::Exit(_)) {
            // Nothing is heard of its node.
            return self.in_turn(SILENT, &pod, what);
        }
        match what {
            What::Exit(code) => self.exit(&key, code),
            What::Evict => self.evict_pod(&key),
            What::Delete => self.deleted_by_user(&key),
            What::Collect => {
                self.tell("pod gc", &format!("{} fails", key.name));
                self.report(&key, &json!({"phase": "Failed"}));
                drop(
                    self.server
                        .delete(&pod_at(&key), &DeleteOptions::now(), self.clock.now()),
                );
            }
        }
        self.absorb();
    }

    /// The containers of a pod end; where its policy says so they are started again.
    pub(super) fn exit(&mut self, key: &ObjectKey, code: u8) {
        let Some(pod) = self.server.get(Kind::POD, &key.namespace, &key.name) else {
            return;
        };
        let now = self.clock.now();
        self.tell("node", &format!("{} exits with {code}", key.name));
        if pod.text("/spec/restartPolicy") != "OnFailure" || code == 0 {
            return self.report(key, &ended(&pod, code, now));
        }
        let restarts = restarts(&pod) + 1;
        self.report(key, &restarted(&pod, code, restarts, now));
        if let Some(fates) = self.node.habits.fates.clone() {
            let stream = self.node.stream.clone();
            let fate = fates.of(&self.beginning(&pod, restarts), &stream);
            self.meet_fate(&pod, fate);
        }
    }

    /// The node has ended what ran in a pod that was deleted. It says so before the pod goes.
    pub(super) fn end_work(&mut self, key: &ObjectKey, pod: &Stored) {
        if !is_work(pod) || pod.has_ended() {
            return;
        }
        let yields = self.node.habits.yields;
        let code = if yields > 0 && self.node.stream.one_in(yields) {
            0
        } else {
            KILLED
        };
        self.tell("node", &format!("{} exits with {code}", key.name));
        let status = ended(pod, code, self.clock.now());
        self.report(key, &status);
    }

    /// Somebody evicts a running pod, whatever budgets say.
    pub(super) fn evict_pod(&mut self, key: &ObjectKey) {
        self.tell("node", &format!("{} is evicted", key.name));
        drop(self.server.evict(key, &DeleteOptions::default(), self.clock.now()));
    }

    /// A user deletes a pod.
    pub(super) fn deleted_by_user(&mut self, key: &ObjectKey) {
        self.tell("user", &format!("delete Pod {}", key.name));
        drop(
            self.server
                .delete(&pod_at(key), &DeleteOptions::default(), self.clock.now()),
        );
    }
}

/// Whether a pod is to come to an end some day.
pub(super) fn is_work(pod: &Stored) -> bool {
    pod.text("/spec/restartPolicy") != "Always"
}

fn restarts(pod: &Stored) -> u64 {
    u64::try_from(pod.number("/status/containerStatuses/0/restartCount")).unwrap_or_default()
}

/// The status of a pod that its node does not take.
pub(super) fn rejected(now: Timestamp) -> Value {
    json!({"phase": "Failed", "reason": "NodeAffinity", "startTime": to_api(now)})
}

fn ended(pod: &Stored, code: u8, now: Timestamp) -> Value {
    let phase = if code == 0 { "Succeeded" } else { "Failed" };
    json!({
        "phase": phase,
        "conditions": with_ready(pod, "False", now),
        "containerStatuses": containers(pod, restarts(pod), &json!({"terminated": terminated(pod, code, now)})),
    })
}

fn restarted(pod: &Stored, code: u8, restarts: u64, now: Timestamp) -> Value {
    let mut containers = containers(pod, restarts, &json!({"running": {"startedAt": to_api(now)}}));
    for container in containers.as_array_mut().into_iter().flatten() {
        container["lastState"] = json!({"terminated": terminated(pod, code, now)});
    }
    json!({"phase": "Running", "conditions": with_ready(pod, "True", now), "containerStatuses": containers})
}

fn terminated(pod: &Stored, code: u8, now: Timestamp) -> Value {
    let reason = if code == 0 { "Completed" } else { "Error" };
    let started = pod.text("/status/startTime");
    let started = if started.is_empty() {
        to_api(now)
    } else {
        started.to_owned()
    };
    json!({"exitCode": code, "reason": reason, "startedAt": started, "finishedAt": to_api(now)})
}

fn containers(pod: &Stored, restarts: u64, state: &Value) -> Value {
    let all = pod.at("/spec/containers").as_array().into_iter().flatten();
    let status = |container: &Value| {
        json!({
            "name": container["name"], "image": container["image"], "imageID": "", "ready": false,
            "restartCount": restarts, "state": state, "lastState": {},
        })
    };
    all.map(status).collect()
}

/// The conditions of a pod with another word about its readiness.
fn with_ready(pod: &Stored, is_ready: &str, now: Timestamp) -> Value {
    let known = pod.at("/status/conditions").as_array().cloned().unwrap_or_default();
    let mut conditions: Vec<Value> = known
        .into_iter()
        .filter(|condition| condition["type"] != "Ready")
        .collect();
    conditions.push(ready(is_ready, now));
    conditions.into()
}
