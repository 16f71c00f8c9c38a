//! What is read of Jobs and pods (J-4, J-73, J-110, J-141, J-157).

use job_controller::job::pod::{Pod, Start};
use job_controller::job::spec::{Activity, Job, Replacement, Work};
use rstest::rstest;
use serde_json::{Value, json};
use workload_core::labels::Interner;
use workload_core::meta::Object;
use workload_core::time::Timestamp;

fn read<T: Object>(json: &Value) -> T {
    T::decode(&serde_json::to_vec(json).unwrap(), &Interner::default()).unwrap()
}

fn job(spec: Value) -> Job {
    let mut all = json!({"template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": []}}});
    super::server::merge(&mut all, &spec);
    read(&json!({"metadata": {"name": "work", "namespace": "d", "uid": "u", "resourceVersion": "1"}, "spec": all}))
}

fn pod(more: Value) -> Pod {
    let mut pod = json!({"metadata": {
        "name": "p", "namespace": "d", "uid": "u", "resourceVersion": "1", "creationTimestamp": "2026-01-02T11:00:00Z",
        "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "work", "uid": "j", "controller": true}],
    }});
    super::server::merge(&mut pod, &more);
    read(&pod)
}

fn at(text: &str) -> Timestamp {
    format!("2026-01-02T{text}Z").parse().unwrap()
}

// proves: job/J-4
#[test]
fn defaults_are_those_of_the_server() {
    let spec = job(json!({})).spec;
    assert_eq!(
        (spec.parallelism, &spec.work, spec.backoff_limit),
        (1, &Work::Fixed(1), 6)
    );
    assert_eq!(
        (spec.activity, spec.replacement),
        (Activity::Active, Replacement::TerminatingOrFailed)
    );
    assert_eq!(job(json!({"parallelism": 3})).spec.work, Work::Queue);
    let limited = json!({"completionMode": "Indexed", "completions": 2, "backoffLimitPerIndex": 1});
    assert_eq!(job(limited).spec.backoff_limit, i32::MAX);
    assert_eq!(
        job(json!({"podFailurePolicy": {"rules": []}})).spec.replacement,
        Replacement::Failed
    );
    assert_eq!(
        job(json!({"completionMode": "Sorted"})).spec.work,
        Work::Unknown("Sorted".to_owned())
    );
}

// proves: job/J-155, job/TTL-2
#[test]
fn a_finished_job_keeps_its_end_and_no_template() {
    let mut finished = json!({"metadata": {"name": "work", "namespace": "d", "uid": "u", "resourceVersion": "1"},
        "spec": {"template": {"spec": {}}, "ttlSecondsAfterFinished": 7},
        "status": {"completionTime": "2026-01-02T10:00:00Z", "conditions": [
            {"type": "SuccessCriteriaMet", "status": "True", "lastTransitionTime": "2026-01-02T10:00:01Z"},
            {"type": "Complete", "status": "True", "lastTransitionTime": "2026-01-02T10:00:05Z"}]}});
    let job: Job = read(&finished);
    assert_eq!((job.is_finished(), job.finished_at()), (true, Some(at("10:00:05"))));
    assert!(job.spec.template.is_none());
    assert_eq!(job.spec.ttl_after_finished, Some(7));
    finished["status"]["conditions"][1]["status"] = "False".into();
    let job: Job = read(&finished);
    assert_eq!((job.is_finished(), job.finished_at()), (false, None));
}

#[test]
fn of_annotations_only_opt_ins_are_kept() {
    let json = json!({"metadata": {"name": "work", "namespace": "d", "uid": "u", "resourceVersion": "1",
        "annotations": {"a": "b", "opt-in.workload-controllers/job.ttl-failed": "5"}}, "spec": {"template": {}}});
    let job: Job = read(&json);
    assert_eq!(
        job.meta.annotations.iter().collect::<Vec<_>>(),
        [("opt-in.workload-controllers/job.ttl-failed", "5")]
    );
}

fn ended(name: &str, at: Option<&str>) -> Value {
    let at = at.map(|at| format!("2026-01-02T{at}Z"));
    json!({"name": name, "state": {"terminated": {"exitCode": 1, "finishedAt": at}}})
}

// proves: job/J-110
#[rstest]
#[case::last_container(json!({"containerStatuses": [ended("a", Some("12:00:05")), ended("b", Some("12:00:09"))]}), json!({}), "12:00:09")]
#[case::plain_init_containers_do_not_matter(json!({"containerStatuses": [ended("a", Some("12:00:05"))],
    "initContainerStatuses": [ended("i", Some("12:00:09"))]}), json!({}), "12:00:05")]
#[case::sidecars_matter(json!({"containerStatuses": [ended("a", Some("12:00:05"))],
    "initContainerStatuses": [ended("side", Some("12:00:09"))]}), json!({}), "12:00:09")]
#[case::a_sidecar_that_runs(json!({"containerStatuses": [ended("a", Some("12:00:05"))],
    "initContainerStatuses": [{"name": "side", "state": {"running": {}}}],
    "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-02T12:00:07Z"}]}), json!({}), "12:00:07")]
#[case::a_container_without_time(json!({"containerStatuses": [ended("a", Some("12:00:05")), ended("b", None)],
    "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-02T12:00:07Z"}]}), json!({}), "12:00:07")]
#[case::deletion(json!({"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-02T12:00:07Z"}]}),
    json!({"deletionTimestamp": "2026-01-02T12:01:00Z", "deletionGracePeriodSeconds": 30}), "12:00:30")]
#[case::creation(json!({}), json!({}), "11:00:00")]
fn a_pod_ended_when_it_says_so(#[case] status: Value, #[case] metadata: Value, #[case] expected: &str) {
    let sidecar = json!({"initContainers": [{"name": "i"}, {"name": "side", "restartPolicy": "Always"}]});
    let mut all = json!({"spec": sidecar, "metadata": metadata, "status": status});
    all["status"]["phase"] = "Failed".into();
    assert_eq!(pod(all).ended, Some(at(expected)));
}

// proves: job/J-110
#[test]
fn a_pod_that_lives_has_not_ended() {
    assert_eq!(
        pod(json!({"status": {"phase": "Running", "containerStatuses": [ended("a", Some("12:00:05"))]}})).ended,
        None
    );
    let going = json!({"metadata": {"deletionTimestamp": "2026-01-02T12:01:00Z"}, "status": {"phase": "Running"}});
    assert_eq!(pod(going).ended, Some(at("12:01:00")));
}

// proves: job/J-73
#[rstest]
#[case("0", Some(0))]
#[case("17", Some(17))]
#[case("2147483647", Some(2_147_483_647))]
#[case("2147483648", None)]
#[case("-1", None)]
#[case("1.5", None)]
#[case("", None)]
fn the_index_is_in_an_annotation(#[case] text: &str, #[case] expected: Option<u32>) {
    let annotated = pod(json!({"metadata": {"annotations": {"batch.kubernetes.io/job-completion-index": text}}}));
    assert_eq!(annotated.index, expected);
    let labelled = pod(json!({"metadata": {"labels": {"batch.kubernetes.io/job-completion-index": "3"}}}));
    assert_eq!(labelled.index, None);
}

#[test]
fn of_pods_of_other_kinds_hardly_anything_is_kept() {
    let mut like = json!({"metadata": {"labels": {"app": "x"}, "finalizers": ["batch.kubernetes.io/job-tracking"]},
                          "status": {"phase": "Failed", "containerStatuses": [ended("a", Some("12:00:05"))]}});
    assert_eq!(pod(like.clone()).exits.len(), 1);
    like["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "r", "controller": true}]);
    let of_others = pod(like);
    assert!(of_others.exits.is_empty() && of_others.meta.labels.is_empty() && of_others.ended.is_none());
    assert!(of_others.has_finalizer());
}

#[rstest]
#[case::pending(json!({"phase": "Pending"}), Start::Never)]
#[case::running(json!({"phase": "Running"}), Start::Once)]
#[case::evicted_before(json!({"phase": "Failed"}), Start::Never)]
#[case::failed(json!({"phase": "Failed", "containerStatuses": [ended("a", Some("12:00:05"))]}), Start::Once)]
#[case::an_init_container_runs(json!({"phase": "Pending", "initContainerStatuses": [{"name": "i", "state": {"running": {}}}]}), Start::Once)]
#[case::waits_again(json!({"phase": "Pending", "containerStatuses": [{"name": "a", "lastState": {"terminated": {}}}]}), Start::Once)]
fn a_pod_has_started_once_a_container_ran(#[case] status: Value, #[case] expected: Start) {
    assert_eq!(pod(json!({"status": status})).start, expected);
}

fn waiting(name: &str, reason: &str) -> Value {
    json!({"name": name, "state": {"waiting": {"reason": reason}}})
}

// proves: job/L-2
#[rstest]
#[case::image(json!({"containerStatuses": [waiting("a", "ImagePullBackOff")]}), Some("12:00:00"))]
#[case::pull(json!({"containerStatuses": [waiting("a", "ErrImagePull")]}), Some("12:00:00"))]
#[case::name(json!({"containerStatuses": [waiting("a", "InvalidImageName")]}), Some("12:00:00"))]
#[case::configuration(json!({"containerStatuses": [waiting("a", "CreateContainerConfigError")]}), Some("12:00:00"))]
#[case::its_turn(json!({"containerStatuses": [waiting("a", "ContainerCreating")]}), None)]
#[case::crashes(json!({"containerStatuses": [waiting("a", "CrashLoopBackOff")]}), None)]
#[case::after_init_containers(json!({"initContainerStatuses": [ended("i", Some("12:30:00"))],
    "containerStatuses": [waiting("a", "ErrImagePull")]}), Some("12:30:00"))]
#[case::no_node_yet(json!({"startTime": null, "containerStatuses": [waiting("a", "ErrImagePull")]}), None)]
#[case::runs(json!({"phase": "Running", "containerStatuses": [waiting("a", "ErrImagePull")]}), None)]
fn a_pod_is_hindered_since_its_container_could_have_started(#[case] status: Value, #[case] since: Option<&str>) {
    let mut all = json!({"phase": "Pending", "startTime": "2026-01-02T12:00:00Z"});
    super::server::merge(&mut all, &status);
    let hindrance = pod(json!({"status": all})).hindrance;
    assert_eq!(hindrance.map(|hindrance| hindrance.since), since.map(at));
}
