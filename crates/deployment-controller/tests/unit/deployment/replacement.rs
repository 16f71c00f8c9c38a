//! Pods that are replaced only when they have gone: opt-in `deployment.pod-replacement` (deployment L-2, field FR-DP-02).

use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};
use testkit::builders::{Deployment, Manifest as _, Templated as _, deployment};

use super::cluster::Cluster;
use super::pods::Pods;
use super::set;

const COMPLETE: (&str, &str) = ("deployment.pod-replacement", "TerminationComplete");

fn web(replicas: u32, surge: impl Into<Value>, unavailable: impl Into<Value>) -> Deployment {
    deployment("web")
        .replicas(replicas)
        .rolling(surge, unavailable)
        .image("a")
        .opt_in(COMPLETE.0, COMPLETE.1)
}

/// The same Deployment, settled, with image `b` asked for.
fn rolling(web: Deployment) -> Pods {
    let mut pods = Pods::settled(Cluster::of(web));
    pods.cluster.edit(|web| web.image("b"));
    pods
}

/// Replicas and surge of the Deployment as it is now.
fn most(cluster: &Cluster) -> i64 {
    let spec = &cluster.deployment["spec"];
    let replicas = spec["replicas"].as_i64().unwrap();
    let surge = &spec["strategy"]["rollingUpdate"]["maxSurge"];
    let percent = |text: &str| text.trim_end_matches('%').parse::<i64>().unwrap() * replicas;
    replicas
        + surge
            .as_i64()
            .unwrap_or_else(|| (percent(surge.as_str().unwrap_or("0%")) + 99) / 100)
}

fn stays_within(pods: &Pods) {
    let (there, most) = (pods.unfinished(), most(&pods.cluster));
    assert!(
        there <= most,
        "{there} pods of at most {most}: {}",
        pods.cluster.sizes()
    );
}

fn sizes_at_rest(pods: &mut Pods) -> String {
    pods.rest(stays_within);
    pods.cluster.sizes()
}

// proves: deployment/L-2, field/FR-DP-02
#[rstest]
#[case::surge_alone(5, json!(1), json!(0), "a 4, b 1")]
#[case::no_surge(5, json!(0), json!(1), "a 4, b 0")]
#[case::neither_surge_nor_unavailable(5, json!(0), json!("1%"), "a 4, b 0")]
#[case::all_at_once(5, json!(0), json!("100%"), "a 0, b 0")]
#[case::both(10, json!(3), json!(2), "a 5, b 3")]
#[case::one_replica(1, json!(1), json!(0), "a 0, b 1")]
fn a_rollout_waits_for_pods_that_terminate_and_then_ends(
    #[case] replicas: u32,
    #[case] surge: Value,
    #[case] unavailable: Value,
    #[case] waiting: &str,
) {
    let mut pods = rolling(web(replicas, surge, unavailable));
    assert_eq!(sizes_at_rest(&mut pods), waiting);
    pods.settle_with(stays_within);
    assert_eq!(pods.cluster.sizes(), format!("a 0, b {replicas}"));
    let reason = &pods.cluster.condition("Progressing").unwrap()["reason"];
    assert_eq!(reason, "NewReplicaSetAvailable");
}

// proves: deployment/L-2, field/FR-DP-02
#[test]
fn by_default_terminating_pods_count_for_nothing() {
    let mut pods = Pods::settled(Cluster::of(deployment("web").replicas(5).rolling(1, 0).image("a")));
    pods.cluster.edit(|web| web.image("b"));
    pods.rest(|_| {});
    assert_eq!(pods.cluster.sizes(), "a 0, b 5");
    assert_eq!(pods.unfinished(), 10);
}

// proves: deployment/L-2
#[test]
fn a_pod_that_never_ends_holds_up_its_own_place_only() {
    let mut pods = rolling(web(5, 2, 0));
    pods.rest(stays_within);
    let stuck = pods
        .cluster
        .pods
        .iter()
        .position(|pod| pod["metadata"]["deletionTimestamp"] != Value::Null);
    let stuck = pods.cluster.pods[stuck.unwrap()]["metadata"]["name"].clone();
    for _ in 0..40 {
        let others =
            |pod: &Value| pod["metadata"]["deletionTimestamp"] != Value::Null && pod["metadata"]["name"] != stuck;
        if let Some(at) = pods.cluster.pods.iter().position(others) {
            pods.end(at);
        }
        pods.rest(stays_within);
    }
    assert_eq!(pods.cluster.sizes(), "a 0, b 5", "the surge makes up for it");
}

// proves: deployment/L-2, deployment/D-74
#[test]
fn a_rollout_that_waits_for_pods_misses_its_deadline() {
    let mut pods = rolling(web(2, 0, 1));
    assert_eq!(sizes_at_rest(&mut pods), "a 1, b 0");
    pods.cluster.now = workload_core::time::plus(pods.cluster.now, std::time::Duration::from_secs(601));
    pods.cluster.turn();
    let reason = pods.cluster.condition("Progressing").unwrap()["reason"].clone();
    assert_eq!(reason, "ProgressDeadlineExceeded");
    pods.settle_with(stays_within);
    assert_eq!(pods.cluster.sizes(), "a 0, b 2");
}

// proves: deployment/L-2
#[test]
fn a_pod_that_cannot_be_decoded_takes_room_too() {
    let mut cluster = Cluster::of(web(5, 0, 1).image("b")).with(set("a", 0, 0));
    cluster.unread = vec!["a"];
    assert_eq!(cluster.turn().written(), "create b 4");
    cluster.report("b", 4, 4);
    cluster.unread.clear();
    assert_eq!(cluster.turn().written(), "scale b 4 -> 5");
}

// proves: deployment/L-2, deployment/D-55
#[test]
fn an_old_set_stays_in_sight_while_pods_of_it_terminate() {
    let mut pods = rolling(web(1, 1, 0).history_limit(0));
    assert_eq!(sizes_at_rest(&mut pods), "a 0, b 1", "by default it would be gone");
    pods.cluster.edit(|web| web.image("c"));
    assert_eq!(sizes_at_rest(&mut pods), "a 0, b 1, c 0");
    pods.settle_with(stays_within);
    assert_eq!(pods.cluster.sizes(), "c 1");
}

// proves: deployment/L-2
#[test]
fn a_pod_that_was_deleted_by_hand_is_replaced_when_it_has_gone() {
    let mut pods = Pods::settled(Cluster::of(web(3, 1, 0)));
    pods.terminate_at(1);
    pods.rest(stays_within);
    assert_eq!(pods.unfinished_of("a"), 3);
    pods.settle_with(|pods| assert!(pods.unfinished() <= 3, "surge is for rollouts"));
    assert_eq!(pods.unfinished_of("a"), 3);
}

// proves: deployment/L-2, deployment/D-42
#[test]
fn recreate_waits_as_ever_and_replaces_pods_when_they_have_gone() {
    let recreated = deployment("web")
        .replicas(3)
        .recreate()
        .image("a")
        .opt_in(COMPLETE.0, COMPLETE.1);
    let mut pods = rolling(recreated);
    assert_eq!(sizes_at_rest(&mut pods), "a 0");
    pods.settle_with(stays_within);
    assert_eq!(pods.cluster.sizes(), "a 0, b 3");
    pods.cluster.edit(|web| web.replicas(1));
    pods.rest(|_| {});
    pods.cluster.edit(|web| web.replicas(3));
    pods.settle_with(stays_within);
    assert_eq!(pods.cluster.sizes(), "a 0, b 3");
}

// proves: deployment/L-2, deployment/D-21, deployment/D-22
#[rstest]
#[case::goes_on(false, "a 0, b 12")]
#[case::paused(true, "a 6, b 6")]
fn what_scaling_cannot_give_at_once_is_given_later(#[case] paused: bool, #[case] expected: &str) {
    let mut pods = rolling(web(6, 0, 3));
    pods.rest(stays_within);
    assert_eq!(pods.cluster.sizes(), "a 3, b 0");
    for _ in 0..3 {
        let leaving = |pod: &Value| pod["metadata"]["deletionTimestamp"] != Value::Null;
        pods.end(pods.cluster.pods.iter().position(leaving).unwrap());
    }
    pods.cluster.broken = vec!["b"];
    pods.rest(stays_within);
    assert_eq!(pods.cluster.sizes(), "a 3, b 3");
    pods.terminate_at(0);
    pods.cluster.broken.clear();
    pods.cluster.edit(|web| web.replicas(12).set("/spec/paused", paused));
    pods.settle_with(stays_within);
    assert_eq!(pods.cluster.sizes(), expected);
}

// proves: deployment/L-2
#[rstest]
#[case::all_have_taken_in_their_size(1, 1, "a 3, b 2")]
#[case::another_one_has_not(0, 1, "a 3, b 0")]
#[case::it_has_not_itself(1, 0, "a 3, b 0")]
fn nobody_grows_before_all_sets_have_taken_in_their_sizes(#[case] old: i64, #[case] new: i64, #[case] expected: &str) {
    let observed = |image, size, generation: i64| set(image, size, size).set("/status/observedGeneration", generation);
    let mut cluster = Cluster::of(web(5, 0, 2).image("b"))
        .with(observed("a", 3, old))
        .with(observed("b", 0, new));
    cluster.turn();
    assert_eq!(cluster.sizes(), expected);
}

/// What happens in a cluster.
#[derive(Clone, Copy, Debug)]
enum Happening {
    DeploymentTurn,
    Decide(usize),
    CarryOut,
    Ready(usize),
    End(usize),
    Fail(usize),
    DeleteByHand(usize),
    Scale(u32),
    Roll(&'static str),
    Pause(bool),
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    use Happening::{CarryOut, Decide, DeleteByHand, DeploymentTurn, End, Fail, Pause, Ready, Roll, Scale};
    let image = prop::sample::select(vec!["a", "b", "c"]);
    let happening = prop_oneof![
        8 => Just(DeploymentTurn),
        8 => (0..3_usize).prop_map(Decide),
        8 => Just(CarryOut),
        6 => (0..12_usize).prop_map(Ready),
        4 => (0..12_usize).prop_map(End),
        1 => (0..12_usize).prop_map(Fail),
        1 => (0..12_usize).prop_map(DeleteByHand),
        1 => (0..7_u32).prop_map(Scale),
        1 => image.prop_map(Roll),
        1 => prop::bool::weighted(0.3).prop_map(Pause),
    ];
    prop::collection::vec(happening, 0..60)
}

fn happens(pods: &mut Pods, what: Happening) {
    match what {
        Happening::DeploymentTurn => drop(pods.cluster.turn()),
        Happening::Decide(at) => pods.decide(at),
        Happening::CarryOut => pods.carry_out(),
        Happening::Ready(at) => pods.ready(at),
        Happening::End(at) => pods.end(at),
        Happening::Fail(at) => pods.fail(at),
        Happening::DeleteByHand(at) => pods.terminate_at(at),
        Happening::Scale(replicas) => pods.cluster.edit(|web| web.replicas(replicas)),
        Happening::Roll(image) => pods.cluster.edit(|web| web.image(image)),
        Happening::Pause(paused) => pods.cluster.edit(|web| web.set("/spec/paused", paused)),
    }
}

/// How many pods there may be. What was decided before the Deployment was made smaller may still be done, until sizes and
/// pods have come down.
struct Bound(i64);

impl Bound {
    fn holds(&mut self, pods: &Pods) -> bool {
        let most = most(&pods.cluster);
        self.0 = if pods.has_room_in(most) { most } else { self.0.max(most) };
        pods.unfinished() <= self.0
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    // proves: deployment/L-2, field/FR-DP-02
    #[test]
    fn live_and_terminating_pods_never_get_more_than_replicas_and_surge(
        replicas in 1..6_u32,
        surge in 0..3_u32,
        unavailable in 0..3_u32,
        happenings in happenings(),
    ) {
        let unavailable = if surge == 0 { unavailable.max(1) } else { unavailable };
        let mut pods = rolling(web(replicas, surge, unavailable));
        let mut bound = Bound(most(&pods.cluster));
        for what in happenings {
            happens(&mut pods, what);
            prop_assert!(bound.holds(&pods), "{} after {what:?}: {}", pods.unfinished(), pods.cluster.sizes());
        }
        pods.carry_out();
        pods.cluster.edit(|web| web.set("/spec/paused", false));
        pods.settle_with(|pods| assert!(bound.holds(pods)));
        let wanted = pods.cluster.deployment["spec"]["replicas"].as_i64().unwrap();
        prop_assert_eq!(pods.unfinished(), wanted);
        let template = pods.cluster.deployment["spec"]["template"]["spec"].clone();
        for set in &pods.cluster.sets {
            let expected = if set["spec"]["template"]["spec"] == template { wanted } else { 0 };
            prop_assert_eq!(set["spec"]["replicas"].as_i64(), Some(expected));
        }
    }
}
