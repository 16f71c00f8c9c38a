//! Changes of a Deployment's size, in and out of rollouts.

use serde_json::json;
use testkit::builders::{Templated as _, deployment};
use testkit::object::Stored;
use testkit::record::State;
use testkit::{Scene, names};
use workload_core::id::Kind;

use crate::adopted::{old_set, until_known};
use crate::rolling::stuck_rollout;
use crate::scenario;

/// True if every one of these ReplicaSets remembers `desired` as the Deployment's size and `max` as the most pods allowed.
fn all_remember(sets: &[&Stored], desired: u32, max: u32) -> bool {
    let is = |set: &Stored, key, count: u32| set.annotation(key) == Some(&*count.to_string());
    sets.iter().all(|set| {
        is(set, "deployment.kubernetes.io/desired-replicas", desired)
            && is(set, "deployment.kubernetes.io/max-replicas", max)
    })
}

// proves: deployment/T-2, deployment/D-22, deployment/D-24
#[test]
fn scaling_in_the_middle_of_a_rollout_keeps_the_proportions() {
    scenario(async |scene| {
        stuck_rollout(scene, deployment("web")).await;
        for (size, expected) in [(30, [20, 13]), (10, [8, 5])] {
            scene.scale(Kind::DEPLOYMENT, "web", size).await;
            let scaled =
                |state: &State| state.sizes() == expected && all_remember(&state.replica_sets(), size, size + 3);
            scene.until("the new sizes", scaled).await;
        }
    });
}

/// A Deployment whose ReplicaSets v1, v2, … have these sizes, and that is then scaled.
struct Proportions {
    name: &'static str,
    sizes: &'static [u32],
    /// Which of them has the Deployment's template, counted from 1.
    new: u32,
    surge: u32,
    to: u32,
    expected: &'static [i64],
}

impl Proportions {
    async fn set_up(&self, scene: &Scene) {
        let total: u32 = self.sizes.iter().sum();
        for (hash, size) in (1..).zip(self.sizes) {
            let set = old_set(self.name, &format!("v{hash}"), *size, total - self.surge, total);
            scene.create(set.image(&format!("v{hash}"))).await;
        }
        until_known(scene).await;
        let unavailable = u32::from(self.surge == 0);
        let web = deployment(self.name).paused().image(&format!("v{}", self.new));
        scene
            .create(web.replicas(total - self.surge).rolling(self.surge, unavailable))
            .await;
        scene
            .until("all adopted", |state| self.sets(state).len() == self.sizes.len())
            .await;
    }

    fn sets<'a>(&self, state: &'a State) -> Vec<&'a Stored> {
        let owner = state.deployment(self.name);
        let is_ours = |set: &&Stored| owner.is_some_and(|owner| set.is_controlled_by(owner));
        state.replica_sets().into_iter().filter(is_ours).collect()
    }

    fn is_scaled(&self, state: &State) -> bool {
        let sets = self.sets(state);
        let sizes = sets.iter().map(|set| set.size());
        sizes.eq(self.expected.iter().copied()) && all_remember(&sets, self.to, self.to + self.surge)
    }
}

// proves: deployment/T-6, deployment/D-21, deployment/D-22, field/FR-DP-11
#[test]
fn what_proportions_leave_over_goes_to_the_largest_set_and_among_equals_by_age() {
    scenario(async |scene| {
        let cases = [
            Proportions {
                name: "newest-grows",
                sizes: &[1, 1, 1],
                new: 3,
                surge: 0,
                to: 4,
                expected: &[1, 1, 2],
            },
            Proportions {
                name: "oldest-shrinks",
                sizes: &[1, 1, 1],
                new: 3,
                surge: 0,
                to: 2,
                expected: &[0, 1, 1],
            },
            Proportions {
                name: "large-shrinks",
                sizes: &[1, 8],
                new: 2,
                surge: 0,
                to: 4,
                expected: &[0, 4],
            },
            Proportions {
                name: "largest-grows",
                sizes: &[2, 3, 2],
                new: 3,
                surge: 0,
                to: 10,
                expected: &[3, 4, 3],
            },
            Proportions {
                name: "surge-counts",
                sizes: &[8, 5],
                new: 2,
                surge: 3,
                to: 20,
                expected: &[14, 9],
            },
        ];
        for case in cases {
            case.set_up(scene).await;
            scene.scale(Kind::DEPLOYMENT, case.name, case.to).await;
            scene.until(case.name, |state| case.is_scaled(state)).await;
        }
    });
}

// proves: deployment/T-7, deployment/D-22, deployment/D-90, deployment/D-62
#[test]
fn terminating_pods_do_not_count_when_a_deployment_is_scaled() {
    scenario(async |scene| {
        scene.settle(deployment("web").replicas(20).rolling(4, 0)).await;
        scene.kubelet().keep_terminating();
        let terminating = |state: &State| state.deployment("web").unwrap().count("terminatingReplicas");
        for pod in scene.look(|state| names(state.pods().into_iter().take(3))) {
            scene.delete(Kind::POD, &pod).await;
        }
        scene
            .until("3 are terminating and replaced", |state| {
                terminating(state) == 3 && state.deployment("web").unwrap().count("availableReplicas") == 20
            })
            .await;

        scene.kubelet().start_image_only("a");
        scene.set_image("web", "b").await;
        scene
            .until("4 new pods", |state| {
                state.sizes() == [20, 4] && terminating(state) == 3
            })
            .await;
        let new = scene
            .find("a new pod", |state| {
                Some(state.pods_of(state.replica_sets()[1]).first()?.name().to_owned())
            })
            .await;
        scene.kubelet().bind(&new, "node").await;
        scene.delete(Kind::POD, &new).await;
        scene
            .until("it is replaced", |state| {
                terminating(state) == 4 && state.deployment("web").unwrap().count("replicas") == 24
            })
            .await;
        scene.scale(Kind::DEPLOYMENT, "web", 24).await;
        let scaled = |state: &State| state.sizes() == [23, 5] && all_remember(&state.replica_sets(), 24, 28);
        scene.until("proportional sizes", scaled).await;
    });
}

// proves: deployment/T-8, deployment/D-20, deployment/D-22, deployment/D-31
#[test]
fn a_rollout_scaled_to_nothing_and_back_has_only_the_new_set_left() {
    scenario(async |scene| {
        for (hash, size) in [("v1", 3), ("v2", 2), ("v3", 1)] {
            scene.create(old_set("web", hash, size, 6, 6).image(hash)).await;
        }
        until_known(scene).await;
        scene
            .create(deployment("web").image("v3").replicas(6).rolling(0, 1))
            .await;
        scene
            .until("the rollout waits", |state| {
                state.deployment("web").unwrap().count("replicas") == 6 && state.sizes() == [3, 2, 1]
            })
            .await;
        scene.scale(Kind::DEPLOYMENT, "web", 0).await;
        scene.until("all are empty", |state| state.sizes() == [0, 0, 0]).await;
        scene
            .until("the status says so", |state| {
                state.deployment("web").unwrap().is_rolled_out()
            })
            .await;
        scene.scale(Kind::DEPLOYMENT, "web", 6).await;
        scene
            .until("the new set has all", |state| state.sizes() == [0, 0, 6])
            .await;
        assert_eq!(scene.look(State::sizes_given).last(), Some(&(3, 6)));
        assert_eq!(scene.look(State::sizes_given).len(), 3 + 3 + 1);
    });
}

// proves: deployment/D-21, deployment/D-71, deployment/K-6
#[test]
fn scaling_a_finished_deployment_is_no_new_rollout() {
    scenario(async |scene| {
        scene.settle(deployment("web").replicas(2)).await;
        let progressing = |state: &State| state.deployment("web").unwrap().condition("Progressing").cloned();
        let before = scene.look(progressing);
        let scale = json!({"spec": {"replicas": 5}});
        scene.api().merge(Kind::DEPLOYMENT, "web/scale", &scale).await.unwrap();
        scene
            .until("five replicas", |state| state.deployment("web").unwrap().size() == 5)
            .await;
        scene.until_settled("web").await;
        assert_eq!(scene.look(State::sizes_given), [(1, 2), (1, 5)]);
        assert_eq!(scene.look(progressing), before);
    });
}
