//! The life of a controller process: start, lead, stop.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;

use crate::act::metrics::ActMetrics;
use crate::cache::{CacheAids, CacheMetrics, Scope};
use crate::chance::Chance;
use crate::client::Client;
use crate::events::{EventMetrics, Finish};
use crate::labels::Interner;
use crate::lease::{Campaign, Candidacy, Fence, LeaseLock, LeaseMetrics, Timing};
use crate::metrics::Metrics;
use crate::mistake::{Mistake, made};
use crate::queue::{QueueMetrics, Stopped};
use crate::reconcile::ToldMetrics;
use crate::run::admin::Health;
use crate::run::args::RunArgs;
use crate::run::signals::Stops;
use crate::run::site::{Counters, Filling, Loop, Site, Supplies};
use crate::run::spawn::{self, Task};
use crate::time::SharedClock;

/// How long turns in progress may take to end after a signal.
const TURN_GRACE: Duration = Duration::from_secs(10);
/// How long events that wait to be written may take after that.
const EVENT_GRACE: Duration = Duration::from_secs(2);
/// Every object gets a turn at least this often, whatever happens; the actual time is spread up to twice that
/// (deployment C-6).
const RESYNC: Duration = Duration::from_hours(12);
/// The pause before all caches list once more because one has noticed another history meanwhile: servers behind one address
/// that do not agree must not make it a tight loop.
const PAUSE: Duration = Duration::from_secs(1);

/// What a process is called.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Name of the binary: also that of its Lease and its field manager unless flags say otherwise.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
}

/// Everything from outside that a process is made of. A simulation passes its own clock and network.
#[allow(missing_debug_implementations, reason = "the kube client has none")]
pub struct Parts {
    /// What it is called.
    pub program: Program,
    /// Its flags.
    pub args: RunArgs,
    /// The connection for its work.
    pub work: Client,
    /// The connection for its election: load on the other one cannot delay a renewal.
    pub election: Client,
    /// Time.
    pub clock: SharedClock,
    /// Random numbers.
    pub chance: Chance,
    /// The name of the machine or pod; part of its identity in the election.
    pub host: String,
    /// What it exports.
    pub metrics: Metrics,
}

/// Why a process ended other than in order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ended {
    /// It held the lease and does not any more.
    #[error("lost the lease: {0}")]
    LeaseLost(String),
    /// It was asked to stop for a second time. The lease was not given back, so a successor waits until it expires.
    #[error("asked to stop twice, ended at once")]
    Hurried,
}

/// A process, ready to start.
#[allow(missing_debug_implementations, reason = "the kube client has none")]
pub struct Process {
    site: Site,
    election: Option<Election>,
    clock: SharedClock,
    chance: Chance,
}

/// How it comes to lead.
struct Election {
    candidacy: Candidacy,
    lock: LeaseLock,
    fence: Fence,
    metrics: LeaseMetrics,
}

impl Process {
    /// Puts the parts together and has `install` set up the caches and loops. Nothing is sent yet.
    pub fn assemble(parts: Parts, install: impl FnOnce(&mut Site)) -> Self {
        let elects = parts.args.election.leader_elect;
        let fence = if elects { Fence::closed() } else { Fence::open() };
        let election = elects.then(|| election(&parts, fence.clone()));
        let (clock, chance) = (Arc::clone(&parts.clock), parts.chance.clone());
        let mut site = Site::new(supplies(parts, fence));
        install(&mut site);
        Self {
            site,
            election,
            clock,
            chance,
        }
    }

    /// Whether it is ready.
    pub fn health(&self) -> Arc<dyn Health> {
        Arc::new(Readiness {
            caches: self.site.caches.clone(),
            clock: Arc::clone(&self.clock),
        })
    }

    /// Fills the caches, waits for the lease and works, until asked to stop; then stops in order.
    pub async fn run(self, stops: &mut impl Stops) -> Result<(), Ended> {
        let start = |cache: &Arc<dyn Filling>| spawn::spawn("cache", Arc::clone(cache).run());
        let _filling: Vec<Task<_>> = self.site.caches.iter().map(start).collect();
        let mut campaign = None;
        tokio::select! {
            biased;
            () = stops.next() => tracing::info!("asked to stop"),
            why = self.lead(&mut campaign) => return Err(Ended::LeaseLost(why)),
        }
        tokio::select! {
            biased;
            () = stop_in_order(self.site, campaign) => Ok(()),
            () = stops.next() => Err(Ended::Hurried),
        }
    }

    /// Returns why the lease was lost. The caches are filled before it is stood for, so that a standby can act at once.
    async fn lead(&self, campaign: &mut Option<Campaign>) -> String {
        self.synced().await;
        let Some(election) = &self.election else {
            match self.work().await {}
        };
        let campaign = campaign.insert(election.stand(Arc::clone(&self.clock), self.chance.clone()));
        campaign.leading().await;
        let leading = async {
            // What the former leader wrote last may not be in these caches yet: list anew before acting on them.
            if !made(Mistake::ListsNotRenewed) {
                self.refreshed().await;
            }
            self.work().await
        };
        tokio::select! {
            biased;
            why = campaign.lost() => why,
            never = leading => match never {},
        }
    }

    async fn work(&self) -> Infallible {
        tracing::info!("leading");
        let mut working = self.open();
        loop {
            let resync = RESYNC.mul_f64(1.0 + self.chance.fraction());
            tokio::select! {
                biased;
                () = self.site.continuity.noticed() => working = self.start_over().await,
                () = self.site.continuity.certain(), if !working => working = self.open(),
                () = tokio::time::sleep(resync) => self.site.loops.iter().for_each(Loop::resync),
            }
        }
    }

    /// No turn begins until every cache has listed what the server holds now. The lists begin when the turns under way have
    /// ended: whatever they have written is in them. Nothing that was written before is waited for any more. Says whether turns
    /// begin now.
    async fn start_over(&self) -> bool {
        join_all(self.site.loops.iter().map(Loop::rest)).await;
        self.refreshed().await;
        let working = self.open();
        if working {
            tracing::info!("going on with the server as it is now");
        } else {
            tokio::time::sleep(PAUSE).await;
        }
        working
    }

    /// Lets turns begin, with all objects that there are, unless a cache has noticed another history since the lists were asked for (then the caches may not
    /// all show the same one, and `work` starts over) or does not know whether it shows the server's.
    fn open(&self) -> bool {
        let loops = &self.site.loops;
        let open = || loops.iter().for_each(Loop::open);
        let opened = self.site.continuity.go_on_if_certain(open);
        if opened {
            loops.iter().for_each(Loop::resync);
        }
        opened
    }

    /// Lists anew, and waits until every cache shows it.
    async fn refreshed(&self) {
        self.site.continuity.is_dealt_with();
        self.site.caches.iter().for_each(|cache| cache.refresh());
        self.synced().await;
    }

    async fn synced(&self) {
        join_all(self.site.caches.iter().map(|cache| cache.synced())).await;
    }
}

impl Election {
    fn stand(&self, clock: SharedClock, chance: Chance) -> Campaign {
        let (candidacy, lock) = (self.candidacy.clone(), self.lock.clone());
        Campaign::start(candidacy, lock, self.fence.clone(), clock, chance, &self.metrics)
    }
}

fn election(parts: &Parts, fence: Fence) -> Election {
    let flags = &parts.args.election;
    let name = flags.lease_name.as_deref().unwrap_or(parts.program.name);
    Election {
        candidacy: Candidacy {
            lease: name.to_owned(),
            identity: format!("{}_{:016x}", parts.host, parts.chance.number()),
            timing: Timing::UPSTREAM,
        },
        lock: LeaseLock::new(
            parts.election.clone(),
            &flags.lease_namespace,
            name,
            &field_manager(parts),
        ),
        fence,
        metrics: parts.metrics.register(LeaseMetrics::register),
    }
}

fn field_manager(parts: &Parts) -> String {
    let named = parts.args.field_manager.as_deref();
    named.unwrap_or(parts.program.name).to_owned()
}

fn supplies(parts: Parts, fence: Fence) -> Supplies {
    let field_manager = field_manager(&parts);
    let Parts { args, metrics, .. } = parts;
    Supplies {
        client: parts.work,
        scope: args.server.namespace.map_or(Scope::All, Scope::Namespace),
        aids: CacheAids {
            clock: parts.clock,
            chance: parts.chance,
            interner: Arc::new(Interner::default()),
            metrics: metrics.register(CacheMetrics::register),
        },
        fence,
        field_manager,
        workers: args.load.workers,
        max_inflight_writes: args.load.max_inflight_writes,
        counters: Counters {
            act: metrics.register(ActMetrics::register),
            queue: metrics.register(QueueMetrics::register),
            events: metrics.register(EventMetrics::register),
            told: metrics.register(ToldMetrics::register),
        },
        metrics,
    }
}

/// Ends turns, writes events, gives the lease back: in this order, so that nothing of ours arrives after a successor has
/// begun. With a turn or an event cut off nobody knows what is still on its way; then the lease is left to expire.
async fn stop_in_order(site: Site, campaign: Option<Campaign>) {
    let (mut stopped, mut scribes) = (Vec::new(), Vec::new());
    for each in site.loops {
        let (queue, mut workers, scribe) = (each.queue, each.workers, each.scribe);
        stopped.push(async move {
            let how = workers.stop(TURN_GRACE).await;
            tracing::info!(queue = queue.name(), ?how, "workers stopped");
            how
        });
        scribes.push(scribe.finish(EVENT_GRACE));
    }
    let stopped = join_all(stopped).await;
    let finished = join_all(scribes).await;
    let clean = stopped.iter().all(|how| *how == Stopped::Clean) && finished.iter().all(|how| *how == Finish::Clean);
    if let Some(campaign) = campaign.filter(|_| clean) {
        campaign.resign().await;
    }
}

/// Ready once every cache is filled and hears the server, leader or not.
struct Readiness {
    caches: Vec<Arc<dyn Filling>>,
    clock: SharedClock,
}

impl Health for Readiness {
    fn missing(&self) -> Vec<String> {
        let now = self.clock.instant();
        let state = |cache: &Arc<dyn Filling>| match (cache.is_synced(), cache.is_stale(now)) {
            (false, _) => Some(format!("cache of {} is not synced", cache.kind())),
            (true, true) => Some(format!("cache of {} has not heard from the server", cache.kind())),
            (true, false) => None,
        };
        self.caches.iter().filter_map(state).collect()
    }
}
