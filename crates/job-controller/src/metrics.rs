//! What is counted of Jobs, under upstream's names (J-211…J-213).

use std::sync::Arc;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use workload_core::cache::Delta;

use crate::job::Serves;
use crate::job::pod::Pod;
use crate::job::spec::Job;
use crate::job::tally::Tally;

/// The series. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct JobMetrics {
    durations: Durations,
    syncs: Family<SyncLabels, Counter>,
    finished: Family<FinishedLabels, Counter>,
    pods_finished: Family<PodLabels, Counter>,
    handled: Family<ActionLabels, Counter>,
    finalizers: Family<EventLabels, Counter>,
    indexes: Family<IndexLabels, Counter>,
    creations: Family<CreationLabels, Counter>,
    external: Family<ManagerLabels, Counter>,
}

/// How long turns took.
#[derive(Clone, Debug)]
struct Durations(Family<SyncLabels, Histogram, fn() -> Histogram>);

impl Default for Durations {
    fn default() -> Self {
        Self(Family::new_with_constructor(|| {
            Histogram::new(exponential_buckets(0.004, 2.0, 15))
        }))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SyncLabels {
    completion_mode: &'static str,
    result: &'static str,
    action: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FinishedLabels {
    completion_mode: &'static str,
    result: &'static str,
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PodLabels {
    completion_mode: &'static str,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ActionLabels {
    action: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EventLabels {
    event: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
#[allow(non_snake_case, reason = "upstream's label is spelt so")]
struct IndexLabels {
    status: &'static str,
    backoffLimit: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CreationLabels {
    reason: &'static str,
    status: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ManagerLabels {
    controller_name: Arc<str>,
}

impl JobMetrics {
    /// Metrics that `registry` will export.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        let registry = registry.sub_registry_with_prefix("job_controller");
        let durations = metrics.durations.0.clone();
        registry.register("job_sync_duration_seconds", "Duration of a turn of a Job", durations);
        let mut counters = Counters(registry);
        counters.add("job_syncs", "Turns of Jobs", &metrics.syncs);
        counters.add("jobs_finished", "Jobs that have ended", &metrics.finished);
        counters.add(
            "job_pods_finished",
            "Pods that have ended and are recorded; of indexed work the indexes that are done",
            &metrics.pods_finished,
        );
        counters.add(
            "pod_failures_handled_by_failure_policy",
            "Failures of pods that a rule of the pod failure policy decided",
            &metrics.handled,
        );
        counters.add(
            "terminated_pods_tracking_finalizer",
            "Pods that ended with the finalizer of Jobs (add), and those that lost it since (delete)",
            &metrics.finalizers,
        );
        counters.add(
            "job_finished_indexes",
            "Indexes of indexed work that have ended",
            &metrics.indexes,
        );
        counters.add(
            "job_pods_creation",
            "Pods made for Jobs, and those that could not be made",
            &metrics.creations,
        );
        counters.add(
            "jobs_by_external_controller",
            "Jobs seen that name another controller",
            &metrics.external,
        );
        metrics
    }

    /// Counts a turn.
    pub fn count(&self, tally: &Tally) {
        let completion_mode = tally.mode.as_str();
        let sync = SyncLabels {
            completion_mode,
            result: tally.result.as_str(),
            action: tally.action.as_str(),
        };
        self.durations.0.get_or_create(&sync).observe(tally.took.as_secs_f64());
        self.syncs.get_or_create(&sync).inc();
        if let Some(end) = &tally.finished {
            let labels = FinishedLabels {
                completion_mode,
                result: end.result,
                reason: end.reason,
            };
            self.finished.get_or_create(&labels).inc();
        }
        for (result, pods) in [("succeeded", tally.pods_succeeded), ("failed", tally.pods_failed)] {
            let labels = PodLabels {
                completion_mode,
                result,
            };
            add(&self.pods_finished, &labels, pods);
        }
        let backoff_limit = tally.limit.as_str();
        for (status, indexes) in [("succeeded", tally.indexes_succeeded), ("failed", tally.indexes_failed)] {
            let labels = IndexLabels {
                status,
                backoffLimit: backoff_limit,
            };
            add(&self.indexes, &labels, indexes);
        }
        for (action, failures) in &tally.handled {
            let action = action.as_str();
            add(&self.handled, &ActionLabels { action }, *failures);
        }
        let reason = tally.reason.as_str();
        for (status, pods) in [("succeeded", tally.created), ("failed", tally.not_created)] {
            add(&self.creations, &CreationLabels { reason, status }, pods);
        }
    }

    /// Counts a Job that is new here and is somebody else's (J-160).
    pub fn observe_job(&self, delta: &Delta<Job>, serves: &Serves) {
        let Delta::Applied { old: None, new } = delta else {
            return;
        };
        if let Some(name) = &new.spec.managed_by
            && !serves.includes(new)
        {
            let labels = ManagerLabels {
                controller_name: Arc::clone(name),
            };
            self.external.get_or_create(&labels).inc();
        }
    }

    /// Counts a pod that has ended and still waits to be counted by its Job, and one that does so no longer.
    pub fn observe_pod(&self, delta: &Delta<Pod>) {
        let waits = |pod: &Pod| pod.is_finished() && pod.has_finalizer();
        let (before, after) = match delta {
            Delta::Applied { old, new } => (old.as_deref().is_some_and(waits), waits(new)),
            Delta::Removed { last } => (waits(last), false),
        };
        let event = match (before, after) {
            (false, true) => "add",
            (true, false) => "delete",
            (false, false) | (true, true) => return,
        };
        self.finalizers.get_or_create(&EventLabels { event }).inc();
    }
}

/// A registry that counters go into.
struct Counters<'a>(&'a mut Registry);

impl Counters<'_> {
    fn add<L>(&mut self, name: &str, help: &str, counter: &Family<L, Counter>)
    where
        L: EncodeLabelSet + Clone + Eq + std::hash::Hash + std::fmt::Debug + Send + Sync + 'static,
    {
        self.0.register(name, help, counter.clone());
    }
}

/// A series that stays at 0 is not made.
fn add<L>(counter: &Family<L, Counter>, labels: &L, number: u64)
where
    L: Clone + Eq + std::hash::Hash,
{
    if number > 0 {
        counter.get_or_create(labels).inc_by(number);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use prometheus_client::encoding::text::encode;

    use super::*;
    use crate::job::policy::failure::Action;
    use crate::job::tally::{CreationReason, Finished, Limit, Mode, TurnAction, TurnResult};

    // proves: job/J-211, job/J-212, job/L-12
    #[test]
    fn a_turn_is_counted_under_the_names_of_upstream() {
        let mut registry = Registry::default();
        let metrics = JobMetrics::register(&mut registry);
        metrics.count(&Tally {
            mode: Mode::Indexed,
            action: TurnAction::Tracking,
            result: TurnResult::Success,
            took: Duration::from_millis(5),
            finished: Some(Finished {
                result: "failed",
                reason: "FailedIndexes",
            }),
            pods_succeeded: 2,
            pods_failed: 3,
            indexes_succeeded: 2,
            indexes_failed: 1,
            limit: Limit::PerIndex,
            handled: BTreeMap::from([(Action::Ignore, 4)]),
            reason: CreationReason::RecreateFailed,
            created: 5,
            not_created: 6,
        });
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        let turn = r#"{completion_mode="Indexed",result="success",action="tracking"}"#;
        for line in [
            format!("job_syncs_total{turn} 1"),
            format!("job_sync_duration_seconds_count{turn} 1"),
            r#"jobs_finished_total{completion_mode="Indexed",result="failed",reason="FailedIndexes"} 1"#.to_owned(),
            r#"job_pods_finished_total{completion_mode="Indexed",result="succeeded"} 2"#.to_owned(),
            r#"job_pods_finished_total{completion_mode="Indexed",result="failed"} 3"#.to_owned(),
            r#"job_finished_indexes_total{status="succeeded",backoffLimit="perIndex"} 2"#.to_owned(),
            r#"job_finished_indexes_total{status="failed",backoffLimit="perIndex"} 1"#.to_owned(),
            r#"pod_failures_handled_by_failure_policy_total{action="Ignore"} 4"#.to_owned(),
            r#"job_pods_creation_total{reason="recreate_failed",status="succeeded"} 5"#.to_owned(),
            r#"job_pods_creation_total{reason="recreate_failed",status="failed"} 6"#.to_owned(),
        ] {
            let line = format!("job_controller_{line}");
            assert!(text.lines().any(|told| told == line), "{line}\n{text}");
        }
    }
}
