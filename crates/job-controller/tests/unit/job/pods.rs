//! What a new pod contains (J-65, J-71, J-72, S-42, S-43).

use rstest::rstest;
use serde_json::{Value, json};
use workload_core::plan::{NewName, Plan, Stage};
use workload_core::workload::{Observation, Workload as _};

use super::cluster::{Cluster, TRACKING};
use super::{fixed, indexed};

// proves: job/J-65, job/J-40
#[test]
fn a_pod_is_made_of_the_template_and_has_one_owner() {
    let template = json!({
        "metadata": {"name": "dropped", "namespace": "dropped", "ownerReferences": [{"name": "dropped"}],
                     "annotations": {"note": "x"}, "finalizers": ["example.com/own"]},
        "spec": {"unknownField": {"b": 1}, "containers": [{"name": "main", "image": "a", "newField": [1]}]},
    });
    let mut cluster = Cluster::of(json!({"completions": 1, "template": template}));
    cluster.settle();
    let pod = cluster.find("p000").unwrap();
    assert_eq!(
        pod["metadata"]["labels"],
        cluster.job["spec"]["template"]["metadata"]["labels"]
    );
    assert_eq!(pod["metadata"]["annotations"], json!({"note": "x"}));
    assert_eq!(pod["metadata"]["finalizers"], json!(["example.com/own", TRACKING]));
    assert_eq!(
        pod["metadata"]["ownerReferences"],
        json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "work", "uid": "uid-of-work",
                "controller": true, "blockOwnerDeletion": true}])
    );
    assert_eq!(pod["spec"], cluster.job["spec"]["template"]["spec"]);
}

// proves: job/J-65
#[test]
fn a_finalizer_that_the_template_has_already_is_not_added_again() {
    let mut cluster = Cluster::of(json!({"completions": 1, "template": {"metadata": {"finalizers": [TRACKING]}}}));
    cluster.settle();
    assert_eq!(
        cluster.find("p000").unwrap()["metadata"]["finalizers"],
        json!([TRACKING])
    );
}

// proves: job/J-65
#[test]
fn a_template_without_labels_is_refused_here() {
    let mut cluster = fixed(1, 1);
    cluster.edit(json!({"spec": {"template": {"metadata": {"labels": null}}}}));
    let turn = cluster.turn();
    assert_eq!((turn.said(), turn.text().as_str()), (vec!["FailedCreate"], "status"));
}

// proves: job/J-71, job/J-72, job/S-43
#[test]
fn an_indexed_pod_knows_its_index() {
    let template = json!({"spec": {
        "hostname": "mine",
        "initContainers": [{"name": "init", "env": null}],
        "containers": [{"name": "main", "env": [{"name": "A", "value": "1"}]},
                       {"name": "own", "env": [{"name": "JOB_COMPLETION_INDEX", "value": "mine"}]}],
    }});
    let mut cluster = indexed(2, 2, json!({"template": template}));
    cluster.settle();
    let pod = cluster.find("i1.0").unwrap();
    let [annotation, label] =
        ["annotations", "labels"].map(|map| &pod["metadata"][map]["batch.kubernetes.io/job-completion-index"]);
    assert_eq!(
        (annotation, label, &pod["spec"]["hostname"]),
        (&json!("1"), &json!("1"), &json!("work-1"))
    );
    let path = "metadata.labels['batch.kubernetes.io/job-completion-index']";
    let variable = json!({"name": "JOB_COMPLETION_INDEX", "valueFrom": {"fieldRef": {"fieldPath": path}}});
    assert_eq!(pod["spec"]["initContainers"][0]["env"], json!([variable]));
    assert_eq!(
        pod["spec"]["containers"][0]["env"],
        json!([{"name": "A", "value": "1"}, variable])
    );
    assert_eq!(
        pod["spec"]["containers"][1]["env"],
        json!([{"name": "JOB_COMPLETION_INDEX", "value": "mine"}])
    );
}

/// The base of the name of the pods that a Job of this name makes.
fn base(name: &str, mode: &str) -> String {
    let mut cluster = Cluster::of(json!({"parallelism": 8, "completions": 8, "completionMode": mode}));
    cluster.edit(json!({"metadata": {"name": name}}));
    let controller = cluster.controller_of_all();
    let Observation::Ready(seen) = cluster.observation_of(&controller, name) else {
        panic!("nothing to act on")
    };
    let Plan { stages, .. } = controller.decide(&seen, cluster.now);
    let Some(Stage::Create(creates)) = stages.last() else {
        panic!("{stages:?}")
    };
    match &creates.last().unwrap().name {
        NewName::Random(base) => base.to_string(),
        NewName::Exact(name) => panic!("{name}"),
    }
}

// proves: job/J-65, job/J-71, job/S-42
#[rstest]
#[case::plain("work", "NonIndexed", "work-")]
#[case::with_index("work", "Indexed", "work-7-")]
#[case::sixty_letters(&"a".repeat(60), "Indexed", &format!("{}-7-", "a".repeat(55)))]
fn names_are_made_of_job_and_index(#[case] name: &str, #[case] mode: &str, #[case] expected: &str) {
    assert_eq!(base(name, mode), expected);
}

// proves: job/J-61, job/J-70
#[test]
fn at_most_a_burst_is_made_at_once() {
    let mut cluster = indexed(9, 9, json!({}));
    cluster.bounds.burst = 4;
    assert_eq!(
        cluster.settle(),
        [
            "create i0.0, i1.0, i2.0, i3.0; status",
            "create i4.0, i5.0, i6.0, i7.0; status",
            "create i8.0; status"
        ]
    );
    let _: &Value = cluster.find("i8.0").unwrap();
}

// proves: job/J-61
#[test]
fn pods_with_a_large_text_each_are_made_some_at_a_time() {
    let args = "x".repeat(1 << 20);
    let template = json!({"spec": {"containers": [{"name": "main", "args": [args]}]}});
    let mut cluster = indexed(500, 500, json!({"template": template}));
    cluster.turn();
    let made = |cluster: &Cluster| cluster.counts()[0];
    assert_eq!(made(&cluster), 3);
    cluster.turn();
    assert_eq!(made(&cluster), 6);
}
