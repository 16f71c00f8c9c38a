//! Simulated nodes: objects that kwok keeps alive.

use serde_json::{Value, json};

/// Node objects `node-0` to `node-(count-1)`, spread over three zones.
pub(super) fn manifest(count: u32) -> Value {
    json!({"apiVersion": "v1", "kind": "List", "items": (0..count).map(node).collect::<Vec<_>>()})
}

fn node(index: u32) -> Value {
    let name = format!("node-{index}");
    let resources = json!({"cpu": "64", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "250"});
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "topology.kubernetes.io/region": "local",
                "topology.kubernetes.io/zone": format!("zone-{}", index % 3),
            },
        },
        "status": {"capacity": resources, "allocatable": resources},
    })
}

/// How many nodes are ready, in the words of `kubectl get nodes` with [`READY_STATES`].
pub(super) fn count_ready(states: &str) -> usize {
    states.split_whitespace().filter(|state| *state == "True").count()
}

/// The output format that prints the state of every node's Ready condition.
pub(super) const READY_STATES: &str = "--output=jsonpath={.items[*].status.conditions[?(@.type==\"Ready\")].status}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_have_distinct_names_and_share_zones() {
        let list = manifest(4);
        let items = list["items"].as_array().unwrap();
        assert_eq!(items.len(), 4);
        assert_eq!(items[3]["metadata"]["name"], "node-3");
        let zone = |index: usize| items[index]["metadata"]["labels"]["topology.kubernetes.io/zone"].clone();
        assert_eq!(zone(0), zone(3));
        assert_ne!(zone(0), zone(1));
    }

    #[test]
    fn only_nodes_that_say_true_are_ready() {
        assert_eq!(count_ready("True True Unknown False"), 2);
        assert_eq!(count_ready(""), 0);
    }
}
