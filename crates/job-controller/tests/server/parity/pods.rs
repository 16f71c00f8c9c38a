//! Which pods a Job makes, and which belong to it.

use serde_json::json;
use testkit::builders::{Manifest as _, job, pod};
use testkit::{Kind, names};

use super::{REST, all_pods, bind_all, change, end_first, make, parity, until_counted, until_ended, until_replaced};
use crate::{TRACKING, counts};

// proves: job/J-65
#[test]
fn pods_of_a_template_in_which_everything_is_set() {
    parity(async |scene| {
        let mut template = job("work").json()["spec"]["template"].clone();
        template["metadata"] = json!({
            "labels": {"app": "work"}, "annotations": {"note": "1"}, "finalizers": ["test/keep"], "name": "dropped",
        });
        let container = &mut template["spec"]["containers"][0];
        container["env"] = json!([{"name": "A", "value": "1"}]);
        container["resources"] = json!({"requests": {"cpu": "10m"}});
        template["spec"]["initContainers"] = json!([{"name": "first", "image": "b"}]);
        template["spec"]["hostname"] = "host".into();
        for (name, work) in [
            ("plain", job("plain")),
            ("parts", job("parts").indexed(2).parallelism(2)),
        ] {
            scene.create(work.set("/spec/template", template.clone())).await;
            scene
                .until(name, |state| state.job(name).is_some_and(|job| job.count("active") > 0))
                .await;
        }
    });
}

// proves: job/J-37, job/J-158, job/J-159
#[test]
fn a_pod_that_is_deleted_and_replaced_when_it_has_failed() {
    parity(async |scene| {
        let work = job("work").parallelism(2).completions(2).pod_replacement("Failed");
        make(scene, work).await;
        bind_all(scene).await;
        let first = scene.look(all_pods);
        scene.delete(Kind::POD, &first[0]).await;
        scene.until("it is on its way", |state| counts(state)[2] == 1).await;
        scene.until_quiet_for(REST).await;
        scene.kubelet().fail(&first[0], 143).await;
        until_counted(scene, &first[..1]).await;
        scene.kubelet().end(&first[0]).await;
        until_replaced(scene, &first).await;
    });
}

// proves: job/J-37, job/J-158
#[test]
fn a_pod_that_is_deleted_and_replaced_while_it_goes() {
    parity(async |scene| {
        make(scene, job("work").parallelism(2).completions(2)).await;
        bind_all(scene).await;
        let first = scene.look(all_pods);
        scene.kubelet().hold(&first[0]).await;
        scene.delete(Kind::POD, &first[0]).await;
        until_counted(scene, &first[..1]).await;
        until_replaced(scene, &first).await;
        scene.kubelet().end_held(&first[0]).await;
        scene.until("it is gone", |state| counts(state)[2] == 0).await;
    });
}

// proves: job/J-20, job/J-22, job/J-25
#[test]
fn a_pod_that_a_job_with_a_selector_of_its_own_finds() {
    parity(async |scene| {
        scene.create(pod("lonely").label("part-of", "work")).await;
        let labels = json!({"part-of": "work"});
        let work = job("work")
            .parallelism(2)
            .completions(2)
            .set("/spec/manualSelector", true)
            .set("/spec/selector", json!({"matchLabels": labels}))
            .set("/spec/template/metadata/labels", labels);
        make(scene, work).await;
        scene
            .until("it is adopted", |state| {
                state.get(Kind::POD, "lonely").unwrap().has_finalizer(TRACKING)
            })
            .await;
        scene.until_quiet_for(REST).await;
        assert_eq!(scene.look(|state| names(state.pods()).len()), 2);
        end_first(scene, 0).await;
        end_first(scene, 0).await;
        until_ended(scene).await;
    });
}

// proves: job/J-21, job/J-22
#[test]
fn a_pod_that_loses_its_owner_and_then_its_labels() {
    parity(async |scene| {
        make(scene, job("work")).await;
        let first = scene.look(all_pods);
        let change_pod = async |change| {
            scene.merge(Kind::POD, &first[0], json!({"metadata": change})).await;
        };
        change_pod(json!({"ownerReferences": null})).await;
        scene
            .until("it is adopted", |state| {
                state.get(Kind::POD, &first[0]).unwrap().controller().is_some()
            })
            .await;
        scene.until_quiet_for(REST).await;
        change_pod(json!({"labels": null})).await;
        scene
            .until("it is let go and replaced", |state| {
                let work = state.job("work").unwrap();
                state.pods_of(work).len() == 1 && state.pods().len() == 2
            })
            .await;
        scene.until_quiet_for(REST).await;
    });
}

// proves: job/J-91, job/J-92
#[test]
fn a_job_that_is_created_with_no_pods_at_a_time() {
    parity(async |scene| {
        scene.create(job("work").parallelism(0).completions(2)).await;
        let started = |state: &testkit::record::State| !state.job("work").unwrap().text("/status/startTime").is_empty();
        scene.until("it has begun", started).await;
        scene.until_quiet_for(REST).await;
        change(scene, json!({"parallelism": 2}), 2).await;
        end_first(scene, 0).await;
        end_first(scene, 0).await;
        until_ended(scene).await;
    });
}
