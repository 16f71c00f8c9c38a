//! A Job as it is stored, checked: every default and every choice of its spec is settled here (J-4).

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use workload_core::id::Kind;
use workload_core::labels::Interner;
use workload_core::meta::{DecodeError, KeepAnnotations, Meta, Object, RawObject};
use workload_core::opt_in::PREFIX;
use workload_core::selector::{LabelSelector, Selector, SelectorError};
use workload_core::time::{self, Timestamp};

use super::opt_ins::OptIns;
use super::policy::failure::{self, Rule};
use super::policy::success::{self, SuccessRule};
use super::status::JobStatus;
use super::words;

/// A Job.
#[derive(Clone, Debug)]
pub struct Job {
    /// Metadata; of annotations only the opt-ins.
    pub meta: Meta,
    /// What its user wants.
    pub spec: JobSpec,
    /// What was last reported about it.
    pub status: JobStatus,
    /// What its user wants beyond upstream's behaviour.
    pub opt_ins: OptIns,
}

/// What the user of a Job wants.
#[derive(Clone, Debug)]
pub struct JobSpec {
    /// How many pods run at once at most; 1 if it does not say.
    pub parallelism: u32,
    /// What counts as done.
    pub work: Work,
    /// How many pods may fail (J-120).
    pub backoff_limit: i32,
    /// Whether pods are to run.
    pub activity: Activity,
    /// For how long it may run.
    pub deadline: Option<Duration>,
    /// Which pods are its own. One that no server would have accepted stays an error: its Job is left alone.
    pub selector: Result<Selector, SelectorError>,
    /// What pods that fail mean, in order; empty if there is no policy.
    pub failure_rules: Arc<[Rule]>,
    /// When the replacement of a pod may be made (J-158).
    pub replacement: Replacement,
    /// Who reconciles it (J-160); nobody in particular if it does not say.
    pub managed_by: Option<Arc<str>>,
    /// What becomes of containers that end (J-121).
    pub restarts: Restarts,
    /// How many seconds after its end it is to be deleted (TTL-1).
    pub ttl_after_finished: Option<i64>,
    /// What its pods are made of, as JSON that nobody has looked into; a finished Job keeps none.
    pub template: Option<Arc<str>>,
}

/// What counts as done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// The pods know among themselves: once one succeeds no other is made (J-80).
    Queue,
    /// This many pods have to succeed.
    Fixed(u32),
    /// Each index has to be worked on once.
    Indexed(Indexed),
    /// A completion mode that nobody here knows; such a Job is left alone (J-30).
    Unknown(String),
}

/// Work that consists of numbered parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Indexed {
    /// How many.
    pub completions: u32,
    /// How often each may fail; nothing if only failures of all count.
    pub per_index: Option<PerIndex>,
    /// When the Job is done before all are, in order.
    pub success_rules: Arc<[SuccessRule]>,
}

/// How often an index may fail, and how many indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerIndex {
    /// How many failures of an index are made good (J-122).
    pub limit: u32,
    /// How many indexes may fail (J-128); all if it does not say.
    pub max_failed: Option<u32>,
}

/// Whether pods are to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// They are.
    Active,
    /// Not until the user resumes the Job (J-100).
    Suspended,
}

/// When the replacement of a pod may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// As soon as it was asked to go.
    TerminatingOrFailed,
    /// Once it has ended.
    Failed,
}

/// `restartPolicy` of the template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restarts {
    /// A container that ends ends its pod.
    Never,
    /// A container that fails is started again in its pod.
    OnFailure,
}

impl Job {
    /// True if it has ended, well or not.
    pub fn is_finished(&self) -> bool {
        let conditions = &self.status.conditions;
        [words::COMPLETE, words::FAILED]
            .iter()
            .any(|kind| conditions.holds(kind).is_some())
    }

    /// When it ended, to the second: since when the first of its true terminal conditions holds (TTL-2).
    pub fn finished_at(&self) -> Option<Timestamp> {
        let conditions = &self.status.conditions;
        let ended = |kind: &&&str| conditions.holds(kind).is_some();
        let kind = [words::COMPLETE, words::FAILED].iter().find(ended).copied()?;
        conditions.since(kind).map(time::to_seconds)
    }
}

impl JobSpec {
    /// The indexed work, if it is of that kind.
    pub fn indexed(&self) -> Option<&Indexed> {
        match &self.work {
            Work::Indexed(indexed) => Some(indexed),
            Work::Queue | Work::Fixed(_) | Work::Unknown(_) => None,
        }
    }

    /// Limits of each index, if it has any.
    pub fn per_index(&self) -> Option<PerIndex> {
        self.indexed()?.per_index
    }

    /// True if its user wants it to run no pods.
    pub fn is_suspended(&self) -> bool {
        self.activity == Activity::Suspended
    }

    /// `completions`, where it says.
    pub fn completions(&self) -> Option<u32> {
        match &self.work {
            Work::Fixed(completions) => Some(*completions),
            Work::Indexed(indexed) => Some(indexed.completions),
            Work::Queue | Work::Unknown(_) => None,
        }
    }
}

impl Object for Job {
    const KIND: Kind = Kind::JOB;

    fn decode(json: &[u8], interner: &Interner) -> Result<Self, DecodeError> {
        let raw: RawObject<'_, RawSpec<'_>, _> = serde_json::from_slice(json)?;
        let mut meta = raw.metadata.into_meta(KeepAnnotations::All, interner)?;
        let asked = meta.annotations.iter().filter(|(key, _)| key.starts_with(PREFIX));
        meta.annotations = interner.labels(asked);
        let mut job = Self {
            opt_ins: OptIns::read(&meta.annotations),
            spec: raw.spec.checked(interner)?,
            status: raw.status,
            meta,
        };
        job.opt_ins.fit(&job.spec, &job.meta.annotations);
        if job.is_finished() {
            job.spec.template = None;
        }
        Ok(job)
    }

    fn meta(&self) -> &Meta {
        &self.meta
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawSpec<'a> {
    parallelism: Option<i32>,
    completions: Option<i32>,
    completion_mode: Option<String>,
    backoff_limit: Option<i32>,
    backoff_limit_per_index: Option<i32>,
    max_failed_indexes: Option<i32>,
    active_deadline_seconds: Option<i64>,
    suspend: Option<bool>,
    selector: Option<LabelSelector>,
    pod_failure_policy: Option<Value>,
    success_policy: Option<Value>,
    pod_replacement_policy: Option<String>,
    managed_by: Option<String>,
    ttl_seconds_after_finished: Option<i64>,
    #[serde(borrow)]
    template: &'a RawValue,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawTemplate {
    spec: RawPodSpec,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawPodSpec {
    restart_policy: String,
}

impl RawSpec<'_> {
    fn checked(self, interner: &Interner) -> Result<JobSpec, DecodeError> {
        let pod: RawTemplate = serde_json::from_str(self.template.get())?;
        let rules = self.pod_failure_policy.as_ref().map(failure::rules);
        let limit_by_default = self.backoff_limit_per_index.map_or(6, |_| i32::MAX);
        Ok(JobSpec {
            parallelism: self.parallelism.map_or(1, count),
            work: self.work(),
            backoff_limit: self.backoff_limit.unwrap_or(limit_by_default),
            activity: match self.suspend {
                Some(true) => Activity::Suspended,
                Some(false) | None => Activity::Active,
            },
            deadline: self.active_deadline_seconds.map(seconds),
            selector: Selector::new(self.selector.as_ref()),
            replacement: replacement(self.pod_replacement_policy.as_deref(), rules.is_some()),
            failure_rules: rules.unwrap_or_default(),
            managed_by: self.managed_by.as_deref().map(|name| interner.string(name)),
            restarts: match pod.spec.restart_policy.as_str() {
                "OnFailure" => Restarts::OnFailure,
                _ => Restarts::Never,
            },
            ttl_after_finished: self.ttl_seconds_after_finished,
            template: Some(self.template.get().into()),
        })
    }

    fn work(&self) -> Work {
        match (self.completion_mode.as_deref(), self.completions) {
            (None | Some("NonIndexed"), None) if self.parallelism.is_none() => Work::Fixed(1),
            (None | Some("NonIndexed"), None) => Work::Queue,
            (None | Some("NonIndexed"), Some(completions)) => Work::Fixed(count(completions)),
            (Some("Indexed"), Some(completions)) => Work::Indexed(Indexed {
                completions: count(completions),
                per_index: self.backoff_limit_per_index.map(|limit| PerIndex {
                    limit: count(limit),
                    max_failed: self.max_failed_indexes.map(count),
                }),
                success_rules: self.success_policy.as_ref().map(success::rules).unwrap_or_default(),
            }),
            (Some(mode), _) => Work::Unknown(mode.to_owned()),
        }
    }
}

/// A policy that forbids two pods in one place is the default of Jobs with a pod failure policy (J-4).
fn replacement(written: Option<&str>, has_failure_policy: bool) -> Replacement {
    match (written, has_failure_policy) {
        (Some("Failed"), _) | (None, true) => Replacement::Failed,
        (Some(_), _) | (None, false) => Replacement::TerminatingOrFailed,
    }
}

fn count(number: i32) -> u32 {
    u32::try_from(number).unwrap_or_default()
}

fn seconds(number: i64) -> Duration {
    Duration::from_secs(u64::try_from(number).unwrap_or_default())
}
