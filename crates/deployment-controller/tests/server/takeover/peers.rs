//! One Lease for us and for upstream's client library: each waits for the other.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::account::Account;
use testkit::api::{LEASE, ROLE, ROLE_BINDING};
use testkit::builders::deployment;
use testkit::cluster::{Part, alone};
use testkit::controller::Controller;
use testkit::record::State;
use testkit::{Access, Scene, on};

use crate::PROGRAM;

/// Where kube-controller-manager keeps its Lease, and how that is called.
const HOME: &str = "kube-system";
const SHARED: &str = "kube-controller-manager";

/// Much longer than either takes between two looks at the Lease, also on a busy machine; shorter than the Lease lasts without
/// a renewal.
const SOME_LOOKS: Duration = Duration::from_secs(12);

/// Lets the account of the scene have the Lease; undone by [`take_back`].
async fn share(scene: &Scene) {
    let home = scene.server().api().namespace(HOME);
    let (name, group) = (scene.namespace(), "rbac.authorization.k8s.io");
    let leases = json!({"apiGroups": [LEASE.group], "resources": [LEASE.plural], "verbs": ["*"]});
    let role = json!({
        "apiVersion": format!("{group}/v1"), "kind": "Role", "metadata": {"name": name}, "rules": [leases],
    });
    let binding = json!({
        "apiVersion": format!("{group}/v1"), "kind": "RoleBinding", "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": PROGRAM.name, "namespace": name}],
    });
    home.create(ROLE, &role).await.unwrap();
    home.create(ROLE_BINDING, &binding).await.unwrap();
}

async fn take_back(scene: &Scene) {
    let home = scene.server().api().namespace(HOME);
    for kind in [ROLE_BINDING, ROLE] {
        home.delete(kind, scene.namespace(), &Value::Null).await.unwrap();
    }
}

/// Holder, renewal and number of transitions, as they are stored.
async fn lease(scene: &Scene) -> (String, String, i64) {
    let home = scene.server().api().namespace(HOME);
    let spec = home.get(LEASE, SHARED).await.map(|lease| lease["spec"].clone());
    let spec = spec.unwrap_or_default();
    let text = |field: &str| spec[field].as_str().unwrap_or_default().to_owned();
    let transitions = spec["leaseTransitions"].as_i64().unwrap_or_default();
    (text("holderIdentity"), text("renewTime"), transitions)
}

async fn leads(controller: &Controller) -> bool {
    controller.metrics().await.count("leader_election_master_status", &[]) == 1
}

/// Whoever holds the Lease goes on holding and renewing it; nobody else takes it.
async fn stays(scene: &Scene) {
    let (holder, renewed, transitions) = lease(scene).await;
    scene.holds_for(SOME_LOOKS, "time passes", |_| true).await;
    let now = lease(scene).await;
    assert_eq!((&now.0, now.2), (&holder, transitions));
    assert_ne!(now.1, renewed, "{holder} renews it");
}

async fn start(scene: &Scene, account: &Account) -> Controller {
    let access = Access {
        token: Some(account.token().to_owned()),
        ..Access::default()
    };
    let flags = [format!("--lease-namespace={HOME}"), format!("--lease-name={SHARED}")];
    scene
        .start_by(&access, &PROGRAM, &flags.each_ref().map(|flag| &**flag))
        .await
}

// proves: field/FR-RS-04, deployment/I-4
#[test]
fn we_wait_for_upstreams_lease_and_upstream_waits_for_ours() {
    alone(async |cluster| {
        on(cluster.server(), async |scene| {
            let account = scene.account(&PROGRAM).await;
            share(scene).await;
            scene
                .eventually("upstream leads", async || !lease(scene).await.0.is_empty())
                .await;
            let ours = start(scene, &account).await;
            stays(scene).await;
            assert!(!leads(&ours).await, "two leaders");

            cluster.stop(Part::ControllerManager).await;
            scene.eventually("we lead", async || leads(&ours).await).await;
            let (holder, ..) = lease(scene).await;
            cluster.start(Part::ControllerManager).await;
            stays(scene).await;
            assert_eq!(lease(scene).await.0, holder);
            assert!(leads(&ours).await);

            assert!(ours.stop().await.success());
            let taken = async || {
                let (now, ..) = lease(scene).await;
                !now.is_empty() && now != holder
            };
            scene.eventually("upstream leads again", taken).await;
            scene.create(deployment("web")).await;
            let observed = |state: &State| state.deployment("web").unwrap().is_observed();
            scene.until("upstream is at work", observed).await;
            take_back(scene).await;
        })
        .await;
    });
}
