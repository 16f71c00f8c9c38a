//! Where a controller sets up its caches and loops before the process starts them.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;

use crate::act::executor::ExecutorParts;
use crate::act::ledger::Caches;
use crate::act::metrics::{ActMetrics, GateMetrics};
use crate::act::{Executor, Ledger, Live};
use crate::cache::{Cache, CacheAids, Delta, Feed, Notice, Progress, Scope, Subscriber};
use crate::client::Client;
use crate::continuity::Continuity;
use crate::events::{self, ApiSink, EventMetrics, Scribe};
use crate::id::{Kind, ObjectKey};
use crate::lease::Fence;
use crate::meta::Object;
use crate::metrics::Metrics;
use crate::queue::{Priority, Queue, QueueMetrics, Turn, Workers};
use crate::reconcile::{Reconciler, ReconcilerParts, ToldMetrics};
use crate::workload::Workload;

/// What all caches and loops of a process share, and where they are collected.
#[allow(missing_debug_implementations, reason = "the kube client has none")]
pub struct Site {
    supplies: Supplies,
    pub(super) caches: Vec<Arc<dyn Filling>>,
    pub(super) loops: Vec<Loop>,
    pub(super) continuity: Continuity,
    /// Metrics of each component; several loops may be one component.
    gates: BTreeMap<&'static str, GateMetrics>,
}

/// What caches and loops are made with.
pub(super) struct Supplies {
    pub(super) client: Client,
    pub(super) scope: Scope,
    pub(super) aids: CacheAids,
    pub(super) fence: Fence,
    pub(super) metrics: Metrics,
    pub(super) field_manager: String,
    pub(super) workers: NonZeroUsize,
    pub(super) max_inflight_writes: NonZeroUsize,
    pub(super) counters: Counters,
}

/// Metrics that the loops share.
pub(super) struct Counters {
    pub(super) act: ActMetrics,
    pub(super) queue: QueueMetrics,
    pub(super) events: EventMetrics,
    pub(super) told: ToldMetrics,
}

/// A cache of any kind, as the process sees it.
pub(super) trait Filling: Send + Sync {
    fn kind(&self) -> Kind;
    fn is_synced(&self) -> bool;
    fn is_stale(&self, now: Instant) -> bool;
    fn synced(&self) -> BoxFuture<'_, ()>;
    fn refresh(&self);
    fn run(self: Arc<Self>) -> BoxFuture<'static, Infallible>;
}

impl<T: Object> Filling for Cache<T> {
    fn kind(&self) -> Kind {
        T::KIND
    }

    fn is_synced(&self) -> bool {
        Self::is_synced(self)
    }

    fn is_stale(&self, now: Instant) -> bool {
        Self::is_stale(self, now)
    }

    fn synced(&self) -> BoxFuture<'_, ()> {
        Box::pin(Self::synced(self))
    }

    fn refresh(&self) {
        Self::refresh(self);
    }

    fn run(self: Arc<Self>) -> BoxFuture<'static, Infallible> {
        Box::pin(Self::run(self))
    }
}

/// One workload's queue and what works on it.
pub(super) struct Loop {
    pub(super) queue: Queue,
    pub(super) scribe: Scribe,
    pub(super) workers: Workers,
    ledger: Arc<Ledger>,
    forget: Box<dyn Fn() + Send + Sync>,
    roots: Box<dyn Fn() -> Vec<ObjectKey> + Send + Sync>,
}

impl Loop {
    /// Takes keys and begins turns, and waits for nothing that was written before.
    pub(super) fn open(&self) {
        self.ledger.start_over();
        (self.forget)();
        self.queue.open();
    }

    /// Begins no turn, and waits for those under way.
    pub(super) async fn rest(&self) {
        self.queue.hold();
        self.queue.at_rest().await;
    }

    /// Puts every root object that the loop regards in line, behind what is live (deployment C-6).
    pub(super) fn resync(&self) {
        for key in (self.roots)() {
            self.queue.add(key, Priority::Resync);
        }
    }
}

/// A workload in its loop, for the caches to wake.
#[derive(Clone, Debug)]
pub struct Wakes {
    queue: Queue,
    ledger: Arc<Ledger>,
}

/// A key to wake, at once or after a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    key: ObjectKey,
    wait: Duration,
}

impl From<ObjectKey> for Due {
    fn from(key: ObjectKey) -> Self {
        let wait = Duration::ZERO;
        Self { key, wait }
    }
}

impl From<(ObjectKey, Duration)> for Due {
    fn from((key, wait): (ObjectKey, Duration)) -> Self {
        Self { key, wait }
    }
}

impl Wakes {
    /// A subscriber that first settles what the loop awaits and then wakes the keys that `keys` names.
    pub fn on<T, K, F>(&self, keys: F) -> Subscriber<T>
    where
        T: Object,
        K: IntoIterator<Item: Into<Due>>,
        F: Fn(&Delta<T>) -> K + Send + Sync + 'static,
    {
        let Self { queue, ledger } = self.clone();
        Box::new(move |delta| {
            ledger.observe(delta);
            for Due { key, wait } in keys(delta).into_iter().map(Into::into) {
                if wait.is_zero() {
                    queue.add(key, Priority::Live);
                } else {
                    queue.add_after(key, wait);
                }
            }
        })
    }
}

impl Site {
    pub(super) fn new(supplies: Supplies) -> Self {
        Self {
            supplies,
            caches: Vec::new(),
            loops: Vec::new(),
            continuity: Continuity::default(),
            gates: BTreeMap::new(),
        }
    }

    /// The metrics of the process, for series of a workload's own.
    pub fn metrics(&self) -> &Metrics {
        &self.supplies.metrics
    }

    /// An empty cache. Subscribe to it, then [`keep`](Self::keep) it.
    pub fn cache<T: Object>(&self) -> Cache<T> {
        let feed = Feed::new(self.supplies.client.clone(), self.supplies.scope.clone());
        Cache::new(feed, self.supplies.aids.clone())
    }

    /// Has the process run a cache.
    pub fn keep<T: Object>(&mut self, mut cache: Cache<T>) {
        let continuity = self.continuity.clone();
        cache.on_notice(Box::new(move |notice| match notice {
            Notice::Doubted => continuity.doubt(T::KIND),
            Notice::SameHistory => continuity.trust(T::KIND),
            Notice::OtherHistory => continuity.notice(),
        }));
        self.caches.push(Arc::new(cache));
    }

    /// Has the process run a workload. `roots` is the cache of its own kind, `children` are those of the kinds that it
    /// writes.
    pub fn reconcile<W: Workload>(
        &mut self,
        workload: W,
        roots: &Cache<impl Object>,
        children: impl IntoIterator<Item = (Kind, Arc<dyn Progress>)>,
    ) -> Wakes {
        let Supplies {
            aids,
            metrics,
            counters,
            ..
        } = &self.supplies;
        let register = || metrics.register(|registry| GateMetrics::register(registry, W::COMPONENT));
        let gates = self.gates.entry(W::COMPONENT).or_insert_with(register).clone();
        let CacheAids { clock, chance, .. } = aids;
        let ledger = Arc::new(Ledger::new(W::KIND));
        let (recorder, feed) = events::recorder(Arc::clone(clock), &counters.events);
        let sink = self.sink(W::COMPONENT);
        let scribe = Scribe::start(feed, sink, Arc::clone(clock), chance.clone(), &counters.events);
        let executor = Executor::new(ExecutorParts {
            live: self.live(),
            ledger: Arc::clone(&ledger),
            recorder,
            metrics: counters.act.clone(),
            clock: Arc::clone(clock),
            chance: chance.clone(),
        });
        let queue = Queue::new(W::QUEUE, W::RETRIES, Arc::clone(clock), &counters.queue);
        let own: (Kind, Arc<dyn Progress>) = (W::KIND, roots.store());
        let workload = Arc::new(workload);
        let turn: Arc<dyn Turn> = Arc::new(Reconciler::new(ReconcilerParts {
            workload: Arc::clone(&workload),
            executor,
            ledger: Arc::clone(&ledger),
            caches: Caches::of(children.into_iter().chain([own])),
            clock: Arc::clone(clock),
            metrics: gates,
            told: counters.told.clone(),
        }));
        let store = roots.store();
        let remembering = Arc::clone(&workload);
        self.continuity.concerns(queue.clone());
        self.loops.push(Loop {
            ledger: Arc::clone(&ledger),
            workers: Workers::start(&queue, self.supplies.workers, &turn),
            queue: queue.clone(),
            scribe,
            forget: Box::new(move || remembering.start_over()),
            roots: Box::new(move || {
                let mut keys = store.keys();
                keys.retain(|key| workload.concerns(key));
                keys
            }),
        });
        Wakes { queue, ledger }
    }

    fn sink(&self, component: &'static str) -> ApiSink {
        let Supplies {
            client,
            field_manager,
            fence,
            aids,
            ..
        } = &self.supplies;
        let clock = Arc::clone(&aids.clock);
        ApiSink::new(client.clone(), component, field_manager, fence.clone(), clock)
    }

    fn live(&self) -> Live {
        let Supplies {
            client,
            field_manager,
            max_inflight_writes,
            fence,
            aids,
            ..
        } = &self.supplies;
        Live::new(
            client.clone(),
            field_manager,
            max_inflight_writes.get(),
            fence.clone(),
            self.continuity.clone(),
            Arc::clone(&aids.clock),
        )
    }
}
