//! Which change wakes which Job (J-11, J-12, J-15…J-17, J-160, J-172…J-174).

use std::sync::Arc;

use job_controller::job::pod::Pod;
use job_controller::job::spec::Job;
use job_controller::job::watches::{Due, is_nobodys, of_job, of_pod, orphans_of_job, orphans_of_pod};
use job_controller::job::{Manager, Serves};
use rstest::rstest;
use serde_json::{Value, json};
use workload_core::cache::{Delta, Store};
use workload_core::labels::Interner;
use workload_core::meta::Object;

use super::cluster::{TRACKING, cache};
use super::server::merge;

fn job(name: &str, more: &Value) -> Value {
    let mut job = json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "uid": format!("uid-of-{name}"), "generation": 1, "resourceVersion": "5"},
        "spec": {"selector": {"matchLabels": {"job": name}}, "template": {"spec": {}}},
        "status": {"active": 3},
    });
    merge(&mut job, more);
    job
}

fn finished() -> Value {
    json!({"status": {"conditions": [{"type": "Complete", "status": "True"}]}})
}

/// Jobs of the pods that [`others`] shows; `done` has finished, `other` is reconciled by somebody else.
fn jobs() -> Store<Job> {
    cache(&[
        job("many", &json!({})),
        job("one", &json!({})),
        job("killed", &json!({})),
        job("round", &json!({})),
        job("leaving", &going()),
        job("done", &finished()),
        job("other", &json!({"spec": {"managedBy": "example.com/x"}})),
        job(
            "wide",
            &json!({"spec": {"selector": {"matchLabels": null, "matchExpressions": [{"key": "job", "operator": "Exists"}]}}}),
        ),
    ])
}

fn pod(owner: Option<&str>, more: Value) -> Value {
    let mut pod = json!({
        "metadata": {"name": "p", "namespace": "default", "uid": "u", "resourceVersion": "7",
                     "labels": {"job": "many"}, "finalizers": [TRACKING]},
        "status": {"phase": "Running"},
    });
    if let Some(name) = owner {
        pod["metadata"]["ownerReferences"] = json!([{"apiVersion": "batch/v1", "kind": "Job", "name": name,
            "uid": format!("uid-of-{name}"), "controller": true}]);
    }
    merge(&mut pod, &more);
    pod
}

/// Pods beside the one that changes: `many` has one that runs, `killed` one that was asked to go, `round` one that has ended.
fn others() -> Store<Pod> {
    let other = |owner: &str, more: Value| {
        let mut other = pod(Some(owner), more);
        other["metadata"]["name"] = format!("other-{owner}").into();
        other["metadata"]["uid"] = format!("uid-of-other-{owner}").into();
        other
    };
    cache(&[
        other("many", running()),
        other("killed", going()),
        other("round", over()),
    ])
}

fn read<T: Object>(json: &Value) -> Arc<T> {
    Arc::new(T::decode(&serde_json::to_vec(json).unwrap(), &Interner::default()).unwrap())
}

fn applied<T: Object>(old: Option<Value>, new: Value) -> Delta<T> {
    Delta::Applied {
        old: old.as_ref().map(read),
        new: read(&new),
    }
}

fn removed<T: Object>(last: Value) -> Delta<T> {
    Delta::Removed { last: read(&last) }
}

fn text(due: &[Due]) -> Vec<String> {
    let mut text: Vec<String> = due
        .iter()
        .map(|(key, wait)| {
            if wait.is_zero() {
                key.name.to_string()
            } else {
                format!("{} in {}", key.name, wait.as_secs())
            }
        })
        .collect();
    text.sort_unstable();
    text
}

// proves: job/J-11
#[rstest]
#[case::added(applied(None, job("many", &json!({}))), &["many"])]
#[case::removed(removed(job("many", &json!({}))), &["many"])]
#[case::spec(applied(Some(job("many", &json!({}))), job("many", &json!({"metadata": {"generation": 2}}))), &["many"])]
#[case::status(applied(Some(job("many", &json!({}))), job("many", &json!({"status": {"active": 4}}))), &["many in 1"])]
#[case::finished(applied(Some(job("many", &json!({}))), job("many", &finished())), &[])]
fn a_job_is_looked_at_after_its_own_changes(#[case] delta: Delta<Job>, #[case] expected: &[&str]) {
    assert_eq!(text(&of_job(&delta)), expected);
}

fn going() -> Value {
    json!({"metadata": {"deletionTimestamp": "2026-01-02T12:00:00Z"}})
}

fn over() -> Value {
    json!({"status": {"phase": "Succeeded"}})
}

fn running() -> Value {
    json!({})
}

// proves: job/J-12, job/J-15, job/J-16, job/J-17, job/J-25
#[rstest]
#[case::added(applied(None, pod(Some("many"), running())), &["many in 1"])]
#[case::changed(applied(Some(pod(Some("many"), running())), pod(Some("many"), running())), &["many in 1"])]
#[case::one_of_many_ends(applied(Some(pod(Some("many"), running())), pod(Some("many"), over())), &["many in 1"])]
#[case::the_only_one_changes(applied(Some(pod(Some("one"), running())), pod(Some("one"), running())), &["one in 1"])]
#[case::the_only_one_ends(applied(Some(pod(Some("one"), running())), pod(Some("one"), over())), &["one"])]
#[case::the_only_one_is_asked_to_go(applied(Some(pod(Some("one"), running())), pod(Some("one"), going())), &["one"])]
#[case::the_only_one_has_ended_before(applied(Some(pod(Some("one"), over())), pod(Some("one"), over())), &["one in 1"])]
#[case::the_only_one_is_gone(removed(pod(Some("one"), running())), &["one"])]
#[case::the_last_one_of_a_round_ends(applied(Some(pod(Some("round"), running())), pod(Some("round"), over())), &["round"])]
#[case::the_last_one_of_a_round_is_gone(removed(pod(Some("round"), running())), &["round"])]
#[case::the_only_one_of_a_job_that_is_deleted_is_gone(removed(pod(Some("leaving"), going())), &["leaving in 1"])]
#[case::one_of_many_killed_ends(applied(Some(pod(Some("killed"), going())), pod(Some("killed"), json!({"status": {"phase": "Failed"}}))), &["killed in 1"])]
#[case::one_of_many_killed_is_gone(removed(pod(Some("killed"), going())), &["killed in 1"])]
#[case::another_owner(applied(Some(pod(Some("many"), running())), pod(Some("one"), over())), &["many in 1", "one"])]
#[case::released(applied(Some(pod(Some("many"), running())), pod(None, running())), &["many in 1", "many in 1", "wide in 1"])]
#[case::orphan(applied(None, pod(None, running())), &["many in 1", "wide in 1"])]
#[case::orphan_unchanged(applied(Some(pod(None, running())), pod(None, over())), &[])]
#[case::orphan_relabelled(applied(Some(pod(None, json!({"metadata": {"labels": {"job": "x"}}}))), pod(None, running())), &["many in 1", "wide in 1"])]
#[case::orphan_that_goes(applied(None, pod(None, going())), &[])]
#[case::orphan_of_a_finished_job(applied(None, pod(None, json!({"metadata": {"labels": {"job": "done"}}}))), &["wide in 1"])]
#[case::of_a_missing_job(applied(None, pod(Some("nobody"), running())), &[])]
#[case::of_a_former_job(applied(None, pod(Some("many"), json!({"metadata": {"ownerReferences": [
    {"apiVersion": "batch/v1", "kind": "Job", "name": "many", "uid": "old", "controller": true}]}}))), &[])]
#[case::of_another_kind(applied(None, pod(Some("many"), json!({"metadata": {"ownerReferences": [
    {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "many", "uid": "uid-of-many", "controller": true}]}}))), &[])]
fn a_pod_wakes_the_jobs_that_care(#[case] delta: Delta<Pod>, #[case] expected: &[&str]) {
    assert_eq!(text(&of_pod(&delta, &jobs(), &others())), expected);
}

// proves: job/J-15, job/J-16, job/J-160, job/J-173
#[rstest]
#[case::nobodys(applied(None, pod(None, running())), true)]
#[case::nobodys_and_counted(applied(None, pod(None, json!({"metadata": {"finalizers": null}}))), false)]
#[case::of_a_missing_job(applied(None, pod(Some("nobody"), going())), true)]
#[case::of_a_missing_job_and_not_going(applied(None, pod(Some("nobody"), running())), false)]
#[case::of_a_finished_job(applied(None, pod(Some("done"), going())), true)]
#[case::of_a_job_that_goes_on(applied(None, pod(Some("many"), going())), false)]
#[case::of_somebody_elses_job(applied(None, pod(Some("other"), going())), false)]
#[case::gone(removed(pod(Some("nobody"), going())), false)]
fn pods_that_nobody_counts_are_cleaned_up(#[case] delta: Delta<Pod>, #[case] expected: bool) {
    let served = |serves| !orphans_of_pod(&delta, &jobs(), &Serves(serves)).is_empty();
    assert_eq!(served(Manager::BuiltIn), expected);
    assert!(
        !served(Manager::Named("example.com/y".into())),
        "left to the built-in controller"
    );
}

// proves: job/J-172
#[test]
fn pods_of_other_kinds_are_nobodys_business() {
    let of_set = pod(
        None,
        json!({"metadata": {"ownerReferences": [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "r", "controller": true}]}}),
    );
    assert!(!is_nobodys(&read::<Pod>(&of_set), &jobs(), &Serves(Manager::BuiltIn)));
    let served = Serves(Manager::Named("example.com/x".into()));
    assert!(!is_nobodys(
        &read::<Pod>(&pod(Some("other"), running())),
        &jobs(),
        &served
    ));
}

// proves: job/J-173, job/J-174
#[test]
fn the_end_of_a_job_shows_what_it_leaves_behind() {
    let named = |name: &str, more: Value| {
        let mut pod = pod(Some("many"), more);
        pod["metadata"]["name"] = name.into();
        pod["metadata"]["uid"] = format!("uid-of-{name}").into();
        pod
    };
    let pods: Store<Pod> = cache(&[
        named("a", running()),
        named("b", json!({"metadata": {"finalizers": null}})),
        named("c", json!({"metadata": {"labels": {"job": "x"}}})),
        named("d", json!({"metadata": {"ownerReferences": null}})),
        named(
            "e",
            json!({"metadata": {"ownerReferences": [
            {"apiVersion": "batch/v1", "kind": "Job", "name": "round", "uid": "uid-of-round", "controller": true}]}}),
        ),
    ]);
    let of = |delta: Delta<Job>| text(&orphans_of_job(&delta, &pods, &Serves(Manager::BuiltIn)));
    assert_eq!(of(removed(job("many", &json!({})))), ["a", "d"]);
    assert_eq!(
        of(applied(Some(job("many", &json!({}))), job("many", &finished()))),
        ["a", "d"]
    );
    assert_eq!(
        of(applied(Some(job("many", &finished())), job("many", &finished()))),
        [""; 0],
        "its end has been seen before"
    );
    assert_eq!(
        of(applied(Some(job("many", &json!({}))), job("many", &json!({})))),
        [""; 0]
    );
    assert_eq!(
        of(removed(job("many", &json!({"spec": {"managedBy": "example.com/x"}})))),
        [""; 0]
    );
}
