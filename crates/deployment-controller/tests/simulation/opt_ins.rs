//! What users do with Deployments that ask for what upstream does not have.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::Kind;
use testkit::api::POD_DISRUPTION_BUDGET;
use testkit::builders::{Manifest as _, Templated as _, deployment};
use testkit::object::Stored;
use testkit::record::State;
use testkit::simulation::scenario::Scenario;

use crate::laws;
use crate::opt_in_laws::{HOLD_AT, backoff, hold, never_grow, places, respect};
use crate::stories::{imaged, settled, story};

/// All stories.
pub(crate) fn all() -> Vec<Scenario> {
    vec![
        held(),
        replaced_when_gone(),
        kept_by_a_budget(),
        template_and_size(),
        backing_off(),
    ]
}

/// A canary, a larger one, and then all.
fn held() -> Scenario {
    let web = deployment("web")
        .replicas(5)
        .rolling(1, 1)
        .opt_in("deployment.hold-at", "2");
    let first = settled(story("hold at").create(Kind::DEPLOYMENT, web.json()));
    let canary = imaged(first, "b").until("two are updated", |state| holds(state, &[3, 2]));
    let larger = hold_at(canary, Some("3")).until("three are updated", |state| holds(state, &[2, 3]));
    settled(hold_at(larger, None)).under(laws::rolling(6, 4)).and(hold)
}

fn hold_at(story: Scenario, value: Option<&str>) -> Scenario {
    story.merge(
        Kind::DEPLOYMENT,
        "web",
        json!({"metadata": {"annotations": {HOLD_AT: value}}}),
    )
}

fn holds(state: &State, sizes: &[i64]) -> bool {
    let says = |web: &Stored| web.is_observed() && web.says("Progressing") == "Unknown DeploymentPaused";
    state.sizes() == sizes && state.deployment("web").is_some_and(says)
}

/// Old pods take a while to end, and only then new ones take their places.
fn replaced_when_gone() -> Scenario {
    let web = deployment("web")
        .replicas(4)
        .rolling(1, 1)
        .opt_in("deployment.pod-replacement", "TerminationComplete");
    let first = settled(story("replace when gone").create(Kind::DEPLOYMENT, web.json()));
    settled(imaged(first, "b"))
        .ending(500..=4000)
        .under(laws::rolling(5, 3))
        .and(places(5))
}

/// A budget allows nothing for a while, and then little.
fn kept_by_a_budget() -> Scenario {
    let web = deployment("web")
        .replicas(4)
        .rolling(1, 1)
        .opt_in("deployment.disruption-budgets", "Respect");
    let selector = json!({"matchLabels": {"app": "web"}});
    let budget = json!({"metadata": {"name": "few"}, "spec": {"minAvailable": 100, "selector": selector}});
    let first = settled(story("disruption budgets").create(Kind::DEPLOYMENT, web.json()));
    let kept = imaged(first.create(POD_DISRUPTION_BUDGET, budget), "b")
        .until("what is new is available, and less that is old is wanted", |state| {
            let sets = state.replica_sets();
            let new = sets.iter().find(|set| set.image() == "b");
            let old = sets.iter().find(|set| set.image() == "a");
            new.is_some_and(|set| set.count("availableReplicas") > 0) && old.is_some_and(|set| set.size() < 4)
        })
        .wait(Duration::from_secs(25));
    settled(kept.merge(POD_DISRUPTION_BUDGET, "few", json!({"spec": {"minAvailable": 3}})))
        .under(laws::rolling(5, 3))
        .and(respect)
}

/// One update changes template and size; no pod of the old template is made.
fn template_and_size() -> Scenario {
    let web = deployment("web")
        .replicas(2)
        .opt_in("deployment.never-grow-old", "true");
    let first = settled(story("never grow old").create(Kind::DEPLOYMENT, web.json()));
    let containers: Value = json!([{"name": "main", "image": "b"}]);
    let both = json!({"spec": {"replicas": 5, "template": {"spec": {"containers": containers}}}});
    settled(first.merge(Kind::DEPLOYMENT, "web", both))
        .under(laws::rolling(7, 2))
        .and(never_grow("a", 2))
}

/// Nodes refuse the first pods; the next ones wait longer and longer.
fn backing_off() -> Scenario {
    let web = deployment("web")
        .replicas(2)
        .opt_in("deployment.failed-pod-backoff", "2s,8s");
    let refused = story("failed pod backoff").reject_next(4);
    settled(refused.create(Kind::DEPLOYMENT, web.json()))
        .under(laws::rolling(2, 0))
        .and(backoff(Duration::from_secs(2)))
}
