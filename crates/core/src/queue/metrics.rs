//! Metrics of work queues, under upstream's names (deployment C-7).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::queue::shared::{Queue, WeakQueue};

type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

/// Metrics of all queues of the process.
#[derive(Clone, Debug)]
pub struct QueueMetrics {
    adds: Family<Name, Counter>,
    retries: Family<Name, Counter>,
    waiting: Histograms<Name>,
    working: Histograms<Name>,
    turns: Histograms<TurnLabels>,
    panics: Family<Name, Counter>,
    loads: Loads,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Name {
    name: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TurnLabels {
    name: &'static str,
    result: &'static str,
}

/// What is in a queue at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Load {
    /// Keys waiting to be worked on.
    pub(super) depth: usize,
    /// Age of all running turns together.
    pub(super) unfinished: Duration,
    /// Age of the oldest running turn.
    pub(super) longest_running: Duration,
}

impl QueueMetrics {
    /// Metrics that `registry` exports.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            adds: Family::default(),
            retries: Family::default(),
            waiting: Family::new_with_constructor(upstream_buckets),
            working: Family::new_with_constructor(upstream_buckets),
            turns: Family::new_with_constructor(turn_buckets),
            panics: Family::default(),
            loads: Loads::default(),
        };
        registry.register("workqueue_adds", "Keys put in line", metrics.adds.clone());
        registry.register(
            "workqueue_retries",
            "Keys booked for a later time: retries and wakes",
            metrics.retries.clone(),
        );
        registry.register(
            "workqueue_queue_duration_seconds",
            "How long keys are in line",
            metrics.waiting.clone(),
        );
        registry.register(
            "workqueue_work_duration_seconds",
            "How long turns take",
            metrics.working.clone(),
        );
        registry.register(
            "reconcile_turn_duration_seconds",
            "How long turns take, by what they ended with (\"done\", \"retry\", \"held\" or \"panic\")",
            metrics.turns.clone(),
        );
        registry.register("reconcile_panics", "Turns that panicked", metrics.panics.clone());
        registry.register_collector(Box::new(metrics.loads.clone()));
        metrics
    }

    pub(super) fn of(&self, name: &'static str) -> Meters {
        let label = Name { name };
        Meters {
            name,
            adds: self.adds.get_or_create_owned(&label),
            retries: self.retries.get_or_create_owned(&label),
            waiting: self.waiting.get_or_create_owned(&label),
            working: self.working.get_or_create_owned(&label),
            turns: self.turns.clone(),
            panics: self.panics.get_or_create_owned(&label),
        }
    }

    pub(super) fn watch(&self, queue: &Queue) {
        self.loads.0.lock().push(queue.downgrade());
    }
}

/// The metrics of one queue.
#[derive(Clone, Debug)]
pub(super) struct Meters {
    name: &'static str,
    adds: Counter,
    retries: Counter,
    waiting: Histogram,
    working: Histogram,
    turns: Histograms<TurnLabels>,
    panics: Counter,
}

impl Meters {
    pub(super) fn added(&self, keys: u64) {
        self.adds.inc_by(keys);
    }

    pub(super) fn retried(&self) {
        self.retries.inc();
    }

    pub(super) fn waited(&self, time: Duration) {
        self.waiting.observe(time.as_secs_f64());
    }

    pub(super) fn worked(&self, time: Duration, result: &'static str) {
        let name = self.name;
        self.working.observe(time.as_secs_f64());
        let turns = self.turns.get_or_create_owned(&TurnLabels { name, result });
        turns.observe(time.as_secs_f64());
    }

    pub(super) fn panicked(&self) {
        self.panics.inc();
    }
}

/// The buckets of upstream's histograms: 10 ns to 10 s by powers of ten.
fn upstream_buckets() -> Histogram {
    Histogram::new(exponential_buckets(1e-8, 10.0, 10))
}

/// 0.5 ms to 32 s, doubling: where turns really are.
fn turn_buckets() -> Histogram {
    Histogram::new(exponential_buckets(0.0005, 2.0, 17))
}

/// Reads the queues when somebody scrapes, so that a stuck turn shows its age.
#[derive(Clone, Debug, Default)]
struct Loads(Arc<Mutex<Vec<WeakQueue>>>);

impl Collector for Loads {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let queues: Vec<Queue> = self.0.lock().iter().filter_map(WeakQueue::get).collect();
        let loads: Vec<(Name, Load)> = queues
            .iter()
            .map(|queue| (Name { name: queue.name() }, queue.load()))
            .collect();
        gauge(
            &mut encoder,
            "workqueue_depth",
            "Keys waiting to be worked on",
            &loads,
            |load| f64::from(u32::try_from(load.depth).unwrap_or(u32::MAX)),
        )?;
        gauge(
            &mut encoder,
            "workqueue_unfinished_work_seconds",
            "Age of all running turns together; a growing value means stuck ones",
            &loads,
            |load| load.unfinished.as_secs_f64(),
        )?;
        gauge(
            &mut encoder,
            "workqueue_longest_running_processor_seconds",
            "Age of the oldest running turn",
            &loads,
            |load| load.longest_running.as_secs_f64(),
        )
    }
}

fn gauge(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    loads: &[(Name, Load)],
    value: impl Fn(&Load) -> f64,
) -> Result<(), fmt::Error> {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (label, load) in loads {
        ConstGauge::new(value(load)).encode(family.encode_family(label)?)?;
    }
    Ok(())
}
