//! A fleet of Deployments at rest.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::future::join_all;
use testkit::builders::{Deployment, Manifest as _, Templated as _, deployment};
use testkit::cluster::{Cluster, Part, alone};
use testkit::object::Stored;
use testkit::record::{Change, State};
use testkit::{Scene, Subject, on};
use workload_core::id::Kind;

use super::{Loops, begin, writes};
use testkit::reign::Reign;

/// How many Deployments.
const FLEET: usize = 50;
/// The one that is rolled.
const ROLLED: &str = "web-0";
/// How long a cluster at rest is watched.
const WATCHED: Duration = Duration::from_secs(3);

fn web(name: &str) -> Deployment {
    deployment(name).label("team", "shop").annotation("note", "1")
}

// proves: deployment/T-23, deployment/I-1, deployment/I-6, deployment/I-9, deployment/I-10, deployment/I-13,
// deployment/W-25, deployment/D-6
#[test]
fn a_fleet_at_rest_changes_hands_twice_without_a_write() {
    alone(async |cluster| {
        on(cluster.server(), async |scene| {
            settle_fleet(scene).await;
            let (at_rest, sets) = scene.look(|state| (writes(state), described(state)));

            cluster.stop(Part::ControllerManager).await;
            let ours = take_over(cluster, scene).await;
            assert_eq!(scene.look(writes), at_rest);

            scene.set_image(ROLLED, "b").await;
            until_at_rest(scene).await;
            let new = scene.look(|state| set_of(state, ROLLED, "b"));
            assert_eq!(new.revision(), Some("2"));
            assert_ne!(new.name(), name_by_upstream(cluster, ours).await);
            let rest = |mut sets: BTreeSet<String>| {
                sets.retain(|set| !set.starts_with(ROLLED));
                sets
            };
            assert_eq!(scene.look(|state| rest(described(state))), rest(sets));

            let rolled = scene.look(writes);
            scene.quiet_for(WATCHED).await;
            assert_eq!(scene.look(writes), rolled, "kube-controller-manager has written");

            let undo = ["rollout", "undo", &format!("deployment/{ROLLED}")];
            scene.kubectl(&undo).await.printed();
            scene
                .until("the old set is back", |state| {
                    set_of(state, ROLLED, "a").revision() == Some("3")
                })
                .await;
            until_at_rest(scene).await;
            scene.look(assert_nothing_but_two_rollouts);
        })
        .await;
    });
}

async fn settle_fleet(scene: &Scene) {
    scene.kubelet().auto();
    join_all((0..FLEET).map(|at| scene.create(web(&format!("web-{at}"))))).await;
    until_at_rest(scene).await;
}

async fn until_at_rest(scene: &Scene) {
    let at_rest = |state: &State| {
        let over = |web: &&Stored| web.is_rolled_out() && web.says("Progressing") == "True NewReplicaSetAvailable";
        let shown = |set: &&Stored| set.is_observed() && set.count("replicas") == set.size();
        let webs = state.all(Kind::DEPLOYMENT);
        webs.len() == FLEET
            && webs.iter().all(over)
            && state.replica_sets().iter().all(shown)
            && state.pods().len() == FLEET
            && [webs, state.replica_sets()]
                .concat()
                .iter()
                .all(|object| object.count("terminatingReplicas") == 0)
    };
    scene.until("the fleet is at rest", at_rest).await;
    scene.until_quiet_for(Duration::from_secs(1)).await;
}

/// We take over from nobody, and have had a look at every object.
async fn take_over(cluster: &Cluster, scene: &Scene) -> Reign {
    let reign = begin(cluster, Subject::Ours, Loops::Both).await;
    if let Reign::Ours(ours) = &reign {
        let looked_at = async |queue| {
            let labels = [("name", queue), ("result", "done")];
            ours.metrics()
                .await
                .count("reconcile_turn_duration_seconds_count", &labels)
        };
        let fleet = u64::try_from(FLEET).unwrap();
        scene
            .eventually("every Deployment and ReplicaSet had its turn", async || {
                looked_at("deployment").await >= fleet && looked_at("replicaset").await >= fleet
            })
            .await;
    }
    scene.quiet_for(WATCHED).await;
    reign
}

/// Hands back to upstream; how does it call the ReplicaSet of the rolled Deployment's new template?
async fn name_by_upstream(cluster: &Cluster, ours: Reign) -> String {
    if let Reign::Ours(ours) = ours {
        ours.stop().await;
    }
    let upstream = begin(cluster, Subject::Upstream, Loops::Both).await;
    assert!(matches!(upstream, Reign::Upstream));
    let mut name = String::new();
    on(cluster.server(), async |scene| {
        scene.create(web(ROLLED).image("b")).await;
        name = scene
            .find("upstream's ReplicaSet", |state| {
                Some(state.replica_sets().first()?.name().to_owned())
            })
            .await;
    })
    .await;
    name
}

fn set_of(state: &State, deployment: &str, image: &str) -> Stored {
    let owner = state.deployment(deployment).unwrap();
    let sets = state.replica_sets();
    let found = sets
        .into_iter()
        .find(|set| set.is_controlled_by(owner) && set.image() == image);
    found.unwrap().clone()
}

/// Every ReplicaSet by name, with what names its pods and its owner.
fn described(state: &State) -> BTreeSet<String> {
    let words = |set: &Stored| {
        let owner = set.controller().unwrap();
        let (labels, selector) = (set.at("/metadata/labels"), set.at("/spec/selector"));
        format!("{} {labels} {selector} {owner}", set.name())
    };
    state.replica_sets().into_iter().map(words).collect()
}

fn assert_nothing_but_two_rollouts(state: &State) {
    let made = |kind| state.writes(kind).filter(|write| write.change == Change::Added).count();
    assert_eq!(made(Kind::REPLICA_SET), FLEET + 1);
    assert_eq!(made(Kind::POD), FLEET + 2);
    let old = set_of(state, ROLLED, "a");
    assert_eq!(old.annotation("deployment.kubernetes.io/revision-history"), Some("1"));
    let event_sources: BTreeSet<_> = state
        .events(ROLLED, "ScalingReplicaSet")
        .iter()
        .map(|event| event.text("/source/component").to_owned())
        .collect();
    assert_eq!(event_sources, BTreeSet::from(["deployment-controller".to_owned()]));
    for object in [state.replica_sets(), state.pods()].concat() {
        assert_eq!(object.controller().unwrap()["blockOwnerDeletion"], true);
        assert!(object.at("/metadata/finalizers").is_null());
    }
}
