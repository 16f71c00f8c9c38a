//! What a user does in a history, and what it is to come to.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use workload_core::id::{Kind, ObjectKey};
use workload_core::plan::Address;
use workload_core::time::Clock as _;

use super::clock::Moment;
use super::fate::{Beginning, Fate, Fates};
use super::node::Habits;
use super::oracle::Oracle;
use super::schedule::Schedule;
use super::seed::Stream;
use super::server::{ApiServer, DeleteOptions, Part};
use super::world::{Event, World};
use crate::state::State;

/// Where all objects of users are.
pub const NAMESPACE: &str = "shop";
/// How long after the last disturbance a user waits for something that has to come: less than a controller waits for what it
/// expects before it gives up.
const PATIENCE: Duration = Duration::from_mins(4);

/// What makes oracles for a schedule.
type Oracles = Arc<dyn Fn(&Schedule) -> Vec<Box<dyn Oracle>> + Send + Sync>;
/// A question about the state.
type Holds = Arc<dyn Fn(&State) -> bool + Send + Sync>;
/// What somebody does to the server.
type Deed = Arc<dyn Fn(&mut ApiServer) + Send + Sync>;

/// A story: what a user does, step by step, and how the world is meanwhile.
#[derive(Clone)]
pub struct Scenario {
    /// Its name.
    pub name: &'static str,
    /// How many replicas of the controller run.
    pub replicas: usize,
    /// How its nodes are.
    pub habits: Habits,
    /// How many times as much as needed may be created once more.
    pub again: u64,
    steps: Vec<Step>,
    oracles: Option<Oracles>,
    summary: fn(&State) -> String,
}

/// One step of a user.
#[derive(Clone)]
enum Step {
    Create(Kind, Value),
    Merge(Kind, String, Value),
    Delete(Kind, String, DeleteOptions),
    Server(&'static str, Deed),
    Until(&'static str, Holds),
    Wait(Duration),
}

impl Scenario {
    /// A story of one replica in which nothing happens. `summary` tells of a state what has to be the same at the end of every
    /// history, as text.
    pub fn named(name: &'static str, summary: fn(&State) -> String) -> Self {
        Self {
            name,
            replicas: 1,
            habits: Habits::default(),
            again: 0,
            steps: Vec::new(),
            oracles: None,
            summary,
        }
    }

    /// Laws of this story, beside those of every one.
    #[must_use]
    pub fn under(mut self, laws: impl Fn(&Schedule) -> Vec<Box<dyn Oracle>> + Send + Sync + 'static) -> Self {
        self.oracles = Some(Arc::new(laws));
        self
    }

    /// So many replicas of the controller.
    #[must_use]
    pub fn replicas(self, replicas: usize) -> Self {
        Self { replicas, ..self }
    }

    /// Pods with one of these images never get ready.
    #[must_use]
    pub fn never_ready(mut self, images: &'static [&'static str]) -> Self {
        self.habits.never_ready = images;
        self
    }

    /// What becomes of pods that are not restarted for ever.
    #[must_use]
    pub fn fates(mut self, fates: impl Fn(&Beginning<'_>, &Stream) -> Fate + Send + Sync + 'static) -> Self {
        self.habits.fates = Some(Fates::by(fates));
        self
    }

    /// How long a deleted pod takes to end, in milliseconds.
    #[must_use]
    pub fn pods_end_in(mut self, millis: RangeInclusive<u64>) -> Self {
        self.habits.end = millis;
        self
    }

    /// All that is created may be created once more, because caches of different kinds can show different moments.
    #[must_use]
    pub fn created_twice_at_most(self) -> Self {
        Self { again: 1, ..self }
    }

    /// The user creates an object.
    #[must_use]
    pub fn create(self, kind: Kind, object: impl Into<Value>) -> Self {
        self.then(Step::Create(kind, object.into()))
    }

    /// The user changes an object by a JSON merge patch.
    #[must_use]
    pub fn merge(self, kind: Kind, name: &str, patch: Value) -> Self {
        self.then(Step::Merge(kind, name.to_owned(), patch))
    }

    /// The user deletes an object.
    #[must_use]
    pub fn delete(self, kind: Kind, name: &str, options: DeleteOptions) -> Self {
        self.then(Step::Delete(kind, name.to_owned(), options))
    }

    /// Somebody does something else to the server, such as setting a quota.
    #[must_use]
    pub fn server(self, what: &'static str, deed: impl Fn(&mut ApiServer) + Send + Sync + 'static) -> Self {
        self.then(Step::Server(what, Arc::new(deed)))
    }

    /// The user waits until this holds.
    #[must_use]
    pub fn until(self, what: &'static str, holds: impl Fn(&State) -> bool + Send + Sync + 'static) -> Self {
        self.then(Step::Until(what, Arc::new(holds)))
    }

    /// The user waits so long.
    #[must_use]
    pub fn wait(self, time: Duration) -> Self {
        self.then(Step::Wait(time))
    }

    fn then(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// What has to be the same at the end of every history.
    pub(super) fn summary(&self, state: &State) -> String {
        (self.summary)(state)
    }

    pub(super) fn oracles(&self, schedule: &Schedule) -> Vec<Box<dyn Oracle>> {
        self.oracles.as_ref().map(|laws| laws(schedule)).unwrap_or_default()
    }
}

impl fmt::Debug for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scenario({})", self.name)
    }
}

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

fn at(kind: Kind, name: &str) -> Address {
    Address {
        kind,
        key: ObjectKey::new(NAMESPACE, name),
    }
}
