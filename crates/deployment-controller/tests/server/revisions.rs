//! Revisions, annotations, history and rollback.

use serde_json::json;
use testkit::builders::{Manifest as _, Templated as _, deployment};
use testkit::record::{Change, State};
use workload_core::id::Kind;

use crate::adopted::{old_set, until_known};
use crate::{scenario, web};

const REVISION: &str = "deployment.kubernetes.io/revision";

// proves: deployment/T-24, deployment/D-9, deployment/D-11, deployment/A-2
#[test]
fn an_annotation_reaches_the_new_set_by_one_write_and_stays_there() {
    scenario(async |scene| {
        scene.settle(deployment("web").replicas(2)).await;
        let (before, writes) = scene.look(|state| (web(state), state.writes(Kind::REPLICA_SET).count()));
        let pods = scene.look(|state| state.writes(Kind::POD).count());
        scene
            .merge(
                Kind::DEPLOYMENT,
                "web",
                json!({"metadata": {"annotations": {"note": "1"}}}),
            )
            .await;
        let copied =
            |state: &State| state.replica_sets()[0].annotation("note") == Some("1") && web(state).is_observed();
        scene.until("the annotation is copied", copied).await;
        scene
            .merge(
                Kind::DEPLOYMENT,
                "web",
                json!({"metadata": {"annotations": {"note": null}}}),
            )
            .await;
        scene
            .until("the removal is observed", |state| web(state).is_observed())
            .await;
        assert_eq!(scene.look(web).generation(), before.generation() + 2);
        let set = scene.look(|state| state.replica_sets()[0].clone());
        assert_eq!((set.annotation("note"), set.generation()), (Some("1"), 1));
        assert_eq!(scene.look(|state| state.writes(Kind::REPLICA_SET).count()), writes + 1);
        assert_eq!(scene.look(|state| state.writes(Kind::POD).count()), pods);
    });
}

// proves: deployment/T-24, deployment/D-31, deployment/D-33, deployment/D-34
#[test]
fn sizes_that_somebody_edits_are_put_right_without_a_new_revision() {
    scenario(async |scene| {
        scene.settle(deployment("web").replicas(3).rolling(1, 0)).await;
        scene.set_image("web", "b").await;
        scene.until_settled("web").await;
        scene.kubelet().manual();
        let [old, new] = scene.look(|state| [0, 1].map(|at| state.replica_sets()[at].name().to_owned()));
        for (set, size) in [(&new, 5), (&old, 2)] {
            scene.scale(Kind::REPLICA_SET, set, size).await;
            scene
                .until("the sizes are right", |state| {
                    state.sizes() == [0, 3] && web(state).is_observed()
                })
                .await;
        }
        let given = scene.look(State::sizes_given);
        assert_eq!(given[given.len() - 4..], [(2, 5), (2, 3), (1, 2), (1, 0)]);
        assert_eq!(
            scene.look(|state| state
                .replica_sets()
                .iter()
                .map(|set| set.revision().unwrap().to_owned())
                .collect::<Vec<_>>()),
            ["1", "2"]
        );
    });
}

// proves: deployment/D-13, deployment/D-9, deployment/C-65, deployment/D-16, deployment/C-13
#[test]
fn a_new_replica_set_says_all_that_clients_look_for() {
    scenario(async |scene| {
        let manifest = deployment("web")
            .replicas(4)
            .rolling(1, 0)
            .min_ready_seconds(1)
            .label("tier", "front");
        let manifest = manifest
            .annotation("kubernetes.io/change-cause", "first")
            .annotation("kubectl.kubernetes.io/last-applied-configuration", "{}");
        let expressions = json!([{"key": "app", "operator": "Exists"}]);
        scene
            .create(manifest.set("/spec/selector/matchExpressions", expressions.clone()))
            .await;
        let revised = |state: &State| {
            Some(
                state
                    .replica_sets()
                    .first()
                    .filter(|_| web(state).revision().is_some())
                    .copied()?
                    .clone(),
            )
        };
        let set = scene.find("the set", revised).await;
        let owner = scene.look(web);

        let hash = set.label("pod-template-hash").unwrap();
        assert!(
            hash.len() <= 10 && hash.chars().all(|c| "bcdfghjklmnpqrstvwxz2456789".contains(c)),
            "{hash}"
        );
        assert_eq!(set.name(), format!("web-{hash}"));
        assert_eq!(
            set.at("/metadata/labels"),
            &json!({"app": "web", "pod-template-hash": hash})
        );
        assert_eq!(
            set.at("/spec/selector"),
            &json!({"matchLabels": {"app": "web", "pod-template-hash": hash}, "matchExpressions": expressions})
        );
        assert_eq!(set.at("/spec/template/metadata/labels"), set.at("/metadata/labels"));
        assert_eq!(set.at("/spec/template/spec"), owner.at("/spec/template/spec"));
        assert_eq!((set.size(), set.number("/spec/minReadySeconds")), (4, 1));
        let annotations = json!({
            "kubernetes.io/change-cause": "first",
            "deployment.kubernetes.io/revision": "1",
            "deployment.kubernetes.io/desired-replicas": "4",
            "deployment.kubernetes.io/max-replicas": "5",
        });
        assert_eq!(set.at("/metadata/annotations"), &annotations);
        let reference = json!([{
            "apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": owner.uid(),
            "controller": true, "blockOwnerDeletion": true,
        }]);
        assert_eq!(set.at("/metadata/ownerReferences"), &reference);
    });
}

// proves: deployment/D-16
#[test]
fn the_longest_deployment_name_leaves_room_for_the_hash() {
    scenario(async |scene| {
        // A label value, such as the builder's `app`, is at most 63 characters long.
        let name = "n".repeat(253);
        let labels = json!({"app": "web"});
        let manifest = deployment(&name)
            .set("/spec/selector/matchLabels", labels.clone())
            .set("/spec/template/metadata/labels", labels);
        scene.settle(manifest).await;
        let set = scene.look(|state| state.replica_sets()[0].clone());
        let hash = set.label("pod-template-hash").unwrap();
        assert_eq!(set.name(), format!("{}-{hash}", &name[..252 - hash.len()]));
    });
}

// proves: deployment/T-14, deployment/D-8
#[test]
fn revisions_go_on_from_the_highest_that_was_adopted() {
    scenario(async |scene| {
        scene
            .create(
                old_set("web", "v1", 0, 1, 2)
                    .image("old")
                    .annotation(REVISION, "3546343826724305832"),
            )
            .await;
        until_known(scene).await;
        scene.settle(deployment("web")).await;
        let revisions = scene.look(|state| {
            state
                .replica_sets()
                .iter()
                .map(|set| set.revision().unwrap().to_owned())
                .collect::<Vec<_>>()
        });
        assert_eq!(revisions, ["3546343826724305832", "3546343826724305833"]);
    });
}

// proves: deployment/T-16, deployment/D-55, deployment/D-56
#[test]
fn old_sets_beyond_the_history_limit_go_once_the_rollout_is_over() {
    scenario(async |scene| {
        let by_revision = [("v1", "3"), ("v2", "1"), ("v3", "4"), ("v4", "2")];
        for (name, limit, stay) in [("none", 0, &[][..]), ("two", 2, &["two-v1", "two-v3"][..])] {
            for (hash, revision) in by_revision {
                scene
                    .create(old_set(name, hash, 0, 1, 2).image(hash).annotation(REVISION, revision))
                    .await;
            }
            until_known(scene).await;
            scene.create(deployment(name).history_limit(limit)).await;
            scene
                .until("all are adopted", |state| {
                    adopted(state, name).len() == by_revision.len() + 1
                })
                .await;
            let new = scene.look(|state| adopted(state, name).pop().unwrap());
            scene.kubelet().auto();
            let expected: Vec<_> = stay.iter().map(|name| (*name).to_owned()).chain([new]).collect();
            scene.until(name, |state| adopted(state, name) == expected).await;
            scene.kubelet().manual();
            let first_gone = |write: &&testkit::record::Version| {
                write.change == Change::Deleted && write.object.name().starts_with(name)
            };
            scene.look(|state| {
                let gone = state
                    .writes(Kind::REPLICA_SET)
                    .find(first_gone)
                    .unwrap()
                    .object
                    .version();
                let complete = state
                    .writes(Kind::DEPLOYMENT)
                    .find(|write| write.object.name() == name && write.object.is_rolled_out())
                    .unwrap();
                assert!(
                    complete.object.version() < gone,
                    "{name}: a set went before the rollout was over"
                );
            });
        }
    });
}

/// Names of the ReplicaSets of a Deployment.
fn adopted(state: &State, deployment: &str) -> Vec<String> {
    let owner = state.deployment(deployment);
    testkit::names(
        state
            .replica_sets()
            .into_iter()
            .filter(|set| owner.is_some_and(|owner| set.is_controlled_by(owner))),
    )
}

// proves: deployment/T-16, deployment/D-55, deployment/D-25
#[test]
fn an_old_set_that_still_has_pods_is_skipped_and_nothing_goes_in_its_place() {
    scenario(async |scene| {
        for (hash, size, revision) in [("v1", 1, "1"), ("v2", 0, "2"), ("v3", 0, "3")] {
            scene
                .create(
                    old_set("web", hash, size, 1, 2)
                        .image(hash)
                        .annotation(REVISION, revision),
                )
                .await;
        }
        scene
            .until("all are counted", |state| {
                state
                    .replica_sets()
                    .iter()
                    .all(|set| set.is_observed() && set.count("replicas") == set.size())
            })
            .await;
        scene.create(deployment("web").history_limit(1).paused()).await;
        scene.until("one is gone", |state| state.replica_sets().len() < 3).await;
        scene
            .holds_for(std::time::Duration::from_secs(1), "the others stay", |state| {
                testkit::names(state.replica_sets()) == ["web-v1", "web-v3"]
            })
            .await;
    });
}

// proves: deployment/D-10, deployment/D-9
#[test]
fn a_set_whose_revision_is_no_number_is_left_as_it_is() {
    scenario(async |scene| {
        scene.settle(deployment("web")).await;
        let set = scene.look(|state| state.replica_sets()[0].name().to_owned());
        let broken = json!({"metadata": {"annotations": {REVISION: "first"}}});
        scene.merge(Kind::REPLICA_SET, &set, broken).await;
        let note = json!({"metadata": {"annotations": {"note": "1"}}});
        scene.merge(Kind::DEPLOYMENT, "web", note).await;
        scene.until("it is observed", |state| web(state).is_observed()).await;
        let set = scene.look(|state| state.replica_sets()[0].clone());
        assert_eq!((set.revision(), set.annotation("note")), (Some("first"), None));
    });
}
