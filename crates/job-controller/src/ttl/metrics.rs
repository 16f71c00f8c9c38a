//! How late Jobs go (TTL-10).

use std::time::Duration;

use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

/// Time from the moment when a Job was to go to its deletion.
#[derive(Clone, Debug)]
pub struct Lateness(Histogram);

impl Default for Lateness {
    fn default() -> Self {
        Self(Histogram::new(exponential_buckets(0.1, 2.0, 14)))
    }
}

impl Lateness {
    /// A metric that `registry` will export as `ttl_after_finished_controller_job_deletion_duration_seconds`.
    pub fn register(registry: &mut Registry) -> Self {
        let lateness = Self::default();
        registry.register(
            "ttl_after_finished_controller_job_deletion_duration_seconds",
            "Time from the end of a Job's TTL to its deletion",
            lateness.0.clone(),
        );
        lateness
    }

    pub(super) fn observe(&self, late_by: Duration) {
        self.0.observe(late_by.as_secs_f64());
    }
}
