//! From kube-controller-manager to us and back, on a cluster whose components the tests stop and start.

mod peers;
mod rollouts;
mod settled;

use testkit::builders::deployment;
use testkit::cluster::{Cluster, Part};
use testkit::controller::Controller;
use testkit::record::State;
use testkit::{Subject, on};
use workload_core::id::Kind;

use crate::PROGRAM;

/// Names by which kube-controller-manager knows the controllers that ours replace.
pub(crate) const OURS: [&str; 2] = ["deployment", "replicaset"];

/// Which of the two loops run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loops {
    Both,
    /// ReplicaSets come into being and get their sizes, but no pod is made or deleted.
    DeploymentOnly,
}

/// Who reconciles the cluster's Deployments and ReplicaSets, until it ends.
enum Reign {
    Upstream,
    Ours(Controller),
}

impl Reign {
    /// Waits until the new one has begun to work. Nobody else may reconcile.
    async fn begin(cluster: &Cluster, subject: Subject, loops: Loops) -> Self {
        let begun = match subject {
            Subject::Upstream | Subject::Nobody => {
                let without: &[&str] = match loops {
                    Loops::Both => &[],
                    Loops::DeploymentOnly => &["replicaset"],
                };
                cluster.upstream_without(without).await;
                Self::Upstream
            }
            Subject::Ours => {
                let flags: &[&str] = match loops {
                    Loops::Both => &[],
                    Loops::DeploymentOnly => &["--controllers=deployment"],
                };
                cluster.upstream_without(&OURS).await;
                Self::Ours(cluster.start_program(&PROGRAM, flags).await)
            }
        };
        on(cluster.server(), async |scene| {
            scene.create(deployment("probe")).await;
            let observed = |state: &State| state.deployment("probe").unwrap().is_observed();
            scene.until("the new one is at work", observed).await;
        })
        .await;
        begun
    }

    /// Ends it as a crash does.
    async fn crash(self, cluster: &Cluster) {
        match self {
            Self::Upstream => cluster.stop(Part::ControllerManager).await,
            Self::Ours(controller) => controller.kill(),
        }
    }
}

/// How many writes of Deployments, ReplicaSets and pods there were.
fn writes(state: &State) -> usize {
    let of = |kind| state.writes(kind).count();
    of(Kind::DEPLOYMENT) + of(Kind::REPLICA_SET) + of(Kind::POD)
}
