//! The life of a controller process: start, lead, stop.

use std::convert::Infallible;
use std::num::NonZeroU32;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use futures::future::join_all;
use tokio_util::sync::CancellationToken;

use crate::act::metrics::ActMetrics;
use crate::cache::{CacheAids, CacheMetrics, Scope};
use crate::client::{self, Client, ClientMetrics, ClientOptions, Rate};
use crate::events::EventMetrics;
use crate::labels::Interner;
use crate::lease::{Campaign, Candidacy, Fence, LeaseLock, LeaseMetrics, Timing};
use crate::metrics::{Metrics, ProcessMetrics};
use crate::queue::{QueueMetrics, Stopped};
use crate::run::admin::{Admin, Health};
use crate::run::args::RunArgs;
use crate::run::signals::Signals;
use crate::run::site::{Counters, Filling, Loop, Site, Supplies};
use crate::run::spawn::{self, Task};
use crate::run::telemetry;
use crate::time::{SharedClock, SystemClock};

/// How long turns in progress may take to end after a signal.
const TURN_GRACE: Duration = Duration::from_secs(10);
/// How long events that wait to be written may take after that.
const EVENT_GRACE: Duration = Duration::from_secs(2);
/// Time limit of one attempt of a call.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// Every object gets a turn at least this often, whatever happens; the actual time is spread up to twice that
/// (deployment C-6).
const RESYNC: Duration = Duration::from_secs(12 * 60 * 60);

/// What a process is called.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Name of the binary: also that of its Lease and its field manager unless flags say otherwise.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
}

/// Why a process ended that was not asked to.
#[derive(Debug, thiserror::Error)]
enum Fatal {
    #[error("lost the lease: {0}")]
    Lease(String),
}

/// Runs a controller until it is told to stop (exit code 0) or may no longer lead (1). `install` sets up its caches and
/// loops.
pub fn main(program: Program, args: &RunArgs, install: impl FnOnce(&mut Site)) -> ExitCode {
    match try_main(program, args, install) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(error = format!("{error:#}"), "the process ends");
            ExitCode::FAILURE
        }
    }
}

fn try_main(program: Program, args: &RunArgs, install: impl FnOnce(&mut Site)) -> anyhow::Result<()> {
    telemetry::start(&args.log_level, args.log_format)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("failed to start the runtime")?;
    runtime.block_on(live(program, args, install))
}

async fn live(program: Program, args: &RunArgs, install: impl FnOnce(&mut Site)) -> anyhow::Result<()> {
    let mut signals = Signals::listen().context("failed to listen for signals")?;
    let clock: SharedClock = Arc::new(SystemClock);
    let metrics = Metrics::default();
    metrics.register(ProcessMetrics::register);
    let clients = Clients::build(program, args, &metrics, &clock).await?;
    let fence = if args.election.leader_elect {
        Fence::closed()
    } else {
        Fence::open()
    };
    let mut site = Site::new(supplies(program, args, &metrics, &clock, clients.work, fence.clone()));
    install(&mut site);
    let readiness = Readiness {
        caches: site.caches.clone(),
        clock: Arc::clone(&clock),
    };
    let stop = CancellationToken::new();
    let admin = Admin::bind(args.admin_addr, metrics.clone(), Arc::new(readiness))?;
    tracing::info!(program = program.name, version = program.version, admin = %admin.address(), "started");
    let _serving = spawn::spawn("admin", admin.serve(stop.clone()));
    let _filling: Vec<Task<_>> = site
        .caches
        .iter()
        .map(|cache| spawn::spawn("cache", Arc::clone(cache).run()))
        .collect();
    let mut election = Election {
        candidacy: args.election.leader_elect.then(|| candidacy(program, args)),
        lock: lock(program, args, clients.election),
        fence,
        clock,
        metrics: metrics.register(LeaseMetrics::register),
        campaign: None,
    };
    tokio::select! {
        why = lead(&site, &mut election) => anyhow::bail!(Fatal::Lease(why)),
        () = signals.next() => tracing::info!("asked to stop"),
    }
    tokio::select! {
        () = stop_in_order(site, election) => {}
        () = signals.next() => tracing::warn!("asked to stop again, ending at once"),
    }
    stop.cancel();
    Ok(())
}

/// The two connections of a process: load on one cannot delay a renewal on the other.
struct Clients {
    work: Client,
    election: Client,
}

impl Clients {
    async fn build(program: Program, args: &RunArgs, metrics: &Metrics, clock: &SharedClock) -> anyhow::Result<Self> {
        let counters = metrics.register(ClientMetrics::register);
        let server = &args.server;
        let rate = args.load.qps.map(|per_second| Rate {
            per_second,
            burst: args.load.burst.map_or_else(|| twice(per_second), NonZeroU32::get),
        });
        let options = |rate| ClientOptions {
            kubeconfig: server.kubeconfig.clone(),
            context: server.context.clone(),
            user_agent: format!("{}/{}", program.name, program.version),
            rate,
            timeout: CALL_TIMEOUT,
        };
        Ok(Self {
            work: client::build(&options(rate), &counters, Arc::clone(clock)).await?,
            election: client::build(&options(None), &counters, Arc::clone(clock)).await?,
        })
    }
}

fn twice(per_second: f64) -> u32 {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float becomes the nearest integer that fits, which is what is wanted"
    )]
    let burst = (per_second * 2.0).ceil() as u32;
    burst.max(1)
}

fn supplies(
    program: Program,
    args: &RunArgs,
    metrics: &Metrics,
    clock: &SharedClock,
    client: Client,
    fence: Fence,
) -> Supplies {
    Supplies {
        client,
        scope: args.server.namespace.clone().map_or(Scope::All, Scope::Namespace),
        aids: CacheAids {
            clock: Arc::clone(clock),
            interner: Arc::new(Interner::default()),
            metrics: metrics.register(CacheMetrics::register),
        },
        fence,
        metrics: metrics.clone(),
        field_manager: args.field_manager.clone().unwrap_or_else(|| program.name.to_owned()),
        workers: args.load.workers,
        max_inflight_writes: args.load.max_inflight_writes,
        counters: Counters {
            act: metrics.register(ActMetrics::register),
            queue: metrics.register(QueueMetrics::register),
            events: metrics.register(EventMetrics::register),
        },
    }
}

/// How this process comes to lead.
struct Election {
    /// None: it need not.
    candidacy: Option<Candidacy>,
    lock: LeaseLock,
    fence: Fence,
    clock: SharedClock,
    metrics: LeaseMetrics,
    campaign: Option<Campaign>,
}

fn lease_name(program: Program, args: &RunArgs) -> String {
    args.election
        .lease_name
        .clone()
        .unwrap_or_else(|| program.name.to_owned())
}

fn lock(program: Program, args: &RunArgs, client: Client) -> LeaseLock {
    let manager = args.field_manager.as_deref().unwrap_or(program.name);
    LeaseLock::new(
        client,
        &args.election.lease_namespace,
        &lease_name(program, args),
        manager,
    )
}

fn candidacy(program: Program, args: &RunArgs) -> Candidacy {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    Candidacy {
        lease: lease_name(program, args),
        identity: format!("{}_{:016x}", host.trim(), rand::random::<u64>()),
        timing: Timing::UPSTREAM,
    }
}

/// Fills the caches, waits for the lease, works. Returns why the lease was lost.
async fn lead(site: &Site, election: &mut Election) -> String {
    synced(site).await;
    let campaign = match election.candidacy.take() {
        None => None,
        Some(candidacy) => {
            let (fence, clock) = (election.fence.clone(), Arc::clone(&election.clock));
            let started = Campaign::start(candidacy, election.lock.clone(), fence, clock, &election.metrics);
            let campaign = election.campaign.insert(started);
            campaign.leading().await;
            // What the former leader wrote last may not be in these caches yet: list anew before acting on them.
            site.caches.iter().for_each(|cache| cache.refresh());
            synced(site).await;
            Some(campaign)
        }
    };
    site.loops.iter().for_each(|each| each.queue.open());
    tracing::info!("leading");
    let lost = async {
        match campaign {
            Some(campaign) => campaign.lost().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        why = lost => why,
        never = resync(&site.loops) => match never {},
    }
}

async fn synced(site: &Site) {
    join_all(site.caches.iter().map(|cache| cache.synced())).await;
}

async fn resync(loops: &[Loop]) -> Infallible {
    loop {
        tokio::time::sleep(RESYNC.mul_f64(1.0 + rand::random::<f64>())).await;
        loops.iter().for_each(Loop::resync);
    }
}

/// Ends turns, writes events, gives the lease back: in this order, so that nothing of ours arrives after a successor has
/// begun. With a turn cut off nobody knows what is still on its way; then the lease is left to expire.
async fn stop_in_order(site: Site, election: Election) {
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
    join_all(scribes).await;
    let clean = stopped.iter().all(|how| *how == Stopped::Clean);
    if let Some(campaign) = election.campaign.filter(|_| clean) {
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
