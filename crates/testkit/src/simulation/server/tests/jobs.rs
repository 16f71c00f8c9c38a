//! What is special about Jobs. What the server refuses of them is compared with a real one.

use super::*;
use crate::builders::job;
use crate::simulation::server::{Part, Propagation};

fn made(server: &mut ApiServer, job: crate::builders::Job) -> Stored {
    server.create(Kind::JOB, "shop", job.json(), at(0)).unwrap()
}

// proves: job/J-4, job/J-25
#[test]
fn a_new_job_selects_its_pods_by_its_uid() {
    let mut server = server();
    let work = made(&mut server, job("work"));
    let labels = work.at("/spec/template/metadata/labels");
    for (key, value) in [("controller-uid", work.uid()), ("job-name", "work")] {
        assert_eq!(labels[key], value);
        assert_eq!(labels[format!("batch.kubernetes.io/{key}")], value);
    }
    let selector = work.at("/spec/selector/matchLabels");
    assert_eq!(*selector, json!({"batch.kubernetes.io/controller-uid": work.uid()}));
    assert_eq!(work.at("/metadata/labels"), labels);
    for (field, value) in [
        ("completions", json!(1)),
        ("parallelism", json!(1)),
        ("backoffLimit", json!(6)),
        ("completionMode", json!("NonIndexed")),
        ("suspend", json!(false)),
        ("podReplacementPolicy", json!("TerminatingOrFailed")),
    ] {
        assert_eq!(work.at("/spec")[field], value, "{field}");
    }
    assert_eq!(*work.at("/status"), json!({}));
}

// proves: job/J-4
#[test]
fn defaults_of_a_job_follow_from_its_other_fields() {
    let mut server = server();
    let work = made(
        &mut server,
        job("rules").on_condition("Ignore", "DisruptionTarget").parallelism(2),
    );
    assert_eq!(work.text("/spec/podReplacementPolicy"), "Failed");
    assert!(work.at("/spec/completions").is_null());
    let work = made(&mut server, job("parts").indexed(2).backoff_limit_per_index(1));
    assert_eq!(work.number("/spec/backoffLimit"), i64::from(i32::MAX));
}

// proves: job/J-170
#[test]
fn a_job_that_is_deleted_without_a_policy_leaves_its_pods() {
    let mut server = server();
    let work = made(&mut server, job("work"));
    let pod = pod("work-1").owned_by(work.json()).finalizer("f").json();
    server.create(Kind::POD, "shop", pod, at(0)).unwrap();
    server
        .delete(&place(Kind::JOB, "work"), &DeleteOptions::default(), at(1))
        .unwrap();
    while server.collect(at(2)).is_some() {}
    assert!(server.get(Kind::JOB, "shop", "work").is_none());
    let left = server.get(Kind::POD, "shop", "work-1").unwrap();
    assert!(left.controller().is_none() && left.has_finalizer("f"));
}

// proves: job/J-157
#[test]
fn a_status_keeps_what_is_empty_where_that_means_something() {
    let mut server = server();
    made(&mut server, job("work").indexed(1).backoff_limit_per_index(1));
    let status = json!({
        "active": 0, "ready": 0, "terminating": 0, "succeeded": 0, "completedIndexes": "", "failedIndexes": "",
        "uncountedTerminatedPods": {"failed": []},
    });
    let body = json!({ "status": status });
    let work = server
        .merge(&place(Kind::JOB, "work"), Part::Status, body, at(1))
        .unwrap();
    let kept = json!({"ready": 0, "terminating": 0, "failedIndexes": "", "uncountedTerminatedPods": {}});
    assert_eq!(*work.at("/status"), kept);
}

// proves: job/TTL-6
#[test]
fn a_job_goes_after_its_pods_once_nobody_holds_them() {
    let mut server = server();
    let work = made(&mut server, job("work"));
    let pod = pod("work-1").owned_by(work.json()).finalizer("f").json();
    server.create(Kind::POD, "shop", pod, at(0)).unwrap();
    let options = DeleteOptions::with(Propagation::Foreground);
    server.delete(&place(Kind::JOB, "work"), &options, at(1)).unwrap();
    while server.collect(at(2)).is_some() {}
    let held = server.get(Kind::POD, "shop", "work-1").unwrap();
    assert!(held.is_terminating());
    let free = json!({"metadata": {"uid": held.uid(), "$deleteFromPrimitiveList/finalizers": ["f"]}});
    let uri = format!("{PODS}/work-1?fieldManager=x");
    assert_eq!(ask(&mut server, "PATCH", &uri, STRATEGIC, &free).0, 200);
    while server.collect(at(3)).is_some() {}
    assert!(server.get(Kind::JOB, "shop", "work").is_none());
}
