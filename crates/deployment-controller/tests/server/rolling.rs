//! Rolling updates.

use std::time::Duration;

use serde_json::json;
use testkit::Scene;
use testkit::builders::{Deployment, Manifest as _, Templated as _, deployment};
use testkit::record::State;
use workload_core::id::Kind;

use crate::adopted::{old_set, until_known};
use crate::{ours_only, scenario};

/// T-1's Deployment: ten replicas, three more, two fewer; pods of image `a` get ready, others never.
pub(crate) async fn stuck_rollout(scene: &Scene, web: Deployment) {
    scene.settle(web.replicas(10).rolling(3, 2)).await;
    scene.kubelet().auto_for_image("a");
    scene.set_image("web", "b").await;
    scene
        .until("8 old and 5 new pods", |state| {
            state.sizes() == [8, 5] && counts(state) == [13, 5, 8, 8]
        })
        .await;
}

/// The Deployment's replicas, updated, ready and available replicas.
fn counts(state: &State) -> [i64; 4] {
    let fields = ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"];
    state
        .deployment("web")
        .map_or([0; 4], |web| fields.map(|field| web.count(field)))
}

// proves: deployment/T-1, deployment/D-13, deployment/D-31, deployment/D-33, deployment/D-35, deployment/D-60,
// deployment/D-61, deployment/D-73, deployment/D-74, deployment/K-6, field/FR-DP-08
#[test]
fn a_rollout_whose_pods_never_get_ready_stops_at_its_bounds_and_fails_after_its_deadline() {
    scenario(async |scene| {
        stuck_rollout(scene, deployment("web").deadline_seconds(4)).await;
        assert_eq!(scene.look(State::sizes_given), [(1, 10), (2, 3), (1, 8), (2, 5)]);
        let scale = scene.api().get(Kind::DEPLOYMENT, "web/scale").await.unwrap();
        assert_eq!(
            (&scale["spec"]["replicas"], &scale["status"]["replicas"]),
            (&json!(10), &json!(13))
        );
        let exceeded = "False ProgressDeadlineExceeded";
        scene
            .until(exceeded, |state| {
                state.deployment("web").unwrap().says("Progressing") == exceeded
            })
            .await;
        // Not at one moment: the deadline may be over before the test looks.
        let said = scene.look(|state| {
            let writes = state.writes(Kind::DEPLOYMENT);
            let mut said: Vec<_> = writes.map(|write| write.object.says("Progressing")).collect();
            said.dedup();
            said
        });
        assert_eq!(said[said.len() - 2..], ["True ReplicaSetUpdated", exceeded], "{said:?}");
        let says = |condition| scene.look(|state| state.deployment("web").unwrap().says(condition));
        assert_eq!(says("Available"), "True MinimumReplicasAvailable");
        assert_eq!(scene.look(State::sizes), [8, 5]);
        assert_eq!(
            scene.look(|state| state.deployment("web").unwrap().count("unavailableReplicas")),
            5
        );
        scene.kubelet().auto();
        scene.until_settled("web").await;
        assert_eq!(says("Progressing"), "True NewReplicaSetAvailable");
    });
}

// proves: deployment/D-30, deployment/D-31, deployment/D-33, deployment/D-35, deployment/K-10
#[test]
fn a_rollout_stays_within_its_bounds_at_every_moment() {
    scenario(async |scene| {
        scene.settle(deployment("web").replicas(10).rolling("25%", "25%")).await;
        let start = scene.set_image("web", "b").await;
        scene.until_settled("web").await;
        assert_eq!(scene.look(State::sizes), [0, 10]);
        scene.never_outside(start.version(), 13, 8);
    });
}

// proves: deployment/T-3, deployment/D-33, deployment/D-34, deployment/D-8, deployment/D-10
#[test]
fn undoing_a_broken_rollout_removes_its_pods_first_and_gives_the_old_set_a_new_revision() {
    scenario(async |scene| {
        stuck_rollout(scene, deployment("web")).await;
        scene.kubelet().manual();
        let lost = scene.look(|state| state.pods_of(state.replica_sets()[0])[0].name().to_owned());
        scene.delete(Kind::POD, &lost).await;
        scene
            .until("one old pod is not available", |state| counts(state)[3] == 7)
            .await;
        scene.kubelet().end(&lost).await;

        scene.set_image("web", "a").await;
        scene
            .until("the broken set is at 1, the good one at 10", |state| {
                state.sizes() == [10, 1]
            })
            .await;
        let given = scene.look(State::sizes_given);
        assert_eq!(given[given.len() - 2..], [(2, 1), (1, 10)]);
        scene.kubelet().auto_for_image("a");
        scene.until_settled("web").await;
        assert_eq!(scene.look(State::sizes), [10, 0]);
        let good = scene.look(|state| state.replica_sets()[0].clone());
        assert_eq!(good.revision(), Some("3"));
        assert_eq!(good.annotation("deployment.kubernetes.io/revision-history"), Some("1"));
        assert_eq!(
            scene.look(|state| state.deployment("web").unwrap().clone()).revision(),
            Some("3")
        );
    });
}

// proves: deployment/T-4, deployment/D-13, deployment/D-34
#[test]
fn a_rollover_starts_its_set_empty_and_takes_the_room_of_the_set_that_never_got_ready() {
    scenario(async |scene| {
        stuck_rollout(scene, deployment("web")).await;
        scene.set_image("web", "c").await;
        scene
            .until("the third set has the room of the second", |state| {
                state.sizes() == [8, 0, 5]
            })
            .await;
        let given = scene.look(State::sizes_given);
        assert_eq!(given[given.len() - 3..], [(3, 0), (2, 0), (3, 5)]);
        let third = scene.look(|state| state.replica_sets()[2].name().to_owned());
        let told = |state: &State| -> Vec<String> {
            let events = state.events("web", "ScalingReplicaSet");
            events
                .iter()
                .map(|event| event.text("/message").to_owned())
                .filter(|text| text.contains(&third))
                .collect()
        };
        scene.until("the event", |state| !told(state).is_empty()).await;
        assert_eq!(scene.look(told), [format!("Scaled up replica set {third} from 0 to 5")]);
    });
}

// proves: deployment/T-5, deployment/D-30
#[test]
fn a_single_replica_without_surge_goes_down_before_it_comes_up() {
    scenario(async |scene| {
        scene.settle(deployment("web").rolling(0, "1%")).await;
        scene.set_image("web", "b").await;
        scene.until_settled("web").await;
        assert_eq!(scene.look(State::sizes_given), [(1, 1), (2, 0), (1, 0), (2, 1)]);
    });
}

// proves: deployment/T-5, deployment/D-30, deployment/D-33
#[test]
fn a_single_replica_with_surge_stays_until_its_successor_is_available() {
    scenario(async |scene| {
        scene.settle(deployment("web")).await;
        scene.kubelet().manual();
        scene.set_image("web", "b").await;
        let new = scene
            .find("the new pod", |state| Some(state.pods().get(1)?.name().to_owned()))
            .await;
        scene
            .holds_for(Duration::from_secs(1), "both sets have one pod", |state| {
                state.sizes() == [1, 1]
            })
            .await;
        scene.kubelet().ready(&new).await;
        scene
            .until("the old set is empty", |state| state.sizes() == [0, 1])
            .await;
        assert_eq!(scene.look(State::sizes_given), [(1, 1), (2, 1), (1, 0)]);
    });
}

// proves: deployment/T-25, deployment/D-20, deployment/L-1
#[test]
fn a_rollout_goes_on_after_its_size_was_set_to_that_of_the_old_set() {
    // Upstream takes the stale annotation for a scaling event for ever.
    ours_only(async |scene| {
        scene.kubelet().auto();
        for (hash, image, size, revision) in [("v1", "a", 4, "1"), ("v2", "b", 0, "2")] {
            let set = old_set("web", hash, size, 5, 5).image(image);
            scene
                .create(set.annotation("deployment.kubernetes.io/revision", revision))
                .await;
        }
        until_known(scene).await;
        scene
            .create(deployment("web").image("b").replicas(4).rolling(0, 1))
            .await;
        scene.until_settled("web").await;
        assert_eq!(scene.look(State::sizes), [0, 4]);
    });
}

// proves: deployment/T-12, deployment/D-14, deployment/D-8, deployment/C-63
#[test]
fn a_template_changed_under_its_hash_leads_to_a_new_set_under_another_hash() {
    scenario(async |scene| {
        scene.settle(deployment("web").replicas(2)).await;
        let set = scene.look(|state| state.replica_sets()[0].name().to_owned());
        let containers = json!([{"name": "main", "image": "tampered"}]);
        let patch = json!({"spec": {"template": {"spec": {"containers": containers}}}});
        scene.merge(Kind::REPLICA_SET, &set, patch).await;
        scene.until("a second set", |state| state.sizes() == [0, 2]).await;
        scene.until_settled("web").await;
        let (web, new) = scene.look(|state| {
            (
                state.deployment("web").unwrap().clone(),
                state.replica_sets()[1].clone(),
            )
        });
        assert_eq!(web.count("collisionCount"), 1);
        assert_eq!((web.revision(), new.revision()), (Some("2"), Some("2")));
        assert_eq!(new.image(), "a");
        assert_ne!(
            new.label("pod-template-hash"),
            scene
                .look(|state| state.replica_sets()[0].clone())
                .label("pod-template-hash")
        );
    });
}

// proves: deployment/D-60, deployment/RS-20, deployment/RS-30
#[test]
fn a_pod_counts_as_available_only_after_its_minimum_ready_time() {
    scenario(async |scene| {
        scene
            .settle(deployment("web").replicas(2).rolling(0, 1).min_ready_seconds(2))
            .await;
        scene.set_image("web", "b").await;
        scene.until_settled("web").await;
        // With one pod at a time, each waits out its two seconds before the next old one goes.
        let deleted: Vec<i64> = scene.look(|state| {
            let shrunk = state
                .writes(Kind::REPLICA_SET)
                .filter(|write| write.before.is_some() && write.changed("/spec/replicas"));
            shrunk.map(|write| write.object.size()).collect()
        });
        assert_eq!(deleted, [1, 1, 0, 2]);
    });
}

// proves: deployment/D-20, deployment/D-22, field/FR-DP-12
#[test]
fn a_change_of_size_and_template_at_once_scales_the_old_set_first() {
    scenario(async |scene| {
        scene.settle(deployment("web")).await;
        let template = json!({"spec": {"containers": [{"name": "main", "image": "b"}]}});
        scene
            .merge(
                Kind::DEPLOYMENT,
                "web",
                json!({"spec": {"replicas": 3, "template": template}}),
            )
            .await;
        scene.until_settled("web").await;
        assert_eq!(scene.look(State::sizes_given)[..2], [(1, 1), (1, 3)]);
        assert_eq!(scene.look(State::sizes), [0, 3]);
    });
}

// proves: deployment/D-63, deployment/K-10
#[test]
fn conditions_of_others_survive_a_rollout() {
    scenario(async |scene| {
        scene.settle(deployment("web")).await;
        let mut conditions = scene.look(|state| state.deployment("web").unwrap().at("/status/conditions").clone());
        let foreign = json!({"type": "Foreign", "status": "True", "reason": "Test", "message": "mine", "lastUpdateTime": "2026-01-02T03:04:05Z", "lastTransitionTime": "2026-01-02T03:04:05Z"});
        conditions.as_array_mut().unwrap().insert(0, foreign.clone());
        scene
            .merge(
                Kind::DEPLOYMENT,
                "web/status",
                json!({"status": {"conditions": conditions}}),
            )
            .await;
        scene.set_image("web", "b").await;
        scene.until_settled("web").await;
        assert_eq!(
            scene.look(|state| state.deployment("web").unwrap().condition("Foreign").cloned()),
            Some(foreign)
        );
    });
}
