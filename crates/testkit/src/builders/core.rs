//! Pods and nodes.

use serde_json::{Value, json};
use workload_core::time::{Timestamp, to_api};

use super::{Manifest, manifest, push, slot};

/// A pod.
#[derive(Clone, Debug, PartialEq)]
pub struct Pod(Value);

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub struct Node(Value);

manifest!(Pod);
manifest!(Node);

/// A pod of one container with image `a`, neither bound nor reported on.
pub fn pod(name: &str) -> Pod {
    Pod(json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "main", "image": "a"}]},
    }))
}

/// A node that says nothing about itself.
pub fn node(name: &str) -> Node {
    Node(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}))
}

impl Pod {
    /// The node it is bound to.
    #[must_use]
    pub fn on(self, node: &str) -> Self {
        self.set("/spec/nodeName", node)
    }

    /// Its phase, such as `Running`.
    #[must_use]
    pub fn phase(self, phase: &str) -> Self {
        self.set("/status/phase", phase)
    }

    /// Running, and ready since that time.
    #[must_use]
    pub fn ready_since(self, at: Timestamp) -> Self {
        self.ready_condition("True", at)
    }

    /// Running, but not ready.
    #[must_use]
    pub fn unready_since(self, at: Timestamp) -> Self {
        self.ready_condition("False", at)
    }

    /// How often its container was restarted.
    #[must_use]
    pub fn restarts(self, count: u32) -> Self {
        let status = json!({"name": "main", "image": "", "imageID": "", "ready": true, "restartCount": count});
        self.set("/status/containerStatuses", json!([status]))
    }

    fn ready_condition(self, status: &str, at: Timestamp) -> Self {
        let mut running = self.phase("Running");
        let condition = json!({"type": "Ready", "status": status, "lastTransitionTime": to_api(at)});
        push(slot(running.value(), "/status/conditions"), condition);
        running
    }
}

impl Node {
    /// A taint.
    #[must_use]
    pub fn taint(mut self, key: &str, effect: &str) -> Self {
        push(
            slot(self.value(), "/spec/taints"),
            json!({"key": key, "effect": effect}),
        );
        self
    }

    /// Whether the node reports itself ready: `True`, `False` or `Unknown`.
    #[must_use]
    pub fn ready(mut self, status: &str) -> Self {
        push(
            slot(self.value(), "/status/conditions"),
            json!({"type": "Ready", "status": status}),
        );
        self
    }
}
