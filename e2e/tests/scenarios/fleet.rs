//! The controllers beside the cluster, as in a control plane of two machines.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use testkit::Program;
use testkit::controller::Controller;
use testkit::server::{Server, environment};
use tokio::sync::Mutex;

/// Who reconciles Deployments.
pub(crate) const DEPLOYMENTS: Program = Program::new(
    "deployment-controller",
    concat!(env!("CARGO_MANIFEST_DIR"), "/../charts/deployment-controller"),
);
/// Who reconciles Jobs.
pub(crate) const JOBS: Program = Program::new(
    "job-controller",
    concat!(env!("CARGO_MANIFEST_DIR"), "/../charts/job-controller"),
);

/// Where logs and kubeconfigs of the instances are, those of each program in a directory of its own.
const FILES: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/fleet");

/// The longest that a new leader may take on a busy machine: the old one's lease runs out within 15 s, and somebody tries
/// every few seconds.
const FAILOVER: Duration = Duration::from_secs(40);
/// The longest that a new leader may take when the old one gives its lease back; one that was not given back lasts 15 s.
const HANDOVER: Duration = Duration::from_secs(10);
/// How often instances are asked whether they lead.
const POLL: Duration = Duration::from_millis(100);

/// Two instances of a controller, of which at most one leads. All scenarios of a process share them.
pub(crate) struct Fleet {
    program: Program,
    cluster: &'static Server,
    instances: Mutex<Vec<Controller>>,
}

impl Fleet {
    /// The fleet of this program in this process; none where the controllers run in the cluster.
    pub(crate) async fn beside(cluster: &'static Server, program: Program) -> Option<&'static Self> {
        static FLEETS: Mutex<BTreeMap<&'static str, &'static Fleet>> = Mutex::const_new(BTreeMap::new());
        environment("WORKLOAD_CONTROLLER_BIN_DIR")?;
        let mut fleets = FLEETS.lock().await;
        if let Some(fleet) = fleets.get(program.name) {
            return Some(fleet);
        }
        let fleet: &'static Self = Box::leak(Box::new(Self::start(cluster, program).await));
        fleets.insert(program.name, fleet);
        Some(fleet)
    }

    async fn start(cluster: &'static Server, program: Program) -> Self {
        let fleet = Self {
            program,
            cluster,
            instances: Mutex::default(),
        };
        // What an earlier run left is of no use any more.
        let _ = std::fs::remove_dir_all(fleet.files());
        std::fs::create_dir_all(fleet.files()).expect("a directory");
        let instances = vec![fleet.instance().await, fleet.instance().await];
        *fleet.instances.lock().await = instances;
        fleet
    }

    fn files(&self) -> PathBuf {
        PathBuf::from(FILES).join(self.program.name)
    }

    async fn instance(&self) -> Controller {
        self.program.start(self.cluster, &[], &self.files()).await
    }

    /// Kills the leader, waits until the other instance leads, and starts a new one in the killed one's place.
    pub(crate) async fn kill_leader(&self) {
        let mut instances = self.instances.lock().await;
        take_leader(&mut instances).await.kill();
        leader(&instances, FAILOVER).await;
        instances.push(self.instance().await);
    }

    /// Asks the leader to end, and waits until the other instance leads; starts a new one in its place.
    pub(crate) async fn stop_leader(&self) {
        let mut instances = self.instances.lock().await;
        let ended = take_leader(&mut instances).await.stop().await;
        assert!(ended.success(), "{ended}");
        leader(&instances, HANDOVER).await;
        instances.push(self.instance().await);
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
        instances.push(self.instance().await);
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
