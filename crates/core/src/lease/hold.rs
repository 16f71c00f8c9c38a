//! Holding the lease, as the process sees it: a candidacy that runs, its standing, its end.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::chance::Chance;
use crate::lease::candidate::Candidate;
use crate::lease::elect::Timing;
use crate::lease::fence::Fence;
use crate::lease::lock::Lock;
use crate::run::spawn::{self, Task};
use crate::time::SharedClock;

/// Where a candidate stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Somebody else holds the lease, or it could not be acquired yet.
    Standby,
    /// Held: this process may write as long as its fence lets it.
    Leading,
    /// Held once, and lost for this reason. This process must write no more.
    Lost(String),
}

/// What a candidate is called and where it stands for election.
#[derive(Clone, Debug)]
pub struct Candidacy {
    /// Name of the lease, for metrics and logs.
    pub lease: String,
    /// A name that no other process ever has.
    pub identity: String,
    /// How long things take.
    pub timing: Timing,
}

/// Metrics of elections, under upstream's names.
#[derive(Clone, Debug, Default)]
pub struct LeaseMetrics {
    status: Family<Name, Gauge>,
    slow_path: Family<Name, Counter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Name {
    name: String,
}

impl LeaseMetrics {
    /// Metrics that `registry` exports.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register(
            "leader_election_master_status",
            "1 while this process holds the lease, else 0",
            metrics.status.clone(),
        );
        registry.register(
            "leader_election_slowpath",
            "Renewals that had to read the lease first",
            metrics.slow_path.clone(),
        );
        metrics
    }

    pub(super) fn of(&self, lease: &str) -> (Gauge, Counter) {
        let name = Name { name: lease.to_owned() };
        (
            self.status.get_or_create_owned(&name),
            self.slow_path.get_or_create_owned(&name),
        )
    }
}

/// A running candidacy. Dropping it ends it without giving the lease back: successors wait until it expires.
#[derive(Debug)]
pub struct Campaign {
    standing: watch::Receiver<Standing>,
    stop: CancellationToken,
    task: Task<()>,
}

impl Campaign {
    /// Stands for election over `lock`. While the lease is held, `fence` lets writes pass.
    pub fn start<L: Lock>(
        candidacy: Candidacy,
        lock: L,
        fence: Fence,
        clock: SharedClock,
        chance: Chance,
        metrics: &LeaseMetrics,
    ) -> Self {
        let (sender, standing) = watch::channel(Standing::Standby);
        let stop = CancellationToken::new();
        let candidate = Candidate::new(candidacy, lock, fence, clock, chance, metrics);
        let task = spawn::spawn("election", candidate.run(sender, stop.clone()));
        Self { standing, stop, task }
    }

    /// Waits until the lease is held. Never returns if it never is.
    pub async fn leading(&mut self) {
        self.until(|standing| *standing == Standing::Leading).await;
    }

    /// Waits until the lease was held and is lost, and says why.
    pub async fn lost(&mut self) -> String {
        match self.until(|standing| matches!(standing, Standing::Lost(_))).await {
            Standing::Lost(why) => why,
            Standing::Standby | Standing::Leading => String::new(),
        }
    }

    async fn until(&mut self, reached: impl FnMut(&Standing) -> bool) -> Standing {
        let reached = self.standing.wait_for(reached).await.map(|standing| standing.clone());
        match reached {
            Ok(standing) => standing,
            // The task has ended without getting there, which only a resignation does.
            Err(_) => std::future::pending().await,
        }
    }

    /// Stops renewing and, if the lease is held, gives it back so that a successor acts at once. Only after the last write
    /// has been answered.
    pub async fn resign(self) {
        self.stop.cancel();
        let _ended = self.task.await;
    }
}
