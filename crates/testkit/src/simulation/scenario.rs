//! What a user does in a history, and what it is to come to.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use workload_core::id::Kind;

use super::fate::{Beginning, Fate, Fates};
use super::node::Habits;
use super::oracle::Oracle;
use super::schedule::Schedule;
use super::seed::Stream;
use super::server::{ApiServer, DeleteOptions};
use crate::state::State;

/// Where all objects of users are.
pub const NAMESPACE: &str = "shop";
/// What makes oracles for a schedule.
type Oracles = Arc<dyn Fn(&Schedule) -> Vec<Box<dyn Oracle>> + Send + Sync>;
/// A question about the state.
pub(super) type Holds = Arc<dyn Fn(&State) -> bool + Send + Sync>;
/// What somebody does to the server.
pub(super) type Deed = Arc<dyn Fn(&mut ApiServer) + Send + Sync>;

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
    /// Kinds of custom resources.
    pub custom: Vec<Kind>,
    /// Finalizers that may be there at the end.
    pub kept: &'static [&'static str],
    pub(super) steps: Vec<Step>,
    oracles: Vec<Oracles>,
    summary: fn(&State) -> String,
}

/// One step of a user.
#[derive(Clone)]
pub(super) enum Step {
    Create(Kind, Value),
    CreateOwned(Kind, Value, (Kind, String)),
    Merge(Kind, String, Value),
    Delete(Kind, String, DeleteOptions),
    Server(&'static str, Deed),
    Until(&'static str, Holds),
    Reject(usize),
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
            custom: Vec::new(),
            kept: &[],
            steps: Vec::new(),
            oracles: Vec::new(),
            summary,
        }
    }

    /// Laws of this story, beside those of every one.
    #[must_use]
    pub fn under(mut self, laws: impl Fn(&Schedule) -> Vec<Box<dyn Oracle>> + Send + Sync + 'static) -> Self {
        self.oracles = vec![Arc::new(laws)];
        self
    }

    /// Laws of this story beside those that it has already.
    #[must_use]
    pub fn and(mut self, laws: impl Fn(&Schedule) -> Vec<Box<dyn Oracle>> + Send + Sync + 'static) -> Self {
        self.oracles.push(Arc::new(laws));
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

    /// A deleted pod takes so long to end, in milliseconds.
    #[must_use]
    pub fn ending(mut self, takes: RangeInclusive<u64>) -> Self {
        self.habits.end = takes;
        self
    }

    /// All that is created may be created once more, because caches of different kinds can show different moments.
    #[must_use]
    pub fn created_twice_at_most(self) -> Self {
        Self { again: 1, ..self }
    }

    /// The server knows a kind of custom resources.
    #[must_use]
    pub fn custom(mut self, kind: Kind) -> Self {
        self.custom.push(kind);
        self
    }

    /// Objects with these finalizers may be there at the end: somebody else is to take them off.
    #[must_use]
    pub fn keeping(self, finalizers: &'static [&'static str]) -> Self {
        Self {
            kept: finalizers,
            ..self
        }
    }

    /// The user creates an object.
    #[must_use]
    pub fn create(self, kind: Kind, object: impl Into<Value>) -> Self {
        self.then(Step::Create(kind, object.into()))
    }

    /// Somebody creates an object that this one controls.
    #[must_use]
    pub fn create_owned(self, kind: Kind, object: impl Into<Value>, owner: (Kind, &str)) -> Self {
        let owner = (owner.0, owner.1.to_owned());
        self.then(Step::CreateOwned(kind, object.into(), owner))
    }

    /// The next pods that are bound, so many of them, are rejected by their nodes.
    #[must_use]
    pub fn reject_next(self, pods: usize) -> Self {
        self.then(Step::Reject(pods))
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
        self.oracles.iter().flat_map(|laws| laws(schedule)).collect()
    }
}

impl fmt::Debug for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scenario({})", self.name)
    }
}
