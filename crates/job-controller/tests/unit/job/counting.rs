//! Each pod is counted exactly once (J-40…J-52, S-9…S-14).

use job_controller::job::decide::Bounds;
use serde_json::json;
use workload_core::outcome::{FailureClass, Verb};
use workload_core::plan::Wake;

use super::cluster::Cluster;
use super::{fixed, indexed, noon};

// proves: job/S-9, job/J-31, job/J-40, job/J-41, job/J-44, job/J-60, job/J-151, job/J-152, job/J-153, job/J-157, job/J-232
#[test]
fn one_pod_that_succeeds_costs_three_status_writes() {
    let mut cluster = fixed(1, 1);
    let first = cluster.turn();
    assert_eq!(first.text(), "create p000; status");
    assert_eq!(
        first.statuses,
        [
            json!({"active": 1, "ready": 0, "terminating": 0, "startTime": "2026-01-02T12:00:00Z",
                "uncountedTerminatedPods": {"succeeded": null, "failed": null}})
        ]
    );
    assert_eq!(cluster.tracked(), "p000");
    cluster.end("p000", 0);
    let last = cluster.turn();
    assert_eq!(last.text(), "status; release p000; status");
    assert_eq!(
        cluster.conditions(),
        "SuccessCriteriaMet/CompletionsReached, Complete/CompletionsReached"
    );
    assert_eq!(cluster.counts(), [0, 0, 0, 1, 0]);
    assert_eq!(cluster.status_of("uncountedTerminatedPods"), &json!({}));
    assert_eq!(cluster.status_of("completionTime"), "2026-01-02T12:00:00Z");
    assert_eq!(last.said(), ["Completed"]);
    assert_eq!((cluster.stored.len(), cluster.settle().len()), (3, 0));
    assert_eq!(
        cluster.stored[1]["uncountedTerminatedPods"],
        json!({"succeeded": ["uid-of-p000"]})
    );
    assert_eq!((cluster.now, cluster.tracked().as_str()), (noon(), ""));
}

// proves: job/J-42, job/J-232
#[test]
fn a_turn_without_news_writes_nothing_and_a_ready_pod_costs_one_write() {
    let mut cluster = fixed(1, 1);
    cluster.turn();
    assert_eq!(cluster.turn().text(), "");
    cluster.run("p000");
    let ready = cluster.turn();
    assert_eq!(ready.statuses, [json!({"ready": 1})]);
    cluster.end("p000", 0);
    cluster.settle();
    assert_eq!(cluster.stored.len(), 4);
}

// proves: job/S-10, job/J-35, job/J-48, job/J-60, job/J-61, job/J-90
#[rstest::rstest]
#[case::upstreams_bounds(Bounds::default())]
#[case::lower_bounds(Bounds { uncounted: 10, burst: 10 })]
fn many_pods_are_counted_and_replaced(#[case] bounds: Bounds) {
    let mut cluster = fixed(54, 56);
    cluster.bounds = bounds;
    cluster.settle();
    assert_eq!(cluster.counts(), [54, 0, 0, 0, 0]);
    for pod in ["p000", "p001"] {
        cluster.end(pod, 1);
    }
    cluster.settle();
    assert_eq!(cluster.counts()[3..], [0, 2]);
    cluster.after(20);
    cluster.settle();
    assert_eq!(cluster.counts(), [54, 0, 0, 0, 2]);
    let active = cluster.active();
    let pods: Vec<&str> = active.split(' ').collect();
    pods[..53].iter().for_each(|pod| cluster.end(pod, 0));
    cluster.settle();
    assert_eq!(cluster.counts(), [3, 0, 0, 53, 2]);
    cluster.active().split(' ').for_each(|pod| cluster.end(pod, 0));
    cluster.settle();
    assert_eq!(cluster.counts(), [0, 0, 0, 56, 2]);
    assert_eq!(
        cluster.conditions(),
        "SuccessCriteriaMet/CompletionsReached, Complete/CompletionsReached"
    );
}

// proves: job/S-11, job/J-48, job/J-49, job/J-150
#[test]
fn at_most_five_hundred_indexes_are_recorded_at_once() {
    let mut cluster = indexed(501, 501, json!({}));
    cluster.settle();
    for index in 0..501 {
        cluster.end(&format!("i{index}.0"), 0);
    }
    let first = cluster.turn();
    assert_eq!(first.text(), "status; release 500 pods");
    assert_eq!(cluster.status_of("completedIndexes"), "0-499");
    assert_eq!((cluster.tracked().as_str(), first.again_in()), ("i500.0", Some(0)));
    assert!(!cluster.is_finished());
    let second = cluster.turn();
    assert_eq!(second.text(), "status; release i500.0; status");
    assert_eq!(cluster.status_of("completedIndexes"), "0-500");
    assert!(cluster.is_finished());
}

// proves: job/J-48, job/J-10
#[rstest::rstest]
#[case::refused(FailureClass::Rejected)]
#[case::throttled(FailureClass::Throttled(None))]
#[case::fenced(FailureClass::Fenced)]
fn a_capped_turn_that_fails_waits_for_its_back_off(#[case] class: FailureClass) {
    let mut cluster = fixed(5, 5);
    cluster.settle();
    for pod in 0..5 {
        cluster.end(&format!("p{pod:03}"), 0);
    }
    cluster.bounds.uncounted = 3;
    cluster.faults = vec![(Verb::Patch, "p", class)];
    for _ in 0..3 {
        let turn = cluster.turn();
        assert!(turn.outcome.failure().is_some());
        assert_eq!(turn.wake, Wake::OnChange, "{}", turn.text());
    }
    cluster.faults.clear();
    assert_eq!(cluster.turn().again_in(), Some(0));
    cluster.settle();
    assert_eq!((cluster.counts()[3], cluster.is_finished()), (5, true));
}

// proves: job/S-12, job/J-48
#[test]
fn what_is_listed_already_takes_its_place_under_the_cap() {
    let mut cluster = fixed(501, 501);
    cluster.settle();
    for pod in 0..500 {
        cluster.end(&format!("p{pod:03}"), 0);
    }
    cluster.end("p500", 1);
    cluster
        .edit(json!({"spec": {"parallelism": 0}, "status": {"uncountedTerminatedPods": {"failed": ["uid-of-p500"]}}}));
    let turn = cluster.turn();
    assert_eq!(
        turn.statuses[0]["uncountedTerminatedPods"]["succeeded"]
            .as_array()
            .unwrap()
            .len(),
        499
    );
    assert_eq!(turn.text(), "status; release 499 pods; status");
    assert_eq!(cluster.counts()[3..], [499, 0]);
    assert_eq!(
        cluster.status_of("uncountedTerminatedPods"),
        &json!({"failed": ["uid-of-p500"]})
    );
    assert_eq!(cluster.tracked(), "p499 p500");
}

// proves: job/S-13, job/J-80, job/J-120
#[test]
fn a_work_queue_makes_no_pod_after_the_first_success() {
    let mut cluster = Cluster::of(json!({"parallelism": 5, "completions": null}));
    cluster.settle();
    for pod in ["p000", "p001"] {
        cluster.end(pod, 1);
    }
    cluster.settle();
    cluster.after(20);
    cluster.settle();
    assert_eq!(cluster.active(), "p002 p003 p004 p005 p006");
    cluster.end("p002", 0);
    cluster.settle();
    assert_eq!(cluster.counts(), [4, 0, 0, 1, 2]);
    for pod in ["p003", "p004"] {
        cluster.end(pod, 1);
    }
    cluster.settle();
    cluster.after(1000);
    cluster.settle();
    assert_eq!(cluster.counts(), [2, 0, 0, 1, 4]);
    for pod in ["p005", "p006"] {
        cluster.end(pod, 0);
    }
    cluster.settle();
    assert_eq!(cluster.counts(), [0, 0, 0, 3, 4]);
    assert_eq!(
        cluster.conditions(),
        "SuccessCriteriaMet/CompletionsReached, Complete/CompletionsReached"
    );
}

// proves: job/J-81
#[test]
fn a_work_queue_that_is_nearly_done_keeps_its_pods_whatever_its_parallelism() {
    let mut cluster = Cluster::of(json!({"parallelism": 3, "completions": null}));
    cluster.settle();
    cluster.end("p000", 0);
    cluster.settle();
    for parallelism in [5, 1] {
        cluster.edit(json!({"spec": {"parallelism": parallelism}}));
        assert_eq!(cluster.settle(), [""; 0]);
    }
}

// proves: job/S-14, job/J-52, job/J-91, job/J-92
#[test]
fn pods_removed_for_a_smaller_parallelism_are_not_counted() {
    let mut cluster = Cluster::of(json!({"parallelism": 5, "completions": 4, "backoffLimit": 2}));
    cluster.edit(json!({"spec": {"completions": null}}));
    cluster.settle();
    for pod in 0..5 {
        cluster.run(&format!("p{pod:03}"));
    }
    cluster.edit(json!({"spec": {"parallelism": 2}}));
    let turn = cluster.turn();
    assert!(turn.text().starts_with("drop p0"), "{}", turn.text());
    assert_eq!(cluster.counts(), [2, 2, 3, 0, 0]);
    cluster.kubelet();
    cluster.edit(json!({"spec": {"parallelism": 4}}));
    cluster.settle();
    assert_eq!((cluster.counts(), cluster.pods.len()), ([4, 2, 0, 0, 0], 4));
    cluster.edit(json!({"spec": {"parallelism": 0}}));
    cluster.settle();
    cluster.kubelet();
    cluster.settle();
    assert_eq!((cluster.counts(), cluster.conditions().as_str()), ([0; 5], ""));
    assert_eq!(cluster.status_of("startTime"), "2026-01-02T12:00:00Z");
}
