//! A ReplicaSet as it is stored, checked: every default and every choice of its spec is settled here.

use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use workload_core::condition::Conditions;
use workload_core::id::Kind;
use workload_core::labels::Interner;
use workload_core::meta::{DecodeError, KeepAnnotations, Meta, Object, RawObject};
use workload_core::selector::{LabelSelector, Selector, SelectorError};
use workload_core::template::Template;

/// A ReplicaSet.
#[derive(Clone, Debug)]
pub struct ReplicaSet {
    /// Metadata with all annotations, which a Deployment copies and reads.
    pub meta: Meta,
    /// How many pods it wants; 1 if it does not say.
    pub replicas: i32,
    /// How long a pod must be ready, in seconds, before it counts as available; 0 if it does not say.
    pub min_ready_seconds: i32,
    /// Which pods are its own. A selector that no server would have accepted stays an error: its ReplicaSet is left alone
    /// (deployment RS-3).
    pub selector: Result<Selector, SelectorError>,
    /// What its pods are made of.
    pub template: Template,
    /// What was last reported about it.
    pub status: ReplicaSetStatus,
}

/// The status of a ReplicaSet (deployment RS-20).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReplicaSetStatus {
    /// Active pods.
    pub replicas: i32,
    /// Active pods that carry every label of the template.
    pub fully_labeled_replicas: i32,
    /// Active pods that are ready.
    pub ready_replicas: i32,
    /// Active pods that have been ready for `min_ready_seconds`.
    pub available_replicas: i32,
    /// Pods on their way out; absent where the writer did not count them (RS-21).
    pub terminating_replicas: Option<i32>,
    /// Generation of the spec that this status is about.
    pub observed_generation: i64,
    /// Conditions, those of others included.
    pub conditions: Conditions,
}

impl ReplicaSet {
    /// True if its status is about the spec that it has.
    pub fn is_observed(&self) -> bool {
        self.status.observed_generation >= self.meta.generation
    }

    /// How many pods it still has beyond those it is to have, although somebody has asked them to go.
    pub fn kept(&self) -> i64 {
        let surplus = i64::from(self.status.replicas) - i64::from(self.replicas);
        if self.is_observed() { surplus.max(0) } else { 0 }
    }

    /// `min_ready_seconds` as a time.
    pub fn min_ready(&self) -> Duration {
        Duration::from_secs(u64::try_from(self.min_ready_seconds).unwrap_or_default())
    }
}

impl Object for ReplicaSet {
    const KIND: Kind = Kind::REPLICA_SET;

    fn decode(json: &[u8], interner: &Interner) -> Result<Self, DecodeError> {
        let raw: RawObject<'_, RawSpec<'_>, _> = serde_json::from_slice(json)?;
        Ok(Self {
            meta: raw.metadata.into_meta(KeepAnnotations::All, interner)?,
            replicas: raw.spec.replicas.unwrap_or(1),
            min_ready_seconds: raw.spec.min_ready_seconds.unwrap_or(0),
            selector: Selector::new(raw.spec.selector.as_ref()),
            template: Template::decode(raw.spec.template, interner)?,
            status: raw.status,
        })
    }

    fn meta(&self) -> &Meta {
        &self.meta
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawSpec<'a> {
    replicas: Option<i32>,
    min_ready_seconds: Option<i32>,
    selector: Option<LabelSelector>,
    #[serde(borrow)]
    template: &'a RawValue,
}
