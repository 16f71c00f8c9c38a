//! When the pod that takes another one's place is made.

use testkit::builders::job;
use testkit::{Kind, Scene};

use crate::{active, counts, scenario};

/// Two pods that are asked to go and are kept from it.
async fn two_that_stay(scene: &Scene, policy: &str) -> Vec<String> {
    let work = job("work").parallelism(2).completions(2).pod_replacement(policy);
    scene.create(work).await;
    let pods = active(scene, 2).await;
    for pod in &pods {
        scene.kubelet().bind(pod, "main").await;
        scene.kubelet().hold(pod).await;
        scene.delete(Kind::POD, pod).await;
    }
    pods
}

// proves: job/J-158, job/J-37
#[test]
fn a_pod_that_was_asked_to_go_is_replaced_at_once_by_default() {
    scenario(async |scene| {
        let pods = two_that_stay(scene, "TerminatingOrFailed").await;
        scene
            .until("both are replaced and count as failed", |state| {
                counts(state) == [2, 0, 2, 0, 2]
            })
            .await;
        for pod in &pods {
            scene.kubelet().end_held(pod).await;
        }
    });
}

// proves: job/J-158, job/J-37
#[test]
fn a_pod_that_has_to_fail_first_is_replaced_when_it_has() {
    scenario(async |scene| {
        let pods = two_that_stay(scene, "Failed").await;
        scene
            .until("both are on their way", |state| counts(state) == [0, 0, 2, 0, 0])
            .await;
        for pod in &pods {
            scene.kubelet().fail(pod, 143).await;
        }
        scene
            .until("both are replaced", |state| counts(state) == [2, 0, 0, 0, 2])
            .await;
    });
}
