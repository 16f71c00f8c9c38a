//! Which change wakes which ReplicaSet (deployment RS-1, RS-2, C-10, C-17, C-18).

use std::sync::Arc;
use std::time::Duration;

use deployment_controller::replicaset::{spec, watches};
use rstest::rstest;
use testkit::builders::{Manifest as _, Pod, ReplicaSet, Templated as _, deployment, replica_set};
use workload_core::cache::{Delta, Store};
use workload_core::pod::PodView;

use super::{cache, noon, orphan, owned, ready, web};

/// `web` and `other`, which select one label each, and `both`, which selects the pods of either.
fn sets() -> Store<spec::ReplicaSet> {
    let both = serde_json::json!({"matchExpressions": [{"key": "app", "operator": "Exists"}]});
    let sets = [
        web(1).min_ready_seconds(10),
        other(),
        replica_set("both").uid("uid-of-both").set("/spec/selector", both),
        replica_set("empty").set("/spec/selector", serde_json::json!({})),
        replica_set("broken").set(
            "/spec/selector/matchExpressions",
            serde_json::json!([{"operator": "Near"}]),
        ),
        replica_set("elsewhere")
            .namespace("elsewhere")
            .set("/spec/selector/matchLabels/app", "web"),
    ];
    cache(&sets.map(ReplicaSet::json))
}

fn other() -> ReplicaSet {
    replica_set("other").uid("uid-of-other")
}

fn of_other(pod: Pod) -> Pod {
    pod.owned_by(&other().json())
}

fn applied(old: Option<Pod>, new: Pod) -> Delta<PodView> {
    Delta::Applied {
        old: old.map(|old| Arc::new(old.decode())),
        new: Arc::new(new.decode()),
    }
}

fn removed(last: Pod) -> Delta<PodView> {
    Delta::Removed {
        last: Arc::new(last.decode()),
    }
}

/// The woken sets in order; a set to be woken later is followed by the seconds.
fn woken(delta: &Delta<PodView>) -> Vec<String> {
    let mut woken: Vec<String> = watches::of_pod(delta, &sets())
        .iter()
        .map(|(key, wait)| match wait.as_secs() {
            0 => key.name.to_string(),
            seconds => format!("{} in {seconds}", key.name),
        })
        .collect();
    woken.sort_unstable();
    woken
}

// proves: deployment/RS-1, deployment/C-10
#[rstest]
#[case::added(applied(None, owned("a")), &["web"])]
#[case::added_while_terminating(applied(None, owned("a").terminating(noon())), &["web"])]
#[case::changed(applied(Some(owned("a")), owned("a").phase("Failed")), &["web"])]
#[case::terminating(applied(Some(owned("a")), owned("a").terminating(noon())), &["web"])]
#[case::removed(removed(owned("a")), &["web"])]
#[case::of_an_earlier_set_of_that_name(applied(None, orphan("a").owned_by(&web(1).uid("older").json())), &[])]
#[case::of_an_unknown_set(applied(None, orphan("a").owned_by(&replica_set("gone").uid("x").json())), &[])]
#[case::of_another_kind(applied(None, orphan("a").owned_by(&deployment("web").uid("uid-of-web").json())), &[])]
fn a_pod_wakes_the_set_that_owns_it(#[case] delta: Delta<PodView>, #[case] expected: &[&str]) {
    assert_eq!(woken(&delta), expected);
}

// proves: deployment/C-17
#[rstest]
#[case::added(applied(None, orphan("a")), &["both", "web"])]
#[case::added_while_terminating(applied(None, orphan("a").terminating(noon())), &[])]
#[case::relabelled(applied(Some(orphan("a")), orphan("a").label("app", "other")), &["both", "other"])]
#[case::released(applied(Some(owned("a")), orphan("a")), &["both", "web", "web"])]
#[case::changed_otherwise(applied(Some(orphan("a")), orphan("a").phase("Failed")), &[])]
#[case::removed(removed(orphan("a")), &[])]
fn an_orphan_wakes_every_set_that_could_adopt_it(#[case] delta: Delta<PodView>, #[case] expected: &[&str]) {
    assert_eq!(woken(&delta), expected);
}

// proves: deployment/C-18
#[rstest]
#[case::adopted(applied(Some(orphan("a")), owned("a")), &["web"])]
#[case::moved(applied(Some(owned("a")), of_other(orphan("a"))), &["other", "web"])]
#[case::moved_while_terminating(applied(Some(owned("a")), of_other(orphan("a")).terminating(noon())), &["other", "web"])]
#[case::orphaned_while_terminating(applied(Some(owned("a")), orphan("a").terminating(noon())), &["web"])]
fn a_change_of_owner_wakes_both(#[case] delta: Delta<PodView>, #[case] expected: &[&str]) {
    assert_eq!(woken(&delta), expected);
}

// proves: deployment/RS-2
#[rstest]
#[case::became_ready(Some(owned("a")), ready("a", "2026-01-02T12:00:00Z"), &["web", "web in 10"])]
#[case::was_ready(Some(ready("a", "2026-01-02T11:59:00Z")), ready("a", "2026-01-02T11:59:00Z").restarts(1), &["web"])]
#[case::became_unready(Some(ready("a", "2026-01-02T12:00:00Z")), owned("a"), &["web"])]
#[case::no_time_demanded(Some(of_other(orphan("a"))), of_other(orphan("a")).ready_since(noon()), &["other"])]
fn a_pod_that_became_ready_wakes_its_set_again_when_it_is_available(
    #[case] old: Option<Pod>,
    #[case] new: Pod,
    #[case] expected: &[&str],
) {
    assert_eq!(woken(&applied(old, new)), expected);
}

// proves: deployment/RS-1
#[test]
fn every_change_of_a_set_wakes_it() {
    let set = || Arc::new(web(1).decode());
    let added = Delta::Applied { old: None, new: set() };
    let changed = Delta::Applied {
        old: Some(set()),
        new: set(),
    };
    for delta in [added, changed, Delta::Removed { last: set() }] {
        let due = watches::of_replica_set(&delta);
        assert_eq!(due, [(set().meta.key.clone(), Duration::ZERO)]);
    }
}
