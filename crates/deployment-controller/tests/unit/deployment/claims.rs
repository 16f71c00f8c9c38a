//! Which ReplicaSets a Deployment works with (deployment C-11, C-16, D-2, D-3, D-86).

use deployment_controller::deployment::{Deployments, Intent, Newest, Report};
use rstest::rstest;
use serde_json::json;
use testkit::builders::{Manifest as _, ReplicaSet, Templated as _, deployment};
use workload_core::outcome::{FailureClass, Verb};
use workload_core::plan::Stage;
use workload_core::workload::{Observation, RetryLimit, Workload};

use super::cluster::Cluster;
use super::{noon, set};

fn world() -> Cluster {
    Cluster::of(deployment("web").replicas(2).image("c")).with(set("c", 2, 2))
}

fn owned_by(owner: &str, set: ReplicaSet) -> ReplicaSet {
    set.owned_by(&deployment("other").uid(owner).json())
}

// proves: deployment/C-11, deployment/C-16, deployment/D-86
#[rstest]
#[case::of_another_deployment_with_the_same_selector(owned_by("uid-of-other", set("a", 3, 3)), "")]
#[case::an_orphan(set("a", 3, 3), "adopt a; scale a 3 -> 0")]
#[case::an_orphan_on_its_way_out(set("a", 3, 3).terminating(noon()), "")]
#[case::an_orphan_with_another_label(set("a", 3, 3).label("app", "shop"), "")]
fn only_orphans_that_fit_are_taken(#[case] other: ReplicaSet, #[case] expected: &str) {
    let mut cluster = world().with(other);
    let owners = cluster.set("a")["metadata"]["ownerReferences"]
        .as_array()
        .unwrap()
        .clone();
    let foreign: Vec<_> = owners
        .into_iter()
        .filter(|owner| owner["uid"] != "uid-of-web")
        .collect();
    cluster.edit_set("a", |set| set.set("/metadata/ownerReferences", json!(foreign)));
    assert_eq!(cluster.turn().written(), expected);
}

// proves: deployment/C-11, deployment/C-12
#[test]
fn a_set_is_let_go_when_its_labels_fit_no_longer() {
    let mut cluster = world().with(set("a", 3, 3).label("app", "shop"));
    let turn = cluster.turn();
    assert_eq!(turn.written(), "release a");
    assert_eq!(
        cluster.deployment["status"]["replicas"], 2,
        "it is not counted any more"
    );
    assert!(matches!(turn.plan.stages.as_slice(), [Stage::Claim(claims)] if claims.len() == 1));
}

// proves: deployment/C-15
#[test]
fn claims_come_before_everything_else() {
    let mut cluster = world();
    cluster.edit(|web| web.image("d"));
    cluster = cluster.with(set("a", 3, 3));
    cluster.edit_set("a", |set| set.set("/metadata/ownerReferences", json!([])));
    cluster.refusal = Some((Verb::Adopt, FailureClass::OwnerUnfit));
    let turn = cluster.turn();
    assert_eq!(turn.written(), "");
    assert!(
        matches!(turn.plan.stages.as_slice(), [Stage::Claim(_), Stage::Create(_), ..]),
        "{:?}",
        turn.plan
    );
}

// proves: deployment/D-3
#[test]
fn a_selector_of_everything_is_warned_about_and_nothing_else() {
    let mut cluster = world();
    cluster.edit(|web| web.set("/spec/selector", json!({})).image("d"));
    let turn = cluster.turn();
    assert_eq!(turn.written(), "");
    assert!(turn.said()[0].starts_with("SelectingAll: "), "{:?}", turn.said());
    assert_eq!(turn.status(), &json!({"observedGeneration": 2}));
    assert_eq!(
        turn.plan.intent,
        Intent {
            report: Report::Generation,
            newest: Newest::Missing,
            patched: std::collections::BTreeMap::new(),
            revision: None,
        }
    );
    assert_eq!(cluster.turn().status(), &json!(null));
}

// proves: deployment/D-3
#[test]
fn a_deployment_with_an_invalid_selector_is_left_alone() {
    let mut cluster = world();
    let near = json!([{"key": "app", "operator": "Near"}]);
    cluster.edit(|web| web.set("/spec/selector/matchExpressions", near));
    assert!(matches!(cluster.observation(), Observation::Ignored(_)));
}

// proves: deployment/C-4, deployment/C-7, deployment/C-74
#[test]
fn names_and_limits_are_upstreams() {
    assert_eq!(Deployments::QUEUE, "deployment");
    assert_eq!(Deployments::COMPONENT, "deployment-controller");
    assert_eq!(Deployments::RETRIES, RetryLimit::Times(15));
}
