//! The controllers beside the cluster, as in a control plane of two machines.

use std::path::Path;
use std::time::Duration;

use testkit::Program;
use testkit::controller::Controller;
use testkit::server::{Server, environment};
use tokio::sync::{Mutex, OnceCell};

const PROGRAM: Program = Program {
    name: "deployment-controller",
    chart: concat!(env!("CARGO_MANIFEST_DIR"), "/../charts/deployment-controller"),
};

/// The longest that a new leader may take: the old one's lease runs out within 15 s, and somebody tries every 2 s.
const FAILOVER: Duration = Duration::from_secs(20);
/// How often instances are asked whether they lead.
const POLL: Duration = Duration::from_millis(100);

/// Two instances of the controllers, of which at most one leads. All scenarios of a process share them.
pub(crate) struct Fleet {
    cluster: &'static Server,
    instances: Mutex<Vec<Controller>>,
}

impl Fleet {
    /// The fleet of this process; none where the controllers run in the cluster.
    pub(crate) async fn beside(cluster: &'static Server) -> Option<&'static Self> {
        static FLEET: OnceCell<Fleet> = OnceCell::const_new();
        environment("WORKLOAD_CONTROLLER_BIN_DIR")?;
        let start = async || {
            let instances = vec![Self::instance(cluster).await, Self::instance(cluster).await];
            let instances = Mutex::new(instances);
            Self { cluster, instances }
        };
        Some(FLEET.get_or_init(start).await)
    }

    async fn instance(cluster: &Server) -> Controller {
        PROGRAM
            .start(cluster, &[], Path::new(env!("CARGO_TARGET_TMPDIR")))
            .await
    }

    /// Kills the leader, waits until the other instance leads, and starts a new one in the killed one's place.
    pub(crate) async fn kill_leader(&self) {
        let mut instances = self.instances.lock().await;
        let leader = leader(&instances).await;
        instances.swap_remove(leader).kill();
        self::leader(&instances).await;
        instances.push(Self::instance(self.cluster).await);
    }
}

/// Which instance leads.
async fn leader(instances: &[Controller]) -> usize {
    let asking = async {
        loop {
            for (at, instance) in instances.iter().enumerate() {
                if instance.metrics().await.count("leader_election_master_status", &[]) == 1 {
                    return at;
                }
            }
            tokio::time::sleep(POLL).await;
        }
    };
    tokio::time::timeout(FAILOVER, asking).await.expect("a leader")
}
