//! Updates that change template and replicas together.

use serde_json::json;
use testkit::Scene;
use testkit::builders::{Deployment, Manifest as _, Templated as _, deployment};
use testkit::record::{Change, State};
use workload_core::id::Kind;

use crate::{ours_only, scenario};

/// Scales `web` from 1 to 3 and gives it another image, in one update; how many pods were made of the old image.
async fn old_pods_made(scene: &Scene, web: Deployment) -> usize {
    scene.settle(web.replicas(1)).await;
    let container = json!([{"name": "main", "image": "b"}]);
    let both = json!({"spec": {"replicas": 3, "template": {"spec": {"containers": container}}}});
    scene.merge(Kind::DEPLOYMENT, "web", both).await;
    scene.until_settled("web").await;
    assert_eq!(scene.look(State::sizes), [0, 3]);
    let made = |state: &State| {
        let pods = state.writes(Kind::POD).filter(|write| write.change == Change::Added);
        pods.filter(|write| write.object.text("/spec/containers/0/image") != "b")
            .count()
    };
    scene.look(made) - 1
}

// proves: field/FR-DP-12, deployment/D-20
#[test]
fn by_default_one_update_makes_old_pods_first() {
    scenario(async |scene| assert_eq!(old_pods_made(scene, deployment("web")).await, 2));
}

// proves: field/FR-DP-12
#[test]
fn on_request_one_update_makes_no_old_pod() {
    ours_only(async |scene| {
        let careful = deployment("web").opt_in("deployment.never-grow-old", "true");
        assert_eq!(old_pods_made(scene, careful).await, 0);
    });
}
