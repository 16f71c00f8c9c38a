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

/// Where logs and kubeconfigs of the instances are.
const FILES: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/fleet");

/// The longest that a new leader may take: the old one's lease runs out within 15 s, and somebody tries every 2 s.
const FAILOVER: Duration = Duration::from_secs(20);
/// The longest that a new leader may take when the old one gives its lease back.
const HANDOVER: Duration = Duration::from_secs(3);
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
        Some(FLEET.get_or_init(|| Self::start(cluster)).await)
    }

    async fn start(cluster: &'static Server) -> Self {
        // What an earlier run left is of no use any more.
        let _ = std::fs::remove_dir_all(FILES);
        std::fs::create_dir_all(FILES).expect("a directory");
        let instances = vec![Self::instance(cluster).await, Self::instance(cluster).await];
        let instances = Mutex::new(instances);
        Self { cluster, instances }
    }

    async fn instance(cluster: &Server) -> Controller {
        PROGRAM.start(cluster, &[], Path::new(FILES)).await
    }

    /// Kills the leader, waits until the other instance leads, and starts a new one in the killed one's place.
    pub(crate) async fn kill_leader(&self) {
        let mut instances = self.instances.lock().await;
        take_leader(&mut instances).await.kill();
        leader(&instances, FAILOVER).await;
        instances.push(Self::instance(self.cluster).await);
    }

    /// Asks the leader to end, and waits until the other instance leads; starts a new one in its place.
    pub(crate) async fn stop_leader(&self) {
        let mut instances = self.instances.lock().await;
        let ended = take_leader(&mut instances).await.stop().await;
        assert!(ended.success(), "{ended}");
        leader(&instances, HANDOVER).await;
        instances.push(Self::instance(self.cluster).await);
    }

    /// Stops the leader's time until the other instance leads; then it has to end by itself. Starts a new one in its place.
    pub(crate) async fn freeze_leader(&self) {
        let mut instances = self.instances.lock().await;
        let frozen = take_leader(&mut instances).await;
        frozen.freeze();
        leader(&instances, FAILOVER).await;
        frozen.thaw();
        let ended = frozen.end().await;
        assert!(!ended.success(), "{ended}");
        instances.push(Self::instance(self.cluster).await);
    }
}

async fn take_leader(instances: &mut Vec<Controller>) -> Controller {
    let at = leader(instances, FAILOVER).await;
    instances.swap_remove(at)
}

/// Which instance leads.
async fn leader(instances: &[Controller], within: Duration) -> usize {
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
    tokio::time::timeout(within, asking).await.expect("a leader")
}
