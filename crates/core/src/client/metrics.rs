//! What clients count, under the names that client-go's metrics have.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// Upper bounds of the buckets, in seconds, as upstream has them.
const BUCKETS: [f64; 12] = [0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0];

/// Metrics of all clients of the process. Clones share them.
#[derive(Clone, Debug)]
pub struct ClientMetrics {
    requests: Family<RequestLabels, Counter>,
    durations: Family<DurationLabels, Histogram, fn() -> Histogram>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    code: String,
    host: String,
    method: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DurationLabels {
    host: String,
    verb: String,
}

impl ClientMetrics {
    /// Creates the metrics and registers them.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            requests: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(BUCKETS)),
        };
        registry.register(
            "rest_client_requests",
            "Requests to the API server by status code (<error> without an answer), method and host",
            metrics.requests.clone(),
        );
        registry.register_with_unit(
            "rest_client_request_duration",
            "Time from a request to the beginning of its answer, by verb and host",
            Unit::Seconds,
            metrics.durations.clone(),
        );
        metrics
    }

    /// Counts one attempt.
    pub(super) fn attempt(&self, method: &http::Method, host: &str, code: Option<u16>, took: Duration) {
        let code = code.map_or_else(|| "<error>".to_owned(), |code| code.to_string());
        let (host, method) = (host.to_owned(), method.to_string());
        let durations = DurationLabels {
            host: host.clone(),
            verb: method.clone(),
        };
        self.durations.get_or_create(&durations).observe(took.as_secs_f64());
        self.requests.get_or_create(&RequestLabels { code, host, method }).inc();
    }
}
