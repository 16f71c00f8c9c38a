//! Limits and back-off of each index (J-122…J-128, S-20…S-25).

use serde_json::{Value, json};

use super::cluster::Cluster;
use super::{indexed, on_42};

fn annotation<'c>(cluster: &'c Cluster, pod: &str, which: &str) -> &'c Value {
    &cluster.find(pod).unwrap()["metadata"]["annotations"][format!("batch.kubernetes.io/job-index-{which}")]
}

fn failed(cluster: &Cluster) -> (&str, i64) {
    (
        cluster.status_of("failedIndexes").as_str().unwrap(),
        cluster.counts()[4],
    )
}

/// Turns, with time between them, while `play` does something to the active pods.
fn play(cluster: &mut Cluster, code: impl Fn(&str) -> i32) {
    for _ in 0..40 {
        cluster.settle();
        if cluster.is_finished() {
            return;
        }
        for pod in cluster.active().split(' ').filter(|pod| !pod.is_empty()) {
            cluster.end(pod, code(pod));
        }
        cluster.settle();
        cluster.kubelet();
        cluster.after(20);
    }
    panic!("no end of it: {}", cluster.job["status"]);
}

// proves: job/S-20, job/J-31, job/J-122, job/J-123, job/J-124
#[test]
fn odd_indexes_fail_and_even_ones_succeed() {
    let mut cluster = indexed(2, 4, json!({"backoffLimitPerIndex": 1}));
    play(&mut cluster, |pod| {
        i32::from(pod.starts_with("i1") || pod.starts_with("i3"))
    });
    assert_eq!(
        (failed(&cluster), cluster.status_of("completedIndexes")),
        (("1,3", 4), &json!("0,2"))
    );
    assert_eq!(cluster.counts()[3], 2);
    assert_eq!(
        cluster.conditions(),
        "FailureTarget/FailedIndexes, Failed/FailedIndexes"
    );
    for index in [1, 3] {
        let counts = [0, 1].map(|pod| annotation(&cluster, &format!("i{index}.{pod}"), "failure-count").clone());
        assert_eq!(counts, [json!("0"), json!("1")]);
    }
    assert!(annotation(&cluster, "i1.1", "ignored-failure-count").is_null());
}

// proves: job/S-21, job/J-128, job/J-123
#[test]
fn the_first_failed_index_may_be_one_too_many() {
    let spec = json!({"backoffLimitPerIndex": 0, "maxFailedIndexes": 0});
    let mut cluster = indexed(1, 3, spec);
    play(&mut cluster, |_| 1);
    assert_eq!(failed(&cluster), ("0", 1));
    assert_eq!(
        cluster.conditions(),
        "FailureTarget/MaxFailedIndexesExceeded, Failed/MaxFailedIndexesExceeded"
    );
}

// proves: job/S-22, job/J-128, job/J-47
#[test]
fn pods_killed_for_failed_indexes_count_as_failed() {
    let mut cluster = indexed(3, 3, json!({"backoffLimitPerIndex": 0, "maxFailedIndexes": 1}));
    cluster.settle();
    cluster.run("i2.0");
    for pod in ["i0.0", "i1.0"] {
        cluster.end(pod, 1);
    }
    cluster.settle();
    cluster.kubelet();
    cluster.settle();
    assert_eq!((failed(&cluster), cluster.is_finished()), (("0,1", 3), true));
}

// proves: job/S-23, job/J-127
#[test]
fn the_limit_of_the_whole_job_applies_too() {
    let mut cluster = indexed(3, 3, json!({"backoffLimitPerIndex": 1, "backoffLimit": 2}));
    cluster.settle();
    for index in [0, 1] {
        cluster.end(&format!("i{index}.0"), 1);
    }
    cluster.settle();
    cluster.after(10);
    cluster.settle();
    assert_eq!(cluster.active(), "i2.0 i0.1 i1.1");
    cluster.settle();
    for pod in ["i0.1", "i1.1"] {
        cluster.run(pod);
    }
    cluster.end("i2.0", 1);
    cluster.settle();
    cluster.kubelet();
    cluster.settle();
    assert_eq!(failed(&cluster), ("", 5));
    assert_eq!(
        cluster.conditions(),
        "FailureTarget/BackoffLimitExceeded, Failed/BackoffLimitExceeded"
    );
}

// proves: job/S-24, job/J-125, job/J-126
#[test]
fn the_failed_pod_is_kept_until_its_successor_is_there() {
    let mut cluster = indexed(1, 3, json!({"backoffLimitPerIndex": 1}));
    cluster.settle();
    cluster.end("i0.0", 1);
    cluster.after(3);
    let turn = cluster.turn();
    assert_eq!((turn.text().as_str(), turn.again_in()), ("status", Some(7)));
    assert_eq!((cluster.counts(), failed(&cluster).0), ([0; 5], ""));
    assert_eq!(cluster.tracked(), "i0.0");
    cluster.after(7);
    cluster.settle();
    assert_eq!(
        (failed(&cluster), cluster.active().as_str(), cluster.tracked().as_str()),
        (("", 1), "i0.1", "i0.1")
    );
    assert_eq!(annotation(&cluster, "i0.1", "failure-count"), "1");
}

// proves: job/S-25, job/J-123, job/J-143
#[test]
fn a_rule_can_fail_an_index_at_once() {
    let mut cluster = indexed(
        2,
        2,
        json!({"backoffLimitPerIndex": 1, "podFailurePolicy": on_42("FailIndex")}),
    );
    cluster.settle();
    cluster.end("i0.0", 42);
    cluster.settle();
    cluster.after(100);
    cluster.settle();
    assert_eq!((failed(&cluster), cluster.active().as_str()), (("0", 1), "i1.0"));
}

// proves: job/J-122, job/J-125, job/J-143
#[test]
fn ignored_failures_are_counted_apart_and_lengthen_the_wait() {
    let mut cluster = indexed(
        1,
        1,
        json!({"backoffLimitPerIndex": 0, "podFailurePolicy": on_42("Ignore")}),
    );
    cluster.settle();
    for (pod, wait) in [("i0.0", 10), ("i0.1", 20)] {
        cluster.end(pod, 42);
        assert_eq!(cluster.turn().again_in(), Some(wait));
        cluster.after(wait);
        cluster.settle();
    }
    assert_eq!(annotation(&cluster, "i0.2", "ignored-failure-count"), "2");
    assert_eq!(
        (annotation(&cluster, "i0.2", "failure-count"), failed(&cluster)),
        (&json!("0"), ("", 0))
    );
}

// proves: job/J-125
#[test]
fn an_index_that_waits_does_not_hold_up_another() {
    let mut cluster = indexed(2, 2, json!({"backoffLimitPerIndex": 3}));
    cluster.settle();
    cluster.end("i0.0", 1);
    cluster.settle();
    cluster.after(10);
    cluster.settle();
    cluster.end("i0.1", 1);
    cluster.end("i1.0", 1);
    assert_eq!(cluster.turn().again_in(), Some(10));
    cluster.after(10);
    let turn = cluster.turn();
    assert_eq!((cluster.active().as_str(), turn.again_in()), ("i1.1", Some(10)));
}

// proves: job/J-126
#[test]
fn of_several_failed_pods_of_an_index_that_with_the_highest_count_is_kept() {
    let mut cluster = indexed(1, 2, json!({"backoffLimitPerIndex": 5}));
    cluster.settle();
    cluster.end("i0.0", 1);
    for (name, count) in [("i0.8", "3"), ("i0.7", "2")] {
        let mut pod = cluster.find("i0.0").unwrap().clone();
        pod["metadata"]["name"] = name.into();
        pod["metadata"]["uid"] = format!("uid-of-{name}").into();
        pod["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"] = count.into();
        cluster.put_pod(pod);
    }
    cluster.settle();
    assert_eq!((cluster.tracked().as_str(), cluster.counts()[4]), ("i0.8", 2));
    cluster.after(80);
    cluster.settle();
    assert_eq!(annotation(&cluster, "i0.1", "failure-count"), "4");
}

// proves: job/J-122
#[test]
fn counts_that_make_no_sense_read_as_none() {
    for text in ["x", "-3", "2147483648"] {
        let mut cluster = indexed(1, 2, json!({"backoffLimitPerIndex": 1}));
        cluster.settle();
        cluster.change_pod("i0.0", |pod| {
            pod["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"] = text.into();
        });
        cluster.end("i0.0", 1);
        cluster.settle();
        cluster.after(10);
        cluster.settle();
        assert_eq!(annotation(&cluster, "i0.1", "failure-count"), "1", "{text}");
    }
}

// proves: job/J-124
#[test]
fn an_index_with_a_success_and_a_last_failure_is_done() {
    let mut cluster = indexed(2, 2, json!({"backoffLimitPerIndex": 0}));
    cluster.settle();
    let mut second = cluster.find("i0.0").unwrap().clone();
    second["metadata"]["name"] = "i0.9".into();
    second["metadata"]["uid"] = "uid-of-second".into();
    cluster.put_pod(second);
    cluster.end("i0.0", 0);
    cluster.end("i0.9", 1);
    cluster.settle();
    assert_eq!(
        (failed(&cluster), cluster.status_of("completedIndexes")),
        (("", 1), &json!("0"))
    );
}

// proves: job/J-124
#[test]
fn an_index_that_has_failed_stays_failed() {
    let mut cluster = indexed(2, 2, json!({"backoffLimitPerIndex": 0}));
    cluster.settle();
    let mut second = cluster.find("i0.0").unwrap().clone();
    second["metadata"]["name"] = "i0.9".into();
    second["metadata"]["uid"] = "uid-of-second".into();
    cluster.end("i0.0", 1);
    cluster.settle();
    assert_eq!(failed(&cluster), ("0", 1));
    cluster.put_pod(second);
    cluster.end("i0.9", 0);
    cluster.settle();
    assert_eq!((failed(&cluster), cluster.counts()[3]), (("0", 1), 0));
    assert_eq!(cluster.tracked(), "i1.0");
}
