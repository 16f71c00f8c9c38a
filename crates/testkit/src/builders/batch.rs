//! Jobs.

use serde_json::{Value, json};

use super::{Manifest, manifest, slot};

/// A Job.
#[derive(Clone, Debug, PartialEq)]
pub struct Job(Value);

manifest!(Job);

/// A Job of one pod that is never restarted, with image `a` in container `main`. All else is left to defaults.
pub fn job(name: &str) -> Job {
    Job(json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "template": {
                "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "a"}]},
            },
        },
    }))
}

impl Job {
    /// How many pods run at once at most.
    #[must_use]
    pub fn parallelism(self, pods: u32) -> Self {
        self.set("/spec/parallelism", pods)
    }

    /// How many pods have to succeed.
    #[must_use]
    pub fn completions(self, pods: u32) -> Self {
        self.set("/spec/completions", pods)
    }

    /// Indexed work of this many parts.
    #[must_use]
    pub fn indexed(self, completions: u32) -> Self {
        self.completions(completions).set("/spec/completionMode", "Indexed")
    }

    /// How many pods may fail.
    #[must_use]
    pub fn backoff_limit(self, pods: u32) -> Self {
        self.set("/spec/backoffLimit", pods)
    }

    /// How often each index may fail.
    #[must_use]
    pub fn backoff_limit_per_index(self, failures: u32) -> Self {
        self.set("/spec/backoffLimitPerIndex", failures)
    }

    /// For how long it may run.
    #[must_use]
    pub fn deadline_seconds(self, seconds: u32) -> Self {
        self.set("/spec/activeDeadlineSeconds", seconds)
    }

    /// Runs no pods until it is resumed.
    #[must_use]
    pub fn suspended(self) -> Self {
        self.set("/spec/suspend", true)
    }

    /// When the replacement of a pod may be made: `Failed` or `TerminatingOrFailed`.
    #[must_use]
    pub fn pod_replacement(self, policy: &str) -> Self {
        self.set("/spec/podReplacementPolicy", policy)
    }

    /// How many seconds after its end it is to be deleted.
    #[must_use]
    pub fn ttl_seconds(self, seconds: u32) -> Self {
        self.set("/spec/ttlSecondsAfterFinished", seconds)
    }

    /// Adds a rule of the pod failure policy: what exit codes of container `main` mean. `operator` is `In` or `NotIn`.
    #[must_use]
    pub fn on_exit_codes(self, action: &str, operator: &str, values: &[i32]) -> Self {
        let codes = json!({"containerName": "main", "operator": operator, "values": values});
        self.rule(json!({"action": action, "onExitCodes": codes}))
    }

    /// Adds a rule of the pod failure policy: what a condition of a failed pod means.
    #[must_use]
    pub fn on_condition(self, action: &str, condition: &str) -> Self {
        self.rule(json!({"action": action, "onPodConditions": [{"type": condition, "status": "True"}]}))
    }

    fn rule(mut self, rule: Value) -> Self {
        super::push(slot(self.value(), "/spec/podFailurePolicy/rules"), rule);
        self
    }
}
