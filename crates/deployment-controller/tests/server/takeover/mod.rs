//! From kube-controller-manager to us and back, on a cluster whose components the tests stop and start.

mod peers;
mod rollouts;
mod settled;

use testkit::Subject;
use testkit::builders::deployment;
use testkit::cluster::Cluster;
use testkit::record::State;
use testkit::reign::Reign;
use workload_core::id::Kind;

use crate::PROGRAM;

/// Which of the two loops run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loops {
    Both,
    /// ReplicaSets come into being and get their sizes, but no pod is made or deleted.
    DeploymentOnly,
}

/// Waits until the new one has begun to work. Nobody else may reconcile.
async fn begin(cluster: &Cluster, subject: Subject, loops: Loops) -> Reign {
    let begun = match (subject, loops) {
        (Subject::Ours, Loops::Both) => Reign::of_ours(cluster, &PROGRAM, &[]).await,
        (Subject::Ours, Loops::DeploymentOnly) => {
            Reign::of_ours(cluster, &PROGRAM, &["--controllers=deployment"]).await
        }
        (Subject::Upstream | Subject::Nobody, Loops::Both) => Reign::of_upstream(cluster, &[]).await,
        (Subject::Upstream | Subject::Nobody, Loops::DeploymentOnly) => {
            Reign::of_upstream(cluster, &["replicaset"]).await
        }
    };
    let observed = |state: &State| state.deployment("probe").unwrap().is_observed();
    begun.is_at_work(cluster, deployment("probe"), observed).await;
    begun
}

/// How many writes of Deployments, ReplicaSets and pods there were.
fn writes(state: &State) -> usize {
    let of = |kind| state.writes(kind).count();
    of(Kind::DEPLOYMENT) + of(Kind::REPLICA_SET) + of(Kind::POD)
}
