//! Nodes that are lost, and what a cluster does about it: the node lifecycle controller takes their pods for unready, evicts them
//! by a taint, and the pod garbage collector removes those of a node that never comes back.

use std::time::Duration;

use serde_json::{Value, json};
use workload_core::id::{Kind, ObjectKey};
use workload_core::time::{Clock as _, to_api};

use super::node::{Step, pod_at, ready};
use super::schedule::Return;
use super::server::DeleteOptions;
use super::world::{Event, World};
use crate::object::Stored;

/// How many nodes there are.
const NODES: usize = 3;
/// How long nothing is heard of a node until it counts as lost. Upstream waits 50 s.
const NOTICED: Duration = Duration::from_secs(10);
/// How long pods tolerate that their node is lost. By default 300 s.
const TOLERATED: Duration = Duration::from_secs(15);
/// When a pod without a place is looked at again.
const UNPLACED: Duration = Duration::from_secs(1);
/// How long a kubelet that is back takes for each of its pods, in milliseconds.
const CATCHING_UP: std::ops::RangeInclusive<u64> = 50..=800;

/// The machines that pods run on.
#[derive(Default)]
pub(super) struct Machines([Machine; NODES]);

#[derive(Default)]
struct Machine {
    lost: bool,
    /// Everybody knows that it is lost.
    noticed: bool,
    /// What its kubelet would have done.
    stalled: Vec<Step>,
}

/// A loss of a node, and what it comes to next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loss {
    node: usize,
    stage: Stage,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Noticed,
    Evicted,
    Over(Return),
}

fn name(node: usize) -> String {
    format!("node-{node}")
}

fn is_on(pod: &Stored, node: usize) -> bool {
    pod.text("/spec/nodeName") == name(node)
}

impl Machines {
    fn living(&self) -> Vec<usize> {
        let each = self.0.iter().enumerate();
        each.filter(|(_, machine)| !machine.lost)
            .map(|(node, _)| node)
            .collect()
    }

    /// Where the scheduler would put a pod: it does not know of a loss at once.
    pub(super) fn place(&self, chance: u64) -> Option<String> {
        let each = self.0.iter().enumerate();
        let fit: Vec<usize> = each
            .filter(|(_, machine)| !machine.noticed)
            .map(|(node, _)| node)
            .collect();
        picked(&fit, chance).map(name)
    }

    /// Whether the kubelet of a pod can do anything, if it has one.
    pub(super) fn serves(&self, pod: &Stored) -> bool {
        let mut each = self.0.iter().enumerate();
        !each.any(|(node, machine)| machine.lost && is_on(pod, node))
    }

    /// A step is put off until the node is back.
    pub(super) fn stall(&mut self, pod: &Stored, step: Step) {
        let mut each = self.0.iter_mut().enumerate();
        if let Some((_, machine)) = each.find(|(node, _)| is_on(pod, *node)) {
            machine.stalled.push(step);
        }
    }
}

fn picked(nodes: &[usize], pick: u64) -> Option<usize> {
    let at = usize::try_from(pick).ok()?.checked_rem(nodes.len())?;
    nodes.get(at).copied()
}

impl World {
    /// Nothing is heard of a node from now on, for so long.
    pub(super) fn lose_node(&mut self, pick: u64, by: Duration, then: Return) {
        let Some(node) = picked(&self.node.machines.living(), pick) else {
            return;
        };
        self.node.machines.0[node].lost = true;
        self.tell("node", &format!("{} is silent", name(node)));
        let stages = [(NOTICED, Stage::Noticed), (NOTICED + TOLERATED, Stage::Evicted)];
        for (after, stage) in stages.into_iter().filter(|(after, _)| *after < by) {
            self.later(after, Event::Loss(Loss { node, stage }));
        }
        let stage = Stage::Over(then);
        self.later(by, Event::Loss(Loss { node, stage }));
        self.busy_for(by);
    }

    /// A loss goes on.
    pub(super) fn go_on_with(&mut self, loss: Loss) {
        let Loss { node, stage } = loss;
        self.disturbed();
        let machine = &mut self.node.machines.0[node];
        match stage {
            Stage::Noticed => {
                machine.noticed = true;
                self.tell("node", &format!("{} counts as lost", name(node)));
                for pod in self.pods_on(node) {
                    self.take_for_unready(&pod);
                }
            }
            Stage::Evicted => {
                for pod in self.pods_on(node).into_iter().filter(|pod| !pod.is_terminating()) {
                    self.evict_by_taint(&pod);
                }
            }
            Stage::Over(then) => {
                let was = std::mem::take(machine);
                match then {
                    Return::Back => self.come_back(node, was.stalled),
                    Return::Gone => self.bury_node(node),
                }
            }
        }
        self.absorb();
    }

    /// The kubelet does what it has left undone.
    fn come_back(&mut self, node: usize, stalled: Vec<Step>) {
        self.tell("node", &format!("{} is back", name(node)));
        let unready = self
            .pods_on(node)
            .into_iter()
            .filter(|pod| pod.is_active() && !pod.is_ready() && !pod.text("/status/startTime").is_empty());
        let ready = unready.map(|pod| Step::ready(&pod)).collect::<Vec<_>>();
        for step in stalled.into_iter().chain(ready) {
            let by = self.network.stream.millis(&CATCHING_UP);
            self.busy_for(by);
            self.later(by, Event::Node(step));
        }
    }

    /// The node is taken out of the cluster, and an empty one takes its place: nobody ends its pods but the pod garbage
    /// collector.
    fn bury_node(&mut self, node: usize) {
        self.tell("node", &format!("{} is gone for good", name(node)));
        for pod in self.pods_on(node) {
            let (key, now) = (key(&pod), self.clock.now());
            if !pod.has_ended() {
                self.tally.lost += u64::from(!pod.is_terminating());
                let why = disruption("DeletionByPodGC", &to_api(now));
                self.report(&key, &json!({"phase": "Failed", "conditions": with(&pod, why)}));
            }
            self.delete_pod(&pod, Some(0));
        }
    }

    fn take_for_unready(&mut self, pod: &Stored) {
        if pod.is_ready() {
            let conditions = with(pod, ready("False", self.clock.now()));
            self.report(&key(pod), &json!({"conditions": conditions}));
        }
    }

    fn evict_by_taint(&mut self, pod: &Stored) {
        self.tally.lost += u64::from(!pod.has_ended());
        let why = disruption("DeletionByTaintManager", &to_api(self.clock.now()));
        self.report(&key(pod), &json!({"conditions": with(pod, why)}));
        self.delete_pod(pod, None);
    }

    fn delete_pod(&mut self, pod: &Stored, grace: Option<i64>) {
        let options = DeleteOptions {
            grace,
            uid: Some(pod.uid().to_owned()),
            ..DeleteOptions::default()
        };
        self.tell("node", &format!("delete {}", pod.name()));
        let deleted = self.server.delete(&pod_at(&key(pod)), &options, self.clock.now());
        if let Err(status) = deleted {
            self.fail(&format!(
                "{} of a lost node cannot be deleted: {}",
                pod.name(),
                status.message
            ));
        }
    }

    fn pods_on(&self, node: usize) -> Vec<Stored> {
        let mut pods = self.server.list(Kind::POD);
        pods.retain(|pod| is_on(pod, node));
        pods
    }

    /// The scheduler finds no place for a pod, and looks at it once more.
    pub(super) fn place_later(&mut self, step: Step) {
        self.busy_for(UNPLACED);
        self.later(UNPLACED, Event::Node(step));
    }
}

fn key(pod: &Stored) -> ObjectKey {
    ObjectKey::new(pod.text("/metadata/namespace"), pod.name())
}

fn disruption(reason: &str, since: &str) -> Value {
    json!({"type": "DisruptionTarget", "status": "True", "reason": reason, "lastTransitionTime": since})
}

/// The conditions of a pod with this one in place of one of its type.
fn with(pod: &Stored, condition: Value) -> Value {
    let mut all = pod.at("/status/conditions").as_array().cloned().unwrap_or_default();
    all.retain(|known| known["type"] != condition["type"]);
    all.push(condition);
    all.into()
}
