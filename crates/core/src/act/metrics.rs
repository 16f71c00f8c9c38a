//! Metrics of what plans have written and of what held turns back.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use crate::id::Kind;
use crate::outcome::{Failure, Receipt, Verb};

/// Counts writes by kind, verb and result.
#[derive(Clone, Debug, Default)]
pub struct ActMetrics {
    attempts: Family<AttemptLabels, Counter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AttemptLabels {
    kind: &'static str,
    verb: &'static str,
    result: &'static str,
}

impl ActMetrics {
    /// Metrics that `registry` will export as `write_attempts_total{kind,verb,result}`.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register(
            "write_attempts",
            "Writes of plans by kind, verb and result (\"stored\", \"gone\", \"protected\" or the class of the failure)",
            metrics.attempts.clone(),
        );
        metrics
    }

    pub(super) fn count(&self, kind: Kind, verb: Verb, result: &Result<Receipt, Failure>) {
        let result = match result {
            Ok(Receipt::Stored { .. }) => "stored",
            Ok(Receipt::Gone) => "gone",
            Ok(Receipt::Protected { .. }) => "protected",
            Err(failure) => failure.class.as_str(),
        };
        let labels = AttemptLabels {
            kind: kind.kind,
            verb: verb.as_str(),
            result,
        };
        self.attempts.get_or_create(&labels).inc();
    }
}

/// Counts turns that were held back by the gate, and gates that were given up.
#[derive(Clone, Debug, Default)]
pub struct GateMetrics {
    stale: Family<ResourceLabels, Counter>,
    given_up: Family<GateLabels, Counter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResourceLabels {
    group: &'static str,
    resource: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct GateLabels {
    gate: &'static str,
}

impl GateMetrics {
    /// Metrics of the controller with this component name, such as `replicaset-controller`, which `registry` will export as
    /// `replicaset_controller_stale_sync_skips_total{group,resource}` (deployment C-34) and
    /// `replicaset_controller_gates_given_up_total{gate}`.
    pub fn register(registry: &mut Registry, component: &str) -> Self {
        let metrics = Self::default();
        let prefix = component.replace('-', "_");
        registry.register(
            format!("{prefix}_stale_sync_skips"),
            "Turns not taken because a cache was older than our own last write",
            metrics.stale.clone(),
        );
        registry.register(
            format!("{prefix}_gates_given_up"),
            "Times a gate (\"expectations\" or \"freshness\") was held for its longest time",
            metrics.given_up.clone(),
        );
        metrics
    }

    pub(crate) fn count_stale(&self, kind: Kind) {
        let labels = ResourceLabels {
            group: kind.group,
            resource: kind.plural,
        };
        self.stale.get_or_create(&labels).inc();
    }

    pub(crate) fn count_given_up(&self, gate: &'static str) {
        self.given_up.get_or_create(&GateLabels { gate }).inc();
    }
}
