//! Work that consists of numbered parts (J-36, J-49, J-70…J-77, S-15…S-19).

use job_controller::job::indexes::Indexes;
use proptest::prelude::*;
use serde_json::json;

use super::cluster::Cluster;
use super::indexed;

fn done(cluster: &Cluster) -> (&str, i64) {
    let text = cluster.status_of("completedIndexes").as_str().unwrap_or_default();
    (text, cluster.counts()[3])
}

// proves: job/S-15, job/J-36, job/J-70
#[test]
fn each_index_is_done_once() {
    let mut cluster = indexed(3, 4, json!({}));
    cluster.settle();
    assert_eq!(cluster.active(), "i0.0 i1.0 i2.0");
    cluster.end("i1.0", 0);
    let turn = cluster.turn();
    assert_eq!(turn.text(), "status; release i1.0; create i3.0");
    assert_eq!(
        (cluster.active().as_str(), done(&cluster)),
        ("i0.0 i2.0 i3.0", ("1", 1))
    );
    cluster.end("i2.0", 1);
    cluster.settle();
    cluster.after(10);
    cluster.settle();
    assert_eq!((cluster.active().as_str(), cluster.counts()[4]), ("i0.0 i3.0 i2.1", 1));
    for pod in ["i0.0", "i2.1", "i3.0"] {
        cluster.end(pod, 0);
    }
    cluster.settle();
    assert_eq!((done(&cluster), cluster.is_finished()), (("0-3", 4), true));
}

// proves: job/S-16, job/J-70, job/J-74
#[test]
fn missing_indexes_are_filled_from_below() {
    let mut cluster = indexed(8, 20, json!({}));
    cluster.edit(json!({"spec": {"parallelism": 10}}));
    cluster.settle();
    for index in [1, 6] {
        cluster.delete_pod(&format!("i{index}.0"));
    }
    for index in [1, 6] {
        cluster.change_pod(&format!("i{index}.0"), |pod| pod["metadata"]["finalizers"] = json!([]));
    }
    for index in [2, 4, 5, 7, 8, 9] {
        cluster.end(&format!("i{index}.0"), 0);
    }
    cluster.edit(json!({"spec": {"parallelism": 8}}));
    cluster.turn();
    assert_eq!(cluster.active(), "i0.0 i3.0 i1.1 i6.1 i10.0 i11.0 i12.0 i13.0");
    assert_eq!(done(&cluster), ("2,4,5,7-9", 6));
}

// proves: job/S-17, job/J-76
#[test]
fn of_two_pods_of_one_index_the_lesser_goes_uncounted() {
    let mut cluster = indexed(3, 3, json!({}));
    cluster.settle();
    cluster.run("i2.0");
    let mut second = cluster.find("i2.0").unwrap().clone();
    second["metadata"]["name"] = "i2.9".into();
    second["metadata"]["uid"] = "uid-of-second".into();
    second["status"] = json!({"phase": "Pending"});
    cluster.put_pod(second);
    assert_eq!(cluster.turn().text(), "drop i2.9; status");
    assert_eq!(
        (cluster.counts(), cluster.active().as_str()),
        ([3, 1, 1, 0, 0], "i0.0 i1.0 i2.0")
    );
}

// proves: job/J-49, job/J-73, job/J-76, job/J-77
#[test]
fn pods_without_a_part_in_the_work_are_let_go_of_and_not_counted() {
    for annotation in [json!("3"), json!("-1"), json!("x"), json!("")] {
        let mut cluster = indexed(3, 3, json!({}));
        cluster.settle();
        let set = |pod: &mut serde_json::Value| {
            pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"] = annotation.clone();
        };
        for (pod, code) in [("i0.0", 0), ("i1.0", 1)] {
            cluster.end(pod, code);
            cluster.change_pod(pod, set);
        }
        cluster.change_pod("i2.0", set);
        cluster.settle();
        assert_eq!(cluster.counts()[3..], [0, 0], "{annotation}");
        assert_eq!(
            (cluster.active().as_str(), cluster.pods.len()),
            ("i0.1 i1.1 i2.1", 5),
            "{annotation}"
        );
    }
}

// proves: job/S-18, job/J-75, job/J-51
#[test]
fn indexes_that_are_no_part_of_the_work_any_more_are_done_anew_if_they_come_back() {
    let mut cluster = indexed(3, 3, json!({}));
    cluster.settle();
    cluster.end("i2.0", 0);
    cluster.end("i1.0", 1);
    cluster.settle();
    assert_eq!(done(&cluster), ("2", 1));
    cluster.edit(json!({"spec": {"parallelism": 2, "completions": 2}}));
    cluster.settle();
    assert_eq!((done(&cluster), cluster.counts()[4]), (("", 0), 1));
    cluster.edit(json!({"spec": {"parallelism": 3, "completions": 3}}));
    cluster.after(10);
    cluster.settle();
    assert_eq!(cluster.active(), "i0.0 i1.1 i2.1");
    for pod in ["i0.0", "i1.1", "i2.1"] {
        cluster.end(pod, 0);
    }
    cluster.settle();
    assert_eq!((done(&cluster), cluster.is_finished()), (("0-2", 3), true));
}

// proves: job/S-19, job/J-75
#[test]
fn work_without_indexes_left_is_done() {
    let mut cluster = indexed(3, 3, json!({}));
    cluster.settle();
    for index in 0..3 {
        cluster.run(&format!("i{index}.0"));
    }
    cluster.edit(json!({"spec": {"parallelism": 0, "completions": 0}}));
    assert_eq!(cluster.turn().text(), "drop i0.0 i1.0 i2.0; status");
    assert_eq!(cluster.conditions(), "SuccessCriteriaMet/CompletionsReached");
    cluster.kubelet();
    cluster.settle();
    assert_eq!((cluster.counts(), cluster.is_finished()), ([0; 5], true));
}

// proves: job/J-36
#[test]
fn two_successes_of_one_index_count_once() {
    let mut cluster = indexed(2, 2, json!({}));
    cluster.settle();
    cluster.end("i0.0", 0);
    cluster.change_pod("i1.0", |pod| {
        pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"] = "0".into();
    });
    cluster.end("i1.0", 0);
    cluster.settle();
    assert_eq!((done(&cluster), cluster.active().as_str()), (("0", 1), "i1.1"));
}

// proves: job/J-158, job/J-70
#[test]
fn an_index_has_one_live_pod_where_replacements_wait() {
    let mut cluster = indexed(2, 4, json!({"podReplacementPolicy": "Failed"}));
    cluster.settle();
    cluster.run("i0.0");
    cluster.delete_pod("i0.0");
    cluster.edit(json!({"spec": {"parallelism": 3}}));
    cluster.turn();
    assert_eq!(cluster.active(), "i1.0 i2.0", "index 0 waits, by number and by index");
    cluster.kubelet();
    cluster.turn();
    cluster.after(10);
    cluster.settle();
    assert_eq!(cluster.active(), "i1.0 i2.0 i0.1");
}

proptest! {
    // proves: job/J-74
    #[test]
    fn texts_and_sets_say_the_same(indexes in prop::collection::btree_set(0..40_u32, 0..30), completions in 0..45_u32) {
        let set: Indexes = indexes.iter().copied().collect();
        let kept: Vec<u32> = indexes.iter().copied().filter(|index| *index < completions).collect();
        let read = Indexes::parse(&set.to_string(), completions);
        prop_assert_eq!(read.iter().collect::<Vec<_>>(), kept.clone());
        prop_assert_eq!(read.len(), kept.len());
        let missing: Vec<u32> = (0..completions).filter(|index| !kept.contains(index)).collect();
        prop_assert_eq!(read.missing(completions).collect::<Vec<_>>(), missing);
        prop_assert!((0..50).all(|index| read.contains(index) == kept.contains(&index)));
    }

    #[test]
    fn sets_are_united_and_compared(a in prop::collection::btree_set(0..40_u32, 0..30), b in prop::collection::btree_set(0..40_u32, 0..30)) {
        let [one, other] = [&a, &b].map(|indexes| indexes.iter().copied().collect::<Indexes>());
        prop_assert_eq!(one.and(&other).iter().collect::<Vec<_>>(), a.union(&b).copied().collect::<Vec<_>>());
        prop_assert_eq!(one.shared_with(&other), a.intersection(&b).count());
        prop_assert_eq!(one.without(&other).iter().collect::<Vec<_>>(), a.difference(&b).copied().collect::<Vec<_>>());
    }
}
