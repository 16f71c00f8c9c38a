//! Suspending and resuming (J-100…J-108, S-30, S-31).

use serde_json::json;
use workload_core::outcome::{FailureClass, Verb};
use workload_core::workload::Children;

use super::cluster::Cluster;
use super::{fixed, indexed};

// proves: job/S-30, job/J-100, job/J-103, job/J-104
#[test]
fn pods_go_uncounted_and_come_again() {
    let mut cluster = fixed(2, 2);
    cluster.settle();
    for pod in ["p000", "p001"] {
        cluster.run(pod);
    }
    cluster.settle();
    cluster.edit(json!({"spec": {"suspend": true}}));
    cluster.after(5);
    let turn = cluster.turn();
    assert_eq!(turn.text(), "drop p000 p001; status");
    assert_eq!(
        (cluster.counts(), cluster.conditions().as_str()),
        ([0, 0, 2, 0, 0], "Suspended/JobSuspended")
    );
    assert!(cluster.status_of("startTime").is_null());
    assert_eq!(turn.said(), ["SuccessfulDelete", "SuccessfulDelete", "Suspended"]);
    cluster.kubelet();
    assert_eq!(cluster.settle(), ["status"]);
    cluster.after(5);
    cluster.edit(json!({"spec": {"suspend": false}}));
    let turn = cluster.turn();
    assert_eq!(
        (turn.text().as_str(), cluster.conditions().as_str()),
        ("create p002, p003; status", "not Suspended/JobResumed")
    );
    assert_eq!(cluster.status_of("startTime"), "2026-01-02T12:00:10Z");
    assert_eq!(
        cluster.job["status"]["conditions"][0]["lastProbeTime"],
        "2026-01-02T12:00:10Z"
    );
    assert!(turn.said().contains(&"Resumed"));
    assert_eq!(cluster.counts(), [2, 0, 0, 0, 0]);
}

// proves: job/J-103
#[test]
fn a_job_that_was_told_in_other_words_not_to_be_suspended_is_not_resumed() {
    let mut cluster = fixed(2, 2);
    cluster.settle();
    let start = cluster.status_of("startTime").clone();
    let told = json!({"type": "Suspended", "status": "False", "reason": "Other", "message": "by hand"});
    cluster.edit(json!({"status": {"conditions": [told]}}));
    cluster.after(5);
    assert_eq!(cluster.settle(), Vec::<String>::new());
    for pod in ["p000", "p001"] {
        cluster.end(pod, 0);
    }
    cluster.settle();
    assert_eq!(cluster.counts()[3], 2);
    assert_eq!(*cluster.status_of("startTime"), start);
}

// proves: job/J-103, job/J-105
#[test]
fn a_job_whose_pods_end_before_its_resumption_is_told_ends_as_resumed() {
    let mut cluster = Cluster::of(json!({"completions": 1, "suspend": true}));
    cluster.settle();
    cluster.edit(json!({"spec": {"suspend": false}}));
    // The process ends between the pod and the status.
    cluster.crash_before = Some(1);
    assert_eq!(cluster.turn().text(), "create p000");
    cluster.crash_before = None;
    assert_eq!(cluster.conditions(), "Suspended/JobSuspended");
    cluster.end("p000", 0);
    assert!(cluster.turn().said().contains(&"Resumed"));
    assert_eq!(
        cluster.conditions(),
        "not Suspended/JobResumed, SuccessCriteriaMet/CompletionsReached, Complete/CompletionsReached"
    );
}

// proves: job/J-102
#[test]
fn a_job_that_is_created_suspended_says_so_once() {
    let mut cluster = Cluster::of(json!({"completions": 1, "suspend": true}));
    assert_eq!(cluster.turn().said(), ["Suspended"]);
    assert!(cluster.status_of("startTime").is_null());
    assert_eq!((cluster.settle(), cluster.pods.len()), (vec![], 0));
}

// proves: job/J-103
#[test]
fn a_job_that_was_never_suspended_has_no_such_condition() {
    let mut cluster = fixed(1, 1);
    cluster.settle();
    assert_eq!(cluster.conditions(), "");
}

// proves: job/J-101
#[test]
fn nothing_is_suspended_while_earlier_writes_are_unseen() {
    let mut cluster = fixed(2, 2);
    cluster.settle();
    cluster.edit(json!({"spec": {"suspend": true}}));
    cluster.children = Some(Children::Unsettled);
    assert_eq!(
        (cluster.turn().text().as_str(), cluster.conditions().as_str()),
        ("", "")
    );
    cluster.children = None;
    cluster.turn();
    assert_eq!(cluster.conditions(), "Suspended/JobSuspended");
}

// proves: job/J-93, job/J-52
#[test]
fn a_pod_whose_finalizer_stays_is_not_deleted() {
    let mut cluster = fixed(2, 2);
    cluster.settle();
    for pod in ["p000", "p001"] {
        cluster.run(pod);
    }
    cluster.edit(json!({"spec": {"suspend": true}}));
    cluster.faults = vec![(Verb::Patch, "p000", FailureClass::Rejected)];
    let turn = cluster.turn();
    assert_eq!((cluster.active().as_str(), cluster.counts()[0]), ("p000", 1));
    assert!(turn.outcome.failure().is_some());
    cluster.faults = vec![(Verb::Delete, "p000", FailureClass::Rejected)];
    assert!(cluster.turn().said().contains(&"FailedDelete"));
    cluster.faults.clear();
    cluster.settle();
    cluster.kubelet();
    cluster.settle();
    assert_eq!((cluster.counts(), cluster.pods.len()), ([0; 5], 0));
}

// proves: job/J-105, job/S-31
#[test]
fn a_job_with_nothing_to_do_is_done_suspended_or_not() {
    let mut cluster = Cluster::of(json!({"completions": 0, "parallelism": 1, "suspend": true}));
    cluster.settle();
    assert_eq!(
        cluster.conditions(),
        "SuccessCriteriaMet/CompletionsReached, Complete/CompletionsReached"
    );
    assert!(cluster.status_of("startTime").is_null());
}

// proves: job/J-105
#[test]
fn completion_outranks_suspension() {
    let mut cluster = fixed(1, 1);
    cluster.settle();
    cluster.end("p000", 0);
    cluster.edit(json!({"spec": {"suspend": true}}));
    cluster.settle();
    assert_eq!(
        cluster.conditions(),
        "SuccessCriteriaMet/CompletionsReached, Complete/CompletionsReached"
    );
}

// proves: job/J-108, job/L-12
#[test]
fn suspended_work_that_shrinks_to_what_is_done_ends() {
    let mut cluster = indexed(3, 3, json!({}));
    cluster.settle();
    cluster.end("i0.0", 0);
    cluster.settle();
    cluster.edit(json!({"spec": {"suspend": true}}));
    cluster.settle();
    cluster.edit(json!({"spec": {"completions": 1, "parallelism": 1}}));
    cluster.settle();
    assert!(cluster.is_finished());
    assert!(!cluster.status_of("startTime").is_null());
}

// proves: job/J-106
#[test]
fn failures_are_remembered_over_a_suspension() {
    let mut cluster = fixed(1, 1);
    cluster.settle();
    cluster.end("p000", 1);
    cluster.settle();
    cluster.edit(json!({"spec": {"suspend": true}}));
    cluster.settle();
    cluster.edit(json!({"spec": {"suspend": false}}));
    let turn = cluster.turn();
    assert_eq!(
        (turn.again_in(), cluster.counts()[4], cluster.pods.len()),
        (Some(10), 1, 1)
    );
}

// proves: job/J-107
#[test]
fn pods_are_built_from_the_template_of_the_moment() {
    let mut cluster = Cluster::of(json!({"completions": 1, "suspend": true}));
    cluster.settle();
    cluster.edit(json!({"spec": {"suspend": false, "template": {
        "metadata": {"labels": {"zone": "b"}, "annotations": {"note": "x"}},
        "spec": {"nodeSelector": {"zone": "b"}, "schedulingGates": [{"name": "g"}]},
    }}}));
    cluster.settle();
    let pod = cluster.find("p000").unwrap();
    assert_eq!(pod["spec"]["nodeSelector"], json!({"zone": "b"}));
    assert_eq!(pod["spec"]["schedulingGates"], json!([{"name": "g"}]));
    assert_eq!(
        (
            &pod["metadata"]["labels"]["zone"],
            &pod["metadata"]["annotations"]["note"]
        ),
        (&json!("b"), &json!("x"))
    );
}

// proves: job/J-41, job/J-100
#[test]
fn what_has_ended_by_then_is_counted() {
    let mut cluster = fixed(2, 3);
    cluster.settle();
    cluster.run("p001");
    cluster.end("p000", 0);
    cluster.edit(json!({"spec": {"suspend": true}}));
    let turn = cluster.turn();
    assert_eq!(turn.text(), "status; release p000; drop p001; status");
    assert_eq!(cluster.counts(), [0, 0, 1, 1, 0]);
}
