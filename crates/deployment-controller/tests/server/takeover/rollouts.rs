//! Rollouts under way.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::{join, join_all};
use serde_json::{Value, json};
use testkit::builders::{Deployment, Templated as _, deployment};
use testkit::cluster::{Cluster, alone};
use testkit::object::Stored;
use testkit::record::{Change, State};
use testkit::{Scene, Subject, on};
use tokio::sync::Barrier;
use workload_core::id::Kind;

use super::{Loops, begin, writes};
use crate::web;
use testkit::reign::Reign;

/// How far a rollout of `web` from image `a` to image `b` has come when another one takes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Point {
    /// It is over: what the others have to lead to.
    Over,
    /// The new ReplicaSet was made and has its size, but none of its pods was made.
    SetMade,
    /// Old pods have gone, new ones are not ready.
    HalfWay,
    /// As [`Point::HalfWay`], and paused.
    Paused,
    /// All new pods are available, all old ones are terminating.
    LastPods,
    /// With the strategy Recreate: it is over.
    RecreateOver,
    /// With the strategy Recreate: all old pods are terminating, there is no new ReplicaSet.
    RecreateHeld,
}

const POINTS: [Point; 7] = [
    Point::Over,
    Point::SetMade,
    Point::HalfWay,
    Point::Paused,
    Point::LastPods,
    Point::RecreateOver,
    Point::RecreateHeld,
];

// proves: deployment/I-2, deployment/I-3, deployment/I-6, deployment/I-9, deployment/I-10, deployment/D-41,
// deployment/K-10
#[test]
fn rollouts_begun_by_upstream_are_finished_by_us_as_if_nothing_had_happened() {
    alone(async |cluster| changing_hands(cluster, Subject::Upstream, Subject::Ours).await);
}

// proves: deployment/I-2, deployment/I-6, deployment/I-9, deployment/I-10
#[test]
fn rollouts_begun_by_us_are_finished_by_upstream_as_if_nothing_had_happened() {
    alone(async |cluster| changing_hands(cluster, Subject::Ours, Subject::Upstream).await);
}

/// Brings a rollout to each point under the first one, lets the second one take over, and compares the ends.
async fn changing_hands(cluster: &Cluster, first: Subject, second: Subject) {
    let curtain = Barrier::new(POINTS.len() + 1);
    let rollouts = join_all(POINTS.map(|point| Box::pin(rollout(cluster, point, &curtain))));
    let (_reign, ends) = join(Box::pin(reigns(cluster, first, second, &curtain)), rollouts).await;
    let [
        over,
        set_made,
        half_way,
        paused,
        last_pods,
        recreate_over,
        recreate_held,
    ] = &ends[..]
    else {
        unreachable!("one end for each point");
    };
    for end in [set_made, half_way, paused, last_pods] {
        assert_eq!(end, over);
    }
    assert_eq!(recreate_held, recreate_over);
}

/// The first one until all rollouts are where they should be, then the second one.
async fn reigns(cluster: &Cluster, first: Subject, second: Subject, curtain: &Barrier) -> Reign {
    let reign = begin(cluster, first, Loops::Both).await;
    curtain.wait().await;
    reign.crash(cluster).await;
    let reign = begin(cluster, first, Loops::DeploymentOnly).await;
    curtain.wait().await;
    curtain.wait().await;
    reign.crash(cluster).await;
    let reign = begin(cluster, second, Loops::Both).await;
    curtain.wait().await;
    reign
}

/// One rollout from its beginning to its end; what it came to.
async fn rollout(cluster: &Cluster, point: Point, curtain: &Barrier) -> Value {
    let mut end = Value::Null;
    on(cluster.server(), async |scene| {
        let start = point.lead_up(scene).await;
        curtain.wait().await;
        curtain.wait().await;
        let start = match start {
            Some(start) => start,
            None => make_set(scene).await,
        };
        let before = scene.look(writes);
        curtain.wait().await;
        curtain.wait().await;
        if point != Point::SetMade {
            scene.quiet_for(Duration::from_secs(2)).await;
            assert_eq!(scene.look(writes), before, "{point:?}: something was written");
        }
        point.finish(scene).await;
        scene.until_settled("web").await;
        scene.look(|state| point.check(state));
        if !point.is_recreate() {
            scene.never_outside(start.version(), 13, 8);
        }
        end = scene.look(outline);
    })
    .await;
    end
}

/// The Deployment loop has made the new ReplicaSet; nobody makes its pods.
async fn make_set(scene: &Scene) -> Stored {
    let start = scene.set_image("web", "b").await;
    scene
        .until("the new set is made", |state| {
            state.sizes() == [8, 5] && web(state).is_observed()
        })
        .await;
    scene.look(|state| assert!(state.pods().iter().all(|pod| pod.image() == "a")));
    start
}

impl Point {
    fn is_recreate(self) -> bool {
        matches!(self, Self::RecreateOver | Self::RecreateHeld)
    }

    fn deployment(self) -> Deployment {
        let web = deployment("web").replicas(10);
        if self.is_recreate() {
            web.recreate()
        } else {
            web.rolling(3, 2)
        }
    }

    /// Brings the rollout to the point; returns the Deployment as the change of image left it, if that was made here.
    async fn lead_up(self, scene: &Scene) -> Option<Stored> {
        scene.settle(self.deployment()).await;
        let kubelet = scene.kubelet();
        match self {
            Self::SetMade => return None,
            Self::HalfWay | Self::Paused => kubelet.auto_for_image("a"),
            Self::LastPods | Self::RecreateHeld => kubelet.keep_terminating(),
            Self::Over | Self::RecreateOver => {}
        }
        let start = scene.set_image("web", "b").await;
        scene.until(&format!("{self:?}"), |state| self.is_reached(state)).await;
        if self == Self::Paused {
            scene
                .merge(Kind::DEPLOYMENT, "web", json!({"spec": {"paused": true}}))
                .await;
            scene
                .until("the pause is observed", |state| {
                    web(state).is_observed() && web(state).says("Progressing") == "Unknown DeploymentPaused"
                })
                .await;
        }
        scene.until_quiet_for(Duration::from_secs(1)).await;
        scene.look(|state| assert!(self.is_reached(state), "{self:?} has passed"));
        Some(start)
    }

    fn is_reached(self, state: &State) -> bool {
        let web = web(state);
        let counts = [
            "replicas",
            "updatedReplicas",
            "availableReplicas",
            "terminatingReplicas",
        ];
        let counts = counts.map(|field| web.count(field));
        let reached = match self {
            Self::Over | Self::RecreateOver => {
                counts == [10, 10, 10, 0] && state.pods().iter().all(|pod| !pod.is_terminating())
            }
            Self::LastPods => counts == [10, 10, 10, 10],
            Self::RecreateHeld => counts == [0, 0, 0, 10],
            Self::SetMade | Self::HalfWay | Self::Paused => counts == [13, 5, 8, 0] && state.sizes() == [8, 5],
        };
        reached && web.is_observed() && state.replica_sets().iter().all(|set| set.is_observed())
    }

    async fn finish(self, scene: &Scene) {
        scene.kubelet().auto();
        if self == Self::Paused {
            scene
                .merge(Kind::DEPLOYMENT, "web", json!({"spec": {"paused": false}}))
                .await;
        }
    }

    /// Nothing was made or deleted but what a rollout of ten pods needs.
    fn check(self, state: &State) {
        let expected = BTreeMap::from([("a".to_owned(), [10, 10]), ("b".to_owned(), [10, 0])]);
        assert_eq!(made_and_gone(state), expected, "{self:?}");
        let of = |change| {
            let sets = state.writes(Kind::REPLICA_SET);
            sets.filter(|write| write.change == change).count()
        };
        assert_eq!((of(Change::Added), of(Change::Deleted)), (2, 0), "{self:?}");
        if self.is_recreate() {
            let version = |image: &str, change| {
                let pods = state.writes(Kind::POD);
                let pods = pods.filter(|write| write.change == change && write.object.image() == image);
                pods.map(|write| write.object.version()).collect::<Vec<_>>()
            };
            let (last, first) = (version("a", Change::Deleted), version("b", Change::Added));
            assert!(
                last.iter().max() < first.iter().min(),
                "{self:?}: old and new pods at once"
            );
        }
    }
}

/// How many pods of each image were made, and how many have gone.
fn made_and_gone(state: &State) -> BTreeMap<String, [usize; 2]> {
    let mut counted: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    for write in state.writes(Kind::POD) {
        let [made, gone] = counted.entry(write.object.image().to_owned()).or_default();
        match write.change {
            Change::Added => *made += 1,
            Change::Deleted => *gone += 1,
            Change::Modified => {}
        }
    }
    counted
}

/// All that tells how the rollout ended, without names, times and uids.
fn outline(state: &State) -> Value {
    let web = web(state);
    let status = |object: &Stored| {
        let mut status = object.at("/status").clone();
        let fields = status.as_object_mut().unwrap();
        for of_this_object in ["conditions", "observedGeneration"] {
            fields.remove(of_this_object);
        }
        status
    };
    let sets = state.replica_sets();
    let sets: Vec<_> = sets
        .iter()
        .map(|set| json!([set.image(), set.size(), set.at("/metadata/annotations"), status(set)]))
        .collect();
    let conditions = ["Available", "Progressing", "ReplicaFailure"].map(|kind| web.says(kind));
    json!({"revision": web.revision(), "status": status(&web), "conditions": conditions, "sets": sets})
}
