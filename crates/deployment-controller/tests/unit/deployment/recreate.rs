//! When a Recreate rollout may go on (deployment D-40…D-43).

use std::time::Duration;

use rstest::rstest;
use testkit::builders::{Manifest as _, Pod, Templated as _, deployment, pod};
use workload_core::plan::Wake;

use super::cluster::Cluster;
use super::{noon, set};

/// Three replicas of image `b`, whose set does not exist yet; set `a` wants and has so many pods.
fn world(size: u32, counted: u32) -> Cluster {
    let web = deployment("web").replicas(3).recreate().image("b");
    Cluster::of(web).with(set("a", size, size).set("/status/replicas", counted))
}

fn old_pod() -> Pod {
    pod("one").owned_by(&set("a", 0, 0).uid("uid-of-web-a").json())
}

// proves: deployment/D-40, deployment/D-41, deployment/D-42
#[rstest]
#[case::old_ones_go_first(3, 3, None, "scale a 3 -> 0")]
#[case::old_ones_without_pods_too(3, 0, None, "scale a 3 -> 0")]
#[case::they_are_still_counted(0, 1, None, "")]
#[case::one_is_terminating(0, 0, Some(old_pod().phase("Running").terminating(noon())), "")]
#[case::one_is_pending(0, 0, Some(old_pod()), "")]
#[case::one_is_on_a_silent_node(0, 0, Some(old_pod().phase("Unknown")), "")]
#[case::one_has_failed(0, 0, Some(old_pod().phase("Failed")), "create b 3")]
#[case::one_has_succeeded(0, 0, Some(old_pod().phase("Succeeded").terminating(noon())), "create b 3")]
#[case::one_is_of_another_set(0, 0, Some(pod("one").owned_by(&set("x", 0, 0).uid("uid-of-x").json())), "create b 3")]
#[case::all_are_gone(0, 0, None, "create b 3")]
fn new_pods_wait_for_the_old_ones(
    #[case] size: u32,
    #[case] counted: u32,
    #[case] pod: Option<Pod>,
    #[case] expected: &str,
) {
    let mut cluster = world(size, counted);
    cluster.pods = pod.into_iter().map(Pod::json).collect();
    assert_eq!(cluster.turn().written(), expected);
}

// proves: deployment/D-42
#[test]
fn a_set_that_exists_already_gets_its_size_when_the_old_pods_are_gone() {
    let mut cluster = world(0, 0).with(set("b", 0, 0));
    cluster.pods = vec![old_pod().json()];
    assert_eq!(cluster.turn().written(), "");
    cluster.pods.clear();
    assert_eq!(cluster.turn().written(), "scale b 0 -> 3");
}

// proves: deployment/D-41
#[test]
fn an_old_pod_that_cannot_be_decoded_may_still_run_and_is_looked_for_again() {
    let mut cluster = world(0, 0);
    cluster.unread = vec!["a"];
    let turn = cluster.turn();
    assert_eq!(turn.written(), "");
    assert_eq!(turn.plan.wake, Wake::After(Duration::from_mins(1)));
    cluster.unread.clear();
    assert_eq!(cluster.turn().written(), "create b 3");
}

// proves: deployment/D-41
#[test]
fn pods_of_the_new_set_hold_up_nothing() {
    let mut cluster = world(0, 0).with(set("b", 0, 0));
    cluster.pods = vec![pod("one").owned_by(cluster.set("b")).terminating(noon()).json()];
    assert_eq!(cluster.turn().written(), "scale b 0 -> 3");
}

// proves: deployment/D-42, deployment/D-56
#[test]
fn history_is_cleaned_up_only_after_a_completed_rollout() {
    let mut cluster = Cluster::settled(deployment("web").replicas(2).recreate().history_limit(0));
    cluster.edit(|web| web.image("b"));
    let text = cluster.roll();
    assert_eq!(text.lines().last(), Some("delete a"), "{text}");
    assert_eq!(text.matches("delete").count(), 1);
}
