//! From kube-controller-manager to us and back, on a cluster whose components the tests stop and start.

use std::time::Duration;

use testkit::builders::{Manifest as _, job};
use testkit::cluster::{Cluster, alone};
use testkit::object::Stored;
use testkit::record::{Change, State};
use testkit::reign::Reign;
use testkit::{Kind, Scene, Subject, names, on};

use crate::{PROGRAM, TRACKING, active, counts, end, has_ended};

/// Waits until the new one has begun to work. Nobody else may reconcile.
async fn begin(cluster: &Cluster, subject: Subject) -> Reign {
    let begun = match subject {
        Subject::Upstream | Subject::Nobody => Reign::of_upstream(cluster, &[]).await,
        Subject::Ours => Reign::of_ours(cluster, &PROGRAM, &[]).await,
    };
    let suspended = |state: &State| state.job("probe").unwrap().says("Suspended") == "True JobSuspended";
    begun.is_at_work(cluster, job("probe").suspended(), suspended).await;
    begun
}

/// Two of the pods wait to be counted: one of them stands in the status already, the other one does not.
async fn leave_uncounted(scene: &Scene, pods: &[String]) {
    for pod in &pods[..2] {
        end(scene, pod, 0).await;
    }
    let listed = scene.look(|state| state.get(Kind::POD, &pods[0]).unwrap().uid().to_owned());
    let status = serde_json::json!({"status": {"uncountedTerminatedPods": {"succeeded": [listed]}}});
    scene.merge(Kind::JOB, "work/status", status).await;
}

/// Pods are counted exactly once though whoever counts them changes while some are uncounted.
fn uncounted_pods_change_hands(from: Subject, to: Subject) {
    alone(async |cluster| {
        on(cluster.server(), async |scene| {
            let before = begin(cluster, from).await;
            scene.create(job("work").parallelism(4).completions(4)).await;
            let pods = active(scene, 4).await;
            before.crash(cluster).await;
            leave_uncounted(scene, &pods).await;
            end(scene, &pods[2], 1).await;

            let after = begin(cluster, to).await;
            scene
                .until("all three are counted", |state| {
                    let [.., succeeded, failed] = counts(state);
                    (succeeded, failed) == (2, 1)
                })
                .await;
            let waits = |state: &State| {
                let ended = |pod: &&&Stored| pod.has_ended();
                state.pods().iter().filter(ended).any(|pod| pod.has_finalizer(TRACKING))
            };
            scene.until("none waits", |state| !waits(state)).await;
            // The failed one is replaced when its back-off has passed, whoever has made it.
            let left = active(scene, 2).await;
            for pod in &left {
                end(scene, pod, 0).await;
            }
            scene.until("the end", has_ended).await;
            assert_eq!(scene.look(counts), [0, 0, 0, 4, 1]);
            let made = |state: &State| {
                state
                    .writes(Kind::POD)
                    .filter(|write| write.change == Change::Added)
                    .count()
            };
            assert_eq!(scene.look(made), 5);
            after.crash(cluster).await;
        })
        .await;
    });
}

// proves: job/J-40, job/J-46, job/J-44, job/J-190
#[test]
fn pods_that_upstream_has_not_counted_are_counted_by_us_once() {
    uncounted_pods_change_hands(Subject::Upstream, Subject::Ours);
}

// proves: job/J-40, job/J-46, job/J-44
#[test]
fn pods_that_we_have_not_counted_are_counted_by_upstream_once() {
    uncounted_pods_change_hands(Subject::Ours, Subject::Upstream);
}

// proves: job/J-156, job/J-157, job/J-103, job/J-1
#[test]
fn jobs_at_rest_change_hands_twice_without_a_write() {
    alone(async |cluster| {
        on(cluster.server(), async |scene| {
            let upstream = begin(cluster, Subject::Upstream).await;
            scene.create(job("running").parallelism(3).completions(3)).await;
            scene.create(job("waiting").suspended()).await;
            scene.create(job("parts").indexed(2).parallelism(2)).await;
            scene.create(job("work").finalizer("test/keep")).await;
            let pod = scene
                .find("the pod", |state| {
                    let work = state.job("work")?;
                    names(state.pods_of(work)).into_iter().next()
                })
                .await;
            end(scene, &pod, 0).await;
            scene.until("one Job has ended", has_ended).await;
            scene.until_quiet_for(Duration::from_secs(3)).await;
            let writes = |state: &State| state.writes(Kind::JOB).count() + state.writes(Kind::POD).count();
            let at_rest = scene.look(writes);

            upstream.crash(cluster).await;
            let ours = begin(cluster, Subject::Ours).await;
            scene.quiet_for(Duration::from_secs(3)).await;
            assert_eq!(scene.look(writes), at_rest, "we have written");

            ours.crash(cluster).await;
            let upstream = begin(cluster, Subject::Upstream).await;
            scene.quiet_for(Duration::from_secs(3)).await;
            assert_eq!(scene.look(writes), at_rest, "upstream has written");
            upstream.crash(cluster).await;
        })
        .await;
    });
}
