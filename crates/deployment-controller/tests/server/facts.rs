//! Facts about the API server that the controllers build on. No controller is at work here.

use serde_json::{Value, json};
use testkit::api::PatchType;
use testkit::builders::{Manifest as _, Templated as _, deployment, pod, replica_set};
use testkit::{Scene, fact};
use workload_core::id::Kind;

/// A Deployment as stored, with what a status needs to be valid.
async fn web(scene: &Scene) -> testkit::object::Stored {
    scene.create(deployment("web").replicas(3)).await
}

// proves: deployment/A-1
#[test]
fn the_server_writes_the_defaults_of_a_deployment() {
    fact(async |scene| {
        let manifest = deployment("web").set("/spec/replicas", Value::Null);
        let spec = scene.create(manifest).await.at("/spec").clone();
        assert_eq!(spec["replicas"], 1);
        assert_eq!(
            spec["strategy"],
            json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}})
        );
        assert_eq!(spec["revisionHistoryLimit"], 10);
        assert_eq!(spec["progressDeadlineSeconds"], 600);
    });
}

// proves: deployment/A-2
#[test]
fn an_annotation_raises_the_generation_of_a_deployment_but_not_of_a_replica_set() {
    fact(async |scene| {
        let annotate = json!({"metadata": {"annotations": {"note": "1"}}});
        let label = json!({"metadata": {"labels": {"note": "1"}}});
        let resize = json!({"spec": {"replicas": 2}});
        web(scene).await;
        scene.create(replica_set("set")).await;
        let mut generations = Vec::new();
        for patch in [annotate, label, resize] {
            let deployment = scene.merge(Kind::DEPLOYMENT, "web", patch.clone()).await;
            let set = scene.merge(Kind::REPLICA_SET, "set", patch).await;
            generations.push((deployment.generation(), set.generation()));
        }
        assert_eq!(generations, [(2, 1), (2, 1), (3, 2)]);
    });
}

// proves: deployment/A-3
#[test]
fn a_status_write_of_a_deployment_keeps_annotations_and_nothing_else_beside_the_status() {
    fact(async |scene| {
        let created = web(scene).await;
        let write = json!({
            "metadata": {"annotations": {"note": "1"}, "labels": {"note": "1"}},
            "spec": {"replicas": 9},
            "status": {"replicas": 3},
        });
        let mut put = created.json().clone();
        for part in ["metadata", "spec", "status"] {
            for (field, value) in write[part].as_object().into_iter().flatten() {
                put[part][field] = value.clone();
            }
        }
        let by_put = scene.api().replace(Kind::DEPLOYMENT, "web/status", &put).await.unwrap();
        let reset = json!({"metadata": {"annotations": null}, "status": {"replicas": 0}});
        scene.merge(Kind::DEPLOYMENT, "web/status", reset).await;
        let by_patch = scene.merge(Kind::DEPLOYMENT, "web/status", write).await;
        for (how, stored) in [("PUT", by_put.into()), ("PATCH", by_patch)] {
            assert_eq!(stored.annotation("note"), Some("1"), "{how}");
            assert_eq!(stored.label("note"), None, "{how}");
            assert_eq!((stored.size(), stored.count("replicas")), (3, 3), "{how}");
            assert_eq!(stored.generation(), created.generation(), "{how}");
        }
    });
}

// proves: deployment/A-3
#[test]
fn a_status_write_of_a_replica_set_keeps_its_metadata_too() {
    fact(async |scene| {
        scene.create(replica_set("set")).await;
        let write = json!({
            "metadata": {"annotations": {"note": "1"}, "labels": {"note": "1"}},
            "spec": {"replicas": 9},
            "status": {"replicas": 1},
        });
        let stored = scene.merge(Kind::REPLICA_SET, "set/status", write).await;
        assert_eq!(
            (stored.annotation("note"), stored.label("note")),
            (Some("1"), Some("1"))
        );
        assert_eq!(
            (stored.size(), stored.count("replicas"), stored.generation()),
            (1, 1, 1)
        );
    });
}

// proves: deployment/A-4
#[test]
fn the_server_refuses_a_status_whose_counts_contradict_each_other() {
    fact(async |scene| {
        web(scene).await;
        let good = json!({"replicas": 3, "updatedReplicas": 3, "readyReplicas": 3, "availableReplicas": 2, "collisionCount": 2});
        scene
            .merge(Kind::DEPLOYMENT, "web/status", json!({ "status": good }))
            .await;
        let bad = [
            json!({"updatedReplicas": 4}),
            json!({"readyReplicas": 4}),
            json!({"readyReplicas": 1}),
            json!({"availableReplicas": 4}),
            json!({"replicas": -1}),
            json!({"collisionCount": 1}),
            json!({"collisionCount": null}),
        ];
        for status in bad {
            let error = scene
                .api()
                .merge(Kind::DEPLOYMENT, "web/status", &json!({ "status": status }))
                .await
                .unwrap_err();
            assert_eq!((error.code, &*error.reason), (422, "Invalid"), "{status}");
        }
    });
}

// proves: deployment/A-5
#[test]
fn the_server_refuses_a_spec_that_no_controller_could_follow() {
    fact(async |scene| {
        let web = || deployment("web");
        let bad = [
            ("empty selector", web().set("/spec/selector", json!({}))),
            (
                "other labels",
                web().set("/spec/template/metadata/labels", json!({"app": "other"})),
            ),
            (
                "restart policy",
                web().set("/spec/template/spec/restartPolicy", "Never"),
            ),
            (
                "deadline of pods",
                web().set("/spec/template/spec/activeDeadlineSeconds", 1),
            ),
            ("deadline too short", web().min_ready_seconds(10).deadline_seconds(10)),
            ("more than all unavailable", web().rolling(1, "101%")),
            ("no room to move", web().rolling(0, 0)),
        ];
        for (why, manifest) in bad {
            let error = scene
                .api()
                .create(Kind::DEPLOYMENT, &manifest.json())
                .await
                .unwrap_err();
            assert_eq!((error.code, &*error.reason), (422, "Invalid"), "{why}");
        }
        scene.create(web()).await;
        let selector = json!({"spec": {"selector": {"matchLabels": {"more": "1"}}, "template": {"metadata": {"labels": {"more": "1"}}}}});
        let error = scene.api().merge(Kind::DEPLOYMENT, "web", &selector).await.unwrap_err();
        assert_eq!(error.reason, "Invalid");
    });
}

// proves: deployment/A-7, deployment/K-6
#[test]
fn the_scale_subresource_shows_the_wanted_and_the_real_number_of_pods() {
    fact(async |scene| {
        web(scene).await;
        scene
            .merge(Kind::DEPLOYMENT, "web/status", json!({"status": {"replicas": 5}}))
            .await;
        let scale = scene.api().get(Kind::DEPLOYMENT, "web/scale").await.unwrap();
        assert_eq!(scale["spec"]["replicas"], 3);
        assert_eq!(scale["status"], json!({"replicas": 5, "selector": "app=web"}));
    });
}

// proves: deployment/A-8
#[test]
fn a_uid_in_a_patch_is_a_precondition() {
    fact(async |scene| {
        let web = web(scene).await;
        let with_uid = |uid: &str| json!({"metadata": {"uid": uid, "annotations": {"note": "1"}}});
        let foreign = with_uid("6e6a3b5c-0000-4000-8000-000000000000");
        for form in [PatchType::Merge, PatchType::Strategic] {
            scene
                .api()
                .patch(Kind::DEPLOYMENT, "web", form, &with_uid(web.uid()))
                .await
                .unwrap();
            let error = scene
                .api()
                .patch(Kind::DEPLOYMENT, "web", form, &foreign)
                .await
                .unwrap_err();
            assert_eq!((error.code, &*error.reason), (422, "Invalid"), "{form:?}");
            assert!(error.message.contains("metadata.uid"), "{error}");
        }
        let versioned = json!({"metadata": {"uid": web.uid(), "resourceVersion": web.text("/metadata/resourceVersion"), "labels": {"note": "1"}}});
        let error = scene
            .api()
            .merge(Kind::DEPLOYMENT, "web", &versioned)
            .await
            .unwrap_err();
        assert_eq!((error.code, &*error.reason), (409, "Conflict"));
    });
}

// proves: deployment/A-9
#[test]
fn the_server_completes_a_generated_name_with_five_characters() {
    fact(async |scene| {
        let base = "x".repeat(70);
        let manifest = pod("").set("/metadata", json!({ "generateName": base }));
        let name = scene.create(manifest).await.name().to_owned();
        let (kept, random) = name.split_at(58);
        assert_eq!(kept, &base[..58]);
        assert_eq!(random.len(), 5);
        assert!(
            random.chars().all(|c| "bcdfghjklmnpqrstvwxz2456789".contains(c)),
            "{name}"
        );
    });
}

// proves: deployment/A-9
#[test]
fn a_name_given_beside_a_generated_one_wins_and_clashes() {
    fact(async |scene| {
        let manifest = pod("web-1").set("/metadata/generateName", "web-").json();
        assert_eq!(scene.create(manifest.clone()).await.name(), "web-1");
        let error = scene.api().create(Kind::POD, &manifest).await.unwrap_err();
        assert_eq!((error.code, &*error.reason), (409, "AlreadyExists"));
    });
}

// proves: deployment/D-50
#[test]
fn the_server_itself_keeps_rollback_annotations_readable() {
    fact(async |scene| {
        const ROLLBACK: &str = "deprecated.deployment.rollback.to";
        web(scene).await;
        let mut kept = Vec::new();
        for value in ["one", "-1", "", "0", "+7"] {
            let patch = json!({"metadata": {"annotations": {ROLLBACK: value}}});
            let answer = scene.api().merge(Kind::DEPLOYMENT, "web", &patch).await;
            kept.push(match answer {
                Ok(stored) => stored["metadata"]["annotations"][ROLLBACK].clone(),
                Err(error) => error.code.into(),
            });
        }
        assert_eq!(kept, [json!(422), json!(422), Value::Null, json!("0"), json!("7")]);
    });
}

// proves: deployment/C-53
#[test]
fn the_server_itself_refuses_a_deletion_cost_that_is_no_number() {
    fact(async |scene| {
        scene.create(pod("web")).await;
        for (value, accepted) in [
            ("100", true),
            ("-1", true),
            ("0", true),
            ("+10", false),
            ("008", false),
            ("", false),
            ("4294967296", false),
        ] {
            let patch = json!({"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": value}}});
            let answer = scene.api().merge(Kind::POD, "web", &patch).await;
            assert_eq!(answer.is_ok(), accepted, "{value:?}");
        }
    });
}
