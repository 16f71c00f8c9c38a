//! A large Deployment, at about a fifth of its full size.

use testkit::builders::{Templated as _, deployment};
use testkit::record::{Change, State};
use workload_core::id::Kind;

use crate::scenario;

const PODS: u32 = 100;

// proves: deployment/K-10
#[test]
fn a_large_deployment_comes_up_and_rolls_within_its_bounds_and_without_a_surplus_pod() {
    scenario(async |scene| {
        scene
            .settle(deployment("web").replicas(PODS).rolling("25%", "25%"))
            .await;
        let start = scene.set_image("web", "b").await;
        scene.until_settled("web").await;
        scene.never_outside(start.version(), 125, 75);
        assert_eq!(scene.look(State::sizes), [0, i64::from(PODS)]);
        let times = |change| scene.look(|state| state.writes(Kind::POD).filter(|write| write.change == change).count());
        assert_eq!((times(Change::Added), times(Change::Deleted)), (200, 100));
    });
}
