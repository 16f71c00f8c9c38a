//! Deployments and ReplicaSets.

use serde_json::{Value, json};

use super::{Manifest, manifest, slot};

/// A Deployment.
#[derive(Clone, Debug, PartialEq)]
pub struct Deployment(Value);

/// A ReplicaSet.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplicaSet(Value);

manifest!(Deployment);
manifest!(ReplicaSet);

/// A Deployment of one replica with image `a` whose pods carry `app: <name>`. All else is left to defaults.
pub fn deployment(name: &str) -> Deployment {
    Deployment(workload("Deployment", name))
}

/// A ReplicaSet of one replica with image `a` whose pods carry `app: <name>`. All else is left to defaults.
pub fn replica_set(name: &str) -> ReplicaSet {
    ReplicaSet(workload("ReplicaSet", name))
}

fn workload(kind: &str, name: &str) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "a"}]},
            },
        },
    })
}

/// What Deployments and ReplicaSets have in common.
pub trait Templated: Manifest {
    /// The number of pods.
    #[must_use]
    fn replicas(self, count: u32) -> Self {
        self.set("/spec/replicas", count)
    }

    /// The image of the only container.
    #[must_use]
    fn image(self, image: &str) -> Self {
        self.set("/spec/template/spec/containers/0/image", image)
    }

    /// How long a pod must be ready to count as available.
    #[must_use]
    fn min_ready_seconds(self, seconds: u32) -> Self {
        self.set("/spec/minReadySeconds", seconds)
    }

    /// A label that selector and pods carry beside `app`.
    #[must_use]
    fn selected_label(mut self, key: &str, value: &str) -> Self {
        slot(self.value(), "/spec/selector/matchLabels")[key] = value.into();
        self.pod_label(key, value)
    }

    /// A label of the pods.
    #[must_use]
    fn pod_label(mut self, key: &str, value: &str) -> Self {
        slot(self.value(), "/spec/template/metadata/labels")[key] = value.into();
        self
    }
}

impl Templated for Deployment {}
impl Templated for ReplicaSet {}

impl Deployment {
    /// Rolling update with this maxSurge and maxUnavailable, each a number or a percentage such as `"25%"`.
    #[must_use]
    pub fn rolling(self, surge: impl Into<Value>, unavailable: impl Into<Value>) -> Self {
        let bounds = json!({"maxSurge": surge.into(), "maxUnavailable": unavailable.into()});
        self.set(
            "/spec/strategy",
            json!({"type": "RollingUpdate", "rollingUpdate": bounds}),
        )
    }

    /// Recreate instead of rolling update.
    #[must_use]
    pub fn recreate(self) -> Self {
        self.set("/spec/strategy", json!({"type": "Recreate"}))
    }

    /// The progress deadline.
    #[must_use]
    pub fn deadline_seconds(self, seconds: u32) -> Self {
        self.set("/spec/progressDeadlineSeconds", seconds)
    }

    /// How many old ReplicaSets are kept.
    #[must_use]
    pub fn history_limit(self, limit: u32) -> Self {
        self.set("/spec/revisionHistoryLimit", limit)
    }

    /// Paused.
    #[must_use]
    pub fn paused(self) -> Self {
        self.set("/spec/paused", true)
    }
}
