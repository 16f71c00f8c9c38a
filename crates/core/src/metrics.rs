//! The registry behind `/metrics`.
//!
//! Series that upstream has keep upstream's names and labels. None of ours carries the name of an object: their number
//! must not grow with the cluster.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::encoding::prometheus_text;
use prometheus_client::registry::Registry;

/// All metrics of the process. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Metrics(Arc<Mutex<Registry>>);

impl Metrics {
    /// Registers what `register` wants to, such as `ActMetrics::register`, and returns its handles.
    pub fn register<T>(&self, register: impl FnOnce(&mut Registry) -> T) -> T {
        register(&mut self.0.lock())
    }

    /// Content type of [`Metrics::text`]: that of kube-controller-manager's metrics.
    pub const CONTENT_TYPE: &'static str = prometheus_text::CONTENT_TYPE;

    /// The current values as Prometheus text.
    pub fn text(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        prometheus_text::encode(&mut text, &self.0.lock())?;
        Ok(text)
    }
}
