//! A user, who does what a scenario says.

use std::time::Duration;

use serde_json::{Value, json};
use workload_core::id::{Kind, ObjectKey};
use workload_core::plan::Address;
use workload_core::time::Clock as _;

use super::clock::Moment;
use super::scenario::{Holds, NAMESPACE, Scenario, Step};
use super::server::Part;
use super::world::{Event, World};

/// How long after the last disturbance a user waits for something that has to come: less than a controller waits for what it
/// expects before it gives up.
const PATIENCE: Duration = Duration::from_mins(4);

/// A user on the way through a story.
pub(super) struct User {
    steps: std::vec::IntoIter<Step>,
    waits: Option<Waits>,
}

enum Waits {
    For(&'static str, Holds, Moment),
    Till(Moment),
}

impl User {
    pub(super) fn of(scenario: &Scenario) -> Self {
        Self {
            steps: scenario.steps.clone().into_iter(),
            waits: None,
        }
    }

    /// Whether there is nothing left to do.
    pub(super) fn is_done(&self) -> bool {
        self.waits.is_none() && self.steps.as_slice().is_empty()
    }

    /// What is waited for in vain.
    pub(super) fn waits_in_vain(&self, now: Moment, disturbed: Moment) -> Option<&'static str> {
        match &self.waits {
            Some(Waits::For(what, _, since)) if now > disturbed.max(*since) + PATIENCE => Some(what),
            _ => None,
        }
    }
}

impl World {
    /// The user goes on as far as possible.
    pub(super) fn go_on(&mut self) {
        loop {
            let goes_on = match &self.user.waits {
                None => true,
                Some(Waits::For(_, holds, _)) => holds(&self.state),
                Some(Waits::Till(till)) => self.now() >= *till,
            };
            if !goes_on {
                return;
            }
            self.user.waits = None;
            let Some(step) = self.user.steps.next() else { return };
            self.take(step);
        }
    }

    fn take(&mut self, step: Step) {
        let now = self.clock.now();
        self.disturbed();
        let done = match step {
            Step::Until(what, holds) => {
                self.user.waits = Some(Waits::For(what, holds, self.now()));
                return;
            }
            Step::Wait(time) => {
                self.user.waits = Some(Waits::Till(self.now() + time));
                self.busy_for(time);
                return self.later(time, Event::User);
            }
            Step::Server(what, deed) => {
                self.tell("user", what);
                deed(&mut self.server);
                Ok(())
            }
            Step::Create(kind, object) => {
                self.tell("user", &format!("create {kind} {}", object["metadata"]["name"]));
                self.server.create(kind, NAMESPACE, object, now).map(drop)
            }
            Step::CreateOwned(kind, mut object, (owner, name)) => {
                self.tell("user", &format!("create {kind} {}", object["metadata"]["name"]));
                object["metadata"]["ownerReferences"] = json!([self.reference_to(owner, &name)]);
                self.server.create(kind, NAMESPACE, object, now).map(drop)
            }
            Step::Reject(pods) => {
                (0..pods).for_each(|_| self.node.reject_next());
                Ok(())
            }
            Step::Merge(kind, name, patch) => {
                self.tell("user", &format!("patch {kind} {name} {patch}"));
                self.server.merge(&at(kind, &name), Part::Main, patch, now).map(drop)
            }
            Step::Delete(kind, name, options) => {
                self.tell("user", &format!("delete {kind} {name}"));
                self.server.delete(&at(kind, &name), &options, now).map(drop)
            }
        };
        if let Err(status) = done {
            self.fail(&format!("the user is refused: {}", status.message));
        }
        self.absorb();
    }
}

impl World {
    fn reference_to(&self, kind: Kind, name: &str) -> Value {
        let owner = self.server.get(kind, NAMESPACE, name);
        let uid = owner.map(|owner| owner.uid().to_owned());
        json!({"apiVersion": kind.api_version(), "kind": kind.kind, "name": name, "uid": uid, "controller": true})
    }
}

fn at(kind: Kind, name: &str) -> Address {
    Address {
        kind,
        key: ObjectKey::new(NAMESPACE, name),
    }
}
