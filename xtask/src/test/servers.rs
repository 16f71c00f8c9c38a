//! The API servers that all tests share.

use std::ffi::OsString;

use anyhow::Result;

use crate::cluster::{Cluster, ClusterSpec};
use crate::places::Places;

/// Controllers of kube-controller-manager that ours replace; on the server `ours` it does not run them.
const OURS: [&str; 4] = ["deployment", "replicaset", "job", "ttl-after-finished"];

/// The controller that removes pods whose node does not exist. Tests bind pods to nodes that nobody has made.
const POD_GARBAGE: &str = "pod-garbage-collector";

/// Two servers. They end with this value.
pub(super) struct Servers {
    ours: Cluster,
    kcm: Cluster,
}

impl Servers {
    /// Start them.
    pub(super) fn start(places: &Places) -> Result<Self> {
        let ours = Cluster::start(places, &spec("ours", &[&OURS[..], &[POD_GARBAGE]].concat()))?;
        let kcm = Cluster::start(places, &spec("kcm", &[POD_GARBAGE]))?;
        Ok(Self { ours, kcm })
    }

    /// How tests find them.
    pub(super) fn environment(&self) -> [(&'static str, OsString); 2] {
        [("WORKLOAD_TEST_OURS", &self.ours), ("WORKLOAD_TEST_KCM", &self.kcm)]
            .map(|(name, cluster)| (name, cluster.kubeconfig().into()))
    }
}

/// A cluster whose components one test at a time stops and starts. It ends with this value.
pub(super) struct Takeover(Cluster);

impl Takeover {
    /// Start it.
    pub(super) fn start(places: &Places) -> Result<Self> {
        Cluster::start(places, &spec("takeover", &[POD_GARBAGE])).map(Self)
    }

    /// How tests find it, and how the commands find it that tests run.
    pub(super) fn environment(&self, places: &Places) -> Result<[(&'static str, OsString); 3]> {
        Ok([
            ("WORKLOAD_TEST_TAKEOVER", self.0.kubeconfig().into()),
            ("WORKLOAD_TEST_TAKEOVER_CLUSTER", self.0.name().into()),
            ("WORKLOAD_CACHE_DIR", places.cache()?.into()),
        ])
    }
}

/// A cluster with nodes, on which nobody runs the controllers that ours replace.
pub(super) fn with_nodes(places: &Places) -> Result<Cluster> {
    Cluster::start(
        places,
        &ClusterSpec {
            nodes: 3,
            ..spec("e2e", &OURS)
        },
    )
}

/// A cluster whose name no other run of the tests uses.
fn spec(name: &str, kcm_without: &[&str]) -> ClusterSpec {
    ClusterSpec {
        name: format!("test-{name}-{}", std::process::id()),
        kcm_without: kcm_without.iter().map(|name| (*name).to_owned()).collect(),
        ..ClusterSpec::default()
    }
}
