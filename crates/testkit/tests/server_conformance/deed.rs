//! What is done to both servers.

use std::fmt;

use serde_json::{Value, json};
use testkit::api::{EVENT, LEASE, POD_DISRUPTION_BUDGET};
use testkit::builders::{Job, Manifest as _, Templated as _, deployment, job, pod, replica_set};
use testkit::simulation::server::Propagation;
use workload_core::id::Kind;

/// Kinds of which there are two objects each, which are owned, adopted, changed and deleted.
pub(crate) const WORKLOADS: [Kind; 4] = [Kind::DEPLOYMENT, Kind::REPLICA_SET, Kind::JOB, Kind::POD];
/// All kinds that take part.
pub(crate) const KINDS: [Kind; 7] = [
    Kind::DEPLOYMENT,
    Kind::REPLICA_SET,
    Kind::JOB,
    Kind::POD,
    EVENT,
    LEASE,
    POD_DISRUPTION_BUDGET,
];

/// A finalizer that keeps an object.
pub(crate) const HOLD: &str = "test/hold";

/// An object by kind and name.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) kind: Kind,
    pub(crate) name: String,
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}

/// Whether what a writer claims to have seen is so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// It is.
    Now,
    /// The object has changed since.
    Stale,
    /// It was another object of that name.
    Foreign,
}

/// One thing that is done.
#[derive(Clone, Debug)]
pub(crate) enum Deed {
    /// A controller creates.
    Create(Target, Value, Option<Target>),
    /// A controller changes the main part, or the status.
    Change(Target, Seen, &'static str, Value),
    /// A controller takes an object as its own.
    Adopt(Target, Seen, Target),
    /// A controller lets an object go.
    Release(Target, Seen, Target),
    /// A controller takes the finalizer off a pod.
    LetGo(Target, Seen),
    /// A controller deletes; with the version as a condition or without.
    Remove(Target, Seen, bool),
    /// A controller asks for an eviction.
    Evict(Target, Seen),
    /// A candidate takes a lease.
    Lead(Seen, String),
    /// A recorder counts an event.
    Count(i64),
    /// One is read.
    Read(Target),
    /// All are read, page by page.
    List(Kind, usize),
    /// Somebody who is no controller does something.
    Others(Others),
}

/// What those do who are no controllers.
#[derive(Clone, Debug)]
pub(crate) enum Others {
    /// A user changes something without conditions.
    Edit(Target, Value),
    /// A user deletes.
    Delete(Target, Option<Propagation>, Option<i64>),
    /// A scheduler binds.
    Bind(Target),
    /// A kubelet reports.
    Report(Target, Value),
}

/// The manifest of a workload; pods bring no token along, whose volume the server would name at random.
pub(crate) fn manifest(target: &Target, size: u32, held: bool) -> Value {
    let name = &*target.name;
    let mut object = match target.kind {
        Kind::DEPLOYMENT => deployment(name).replicas(size).json(),
        Kind::REPLICA_SET => replica_set(name).replicas(size).json(),
        Kind::JOB => jobs(name, size).json(),
        _ => pod(name).label("app", "a").json(),
    };
    if target.kind == Kind::POD {
        object["spec"]["automountServiceAccountToken"] = false.into();
    }
    if held {
        object["metadata"]["finalizers"] = json!([HOLD]);
    }
    object
}

/// Different Jobs by their size, each with a label of its own: those that a real server would give them otherwise it stores with
/// the first write after their creation, even if that changes nothing else.
fn jobs(name: &str, size: u32) -> Job {
    let job = |name| job(name).label("app", "a");
    match size {
        0 => job(name),
        1 => job(name).parallelism(2).on_condition("Ignore", "DisruptionTarget"),
        2 => job(name).indexed(2).parallelism(2).suspended(),
        _ => job(name).indexed(3).backoff_limit_per_index(1),
    }
}

pub(crate) fn lease() -> Target {
    Target {
        kind: LEASE,
        name: "lock".to_owned(),
    }
}

pub(crate) fn event() -> Target {
    Target {
        kind: EVENT,
        name: "web.1".to_owned(),
    }
}
