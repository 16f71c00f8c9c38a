//! What caches count.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::id::Kind;

/// Metrics of all caches of the process. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct CacheMetrics {
    objects: Family<KindLabel, Gauge>,
    undecodable: Family<KindLabel, Counter>,
    connected: Family<KindLabel, Gauge>,
    doubted: Family<KindLabel, Gauge>,
    lists: Family<ListLabels, Counter>,
    failures: Family<FailureLabels, Counter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabel {
    kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ListLabels {
    kind: &'static str,
    method: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FailureLabels {
    kind: &'static str,
    code: String,
}

impl CacheMetrics {
    /// Creates the metrics and registers them.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register("cache_objects", "Objects that the cache holds", metrics.objects.clone());
        registry.register(
            "cache_undecodable_objects",
            "Events with an object that could not be decoded; the last known state of it is kept",
            metrics.undecodable.clone(),
        );
        registry.register(
            "cache_connected",
            "1 while a watch is open or a list is under way, 0 while the cache waits to try again",
            metrics.connected.clone(),
        );
        registry.register(
            "cache_doubted",
            "1 while it is not known whether the server still has the history that the cache shows; nothing is written meanwhile",
            metrics.doubted.clone(),
        );
        registry.register(
            "cache_lists",
            "Complete lists, by how they were fetched",
            metrics.lists.clone(),
        );
        registry.register(
            "cache_watch_failures",
            "Lists and watches that failed, by status code; <error> without an answer of the server",
            metrics.failures.clone(),
        );
        metrics
    }

    pub(super) fn holds(&self, kind: Kind, objects: usize) {
        let objects = i64::try_from(objects).unwrap_or(i64::MAX);
        self.objects.get_or_create(&label(kind)).set(objects);
    }

    pub(super) fn undecodable(&self, kind: Kind) {
        self.undecodable.get_or_create(&label(kind)).inc();
    }

    pub(super) fn connected(&self, kind: Kind, open: i64) {
        self.connected.get_or_create(&label(kind)).set(open);
    }

    pub(super) fn doubted(&self, kind: Kind, doubted: bool) {
        self.doubted.get_or_create(&label(kind)).set(doubted.into());
    }

    pub(super) fn listed(&self, kind: Kind, method: &'static str) {
        let labels = ListLabels {
            kind: kind.kind,
            method,
        };
        self.lists.get_or_create(&labels).inc();
    }

    pub(super) fn failed(&self, kind: Kind, code: Option<u16>) {
        let code = code.map_or_else(|| "<error>".to_owned(), |code| code.to_string());
        self.failures
            .get_or_create(&FailureLabels { kind: kind.kind, code })
            .inc();
    }
}

fn label(kind: Kind) -> KindLabel {
    KindLabel { kind: kind.kind }
}
