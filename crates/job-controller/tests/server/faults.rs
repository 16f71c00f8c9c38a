//! Answers that get lost, caches that lag behind: every pod is made once and counted once.

use std::time::Duration;

use testkit::builders::job;
use testkit::proxy::{Fault, Proxy, Refusal, Which};
use testkit::record::{Change, State};
use testkit::{Access, Kind, Scene, fact};

use crate::{PROGRAM, TRACKING, active, counts, end, has_ended};

/// Runs a test with the controller at work behind a proxy.
fn behind_proxy(body: impl AsyncFnOnce(&mut Scene, &Proxy)) {
    fact(async |scene| {
        let proxy = Proxy::start(scene.server()).await;
        let alone = ["--leader-elect=false"];
        let started = scene.start_by(&Access::through(&proxy), &PROGRAM, &alone).await;
        scene.put_controller(started);
        body(scene, &proxy).await;
    });
}

fn made(state: &State) -> usize {
    let is_birth = |write: &&testkit::record::Version| write.change == Change::Added;
    state.writes(Kind::POD).filter(is_birth).count()
}

// proves: job/J-154, job/J-190, job/S-40
#[test]
fn a_job_that_is_done_makes_no_other_pod_though_its_watch_stands_still() {
    behind_proxy(async |scene, proxy| {
        scene.create(job("work")).await;
        let pod = active(scene, 1).await.remove(0);
        let frozen = proxy.strike(Which::watches().of(Kind::JOB), Fault::Freeze);
        end(scene, &pod, 0).await;
        scene
            .holds_for(Duration::from_secs(4), "one pod", |state| made(state) == 1)
            .await;
        frozen.lift();
        scene.until("the end", has_ended).await;
        scene.quiet_for(Duration::from_secs(2)).await;
        assert_eq!(scene.look(made), 1);
        assert_eq!(scene.look(counts), [0, 0, 0, 1, 0]);
    });
}

// proves: job/J-41, job/J-233, job/S-46
#[test]
fn a_pod_keeps_its_finalizer_until_its_end_is_recorded() {
    behind_proxy(async |scene, proxy| {
        scene.create(job("work").parallelism(2).completions(2)).await;
        let pods = active(scene, 2).await;
        let status = Which::writes().part_of(Kind::JOB, "status");
        let refused = proxy.strike(status, Fault::Refuse(Refusal::new(409, "Conflict")));
        for pod in &pods {
            end(scene, pod, 0).await;
        }
        refused.struck(2).await;
        assert!(scene.look(|state| state.pods().iter().all(|pod| pod.has_finalizer(TRACKING))));
        refused.lift();
        scene.until("the end", has_ended).await;
        assert_eq!(scene.look(counts), [0, 0, 0, 2, 0]);
    });
}

// proves: job/J-43, job/J-44, job/J-46
#[test]
fn pods_are_counted_once_though_answers_are_lost() {
    for fault in [Fault::LoseAnswer, Fault::Lose] {
        behind_proxy(async |scene, proxy| {
            let creates = proxy.strike_times(1, Which::creates().of(Kind::POD), fault.clone());
            scene.create(job("work").parallelism(3).completions(3)).await;
            let pods = active(scene, 3).await;
            let writes = |which: Which| proxy.strike_times(2, which, fault.clone());
            let releases = writes(Which::writes().of(Kind::POD));
            let statuses = writes(Which::writes().part_of(Kind::JOB, "status"));
            for pod in &pods {
                end(scene, pod, 0).await;
            }
            scene.until("the end", has_ended).await;
            assert_eq!((creates.hits(), releases.hits(), statuses.hits()), (1, 2, 2));
            assert_eq!(scene.look(counts), [0, 0, 0, 3, 0]);
            assert_eq!(scene.look(made), 3);
        });
    }
}

// proves: job/J-50, job/J-190, job/J-191
#[test]
fn while_the_watch_of_pods_stands_still_no_pod_is_made_or_counted_twice() {
    behind_proxy(async |scene, proxy| {
        scene.create(job("work").parallelism(2).completions(4)).await;
        let pods = active(scene, 2).await;
        for pod in &pods {
            end(scene, pod, 0).await;
        }
        let second = active(scene, 2).await;
        let frozen = proxy.strike(Which::watches().of(Kind::POD), Fault::Freeze);
        for pod in &second {
            end(scene, pod, 0).await;
        }
        scene
            .holds_for(Duration::from_secs(4), "four pods", |state| made(state) == 4)
            .await;
        frozen.lift();
        scene.until("the end", has_ended).await;
        assert_eq!(scene.look(counts), [0, 0, 0, 4, 0]);
        assert_eq!(scene.look(made), 4);
    });
}
