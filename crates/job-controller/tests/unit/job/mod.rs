//! The Job controller over a Job and pods that a test makes.

mod backoff;
mod claims;
mod cluster;
mod counting;
mod deadlines;
mod failure_policy;
mod indexes;
mod laws;
mod opt_ins;
mod per_index;
mod pods;
mod protocol;
mod restart_all;
mod server;
mod start_deadline;
mod success_policy;
mod surplus;
mod suspend;
mod tallies;
mod turns;
mod verdicts;
mod views;
mod watches;
mod writes;

use serde_json::{Value, json};

use self::cluster::{Cluster, noon};

/// A Job of so many pods, so many at once.
fn fixed(parallelism: u32, completions: u32) -> Cluster {
    Cluster::of(json!({"parallelism": parallelism, "completions": completions}))
}

/// A Job of so many indexes, so many at once, and what else its spec says.
fn indexed(parallelism: u32, completions: u32, more: Value) -> Cluster {
    let mut spec = json!({"completionMode": "Indexed", "parallelism": parallelism, "completions": completions});
    server::merge(&mut spec, &more);
    Cluster::of(spec)
}

/// A policy of one rule: exit code 42 means this.
fn on_42(action: &str) -> Value {
    json!({"rules": [{"action": action, "onExitCodes": {"operator": "In", "values": [42]}}]})
}
