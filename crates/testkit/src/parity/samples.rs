//! Records made by hand, for the tests of the comparison itself.

use serde_json::{Value, json};
use workload_core::id::Kind;

use crate::api::EVENT;
use crate::record::{Change, State};

/// A record that grows write by write.
#[derive(Default)]
pub(super) struct Samples {
    pub(super) state: State,
    version: u64,
}

impl Samples {
    /// A write of `object`, which gets the next version.
    pub(super) fn write(&mut self, kind: Kind, change: Change, mut object: Value) {
        self.version += 1;
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        self.state.apply(kind, change, object);
    }

    /// A new Deployment.
    pub(super) fn deployment(&mut self, name: &str) {
        let object = json!({"metadata": {"name": name, "uid": format!("uid-{name}")}});
        self.write(Kind::DEPLOYMENT, Change::Added, object);
    }

    /// A new Job.
    pub(super) fn job(&mut self, name: &str) {
        let object = json!({"metadata": {"name": name, "uid": format!("uid-{name}")}});
        self.write(Kind::JOB, Change::Added, object);
    }

    /// A new ReplicaSet; without a hash it has no such label.
    pub(super) fn set(&mut self, name: &str, hash: &str, uid: &str) {
        let labels = if hash.is_empty() {
            json!({})
        } else {
            json!({"pod-template-hash": hash})
        };
        let object = json!({"metadata": {"name": name, "uid": uid, "labels": labels}, "spec": {"replicas": 1}});
        self.write(Kind::REPLICA_SET, Change::Added, object);
    }

    /// The end of a ReplicaSet.
    pub(super) fn gone(&mut self, name: &str, uid: &str) {
        let object = json!({"metadata": {"name": name, "uid": uid}});
        self.write(Kind::REPLICA_SET, Change::Deleted, object);
    }

    /// A new event about a Deployment.
    pub(super) fn event(&mut self, about: &str, reason: &str, message: &str) {
        let object = json!({
            "metadata": {"name": format!("{about}.{}", self.version), "uid": format!("event-{}", self.version)},
            "type": "Normal", "reason": reason, "message": message, "source": {"component": "test"},
            "involvedObject": {"kind": "Deployment", "name": about},
        });
        self.write(EVENT, Change::Added, object);
    }
}
