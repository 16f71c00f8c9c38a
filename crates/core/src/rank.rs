//! Which pods go first when there are too many (deployment C-50…C-53).

use std::cmp::{Ordering, Reverse};

use crate::pod::{Phase, PodView};
use crate::time::Timestamp;

/// A pod that may have to go.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The pod.
    pub pod: &'a PodView,
    /// How many active pods of the same group run on its node; 0 where colocation does not matter (deployment C-50).
    pub colocated: usize,
}

/// The first `how_many` of the candidates to go. The result does not depend on the order of the candidates.
pub fn victims<'a>(candidates: &[Candidate<'a>], how_many: usize, now: Timestamp) -> Vec<&'a PodView> {
    let mut order = candidates.to_vec();
    order.sort_unstable_by(|a, b| a.pod.meta.uid.cmp(&b.pod.meta.uid));
    if how_many < order.len() {
        order = merge_sort(order, &|a, b| goes_before(a, b, now));
    }
    order.iter().take(how_many).map(|candidate| candidate.pod).collect()
}

/// Compares two candidates by the first criterion in which they differ (deployment C-51); `Equal` where upstream leaves
/// the order open.
fn goes_before(a: &Candidate<'_>, b: &Candidate<'_>, now: Timestamp) -> Ordering {
    let first = |candidate: &Candidate<'_>| {
        let pod = candidate.pod;
        let phase = match pod.phase {
            Phase::Pending | Phase::Succeeded | Phase::Failed => 0,
            Phase::Unknown => 1,
            Phase::Running => 2,
        };
        (
            pod.node.is_some(),
            phase,
            pod.is_ready(),
            pod.deletion_cost,
            Reverse(candidate.colocated),
        )
    };
    let last = |candidate: &Candidate<'_>| (Reverse(candidate.pod.restarts), Reverse(candidate.pod.sidecar_restarts));
    let by_uid = || a.pod.meta.uid.cmp(&b.pod.meta.uid);
    first(a)
        .cmp(&first(b))
        .then_with(|| younger_first(a.pod.ready_since(), b.pod.ready_since(), now, by_uid))
        .then_with(|| last(a).cmp(&last(b)))
        .then_with(|| younger_first(a.pod.meta.created, b.pod.meta.created, now, by_uid))
}

/// Unknown times first, then small ages. Ages that differ less than twofold count as equal, so that uids, which are
/// random, spread the victims; equal times decide nothing.
fn younger_first(
    a: Option<Timestamp>,
    b: Option<Timestamp>,
    now: Timestamp,
    by_uid: impl FnOnce() -> Ordering,
) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    let bucket = |at: Option<Timestamp>| at.map(|at| age_bucket(at, now));
    bucket(a).cmp(&bucket(b)).then_with(by_uid)
}

/// Binary logarithm of the age in nanoseconds, rounded down; nothing for an age that is not positive (deployment C-52).
fn age_bucket(at: Timestamp, now: Timestamp) -> Option<u32> {
    now.duration_since(at).as_nanos().checked_ilog2()
}

/// Sorts by a comparison that need not be transitive. Upstream's is not: of pods that became ready in one second the one
/// with more restarts goes first, of others with ages in one bucket the one with the smaller uid, which together can run
/// in a circle. The standard sorts may panic on that; this one ends, and where there is no circle its result is the one
/// that the comparison demands.
fn merge_sort<T: Copy>(mut items: Vec<T>, compare: &impl Fn(&T, &T) -> Ordering) -> Vec<T> {
    if items.len() < 2 {
        return items;
    }
    let right = merge_sort(items.split_off(items.len() / 2), compare);
    let left = merge_sort(items, compare);
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let next = if compare(a, b) == Ordering::Greater {
            right.next()
        } else {
            left.next()
        };
        merged.extend(next);
    }
    merged.extend(left.chain(right));
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::condition::Status;
    use crate::labels::Interner;
    use crate::meta::Object;
    use crate::pod::Ready;
    use crate::time;
    use proptest::prelude::*;
    use rstest::rstest;
    use std::time::Duration;

    const NOW: &str = "2026-01-02T03:04:05Z";

    fn now() -> Timestamp {
        NOW.parse().unwrap()
    }

    fn before_now(age: Duration) -> Timestamp {
        time::to_seconds(now().checked_sub(age).unwrap())
    }

    fn minutes(count: u64) -> Timestamp {
        before_now(Duration::from_mins(count))
    }

    /// A running pod on a node, ready and created an hour ago.
    fn pod(uid: &str) -> PodView {
        let json = format!(r#"{{"metadata":{{"name":"{uid}","uid":"{uid}","resourceVersion":"1"}}}}"#);
        let mut pod = PodView::decode(json.as_bytes(), &Interner::default()).unwrap();
        pod.node = Some("node".into());
        pod.phase = Phase::Running;
        pod.ready = Some(Ready {
            status: Status::True,
            since: Some(minutes(60)),
        });
        pod.meta.created = Some(minutes(60));
        pod
    }

    fn unready(pod: &mut PodView) {
        pod.ready = Some(Ready {
            status: Status::False,
            since: Some(minutes(1)),
        });
    }

    fn ready_since(pod: &mut PodView, since: Option<Timestamp>) {
        pod.ready = Some(Ready {
            status: Status::True,
            since,
        });
    }

    /// The uids of the victims.
    fn chosen(candidates: &[Candidate<'_>], how_many: usize) -> Vec<String> {
        let victims = victims(candidates, how_many, now());
        victims.into_iter().map(|pod| pod.meta.uid.to_string()).collect()
    }

    /// Of two equal pods the one that `first` changed must go before the one that `second` changed, whichever of them has
    /// the smaller uid.
    fn check(first: impl Fn(&mut PodView), second: impl Fn(&mut PodView)) {
        for (first_uid, second_uid) in [("a", "b"), ("b", "a")] {
            let (mut one, mut other) = (pod(first_uid), pod(second_uid));
            first(&mut one);
            second(&mut other);
            let candidates = [&one, &other].map(|pod| Candidate { pod, colocated: 0 });
            assert_eq!(chosen(&candidates, 1), [first_uid]);
        }
    }

    type Change = fn(&mut PodView);

    /// The criteria in their order; by each, a pod changed the first way goes before one changed the second way.
    const CRITERIA: &[(&str, Change, Change)] = &[
        ("unscheduled", |pod| pod.node = None, |_| ()),
        (
            "phase",
            |pod| pod.phase = Phase::Pending,
            |pod| pod.phase = Phase::Unknown,
        ),
        ("readiness", unready, |_| ()),
        ("deletion cost", |pod| pod.deletion_cost = -1, |_| ()),
        ("time ready", |pod| ready_since(pod, Some(minutes(1))), |_| ()),
        ("restarts", |pod| pod.restarts = 1, |_| ()),
        ("sidecar restarts", |pod| pod.sidecar_restarts = 1, |_| ()),
        ("age", |pod| pod.meta.created = Some(minutes(1)), |_| ()),
    ];

    // proves: deployment/C-51
    #[test]
    fn an_earlier_criterion_beats_all_later_ones() {
        for (position, (name, goes, stays)) in CRITERIA.iter().enumerate() {
            println!("{name}");
            let later = CRITERIA.iter().skip(position + 1).rev();
            check(goes, |pod| {
                later.clone().for_each(|(_, goes, _)| goes(pod));
                stays(pod);
            });
        }
    }

    // proves: deployment/C-51, deployment/T-20
    #[rstest]
    #[case::unknown_before_running(|pod: &mut PodView| pod.phase = Phase::Unknown, |_: &mut PodView| ())]
    #[case::no_condition_is_not_ready(|pod: &mut PodView| pod.ready = None, |_: &mut PodView| ())]
    #[case::no_ready_time_first(|pod: &mut PodView| ready_since(pod, None), |pod: &mut PodView| ready_since(pod, Some(minutes(1))))]
    #[case::no_creation_time_first(|pod: &mut PodView| pod.meta.created = None, |pod: &mut PodView| pod.meta.created = Some(minutes(1)))]
    #[case::unready_pods_by_restarts_not_by_time(
        |pod: &mut PodView| { unready(pod); pod.restarts = 1; },
        |pod: &mut PodView| { pod.ready = Some(Ready { status: Status::False, since: Some(now()) }); }
    )]
    #[case::from_the_future_first(|pod: &mut PodView| ready_since(pod, Some(time::plus(now(), Duration::from_secs(9)))), |pod: &mut PodView| ready_since(pod, Some(before_now(Duration::from_secs(1)))))]
    #[case::cheaper_first(
        |pod: &mut PodView| pod.deletion_cost = 100,
        |pod: &mut PodView| { pod.deletion_cost = 1000; pod.restarts = 5; }
    )]
    #[case::restarted_first(|pod: &mut PodView| pod.restarts = 5, |_: &mut PodView| ())]
    #[case::younger_first(
        |pod: &mut PodView| ready_since(pod, Some(minutes(5))),
        |pod: &mut PodView| { ready_since(pod, Some(minutes(60))); pod.restarts = 9; }
    )]
    fn pods_go_in_upstreams_order(#[case] first: Change, #[case] second: Change) {
        check(first, second);
    }

    // proves: deployment/C-50, deployment/C-51
    #[test]
    fn of_two_equal_pods_the_one_on_the_fuller_node_goes_first() {
        let (mut crowded, alone) = (pod("b"), pod("a"));
        let colocated = [2, 1];
        let on = |pods: [&PodView; 2]| {
            let [one, other] = pods;
            let candidates = [
                Candidate {
                    pod: one,
                    colocated: colocated[0],
                },
                Candidate {
                    pod: other,
                    colocated: colocated[1],
                },
            ];
            chosen(&candidates, 1)
        };
        assert_eq!(on([&crowded, &alone]), ["b"]);
        crowded.deletion_cost = 1;
        assert_eq!(on([&crowded, &alone]), ["a"], "cost comes before colocation");
        crowded.deletion_cost = 0;
        let mut younger = pod("a");
        ready_since(&mut younger, Some(minutes(1)));
        assert_eq!(on([&crowded, &younger]), ["b"], "colocation comes before age");
    }

    // proves: deployment/C-51, deployment/C-52, deployment/T-20
    #[rstest]
    #[case::ready_times(|pod: &mut PodView| ready_since(pod, Some(minutes(40))))]
    #[case::creation_times(|pod: &mut PodView| pod.meta.created = Some(minutes(40)))]
    fn of_ages_in_one_bucket_the_smaller_uid_goes_first(#[case] younger: Change) {
        let (mut older, mut newer) = (pod("a"), pod("b"));
        younger(&mut newer);
        let candidates = [&newer, &older].map(|pod| Candidate { pod, colocated: 0 });
        assert_eq!(chosen(&candidates, 1), ["a"]);
        (older, newer) = (pod("b"), pod("a"));
        younger(&mut newer);
        let candidates = [&older, &newer].map(|pod| Candidate { pod, colocated: 0 });
        assert_eq!(chosen(&candidates, 1), ["a"]);
    }

    // proves: deployment/C-52
    #[test]
    fn in_one_bucket_of_ready_times_restarts_do_not_count() {
        let (calm, mut restarted) = (pod("a"), pod("b"));
        ready_since(&mut restarted, Some(minutes(40)));
        restarted.restarts = 9;
        let candidates = [&restarted, &calm].map(|pod| Candidate { pod, colocated: 0 });
        assert_eq!(chosen(&candidates, 1), ["a"]);
    }

    // proves: deployment/C-52, deployment/T-20
    #[rstest]
    #[case::an_hour(Duration::from_hours(1), Some(41))]
    #[case::forty_minutes(Duration::from_mins(40), Some(41))]
    #[case::five_minutes(Duration::from_mins(5), Some(38))]
    #[case::power_of_two(Duration::from_nanos(1 << 40), Some(40))]
    #[case::just_below(Duration::from_nanos((1 << 40) - 1), Some(39))]
    #[case::a_nanosecond(Duration::from_nanos(1), Some(0))]
    #[case::now(Duration::ZERO, None)]
    fn age_buckets_are_powers_of_two(#[case] age: Duration, #[case] expected: Option<u32>) {
        assert_eq!(age_bucket(now().checked_sub(age).unwrap(), now()), expected);
        assert_eq!(age_bucket(time::plus(now(), Duration::from_secs(1)), now()), None);
    }

    // proves: deployment/C-50
    #[rstest]
    #[case::none(0, &[])]
    #[case::some(2, &["c", "a"])]
    #[case::all(3, &["a", "b", "c"])]
    #[case::more_than_there_are(9, &["a", "b", "c"])]
    fn as_many_go_as_asked_for(#[case] how_many: usize, #[case] expected: &[&str]) {
        let (first, second, mut third) = (pod("b"), pod("a"), pod("c"));
        third.node = None;
        let candidates = [&first, &second, &third].map(|pod| Candidate { pod, colocated: 0 });
        assert_eq!(chosen(&candidates, how_many), expected);
    }

    fn any_pods() -> impl Strategy<Value = Vec<PodView>> {
        let age = || prop_oneof![Just(None), (0..5_u64).prop_map(|exponent| Some(minutes(1 << exponent)))];
        let one = (
            any::<bool>(),
            0..3_u8,
            prop::option::of(age()),
            -1..2_i32,
            0..2_i32,
            age(),
        );
        prop::collection::vec(one, 0..12).prop_map(|all| {
            all.into_iter()
                .enumerate()
                .map(|(position, (scheduled, phase, ready, cost, restarts, created))| {
                    let mut pod = pod(&format!("u{}", (position * 7) % 12));
                    pod.node = scheduled.then(|| "node".into());
                    pod.phase = [Phase::Pending, Phase::Unknown, Phase::Running][usize::from(phase)];
                    pod.ready = ready.map(|since| Ready {
                        status: Status::True,
                        since,
                    });
                    pod.deletion_cost = cost;
                    pod.restarts = restarts;
                    pod.meta.created = created;
                    pod
                })
                .collect()
        })
    }

    fn candidates(pods: &[PodView]) -> Vec<Candidate<'_>> {
        pods.iter()
            .map(|pod| Candidate {
                pod,
                colocated: pods.len() % 2,
            })
            .collect()
    }

    proptest! {
        // proves: deployment/C-51
        #[test]
        fn comparing_the_other_way_round_gives_the_opposite(pods in any_pods()) {
            let candidates = candidates(&pods);
            for a in &candidates {
                for b in &candidates {
                    prop_assert_eq!(goes_before(a, b, now()), goes_before(b, a, now()).reverse());
                }
            }
        }

        #[test]
        fn the_order_of_the_candidates_does_not_matter(
            (pods, shuffled) in any_pods().prop_flat_map(|pods| (Just(pods.clone()), Just(pods).prop_shuffle())),
            how_many in 0..12_usize,
        ) {
            prop_assert_eq!(chosen(&candidates(&pods), how_many), chosen(&candidates(&shuffled), how_many));
        }

        // proves: deployment/C-50, deployment/C-51
        #[test]
        fn no_neighbours_are_in_the_wrong_order(pods in any_pods()) {
            prop_assume!(pods.len() > 1);
            let (candidates, rank) = (candidates(&pods), pods.len() % 2);
            let order = victims(&candidates, pods.len() - 1, now());
            prop_assert_eq!(order.len(), pods.len() - 1);
            for pair in order.windows(2) {
                let [a, b] = [pair[0], pair[1]].map(|pod| Candidate { pod, colocated: rank });
                prop_assert_ne!(goes_before(&a, &b, now()), Ordering::Greater);
            }
        }
    }
}
