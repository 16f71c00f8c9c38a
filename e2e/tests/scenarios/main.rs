//! Scenarios against a whole cluster. They need nothing but `KUBECONFIG`; without it they are skipped, and say so.
//!
//! The cluster has nodes, real or simulated, that run pods. Who reconciles is told by `WORKLOAD_CONTROLLER_BIN_DIR`: if it is
//! set, two instances of the controllers in that directory run beside the cluster, of which one leads; else they are expected
//! to run in the cluster.
#![cfg(test)]

mod failover;
mod fleet;
mod job_failover;
mod jobs;
mod rollouts;

use std::path::Path;

use testkit::server::{Server, block_on, environment, skipped};
use testkit::{Program, Scene};
use tokio::sync::{OnceCell, RwLock};

use self::fleet::Fleet;

/// Scenarios that end controllers run alone: the others expect somebody to reconcile at once.
static CONTROLLERS: RwLock<()> = RwLock::const_new(());

/// Runs a scenario of what `program` does, in a namespace of its own of the cluster.
fn scenario(program: Program, body: impl AsyncFnOnce(&mut Scene)) {
    block_on(async {
        let Some(cluster) = cluster().await else {
            return skipped("KUBECONFIG");
        };
        let _shared = CONTROLLERS.read().await;
        Fleet::beside(cluster, program).await;
        testkit::on(cluster, body).await;
    });
}

/// Runs a scenario that ends instances of `program`; it needs those beside the cluster.
fn scenario_with_fleet(program: Program, body: impl AsyncFnOnce(&mut Scene, &Fleet)) {
    block_on(async {
        let Some(cluster) = cluster().await else {
            return skipped("KUBECONFIG");
        };
        let _alone = CONTROLLERS.write().await;
        match Fleet::beside(cluster, program).await {
            Some(fleet) => testkit::on(cluster, async |scene| body(scene, fleet).await).await,
            None => skipped("WORKLOAD_CONTROLLER_BIN_DIR"),
        }
    });
}

async fn cluster() -> Option<&'static Server> {
    static CLUSTER: OnceCell<Server> = OnceCell::const_new();
    let kubeconfig = environment("KUBECONFIG")?;
    Some(CLUSTER.get_or_init(|| Server::of(Path::new(&kubeconfig))).await)
}
