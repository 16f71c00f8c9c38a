//! The status of a Job, and the write that makes one of another (J-41…J-44, J-157).

use std::collections::BTreeSet;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use workload_core::id::{Kind, Uid};
use workload_core::plan::{Note, StatusWrite, Target};
use workload_core::time::{self, Timestamp};

use super::conditions::Conditions;
use super::indexes::Indexes;
use super::spec::{Indexed, Job};

/// The status of a Job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobStatus {
    /// Pods that have neither ended nor been asked to go.
    pub active: i32,
    /// Active pods that are ready; absent until somebody has counted them.
    pub ready: Option<i32>,
    /// Pods that were asked to go and have not ended; absent until somebody has counted them.
    pub terminating: Option<i32>,
    /// Pods that have succeeded; of indexed work the indexes.
    pub succeeded: i32,
    /// Pods that have failed and count.
    pub failed: i32,
    /// When it began to run; nothing while it is suspended.
    pub start_time: Option<Timestamp>,
    /// When it was done; nothing unless it is complete.
    pub completion_time: Option<Timestamp>,
    /// Indexes that are done, as text.
    #[serde(deserialize_with = "or_default")]
    pub completed_indexes: String,
    /// Indexes that have failed, as text; absent where indexes have no limits of their own (J-124).
    pub failed_indexes: Option<String>,
    /// Pods that have ended and are not in the counts yet.
    #[serde(deserialize_with = "stated")]
    pub uncounted_terminated_pods: Uncounted,
    /// Conditions.
    pub conditions: Conditions,
}

/// Pods that have ended and are not in the counts yet (J-40).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Uncounted {
    /// Those that have succeeded.
    #[serde(deserialize_with = "uids")]
    pub succeeded: BTreeSet<Uid>,
    /// Those that have failed.
    #[serde(deserialize_with = "uids")]
    pub failed: BTreeSet<Uid>,
    /// Whether the status has the field at all, as it has once a controller has looked at its Job (J-157).
    #[serde(skip)]
    pub presence: Presence,
}

/// Whether a field is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Presence {
    /// It is not.
    #[default]
    Absent,
    /// It is.
    Present,
}

impl Uncounted {
    /// True if every pod is in the counts.
    pub fn is_empty(&self) -> bool {
        self.succeeded.is_empty() && self.failed.is_empty()
    }

    /// How many are not.
    pub fn len(&self) -> usize {
        self.succeeded.len() + self.failed.len()
    }
}

impl JobStatus {
    /// Indexes that are done and are still part of the work (J-75).
    pub fn completed(&self, work: &Indexed) -> Indexes {
        Indexes::parse(&self.completed_indexes, work.completions)
    }

    /// Indexes that have failed and are still part of the work.
    pub fn failed_of(&self, work: &Indexed) -> Indexes {
        Indexes::parse(self.failed_indexes.as_deref().unwrap_or_default(), work.completions)
    }

    /// Takes a pod out of the uncounted ones into the counts, if it is one of them (J-44).
    pub fn count(&mut self, pod: &Uid) {
        if self.uncounted_terminated_pods.succeeded.remove(pod) {
            self.succeeded = self.succeeded.saturating_add(1);
        }
        if self.uncounted_terminated_pods.failed.remove(pod) {
            self.failed = self.failed.saturating_add(1);
        }
    }

    /// The write that makes this status of `stored`, the one that `job` has on the server by now; none if nothing differs.
    pub fn write(&self, job: &Job, stored: &Self, notes: Vec<Note>) -> Option<StatusWrite> {
        let changed: Map<String, Value> = self
            .fields()
            .into_iter()
            .zip(stored.fields())
            .filter(|(new, old)| new != old)
            .map(|((field, value), _)| (field.to_owned(), value))
            .collect();
        (!changed.is_empty()).then(|| StatusWrite {
            target: Target::of(Kind::JOB, &job.meta),
            body: json!({ "status": changed }),
            may_lack: &[],
            notes,
        })
    }

    fn fields(&self) -> [(&'static str, Value); 11] {
        let time = |at: Option<Timestamp>| at.map(time::to_api);
        let list = |pods: &BTreeSet<Uid>| {
            let pods: Vec<&str> = pods.iter().map(Uid::as_str).collect();
            if pods.is_empty() { Value::Null } else { json!(pods) }
        };
        let Uncounted {
            succeeded,
            failed,
            presence,
        } = &self.uncounted_terminated_pods;
        let uncounted = match presence {
            Presence::Absent => Value::Null,
            // A list that became empty is taken away; the object around it stays (J-157).
            Presence::Present => json!({"succeeded": list(succeeded), "failed": list(failed)}),
        };
        [
            ("active", self.active.into()),
            ("ready", json!(self.ready)),
            ("terminating", json!(self.terminating)),
            ("succeeded", self.succeeded.into()),
            ("failed", self.failed.into()),
            ("startTime", json!(time(self.start_time))),
            ("completionTime", json!(time(self.completion_time))),
            ("completedIndexes", self.completed_indexes.as_str().into()),
            ("failedIndexes", json!(self.failed_indexes)),
            ("uncountedTerminatedPods", uncounted),
            ("conditions", json!(self.conditions)),
        ]
    }
}

/// A number of pods as the API stores it.
pub(super) fn to_count(pods: usize) -> i32 {
    i32::try_from(pods).unwrap_or(i32::MAX)
}

fn uids<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeSet<Uid>, D::Error> {
    let texts: Option<Vec<String>> = Option::deserialize(deserializer)?;
    Ok(texts.unwrap_or_default().into_iter().map(Uid::new).collect())
}

fn stated<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Uncounted, D::Error> {
    let stated: Option<Uncounted> = Option::deserialize(deserializer)?;
    Ok(stated.map_or_else(Uncounted::default, |uncounted| Uncounted {
        presence: Presence::Present,
        ..uncounted
    }))
}

fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
