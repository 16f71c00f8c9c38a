//! What the charts render to.

use crate::chart::{Chart, folder, only};
use crate::helm::Helm;

#[test]
fn every_chart_passes_a_strict_lint() {
    let Some(helm) = Helm::find() else { return };
    let library = folder().join("lib");
    for chart in Chart::all().iter().map(|chart| &chart.folder).chain([&library]) {
        let chart = chart.to_str().unwrap();
        helm.run(["lint", "--strict", chart])
            .unwrap_or_else(|complaint| panic!("{chart}: {complaint}"));
    }
}

#[test]
fn manifests_are_as_reviewed() {
    let Some(helm) = Helm::find() else { return };
    for chart in Chart::all() {
        for case in chart.cases() {
            insta::assert_snapshot!(case.name, chart.render(&helm, case.values).unwrap());
        }
    }
}

#[test]
fn no_object_renders_twice_under_one_name() {
    let Some(helm) = Helm::find() else { return };
    let all = Chart::all();
    for (chart, case) in all
        .iter()
        .flat_map(|chart| chart.cases().iter().map(move |case| (chart, case)))
    {
        let objects = chart.objects(&helm, case.values);
        let mut names: Vec<_> = objects
            .iter()
            .map(|object| (object["kind"].to_string(), object["metadata"]["name"].to_string()))
            .collect();
        names.sort();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all, "{}: {names:?}", case.name);
    }
}

#[test]
fn each_flag_is_the_value_of_its_name() {
    for (value, flag) in [
        ("args.leaderElect=false", "--leader-elect=false"),
        (r#"args.leaseNamespace="leases""#, "--lease-namespace=leases"),
        ("args.workers=7", "--workers=7"),
        ("args.maxInflightWrites=70", "--max-inflight-writes=70"),
        ("args.qps=0.5", "--qps=0.5"),
        ("args.burst=20000000", "--burst=20000000"),
        (
            r#"args.fieldManager="kube-controller-manager""#,
            "--field-manager=kube-controller-manager",
        ),
        (r#"args.logLevel="debug""#, "--log-level=debug"),
        (r#"args.logFormat="text""#, "--log-format=text"),
        (r#"args.controllers=["replicaset"]"#, "--controllers=replicaset"),
        ("admin.port=9999", "--admin-addr=0.0.0.0:9999"),
        (r#"admin.host="[::]""#, "--admin-addr=[::]:8080"),
        ("hostNetwork=true", "--admin-addr=127.0.0.1:8080"),
    ] {
        let Some(helm) = Helm::find() else { return };
        let flags = flags(&helm, value);
        assert_eq!(
            flags.iter().filter(|given| *given == flag).count(),
            1,
            "{value}: {flags:?}"
        );
    }
}

#[test]
fn a_value_of_null_leaves_its_flag_out() {
    let Some(helm) = Helm::find() else { return };
    let flags = flags(&helm, "args.logLevel=null");
    let names: Vec<&str> = flags.iter().map(|flag| flag.split('=').next().unwrap()).collect();
    assert_eq!(
        names,
        [
            "--admin-addr",
            "--controllers",
            "--leader-elect",
            "--lease-namespace",
            "--log-format"
        ]
    );
}

#[test]
fn pods_can_be_let_run_on_any_node() {
    let Some(helm) = Helm::find() else { return };
    let objects = Chart::deployment_controller().objects(&helm, &["nodeSelector=null"]);
    assert!(only(&objects, "DaemonSet")["spec"]["template"]["spec"]["nodeSelector"].is_null());
}

fn flags(helm: &Helm, value: &str) -> Vec<String> {
    let objects = Chart::deployment_controller().objects(helm, &[value]);
    let container = &only(&objects, "DaemonSet")["spec"]["template"]["spec"]["containers"][0];
    container["args"]
        .as_array()
        .unwrap()
        .iter()
        .map(|flag| flag.as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn notes_say_how_to_switch_the_upstream_loops_off() {
    let Some(helm) = Helm::find() else { return };
    for (values, switch) in [
        (&[][..], "--controllers=*,-deployment-controller,-replicaset-controller"),
        (
            &[r#"args.controllers=["replicaset"]"#],
            "--controllers=*,-replicaset-controller",
        ),
    ] {
        let notes = notes(&helm, &Chart::deployment_controller(), values);
        assert!(notes.lines().any(|line| line.trim() == switch), "{notes}");
    }
    let notes = notes(&helm, &Chart::deployment_controller(), &[]);
    for part in [
        "every replica of kube-controller-manager",
        "Hand back",
        "Managed control planes",
    ] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
}

// proves: job/J-1
#[test]
fn notes_of_the_job_controller_name_its_two_loops_unless_it_stands_beside_them() {
    let Some(helm) = Helm::find() else { return };
    let chart = Chart::job_controller();
    let switch = "--controllers=*,-job-controller,-ttl-after-finished-controller";
    let replaces = notes(&helm, &chart, &[]);
    assert!(replaces.lines().any(|line| line.trim() == switch), "{replaces}");
    let beside = notes(&helm, &chart, &[r#"args.managedBy="example.com/jobs""#]);
    assert!(beside.contains("whose spec.managedBy is example.com/jobs"), "{beside}");
    assert!(!beside.contains("--controllers"), "{beside}");
}

// proves: job/J-160
#[test]
fn each_name_of_a_manager_has_a_lease_of_its_own_that_its_account_may_change() {
    let Some(helm) = Helm::find() else { return };
    let lease = |values: &[&str]| {
        let objects = Chart::job_controller().objects(&helm, values);
        only(&objects, "Role")["rules"][1]["resourceNames"][0].clone()
    };
    assert_eq!(lease(&[]), "job-controller");
    let named = lease(&[r#"args.managedBy="example.com/jobs""#]);
    assert_eq!(named, "job-controller-example-com-jobs-897123895");
}

/// What `helm install` prints after the manifests.
fn notes(helm: &Helm, chart: &Chart, values: &[&str]) -> String {
    let mut args = vec!["install", "demo", chart.folder.to_str().unwrap(), "--dry-run=client"];
    args.extend(values.iter().flat_map(|value| ["--set-json", value]));
    let printed = helm.run(args).unwrap();
    printed.split_once("NOTES:").unwrap().1.to_owned()
}
