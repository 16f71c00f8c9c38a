//! Rollouts whose old pods go by eviction, as the Deployment loop sees them: opt-in `deployment.disruption-budgets`
//! (deployment L-4).

use rstest::rstest;
use testkit::builders::{Manifest as _, Templated as _, deployment};

use super::cluster::Cluster;
use super::set;

/// Ten replicas with a quarter of surge and of unavailability; the first version `a` is to have 8 pods, and a budget keeps
/// `kept` more. Version `b` is broken, and `n` is to replace both.
fn broken_in_between(kept: i64, value: &str) -> Cluster {
    let web = deployment("web")
        .replicas(10)
        .rolling("25%", "25%")
        .image("n")
        .opt_in("deployment.disruption-budgets", value);
    let mut cluster = Cluster::of(web)
        .with(set("a", 8, 8))
        .with(set("b", 5, 0))
        .with(set("n", 0, 0).opt_in("deployment.disruption-budgets", value));
    cluster.report("a", 8 + kept, 8 + kept);
    cluster
}

// proves: deployment/L-4, deployment/D-34
#[rstest]
#[case::one_is_kept(1, "Respect", "scale b 5 -> 0")]
#[case::all_have_gone(0, "Respect", "scale b 5 -> 0")]
#[case::without_budgets_it_is_a_lag_that_passes(1, "no", "")]
fn a_budget_that_keeps_pods_of_one_version_keeps_no_other(
    #[case] kept: i64,
    #[case] value: &str,
    #[case] expected: &str,
) {
    assert_eq!(broken_in_between(kept, value).turn().written(), expected);
}

// proves: deployment/L-4, deployment/D-35
#[test]
fn while_a_budget_keeps_pods_of_a_version_no_more_of_it_are_taken() {
    let mut cluster = broken_in_between(1, "Respect");
    cluster.edit_set("b", |set| set.replicas(0));
    cluster.report("b", 0, 0);
    assert_eq!(cluster.turn().written(), "scale n 0 -> 5");
    cluster.report("n", 5, 2);
    assert_eq!(
        cluster.turn().written(),
        "",
        "new pods must not pile up beside those that stay"
    );
    cluster.report("a", 8, 8);
    assert_eq!(cluster.turn().written(), "scale a 8 -> 6");
}

// proves: deployment/L-4, deployment/D-34
#[test]
fn neither_are_those_that_are_not_available() {
    let mut cluster = broken_in_between(1, "Respect");
    cluster.report("b", 6, 0);
    assert_eq!(cluster.turn().written(), "", "both old versions are kept");
    cluster.report("b", 5, 0);
    assert_eq!(cluster.turn().written(), "scale b 5 -> 0");
}
