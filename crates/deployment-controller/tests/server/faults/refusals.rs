//! A server that answers, but not as it should.

use std::time::Duration;

use serde_json::json;
use testkit::Scene;
use testkit::api::Api;
use testkit::builders::{Templated as _, deployment, replica_set};
use testkit::object::Stored;
use testkit::proxy::{Fault, Proxy, Refusal, Verb, Which};
use workload_core::id::Kind;
use workload_core::time::{Clock as _, SystemClock};

use super::{asked_at_most, behind_proxy, calm, controller, made_and_deleted};

/// The server refuses everything with this code for a while; watches that are open end.
fn blackout(code: u16, reason: &'static str) {
    behind_proxy(async |scene, proxy| {
        scene.settle(deployment("web").replicas(2)).await;
        let began = SystemClock.instant();
        let down = proxy.strike(Which::all(), Fault::Refuse(Refusal::new(code, reason)));
        proxy.reconnect();
        down.struck(9).await;
        scene.scale(Kind::DEPLOYMENT, "web", 5).await;
        let code = code.to_string();
        let failures = async || {
            let metrics = controller(scene).metrics().await;
            metrics.count("cache_watch_failures_total", &[("code", &code)])
        };
        scene
            .eventually("every cache has failed", async || failures().await >= 3)
            .await;
        // Reads are asked for again up to three times by the client itself.
        calm(proxy, began, &Which::all(), 4 * asked_at_most(began));
        // Caches that do not hear the server give nothing to do; an event may still be on its way.
        for kind in [Kind::DEPLOYMENT, Kind::REPLICA_SET, Kind::POD] {
            calm(proxy, began, &Which::writes().of(kind), 0);
        }
        assert!(controller(scene).says("a list or watch failed") >= 3);
        down.lift();
        scene.until_settled("web").await;
        assert_eq!(scene.look(|state| state.pods().len()), 5);
        assert_eq!(made_and_deleted(scene, Kind::POD), (5, 0));
    });
}

#[test]
fn a_server_that_is_unavailable_for_a_while_is_asked_patiently() {
    blackout(503, "ServiceUnavailable");
}

#[test]
fn a_server_that_fails_for_a_while_is_asked_patiently() {
    blackout(500, "InternalError");
}

#[test]
fn credentials_that_are_not_accepted_for_a_while_are_tried_patiently() {
    blackout(401, "Unauthorized");
}

#[test]
fn a_server_that_asks_for_time_gets_it() {
    behind_proxy(async |scene, proxy| {
        scene.kubelet().auto();
        let began = SystemClock.instant();
        let storm = proxy.strike(Which::writes(), Fault::Refuse(Refusal::throttled(1)));
        scene.create(deployment("web").replicas(10)).await;
        storm.struck(5).await;
        let passed = SystemClock.instant() - began;
        // One create and one status at a time, and events, each once a second.
        let most = 3 * (usize::try_from(passed.as_secs()).unwrap() + 2);
        calm(proxy, began, &Which::writes(), most);
        assert_eq!(made_and_deleted(scene, Kind::REPLICA_SET), (0, 0));
        storm.lift();
        scene.until_settled("web").await;
        assert_eq!(made_and_deleted(scene, Kind::REPLICA_SET), (1, 0));
        assert_eq!(made_and_deleted(scene, Kind::POD), (10, 0));
    });
}

#[test]
fn a_status_whose_fate_is_unknown_is_written_again() {
    behind_proxy(async |scene, proxy| {
        scene.kubelet().auto();
        let statuses = Which::verbs(&[Verb::Patch]).part_of(Kind::REPLICA_SET, "status");
        let began = SystemClock.instant();
        let timeouts = proxy.strike_times(4, statuses.clone(), Fault::Refuse(Refusal::new(504, "Timeout")));
        scene.create(replica_set("web").replicas(3)).await;
        timeouts.struck(4).await;
        let right = |set: &Stored| set.count("replicas") == 3 && set.count("availableReplicas") == 3;
        scene
            .until("the status is right", |state| {
                state.get(Kind::REPLICA_SET, "web").is_some_and(right)
            })
            .await;
        scene.quiet_for(Duration::from_secs(2)).await;
        assert_eq!(made_and_deleted(scene, Kind::POD), (3, 0));
        let unknown = [("kind", "ReplicaSet"), ("verb", "status"), ("result", "unknown")];
        assert_eq!(
            controller(scene)
                .metrics()
                .await
                .count("write_attempts_total", &unknown),
            4
        );
        calm(proxy, began, &statuses, 20);
    });
}

/// Kinds of admissionregistration.k8s.io/v1; all lie in no namespace.
const WEBHOOKS: Kind = admission("ValidatingWebhookConfiguration", "validatingwebhookconfigurations");
const POLICY: Kind = admission("ValidatingAdmissionPolicy", "validatingadmissionpolicies");
const BINDING: Kind = admission("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings");

const fn admission(kind: &'static str, plural: &'static str) -> Kind {
    Kind {
        group: "admissionregistration.k8s.io",
        version: "v1",
        kind,
        plural,
    }
}

/// Has the server refuse every new pod of the scene, and waits until it does.
async fn refuse_pods(scene: &Scene, api: &Api) {
    let name = scene.namespace();
    let version = "admissionregistration.k8s.io/v1";
    let policy = json!({
        "apiVersion": version, "kind": POLICY.kind, "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"],
            }]},
            "validations": [{"expression": "false", "message": "no pods on Mondays"}],
        },
    });
    let binding = json!({
        "apiVersion": version, "kind": BINDING.kind, "metadata": {"name": name},
        "spec": {
            "policyName": name, "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}},
        },
    });
    api.create(POLICY, &policy).await.unwrap();
    api.create(BINDING, &binding).await.unwrap();
    until_refused(scene, "no pods on Mondays").await;
}

/// Waits until the server refuses new pods of the scene with these words.
async fn until_refused(scene: &Scene, words: &str) {
    let probe = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"},
        "spec": {"containers": [{"name": "main", "image": "a"}]},
    });
    let refused = async || match scene.api().create(Kind::POD, &probe).await {
        Ok(_) => {
            scene.api().delete_all_now(Kind::POD).await.unwrap();
            false
        }
        Err(error) => error.message.contains(words),
    };
    scene.eventually("pods are refused", refused).await;
}

/// Has the server ask a webhook about every new pod of the scene that nobody answers for, and waits until it does.
async fn ask_nobody(scene: &Scene, api: &Api) {
    let name = scene.namespace();
    let rule = json!({
        "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"],
    });
    let webhook = json!({
        "name": "nobody.example.com", "failurePolicy": "Fail", "sideEffects": "None", "timeoutSeconds": 1,
        "admissionReviewVersions": ["v1"], "rules": [rule],
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}},
    });
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": WEBHOOKS.kind, "metadata": {"name": name},
        "webhooks": [webhook],
    });
    api.create(WEBHOOKS, &configuration).await.unwrap();
    until_refused(scene, "failed calling webhook").await;
}

// proves: deployment/C-40, deployment/RS-22, deployment/D-75
#[test]
fn an_admission_policy_that_refuses_pods_is_reported_and_met_with_few_tries() {
    refused("no pods on Mondays", refuse_pods, &[BINDING, POLICY]);
}

// proves: deployment/C-40, deployment/RS-22, deployment/D-75
#[test]
fn a_webhook_that_is_down_is_reported_and_met_with_few_tries() {
    refused("failed calling webhook", ask_nobody, &[WEBHOOKS]);
}

/// New pods are refused with `words`, until what makes the server do so is deleted.
fn refused(words: &str, refuse: impl AsyncFnOnce(&Scene, &Api), because_of: &[Kind]) {
    behind_proxy(async |scene: &mut Scene, proxy: &Proxy| {
        let api = scene.server().api();
        refuse(scene, &api).await;
        let began = SystemClock.instant();
        let creates = Which::creates().of(Kind::POD);
        scene.kubelet().auto();
        scene.create(deployment("web").replicas(30)).await;
        let told = |object: &Stored| {
            object.condition("ReplicaFailure").is_some_and(|condition| {
                condition["reason"] == "FailedCreate" && condition["message"].to_string().contains(words)
            })
        };
        scene
            .until("both say why", |state| {
                state.deployment("web").is_some_and(told) && state.replica_sets().iter().all(|set| told(set))
            })
            .await;
        let tried = async || proxy.count_since(began, &creates) >= 6;
        scene.eventually("some tries", tried).await;
        // One at a time, with a wait that doubles from 5 ms: 14 tries take longer than 40 s.
        calm(proxy, began, &creates, 16);
        for kind in because_of {
            api.delete(*kind, scene.namespace(), &json!({})).await.unwrap();
        }
        scene.until_settled("web").await;
        assert_eq!(scene.look(|state| state.pods().len()), 30);
        assert!(scene.look(|state| !told(state.deployment("web").unwrap())));
    });
}
