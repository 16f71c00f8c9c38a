//! The registry behind `/metrics`.
//!
//! Series that upstream has keep upstream's names and labels. None of ours carries the name of an object: their number
//! must not grow with the cluster.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, prometheus_text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
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

/// What the process costs, under the names that every Prometheus client uses: `process_resident_memory_bytes` and
/// `process_cpu_seconds_total`. Read from `/proc` when somebody scrapes; absent where there is none.
#[derive(Debug)]
pub struct ProcessMetrics;

impl ProcessMetrics {
    /// Has `registry` export them.
    pub fn register(registry: &mut Registry) {
        registry.register_collector(Box::new(Self));
    }
}

impl Collector for ProcessMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
        if let Some(bytes) = resident_bytes(&read("/proc/self/status")) {
            let help = "Resident memory";
            let family = encoder.encode_descriptor("process_resident_memory_bytes", help, None, MetricType::Gauge)?;
            ConstGauge::new(bytes).encode(family)?;
        }
        if let Some(seconds) = cpu_seconds(&read("/proc/self/stat")) {
            let help = "User and system time spent";
            let family = encoder.encode_descriptor("process_cpu_seconds", help, None, MetricType::Counter)?;
            ConstCounter::new(seconds).encode(family)?;
        }
        Ok(())
    }
}

/// Resident memory from the text of `/proc/self/status`.
fn resident_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// User and system time from the text of `/proc/self/stat`. The kernel reports them in hundredths of a second.
fn cpu_seconds(stat: &str) -> Option<f64> {
    // The name of the program stands in parentheses and may itself contain blanks and parentheses.
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace().skip(11);
    let user: u32 = fields.next()?.parse().ok()?;
    let system: u32 = fields.next()?.parse().ok()?;
    Some((f64::from(user) + f64::from(system)) / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_and_time_are_read_from_the_kernels_texts() {
        let status = "Name:\tx\nVmHWM:\t  999 kB\nVmRSS:\t   2048 kB\nThreads:\t3\n";
        assert_eq!(resident_bytes(status), Some(2 * 1024 * 1024));
        let stat = "42 (odd) name (x) S 1 42 42 0 -1 4194304 100 0 0 0 150 75 0 0 20 0 3 0 1000 1 2";
        assert_eq!(cpu_seconds(stat), Some(2.25));
        assert_eq!((resident_bytes(""), cpu_seconds("")), (None, None));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_exports_what_it_costs() {
        let metrics = Metrics::default();
        metrics.register(ProcessMetrics::register);
        let text = metrics.text().unwrap();
        let value = |name: &str| -> f64 {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_else(|| panic!("no {name} in\n{text}"))
                .trim()
                .parse()
                .unwrap()
        };
        assert!(value("process_resident_memory_bytes ") > 1e6);
        assert!(value("process_cpu_seconds_total ") >= 0.0);
    }
}
