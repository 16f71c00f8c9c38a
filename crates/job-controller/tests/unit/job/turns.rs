//! Turns of the controller on the pretended cluster, on caches that are as far behind as a test says.

use std::sync::{Arc, Mutex};

use job_controller::job::Jobs;
use job_controller::job::observe::Observed;
use job_controller::job::pod::Pod;
use job_controller::job::tally::Tally;
use serde_json::Value;
use workload_core::cache::{Identity, Source, Store};
use workload_core::id::{ObjectKey, ResourceVersion, Uid};
use workload_core::outcome::{Attempt, Verb};
use workload_core::workload::{Aids, Children, LiveReads, Observation, Workload};

use super::cluster::{Cluster, Turn, cache, name};

/// How many turns a Job may take before it counts as endless.
const PATIENCE: usize = 100;

impl Cluster {
    /// One turn.
    pub(super) fn turn(&mut self) -> Turn {
        let mut turn = Turn::default();
        // A cache that has shown something never goes back behind it.
        self.own = self.places();
        let tallies = Arc::new(Mutex::new(None));
        let controller = self.controller(&tallies);
        let Observation::Ready(seen) = self.observation_by(&controller) else {
            return turn;
        };
        let plan = controller.decide(&seen, self.now);
        let (wake, intent, notes) = (plan.wake, plan.intent.clone(), plan.notes.clone());
        turn.notes.extend(notes);
        if !self.carry_out(plan, &mut turn) {
            self.restart();
            return turn;
        }
        let failed_claim =
            |attempt: &Attempt| matches!(attempt.verb, Verb::Adopt | Verb::Release) && attempt.result.is_err();
        if turn.outcome.attempts.iter().any(failed_claim) {
            return turn;
        }
        let conclusion = controller.conclude(&seen, &intent, &turn.outcome, self.now);
        turn.notes.extend(conclusion.notes);
        turn.wake = wake.sooner(conclusion.wake);
        if let Some(write) = conclusion.status {
            self.status(write, &mut turn);
        }
        controller.settled(&seen, &intent, &turn.outcome, self.now);
        turn.tally = tallies.lock().unwrap().take();
        turn
    }

    /// Turns until nothing is written any more; what was written, a line for each turn.
    pub(super) fn settle(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        for _ in 0..PATIENCE {
            let turn = self.turn();
            if turn.writes.is_empty() {
                return lines;
            }
            lines.push(turn.text());
        }
        panic!("no end of it: {lines:#?}");
    }

    /// What the controller sees.
    pub(super) fn observation(&self) -> Observation<Observed> {
        self.observation_by(&self.controller(&Arc::default()))
    }

    fn observation_by(&self, controller: &Jobs) -> Observation<Observed> {
        let live = LiveReads::default();
        let aids = Aids {
            children: self.children.unwrap_or_else(|| self.settlement()),
            live: &live,
            now: self.now,
        };
        controller.observe(&ObjectKey::new("default", "work"), &aids)
    }

    /// The controller on caches that show everything.
    pub(super) fn controller_of_all(&self) -> Jobs {
        self.controller(&Arc::default())
    }

    /// What it sees of the Job of this name.
    pub(super) fn observation_of(&self, controller: &Jobs, name: &str) -> Observation<Observed> {
        let live = LiveReads::default();
        let aids = Aids {
            children: Children::Settled,
            live: &live,
            now: self.now,
        };
        controller.observe(&ObjectKey::new("default", name), &aids)
    }

    fn settlement(&self) -> Children {
        let pods = self.seen_pods();
        let unseen = |name: &String| {
            let pod = pods.iter().find(|pod| pod["metadata"]["uid"] == **name);
            pod.is_some_and(|pod| pod["metadata"]["deletionTimestamp"].is_null())
        };
        if self.leaving.iter().any(unseen) {
            Children::Unsettled
        } else {
            Children::Settled
        }
    }

    fn seen_pods(&self) -> &[Arc<Value>] {
        &self.states[self.places().1]
    }

    /// How far the caches have come: at least to what this process has written itself.
    fn places(&self) -> (usize, usize) {
        let place = |own: usize, changes: usize, lag: usize| own.max(changes.saturating_sub(1 + lag));
        (
            place(self.own.0, self.jobs.len(), self.lag.0),
            place(self.own.1, self.states.len(), self.lag.1),
        )
    }

    fn controller(&self, tallies: &Arc<Mutex<Option<Tally>>>) -> Jobs {
        let job = &self.jobs[self.places().0];
        let tallies = Arc::clone(tallies);
        Jobs {
            jobs: Arc::new(cache(std::slice::from_ref(job))),
            pods: Arc::new(self.pod_cache()),
            serves: self.serves.clone(),
            memory: Arc::clone(&self.memory),
            bounds: self.bounds,
            counter: Box::new(move |tally| *tallies.lock().unwrap() = Some(tally.clone())),
        }
    }

    fn pod_cache(&self) -> Store<Pod> {
        let is_unread = |pod: &&Arc<Value>| self.unread.contains(&&*name(pod));
        let (unread, read): (Vec<_>, Vec<_>) = self.seen_pods().iter().partition(is_unread);
        let store = cache::<Pod>(&read.into_iter().map(|pod| Value::clone(pod)).collect::<Vec<_>>());
        for pod in unread {
            let text = |pointer: &str| pod.pointer(pointer).unwrap().as_str().unwrap().to_owned();
            let identity = Identity {
                key: ObjectKey::new("default", text("/metadata/name")),
                uid: Uid::new(text("/metadata/uid")),
                version: ResourceVersion::new(text("/metadata/resourceVersion")),
                controller: Some(Uid::new(text("/metadata/ownerReferences/0/uid"))),
            };
            store.keep(&identity, Source::List);
        }
        store
    }
}
