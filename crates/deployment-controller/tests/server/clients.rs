//! What kubectl and other parts of Kubernetes make of the controllers' work.

use serde_json::json;
use testkit::api::{NODE, POD_DISRUPTION_BUDGET, SERVICE};
use testkit::builders::{Manifest as _, Templated as _, deployment, node, replica_set};
use testkit::record::State;
use testkit::{Scene, names};
use workload_core::id::Kind;

use crate::scenario;

/// `web` with two revisions: image `a`, then `b`; each with a cause.
async fn two_revisions(scene: &Scene) {
    scene
        .settle(
            deployment("web")
                .replicas(2)
                .annotation("kubernetes.io/change-cause", "the first"),
        )
        .await;
    let template = json!({"spec": {"containers": [{"name": "main", "image": "b"}]}});
    let cause = json!({"kubernetes.io/change-cause": "the second"});
    scene
        .merge(
            Kind::DEPLOYMENT,
            "web",
            json!({"metadata": {"annotations": cause}, "spec": {"template": template}}),
        )
        .await;
    scene.until_settled("web").await;
}

fn image(state: &State) -> String {
    state.deployment("web").unwrap().image().to_owned()
}

// proves: deployment/K-1
#[test]
fn kubectl_rollout_status_ends_with_the_rollout() {
    scenario(async |scene| {
        scene.create(deployment("web").replicas(3)).await;
        let status = scene.kubectl(&["rollout", "status", "deployment/web", "--timeout=60s"]);
        let work = async {
            scene.until("the pods wait", |state| state.pods().len() == 3).await;
            scene.kubelet().auto();
        };
        let (status, ()) = futures::join!(status, work);
        assert!(
            status
                .printed()
                .ends_with("deployment \"web\" successfully rolled out\n")
        );
        let revision = scene
            .kubectl(&["rollout", "status", "deployment/web", "--revision=1", "--timeout=60s"])
            .await;
        assert!(revision.succeeded, "{}", revision.stderr);
        let other = scene
            .kubectl(&["rollout", "status", "deployment/web", "--revision=2", "--timeout=60s"])
            .await;
        assert!(!other.succeeded);
    });
}

// proves: deployment/K-1, deployment/D-77
#[test]
fn kubectl_rollout_status_fails_once_the_deadline_is_exceeded() {
    scenario(async |scene| {
        scene.create(deployment("web").deadline_seconds(1)).await;
        let status = scene
            .kubectl(&["rollout", "status", "deployment/web", "--timeout=60s"])
            .await;
        assert!(!status.succeeded);
        assert!(
            status.stderr.contains("exceeded its progress deadline"),
            "{}",
            status.stderr
        );
    });
}

// proves: deployment/K-2, deployment/D-9
#[test]
fn kubectl_rollout_history_lists_revisions_causes_and_templates() {
    scenario(async |scene| {
        two_revisions(scene).await;
        let history = scene.kubectl(&["rollout", "history", "deployment/web"]).await.printed();
        let rows: Vec<Vec<&str>> = history
            .lines()
            .skip(2)
            .map(|line| line.splitn(2, ' ').map(str::trim).collect())
            .collect();
        assert_eq!(rows[..2], [["1", "the first"], ["2", "the second"]]);
        let details = scene
            .kubectl(&["rollout", "history", "deployment/web", "--revision=1"])
            .await
            .printed();
        assert!(details.contains("Image:\ta\n"), "{details}");
    });
}

// proves: deployment/K-3, deployment/D-8, deployment/D-10, deployment/D-12, deployment/D-77
#[test]
fn kubectl_rollout_undo_goes_back_to_any_revision() {
    scenario(async |scene| {
        two_revisions(scene).await;
        for (args, expected, revision) in [
            (&["rollout", "undo", "deployment/web"][..], "a", "3"),
            (&["rollout", "undo", "deployment/web", "--to-revision=2"], "b", "4"),
        ] {
            scene.kubectl(args).await.printed();
            scene.until("the template", |state| image(state) == expected).await;
            scene
                .until("the revision", |state| {
                    state.deployment("web").unwrap().revision() == Some(revision)
                })
                .await;
            scene.until_settled("web").await;
        }
        assert_eq!(scene.look(|state| state.replica_sets().len()), 2);
        let history = |at: usize| {
            scene.look(|state| {
                state.replica_sets()[at]
                    .annotation("deployment.kubernetes.io/revision-history")
                    .map(str::to_owned)
            })
        };
        assert_eq!([history(0), history(1)], ["1", "2"].map(|text| Some(text.to_owned())));
        let cause = scene.look(|state| {
            state
                .deployment("web")
                .unwrap()
                .annotation("kubernetes.io/change-cause")
                .map(str::to_owned)
        });
        assert_eq!(cause.as_deref(), Some("the second"));
    });
}

// proves: deployment/K-4, deployment/K-3
#[test]
fn kubectl_pauses_restarts_and_resumes() {
    scenario(async |scene| {
        scene.settle(deployment("web").replicas(2)).await;
        scene.kubectl(&["rollout", "pause", "deployment/web"]).await.printed();
        scene
            .until("it is paused", |state| {
                state.deployment("web").unwrap().says("Progressing") == "Unknown DeploymentPaused"
            })
            .await;
        assert!(!scene.kubectl(&["rollout", "restart", "deployment/web"]).await.succeeded);
        assert!(!scene.kubectl(&["rollout", "undo", "deployment/web"]).await.succeeded);
        scene.kubectl(&["rollout", "resume", "deployment/web"]).await.printed();
        scene
            .until("it is resumed", |state| {
                state.deployment("web").unwrap().says("Progressing") != "Unknown DeploymentPaused"
            })
            .await;
        scene.kubectl(&["rollout", "restart", "deployment/web"]).await.printed();
        scene.until("a second set", |state| state.sizes() == [0, 2]).await;
        scene.until_settled("web").await;
    });
}

// proves: deployment/K-5, deployment/K-9, deployment/A-7
#[test]
fn kubectl_scales_waits_and_shows_what_there_is() {
    scenario(async |scene| {
        scene.settle(deployment("web").replicas(2)).await;
        scene
            .kubectl(&["scale", "deployment/web", "--replicas=3", "--current-replicas=2"])
            .await
            .printed();
        scene
            .until("three are wanted", |state| state.deployment("web").unwrap().size() == 3)
            .await;
        scene
            .kubectl(&["wait", "deployment/web", "--for=condition=Available", "--timeout=60s"])
            .await
            .printed();
        scene.until_settled("web").await;
        let row = scene
            .kubectl(&["get", "deployment/web", "--no-headers"])
            .await
            .printed();
        assert_eq!(
            row.split_whitespace().take(4).collect::<Vec<_>>(),
            ["web", "3/3", "3", "3"]
        );
        let row = scene.kubectl(&["get", "replicasets", "--no-headers"]).await.printed();
        assert_eq!(
            row.split_whitespace().skip(1).take(3).collect::<Vec<_>>(),
            ["3", "3", "3"]
        );
        let described = scene.kubectl(&["describe", "deployment/web"]).await.printed();
        let set = scene.look(|state| state.replica_sets()[0].name().to_owned());
        assert!(
            described.contains(&format!("NewReplicaSet:   {set} (3/3 replicas created)")),
            "{described}"
        );
        assert!(described.contains("Scaled up replica set"), "{described}");
    });
}

// proves: deployment/K-5, deployment/D-6
#[test]
fn kubectl_describe_tells_old_and_new_sets_apart() {
    scenario(async |scene| {
        scene.settle(deployment("web").replicas(1)).await;
        scene.kubelet().manual();
        scene.set_image("web", "b").await;
        scene
            .until("both have a pod", |state| {
                state.sizes() == [1, 1] && state.pods().len() == 2
            })
            .await;
        let described = scene.kubectl(&["describe", "deployment/web"]).await.printed();
        for (at, title) in [(0, "OldReplicaSets:  "), (1, "NewReplicaSet:   ")] {
            let set = scene.look(|state| state.replica_sets()[at].name().to_owned());
            assert!(
                described.contains(&format!("{title}{set} (1/1 replicas created)")),
                "{described}"
            );
        }
    });
}

// proves: deployment/K-7
#[test]
fn a_disruption_budget_finds_the_size_of_its_workload_through_the_controller_references() {
    scenario(async |scene| {
        scene.settle(deployment("web").replicas(3)).await;
        scene.kubelet().auto();
        scene.create(replica_set("alone").replicas(2)).await;
        scene.until("five pods", |state| state.active_pods().len() == 5).await;
        for (name, expected) in [("web", 3), ("alone", 2)] {
            let budget = json!({
                "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name},
                "spec": {"maxUnavailable": "50%", "selector": {"matchLabels": {"app": name}}},
            });
            scene.api().create(POD_DISRUPTION_BUDGET, &budget).await.unwrap();
            let counts = async || {
                scene.api().get(POD_DISRUPTION_BUDGET, name).await.unwrap()["status"]["expectedPods"] == expected
            };
            scene.eventually("the budget counts", counts).await;
        }
    });
}

/// Gives every ready pod an address, as its node would.
async fn give_addresses(scene: &Scene) {
    let pods = scene.look(|state| names(state.active_pods()));
    for (number, pod) in pods.iter().enumerate() {
        let address = format!("10.0.0.{}", number + 1);
        let status = json!({"status": {"podIP": address, "podIPs": [{"ip": address}]}});
        scene.merge(Kind::POD, &format!("{pod}/status"), status).await;
    }
}

/// Names of the pods to which the Service `web` leads, in their order.
async fn endpoints(scene: &Scene) -> Vec<String> {
    let output = scene
        .kubectl(&[
            "get",
            "endpointslices",
            "--selector=kubernetes.io/service-name=web",
            "--output=jsonpath={.items[*].endpoints[?(@.conditions.ready==true)].targetRef.name}",
        ])
        .await;
    let mut found: Vec<_> = output.stdout.split_whitespace().map(str::to_owned).collect();
    found.sort();
    found
}

// proves: deployment/I-15
#[test]
fn a_service_leads_to_the_pods_of_a_rollout_that_are_ready() {
    scenario(async |scene| {
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
            "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}});
        scene.api().create(SERVICE, &service).await.unwrap();
        // A pod whose node nobody knows is left out.
        let home = format!("{}-node", scene.namespace());
        scene.server().api().create(NODE, &node(&home).json()).await.unwrap();
        scene.settle(deployment("web").replicas(3)).await;
        let mut before = Vec::new();
        for image in ["a", "b"] {
            scene.set_image("web", image).await;
            scene.until_settled("web").await;
            give_addresses(scene).await;
            let mut ready = scene.look(|state| names(state.active_pods()));
            ready.sort();
            scene
                .eventually("its slices list them", async || endpoints(scene).await == ready)
                .await;
            assert_ne!(before, ready);
            before = ready;
        }
        scene.server().api().delete(NODE, &home, &json!({})).await.unwrap();
    });
}
