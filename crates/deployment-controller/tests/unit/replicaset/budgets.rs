//! Opt-in disruption-budgets: pods that a rollout takes away are evicted (deployment L-4).

use std::time::Duration;

use proptest::prelude::*;
use rstest::rstest;
use testkit::builders::{Deployment, Manifest as _, Templated as _, deployment};
use workload_core::id::{Kind, ObjectKey};
use workload_core::outcome::{Attempt, Failure, FailureClass, Outcome, Receipt, Verb};
use workload_core::plan::{DeleteGuard, Severity, Stage, Wake};
use workload_core::workload::Conclusion;

use super::{World, changed, noon, owned, web};

/// A Deployment with another template than the ReplicaSet, which therefore is an old one.
fn newer() -> Deployment {
    deployment("web")
        .rolling(1, 0)
        .uid("uid-of-owner")
        .replicas(3)
        .image("newer")
}

fn respecting(deployment: Deployment) -> Deployment {
    deployment.opt_in("deployment.disruption-budgets", "Respect")
}

/// An old ReplicaSet that has three pods and wants this many.
fn shrinking(replicas: u32, deployment: Deployment) -> World {
    let pods = [owned("a").phase("Pending"), owned("b"), owned("c")];
    World::of(web(replicas), pods).under(deployment)
}

// proves: deployment/L-4, deployment/C-72
#[rstest]
#[case::not_asked_for(newer(), "delete a")]
#[case::asked_for(respecting(newer()), "evict a")]
#[case::asked_for_in_another_word(newer().opt_in("deployment.disruption-budgets", "respect"), "delete a")]
#[case::the_newest_set(respecting(newer()).replicas(2).image("a"), "delete a")]
#[case::the_newest_set_but_for_its_hash(respecting(newer()).replicas(2).image("a").pod_label("pod-template-hash", "x"), "delete a")]
#[case::the_newest_set_that_was_an_old_one(respecting(newer()).image("a"), "evict a")]
#[case::nothing_is_wanted(respecting(newer()).replicas(0), "delete a")]
#[case::deployment_is_going(respecting(newer()).terminating(noon()), "delete a")]
#[case::paused(respecting(newer()).paused(), "evict a")]
#[case::recreate(respecting(newer()).recreate(), "evict a")]
fn pods_that_a_rollout_takes_away_are_evicted(#[case] deployment: Deployment, #[case] plan: &str) {
    assert_eq!(shrinking(2, deployment).plan(), plan);
}

// proves: deployment/L-4
#[test]
fn the_annotation_counts_on_the_deployment_alone() {
    let copied = web(2).opt_in("deployment.disruption-budgets", "Respect");
    let pods = || [owned("a"), owned("b"), owned("c").phase("Pending")];
    assert_eq!(World::of(copied.clone(), pods()).plan(), "delete c");
    assert_eq!(World::of(copied, pods()).under(newer()).plan(), "delete c");
}

fn evicted(pod: &str, result: Result<Receipt, Failure>) -> Attempt {
    Attempt {
        verb: Verb::Evict,
        kind: Kind::POD,
        key: ObjectKey::new("default", pod),
        result,
    }
}

fn refused(pod: &str, again_in: u64) -> Attempt {
    let words = "The disruption budget web needs 3 healthy pods and has 3 currently".to_owned();
    let again_in = Duration::from_secs(again_in);
    evicted(pod, Ok(Receipt::Protected { words, again_in }))
}

fn report(attempts: Vec<Attempt>) -> Conclusion {
    shrinking(0, respecting(newer())).turn().report(&Outcome { attempts })
}

// proves: deployment/L-4
#[test]
fn a_refusal_is_explained_and_asked_for_again_but_is_no_failure() {
    let refused = report(vec![refused("a", 10), evicted("b", Ok(Receipt::Gone)), refused("c", 4)]);
    assert_eq!(refused.wake, Wake::After(Duration::from_secs(4)));
    assert_eq!((refused.notes.len(), changed(&refused).get("conditions")), (0, None));
    let held_up = refused.held_up.unwrap();
    let [explanation] = &held_up[..] else {
        panic!("{held_up:?}")
    };
    assert_eq!(
        (explanation.cause, explanation.note.severity),
        ("DisruptionBudget", Severity::Normal)
    );
    assert_eq!(
        explanation.note.message,
        "at least 2 pods are not evicted yet, the first of them a: The disruption budget web needs 3 healthy pods and has 3 currently"
    );
}

// proves: deployment/L-4, deployment/C-73
#[rstest]
#[case::another_pod_has_the_name(FailureClass::Replaced, 0)]
#[case::the_pod_changed_at_that_moment(FailureClass::Conflict, 0)]
#[case::not_sent(FailureClass::Fenced, 0)]
#[case::no_right(FailureClass::Rejected, 1)]
fn an_eviction_fails_as_a_delete_does(#[case] class: FailureClass, #[case] notes: usize) {
    let report = report(vec![evicted("a", Err(Failure::new(class, "no")))]);
    let reasons: Vec<_> = report.notes.iter().map(|note| &*note.reason).collect();
    assert_eq!(reasons, vec!["FailedDelete"; notes]);
    assert_eq!(report.held_up, Some(Vec::new()));
    assert_eq!(report.wake, Wake::OnChange);
}

proptest! {
    // proves: deployment/L-4, deployment/C-51
    #[test]
    fn the_same_pods_go_in_either_way(pods in 0..9_usize, pending in 0..9_usize, replicas in 0..6_u32) {
        let pods = || (0..pods).map(|n| {
            let pod = owned(&format!("p{n}"));
            if n < pending { pod.phase("Pending") } else { pod }
        });
        let victims = |deployment| {
            let plan = World::of(web(replicas), pods()).under(deployment).turn().plan;
            let [Stage::Delete(deletes) | Stage::Evict(deletes)] = &plan.stages[..] else {
                return Vec::new();
            };
            assert!(deletes.iter().all(|delete| delete.guard == DeleteGuard::Uid));
            deletes.iter().map(|delete| delete.target.key.clone()).collect::<Vec<_>>()
        };
        prop_assert_eq!(victims(newer()), victims(respecting(newer())));
    }
}
