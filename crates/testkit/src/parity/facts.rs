//! Facts about an object whose history a script determines, whenever somebody looks.

use super::Pace;
use crate::object::Stored;

/// One fact. Values of `None` are left out.
pub(super) struct Fact {
    pub(super) name: &'static str,
    pub(super) of: fn(&Stored) -> Option<String>,
    history: History,
}

/// What of a fact's history is determined.
#[derive(Clone, Copy, PartialEq)]
enum History {
    /// All values, in their order.
    InOrder,
    /// All values in their order, if the script goes step by step.
    InOrderOfSteps,
    /// Which values there were: it may go to and fro meanwhile.
    AnyOrder,
}

impl Fact {
    /// True if a script of this pace determines it.
    pub(super) fn is_determined_by(&self, pace: Pace) -> bool {
        pace == Pace::Stepwise || self.history != History::InOrderOfSteps
    }

    /// Adds the next value.
    pub(super) fn add(&self, values: &mut Vec<String>, value: String) {
        match self.history {
            History::InOrder | History::InOrderOfSteps if values.last() != Some(&value) => values.push(value),
            History::AnyOrder if !values.contains(&value) => {
                values.push(value);
                values.sort();
            }
            History::InOrder | History::InOrderOfSteps | History::AnyOrder => {}
        }
    }
}

/// What is known about objects of this kind.
pub(super) fn facts_of(kind: &str) -> &'static [Fact] {
    match kind {
        "Deployment" => &OF_DEPLOYMENT,
        "ReplicaSet" => &OF_REPLICA_SET,
        "Job" => &OF_JOB,
        _ => &[],
    }
}

const fn fact(name: &'static str, of: fn(&Stored) -> Option<String>) -> Fact {
    Fact {
        name,
        of,
        history: History::InOrder,
    }
}

const fn steps(name: &'static str, of: fn(&Stored) -> Option<String>) -> Fact {
    Fact {
        name,
        of,
        history: History::InOrderOfSteps,
    }
}

const REVISION: Fact = fact("revision", |object| object.revision().map(str::to_owned));

/// deployment RS-22: while pods are awaited the condition comes and goes.
const REPLICA_FAILURE: Fact = Fact {
    name: "ReplicaFailure",
    of: |object| Some(object.says("ReplicaFailure")),
    history: History::AnyOrder,
};

static OF_DEPLOYMENT: [Fact; 5] = [
    REVISION,
    REPLICA_FAILURE,
    Fact {
        name: "Available",
        of: |object| Some(object.says("Available")),
        history: History::InOrderOfSteps,
    },
    Fact {
        name: "Progressing",
        of: progress,
        history: History::InOrderOfSteps,
    },
    fact("collisions", |object| {
        Some(object.at("/status/collisionCount").to_string())
    }),
];

static OF_REPLICA_SET: [Fact; 6] = [
    REVISION,
    REPLICA_FAILURE,
    fact("size", |object| Some(object.size().to_string())),
    fact("desired and most", |object| {
        let [desired, most] = ["desired-replicas", "max-replicas"].map(|name| annotation(object, name));
        Some(format!("{desired} {most}"))
    }),
    fact("revision history", |object| {
        Some(annotation(object, "revision-history").to_owned())
    }),
    fact("owner", |object| {
        let owner = object.controller().and_then(|owner| owner["name"].as_str());
        Some(owner.unwrap_or("nobody").to_owned())
    }),
];

static OF_JOB: [Fact; 6] = [
    fact("conditions", |object| Some(object.true_conditions().join(", "))),
    fact("Suspended", |object| Some(object.says("Suspended"))),
    steps("succeeded", |object| Some(object.count("succeeded").to_string())),
    steps("failed", |object| Some(object.count("failed").to_string())),
    steps("completed indexes", |object| {
        Some(object.text("/status/completedIndexes").to_owned())
    }),
    steps("failed indexes", |object| {
        Some(object.text("/status/failedIndexes").to_owned())
    }),
];

/// The ways to say that a rollout is under way.
pub(super) const UNDER_WAY: [&str; 3] = [
    "True NewReplicaSetCreated",
    "True FoundNewReplicaSet",
    "True ReplicaSetUpdated",
];

/// Which of the ways to say that a rollout is under way are seen depends on what a status write finds (deployment D-73), and
/// what upstream writes for a moment before it says the rest, others may say at once.
fn progress(object: &Stored) -> Option<String> {
    let says = object.says("Progressing");
    let momentary = says.is_empty() || UNDER_WAY.contains(&says.as_str()) || says == "Unknown DeploymentResumed";
    (!momentary).then_some(says)
}

fn annotation<'a>(object: &'a Stored, name: &str) -> &'a str {
    object
        .annotation(&format!("deployment.kubernetes.io/{name}"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(history: History, values: &[&str]) -> Vec<String> {
        let fact = Fact {
            history,
            ..fact("", |_| None)
        };
        let mut seen = Vec::new();
        for value in values {
            fact.add(&mut seen, (*value).to_owned());
        }
        seen
    }

    #[test]
    fn a_history_has_every_change_once_and_one_without_order_every_value() {
        let values = ["b", "b", "a", "a", "b"];
        assert_eq!(history(History::InOrder, &values), ["b", "a", "b"]);
        assert_eq!(history(History::InOrderOfSteps, &values), ["b", "a", "b"]);
        assert_eq!(history(History::AnyOrder, &values), ["a", "b"]);
    }
}
