//! Jobs whose pods know among themselves when the work is done.

use testkit::builders::job;

use crate::{active, conditions, counts, end, has_ended, scenario};

// proves: job/J-31, job/J-60, job/J-80, job/J-81
#[test]
fn failed_pods_are_replaced_until_one_succeeds() {
    scenario(async |scene| {
        scene.create(job("work").parallelism(5)).await;
        let pods = active(scene, 5).await;
        for pod in &pods[..2] {
            end(scene, pod, 1).await;
        }
        scene
            .until("both are replaced", |state| counts(state) == [5, 0, 0, 0, 2])
            .await;
        end(scene, &pods[2], 0).await;
        scene
            .until("one success, four go on", |state| counts(state) == [4, 0, 0, 1, 2])
            .await;
        for pod in &pods[3..] {
            end(scene, pod, 1).await;
        }
        scene
            .until("nobody takes their place", |state| counts(state) == [2, 0, 0, 1, 4])
            .await;
        let last = active(scene, 2).await;
        assert_eq!(scene.look(|state| state.pods().len()), 7);
        for pod in &last {
            end(scene, pod, 0).await;
        }
        scene.until("the end", has_ended).await;
        assert_eq!(scene.look(counts), [0, 0, 0, 3, 4]);
        let both = ["SuccessCriteriaMet CompletionsReached", "Complete CompletionsReached"];
        assert_eq!(scene.look(conditions), both);
    });
}
