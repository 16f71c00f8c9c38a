//! Scheduler and kubelets: pods are bound, get ready, and end when they are deleted; some fail.

use std::collections::{BTreeMap, VecDeque};
use std::ops::RangeInclusive;
use std::time::Duration;

use serde_json::{Value, json};
use workload_core::id::{Kind, ObjectKey};
use workload_core::plan::Address;
use workload_core::time::{Clock as _, Timestamp, to_api};

use super::fate::Fates;
use super::loss::Machines;
use super::seed::Stream;
use super::server::{DeleteOptions, Part};
use super::work::{is_work, rejected};
use super::world::{Event, World};
use crate::object::Stored;
use crate::state::Change;

/// How the nodes of a scenario are.
#[derive(Clone, Debug)]
pub struct Habits {
    /// How long until a pod is bound, in milliseconds.
    pub bind: RangeInclusive<u64>,
    /// How long from there until it is ready.
    pub ready: RangeInclusive<u64>,
    /// How long a deleted pod takes to end.
    pub end: RangeInclusive<u64>,
    /// Pods with one of these images never get ready.
    pub never_ready: &'static [&'static str],
    /// What becomes of pods that are not restarted for ever; without a script they run until somebody ends them.
    pub fates: Option<Fates>,
    /// Of those that are deleted one in so many ends with success; none if 0.
    pub yields: u64,
}

impl Default for Habits {
    fn default() -> Self {
        Self {
            bind: 1..=50,
            ready: 50..=1500,
            end: 20..=900,
            never_ready: &[],
            fates: None,
            yields: 0,
        }
    }
}

/// All nodes together.
pub(super) struct Node {
    pub(super) stream: Stream,
    pub(super) habits: Habits,
    /// How many pods of each owner have failed, or were deleted.
    pub(super) failures: BTreeMap<String, u64>,
    hangs: VecDeque<Duration>,
    rejections: usize,
    pub(super) machines: Machines,
}

/// What happens to a pod next.
#[derive(Clone, Debug)]
pub(super) struct Step {
    key: ObjectKey,
    uid: String,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Bind,
    Ready,
    Reject,
    End,
}

impl Step {
    fn of(pod: &Stored, what: What) -> Self {
        Self {
            key: ObjectKey::new(pod.text("/metadata/namespace"), pod.name()),
            uid: pod.uid().to_owned(),
            what,
        }
    }

    /// A pod gets ready.
    pub(super) fn ready(pod: &Stored) -> Self {
        Self::of(pod, What::Ready)
    }
}

impl Node {
    pub(super) fn new(stream: Stream, habits: Habits) -> Self {
        Self {
            stream,
            habits,
            failures: BTreeMap::new(),
            hangs: VecDeque::new(),
            rejections: 0,
            machines: Machines::default(),
        }
    }

    /// The next pod that is deleted takes so long to end.
    pub(super) fn hang_next(&mut self, by: Duration) {
        self.hangs.push_back(by);
    }

    /// The next pod that is bound is rejected.
    pub(super) fn reject_next(&mut self) {
        self.rejections += 1;
    }

    fn next(&mut self, change: Change, pod: &Stored) -> Option<(Duration, What)> {
        let bound = !pod.text("/spec/nodeName").is_empty();
        let ended = matches!(pod.text("/status/phase"), "Failed" | "Succeeded");
        if pod.is_terminating() {
            let usual = self.stream.millis(&self.habits.end);
            let end = || (self.hangs.pop_front().unwrap_or(usual), What::End);
            return bound.then(end);
        }
        if change == Change::Added && !bound {
            return Some((self.stream.millis(&self.habits.bind), What::Bind));
        }
        let started = !pod.text("/status/startTime").is_empty();
        if !bound || started || ended {
            return None;
        }
        let soon = self.stream.millis(&self.habits.ready);
        if self.rejections > 0 {
            self.rejections -= 1;
            return Some((soon, What::Reject));
        }
        let starts = !self.habits.never_ready.contains(&pod.image());
        starts.then_some((soon, What::Ready))
    }
}

impl World {
    /// Something has happened to a pod.
    pub(super) fn notice_pod(&mut self, change: Change, pod: &Stored) {
        if change == Change::Deleted {
            return;
        }
        // A pod's deletion and its binding are noticed once.
        let before = self.state.newest().and_then(|write| write.before.as_ref());
        let known = before.is_some_and(|before| {
            before.is_terminating() == pod.is_terminating() && before.at("/spec/nodeName") == pod.at("/spec/nodeName")
        });
        if known {
            return;
        }
        if let Some((by, what)) = self.node.next(change, pod) {
            self.busy_for(by);
            self.later(by, Event::Node(Step::of(pod, what)));
        }
    }

    /// The next step of a pod, if it is still there.
    pub(super) fn step(&mut self, step: Step) {
        let pod = self.server.get(Kind::POD, &step.key.namespace, &step.key.name);
        let Some(pod) = pod.filter(|pod| pod.uid() == step.uid) else {
            return;
        };
        // What has ended does not begin to run.
        if pod.is_terminating() != (step.what == What::End) || (pod.has_ended() && step.what != What::End) {
            return;
        }
        if !self.node.machines.serves(&pod) {
            return self.node.machines.stall(&pod, step);
        }
        if step.what == What::Bind {
            return self.bind(step);
        }
        let Step { key, uid, what } = step;
        let now = self.clock.now();
        self.tell("node", &format!("{what:?} {}", key.name));
        match what {
            What::Bind => {}
            What::Ready => self.run(&key, &pod),
            What::Reject => self.report(&key, &rejected(now)),
            What::End => {
                self.end_work(&key, &pod);
                let options = DeleteOptions {
                    grace: Some(0),
                    uid: Some(uid),
                    ..DeleteOptions::default()
                };
                drop(self.server.delete(&pod_at(&key), &options, now));
            }
        }
        self.absorb();
    }

    fn bind(&mut self, step: Step) {
        let chance = self.node.stream.between(&(0..=u64::from(u32::MAX)));
        let Some(node) = self.node.machines.place(chance) else {
            return self.place_later(step);
        };
        self.tell("node", &format!("Bind {} to {node}", step.key.name));
        drop(self.server.bind(&step.key, &node, self.clock.now()));
        self.absorb();
    }

    /// The containers of a running pod end.
    pub(super) fn fail_pod(&mut self, pick: u64, exit_code: u8) {
        if let Some(key) = self.a_ready_pod(pick) {
            let pod = self.server.get(Kind::POD, &key.namespace, &key.name);
            if pod.as_ref().is_some_and(is_work) {
                self.exit(&key, exit_code);
                return self.absorb();
            }
            self.tell("node", &format!("{} exits with {exit_code}", key.name));
            let status = json!({"phase": "Failed", "conditions": [ready("False", self.clock.now())]});
            self.report(&key, &status);
            self.absorb();
        }
    }

    /// A running pod is not ready for a while.
    pub(super) fn unready_pod(&mut self, pick: u64, by: Duration) {
        let Some(key) = self.a_ready_pod(pick) else { return };
        self.tell("node", &format!("{} is not ready", key.name));
        let pod = self.server.get(Kind::POD, &key.namespace, &key.name);
        let uid = pod.map(|pod| pod.uid().to_owned()).unwrap_or_default();
        self.report(&key, &running("False", self.clock.now()));
        self.busy_for(by);
        let what = What::Ready;
        self.later(by, Event::Node(Step { key, uid, what }));
        self.absorb();
    }

    /// A running pod is deleted by somebody, or evicted.
    pub(super) fn remove_pod(&mut self, pick: u64, how: fn(&mut Self, &ObjectKey)) {
        if let Some(key) = self.a_ready_pod(pick) {
            how(self, &key);
            self.absorb();
        }
    }

    fn a_ready_pod(&self, pick: u64) -> Option<ObjectKey> {
        let all = self.server.list(Kind::POD);
        let ready: Vec<&Stored> = all
            .iter()
            .filter(|pod| pod.is_active() && pod.is_ready() && self.node.machines.serves(pod))
            .collect();
        let at = usize::try_from(pick).ok()?.checked_rem(ready.len())?;
        let pod = ready.get(at)?;
        Some(ObjectKey::new(pod.text("/metadata/namespace"), pod.name()))
    }

    pub(super) fn report(&mut self, key: &ObjectKey, status: &Value) {
        let now = self.clock.now();
        let reported = self
            .server
            .merge(&pod_at(key), Part::Status, json!({"status": status}), now);
        if let Err(status) = reported {
            self.fail(&format!("the node cannot report {key}: {}", status.message));
        }
    }
}

pub(super) fn pod_at(key: &ObjectKey) -> Address {
    Address {
        kind: Kind::POD,
        key: key.clone(),
    }
}

pub(super) fn running(is_ready: &str, since: Timestamp) -> Value {
    json!({
        "phase": "Running",
        "startTime": to_api(since),
        "conditions": [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": to_api(since)},
            ready(is_ready, since),
        ],
    })
}

pub(super) fn ready(status: &str, since: Timestamp) -> Value {
    json!({"type": "Ready", "status": status, "lastTransitionTime": to_api(since)})
}
