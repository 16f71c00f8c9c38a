//! What tests of Deployments do and wait for again and again.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use workload_core::id::Kind;

use crate::object::Stored;
use crate::scene::Scene;

impl Scene {
    /// Gives a Deployment or ReplicaSet another size.
    pub async fn scale(&self, kind: Kind, name: &str, size: u32) -> Stored {
        self.merge(kind, name, json!({"spec": {"replicas": size}})).await
    }

    /// Gives the Deployment's only container another image.
    pub async fn set_image(&self, deployment: &str, image: &str) -> Stored {
        let container = json!([{"name": "main", "image": image}]);
        self.merge(
            Kind::DEPLOYMENT,
            deployment,
            json!({"spec": {"template": {"spec": {"containers": container}}}}),
        )
        .await
    }

    /// Creates a Deployment, gets every pod ready from now on, and waits until nothing is left to do.
    pub async fn settle(&self, deployment: impl Into<Value>) -> Stored {
        self.kubelet().auto();
        let created = self.create(deployment).await;
        self.until_settled(created.name()).await;
        created
    }

    /// Waits until a Deployment's rollout is over by the rules of `kubectl rollout status`, and says so.
    pub async fn until_rolled_out(&self, deployment: &str) {
        let over = |web: &Stored| web.is_rolled_out() && web.says("Progressing") != "True ReplicaSetUpdated";
        self.until("the rollout is over", |state| {
            state.deployment(deployment).is_some_and(over)
        })
        .await;
    }

    /// Waits until the rollout is over, no pod is left terminating, and every status says so.
    pub async fn until_settled(&self, deployment: &str) {
        self.until_rolled_out(deployment).await;
        let settled = |set: &&Stored| {
            set.is_observed() && set.count("replicas") == set.size() && set.count("terminatingReplicas") == 0
        };
        self.until("every status is up to date", |state| {
            let quiet = state
                .deployment(deployment)
                .is_some_and(|web| web.count("terminatingReplicas") == 0);
            quiet && state.pods().iter().all(|pod| !pod.is_terminating()) && state.replica_sets().iter().all(settled)
        })
        .await;
    }

    /// Checks every moment after the version `since`: the ReplicaSets never want more than `most` pods together, and no
    /// Deployment reports fewer than `least` available ones (deployment K-10).
    pub fn never_outside(&self, since: u64, most: i64, least: i64) {
        self.look(|state| {
            let mut sizes = BTreeMap::new();
            for write in state.in_order() {
                let object = &write.object;
                if object.kind() == Kind::REPLICA_SET.kind {
                    sizes.insert(object.uid(), object.size());
                }
                if object.version() < since {
                    continue;
                }
                let total: i64 = sizes.values().sum();
                assert!(
                    total <= most,
                    "{total} pods wanted, {most} allowed, at version {}",
                    object.version()
                );
                if object.kind() == Kind::DEPLOYMENT.kind {
                    let available = object.count("availableReplicas");
                    assert!(
                        available >= least,
                        "{available} available, {least} needed, at version {}",
                        object.version()
                    );
                }
            }
        });
    }
}
