//! What a failed pod means (J-140…J-147, J-240…J-245, S-1, S-3…S-8).

use std::collections::BTreeMap;

use job_controller::job::policy::failure::Action;
use job_controller::job::tally::Finished;
use rstest::rstest;
use serde_json::{Value, json};
use workload_core::outcome::{FailureClass, Verb};

use super::cluster::Cluster;
use super::on_42;

fn job(parallelism: u32, policy: Value) -> Cluster {
    let spec =
        json!({"parallelism": parallelism, "completions": parallelism, "backoffLimit": 4, "podFailurePolicy": policy});
    let mut cluster = Cluster::of(spec);
    cluster.settle();
    cluster
}

// proves: job/S-1, job/J-31, job/J-143, job/J-144, job/J-145, job/J-152, job/J-153, job/J-213
#[test]
fn exit_code_42_fails_the_job_for_the_stated_reason() {
    let mut cluster = job(1, on_42("FailJob"));
    cluster.end("p000", 42);
    let turn = cluster.turn();
    assert_eq!(turn.text(), "status; release p000; status");
    assert_eq!(
        cluster.conditions(),
        "FailureTarget/PodFailurePolicy, Failed/PodFailurePolicy"
    );
    let message = "Container main for pod default/p000 failed with exit code 42 matching FailJob rule at index 0";
    assert_eq!(
        [cluster.message("FailureTarget"), cluster.message("Failed")],
        [message, message]
    );
    assert_eq!((cluster.counts(), cluster.stored.len()), ([0, 0, 0, 0, 1], 3));
    assert!(cluster.status_of("completionTime").is_null());
    assert_eq!(
        cluster.stored[1]["conditions"].as_array().unwrap().len(),
        1,
        "the first of two writes"
    );
    let [told] = &turn.notes[..] else {
        panic!("{:?}", turn.notes)
    };
    assert_eq!(
        (&*told.reason, told.message.as_str(), told.severity.as_str()),
        ("PodFailurePolicy", message, "Warning")
    );
    let tally = turn.tally.unwrap();
    let (result, reason) = ("failed", "PodFailurePolicy");
    assert_eq!(tally.finished, Some(Finished { result, reason }));
    assert_eq!((cluster.pods.len(), cluster.tracked().as_str()), (1, ""));
}

// proves: job/S-3, job/J-33, job/J-47, job/J-150, job/J-151
#[test]
fn the_others_are_killed_and_counted_and_the_end_waits_for_them() {
    let mut cluster = job(3, on_42("FailJob"));
    for pod in ["p000", "p001"] {
        cluster.run(pod);
    }
    cluster.settle();
    cluster.end("p002", 42);
    let turn = cluster.turn();
    assert_eq!(turn.text(), "kill p000 p001; status; release p000 p001 p002; status");
    assert_eq!(cluster.counts(), [0, 0, 2, 0, 3]);
    assert_eq!(cluster.conditions(), "FailureTarget/PodFailurePolicy");
    assert_eq!(cluster.turn().text(), "");
    cluster.kubelet();
    assert_eq!(cluster.settle(), ["status"]);
    assert_eq!(cluster.counts(), [0, 0, 0, 0, 3]);
    assert_eq!(
        cluster.conditions(),
        "FailureTarget/PodFailurePolicy, Failed/PodFailurePolicy"
    );
}

// proves: job/J-33, job/J-145, job/J-191
#[test]
fn a_pod_that_cannot_be_killed_holds_the_verdict_back() {
    let mut cluster = job(3, on_42("FailJob"));
    for pod in ["p000", "p001"] {
        cluster.run(pod);
    }
    cluster.end("p002", 42);
    cluster.faults = vec![(Verb::Delete, "p001", FailureClass::Rejected)];
    let turn = cluster.turn();
    assert_eq!(turn.text(), "kill p000 p001; status");
    assert!(turn.said().contains(&"FailedDelete"));
    assert_eq!((cluster.counts(), cluster.conditions().as_str()), ([1, 1, 1, 0, 0], ""));
    assert_eq!(cluster.tracked(), "p000 p001 p002");
    cluster.kubelet();
    let turn = cluster.turn();
    assert_eq!(turn.text(), "status; release p000; kill p001; status");
    assert_eq!((cluster.counts(), cluster.conditions().as_str()), ([1, 1, 0, 0, 1], ""));
    assert_eq!(
        cluster.tracked(),
        "p001 p002",
        "the pod that the rule met keeps its finalizer"
    );
    assert_eq!(cluster.turn().text(), "kill p001");
    cluster.faults.clear();
    assert_eq!(cluster.turn().text(), "kill p001; status");
    cluster.kubelet();
    cluster.settle();
    cluster.kubelet();
    cluster.settle();
    assert_eq!((cluster.counts()[4], cluster.is_finished()), (3, true));
}

// proves: job/S-4, job/J-241, job/J-243, field/FR-JB-10
#[test]
fn a_named_rule_gives_its_name_to_the_reason() {
    let mut cluster = job(2, on_42("FailJob")).opt_in("job.rule-names", r#"{"0":"ExitCode42"}"#);
    cluster.run("p001");
    cluster.end("p000", 42);
    let turn = cluster.turn();
    assert_eq!(cluster.conditions(), "FailureTarget/PodFailurePolicy_ExitCode42");
    assert!(
        cluster
            .message("FailureTarget")
            .ends_with("matching FailJob rule at index 0")
    );
    assert_eq!(turn.tally.unwrap().finished, None);
    cluster.edit(json!({"metadata": {"annotations": null}}));
    cluster.kubelet();
    let turn = cluster.turn();
    let named = "PodFailurePolicy_ExitCode42";
    assert_eq!(cluster.conditions(), format!("FailureTarget/{named}, Failed/{named}"));
    assert_eq!(turn.said(), [named]);
    assert_eq!(turn.tally.unwrap().finished.unwrap().reason, "PodFailurePolicy");
}

// proves: job/J-242, job/J-243, job/J-244, job/J-245
#[rstest]
#[case::no_opt_in(None, &[None, None], "PodFailurePolicy")]
#[case::another_rule_has_a_name(Some(r#"{"0":"a"}"#), &[None, None], "PodFailurePolicy_1")]
#[case::no_rule_has_a_name(Some("{}"), &[None, None], "PodFailurePolicy_1")]
#[case::a_rule_that_does_not_exist(Some(r#"{"2":"a"}"#), &[None, None], "PodFailurePolicy")]
#[case::the_field_wins(Some(r#"{"1":"a"}"#), &[None, Some("f")], "PodFailurePolicy_f")]
#[case::a_field_elsewhere(Some(r#"{"1":"a"}"#), &[Some("f"), None], "PodFailurePolicy_1")]
fn the_reason_is_made_of_the_names(#[case] names: Option<&str>, #[case] fields: &[Option<&str>], #[case] reason: &str) {
    let rule = |(code, name): (usize, Option<&str>)| json!({"action": "FailJob", "name": name, "onExitCodes": {"operator": "In", "values": [code + 41]}});
    let rules: Vec<Value> = fields.iter().copied().enumerate().map(rule).collect();
    let mut cluster = job(1, json!({"rules": rules}));
    if let Some(names) = names {
        cluster = cluster.opt_in("job.rule-names", names);
    }
    cluster.end("p000", 42);
    cluster.turn();
    assert_eq!(cluster.conditions(), format!("FailureTarget/{reason}, Failed/{reason}"));
}

// proves: job/S-5, job/J-143, job/J-147, job/J-142
#[test]
fn an_ignored_failure_does_not_count_but_lengthens_the_wait() {
    let policy = json!({"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]});
    let mut cluster = Cluster::of(json!({"completions": 1, "backoffLimit": 0, "podFailurePolicy": policy}));
    cluster.settle();
    cluster.end("p000", 137);
    cluster.change_pod("p000", |pod| {
        let conditions = pod["status"]["conditions"].as_array_mut().unwrap();
        conditions.push(json!({"type": "DisruptionTarget", "status": "True"}));
    });
    cluster.faults = vec![(Verb::Patch, "p000", FailureClass::Transient)];
    assert!(cluster.turn().tally.unwrap().handled.is_empty());
    cluster.faults.clear();
    let turn = cluster.turn();
    assert_eq!(
        (turn.again_in(), cluster.counts(), cluster.tracked().as_str()),
        (Some(10), [0; 5], "")
    );
    assert_eq!(turn.tally.unwrap().handled, BTreeMap::from([(Action::Ignore, 1)]));
    assert!(cluster.turn().tally.unwrap().handled.is_empty());
    cluster.after(10);
    cluster.settle();
    cluster.end("p001", 0);
    cluster.settle();
    assert_eq!(
        cluster.conditions(),
        "SuccessCriteriaMet/CompletionsReached, Complete/CompletionsReached"
    );
    assert_eq!(cluster.counts(), [0, 0, 0, 1, 0]);
}

fn exits(codes: &[(&str, i32)], init: &[(&str, i32)]) -> Value {
    let list = |codes: &[(&str, i32)]| -> Value {
        codes
            .iter()
            .map(|(name, code)| json!({"name": name, "state": {"terminated": {"exitCode": code}}}))
            .collect()
    };
    json!({"phase": "Failed", "containerStatuses": list(codes), "initContainerStatuses": list(init)})
}

/// What the rules make of a failed pod: its condition, or `counted` or `ignored`.
fn verdict(rules: Value, status: Value) -> String {
    let mut cluster = job(1, json!({"rules": rules}));
    cluster.change_pod("p000", |pod| pod["status"] = status);
    cluster.turn();
    match (cluster.message("FailureTarget"), cluster.counts()[4]) {
        (message, _) if !message.is_empty() => message,
        (_, 1) => "counted".to_owned(),
        (_, 0) if cluster.tracked().is_empty() => "ignored".to_owned(),
        _ => "not failed".to_owned(),
    }
}

fn rule(action: &str, codes: Value) -> Value {
    json!({"action": action, "onExitCodes": codes})
}

// proves: job/S-6, job/S-7, job/J-141
#[rstest]
#[case::not_in_and_success(json!({"operator": "NotIn", "values": [3]}), exits(&[("a", 0), ("b", 3)], &[]), None)]
#[case::not_in(json!({"operator": "NotIn", "values": [3]}), exits(&[("a", 0), ("b", 4)], &[]), Some(("b", 4)))]
#[case::negative(json!({"operator": "In", "values": [-1_073_741_510]}), exits(&[("a", -1_073_741_510)], &[]), Some(("a", -1_073_741_510)))]
#[case::named_container(json!({"operator": "In", "values": [42], "containerName": "b"}), exits(&[("a", 42), ("b", 42)], &[]), Some(("b", 42)))]
#[case::another_container(json!({"operator": "In", "values": [42], "containerName": "b"}), exits(&[("a", 42)], &[]), None)]
#[case::regular_ones_first(json!({"operator": "In", "values": [42]}), exits(&[("a", 42)], &[("i", 42)]), Some(("a", 42)))]
#[case::init_containers_too(json!({"operator": "In", "values": [42]}), exits(&[("a", 1)], &[("i", 42)]), Some(("i", 42)))]
#[case::unknown_operator(json!({"operator": "Near", "values": [42]}), exits(&[("a", 42)], &[]), None)]
#[case::before_the_restart(json!({"operator": "In", "values": [42]}),
    json!({"phase": "Failed", "containerStatuses": [{"name": "a", "lastState": {"terminated": {"exitCode": 42}}}]}), None)]
fn exit_codes_are_matched(#[case] codes: Value, #[case] status: Value, #[case] expected: Option<(&str, i32)>) {
    let expected = expected.map_or_else(|| "counted".to_owned(), |(container, code)| {
        format!(
            "Container {container} for pod default/p000 failed with exit code {code} matching FailJob rule at index 0"
        )
    });
    assert_eq!(verdict(json!([rule("FailJob", codes)]), status), expected);
}

// proves: job/J-142, job/J-144
#[rstest]
#[case::as_it_says(json!([{"type": "Evil", "status": "True"}]), "True", "Pod default/p000 has condition Evil matching FailJob rule at index 0")]
#[case::by_default_true(json!([{"type": "Evil"}]), "True", "Pod default/p000 has condition Evil matching FailJob rule at index 0")]
#[case::another_status(json!([{"type": "Evil", "status": "True"}]), "False", "counted")]
#[case::one_of_several(json!([{"type": "Good"}, {"type": "Evil", "status": "Unknown"}]), "Unknown", "Pod default/p000 has condition Evil matching FailJob rule at index 0")]
fn conditions_are_matched_exactly(#[case] patterns: Value, #[case] status: &str, #[case] expected: &str) {
    let rules = json!([{"action": "FailJob", "onPodConditions": patterns}]);
    let status = json!({"phase": "Failed", "conditions": [{"type": "Evil", "status": status}]});
    assert_eq!(verdict(rules, status), expected);
}

// proves: job/J-141, job/J-143
#[rstest]
#[case::first_match_decides(&["Count", "FailJob"], "counted")]
#[case::ignore_first(&["Ignore", "FailJob"], "ignored")]
#[case::unknown_actions_are_skipped(&["Explode", "Ignore"], "ignored")]
#[case::unknown_alone(&["Explode"], "counted")]
fn rules_are_tried_in_order(#[case] actions: &[&str], #[case] expected: &str) {
    let codes = json!({"operator": "In", "values": [42]});
    let rules: Vec<Value> = actions.iter().map(|action| rule(action, codes.clone())).collect();
    assert_eq!(verdict(json!(rules), exits(&[("a", 42)], &[])), expected);
}

// proves: job/J-140
#[test]
fn a_running_pod_matches_nothing() {
    let mut running = exits(&[("a", 42)], &[]);
    running["phase"] = "Running".into();
    let rules = json!([rule("FailJob", json!({"operator": "In", "values": [42]}))]);
    assert_eq!(verdict(rules, running), "not failed");
}

// proves: job/S-8, job/J-145
#[test]
fn the_reason_survives_the_pod_and_the_controller() {
    let mut cluster = job(1, on_42("FailJob"));
    cluster.end("p000", 42);
    cluster.trouble = Some((2, super::cluster::Trouble::Refused(FailureClass::Fenced)));
    cluster.turn();
    assert_eq!(
        (cluster.conditions().as_str(), cluster.tracked().as_str()),
        ("FailureTarget/PodFailurePolicy", "")
    );
    cluster.delete_pod("p000");
    cluster.restart();
    cluster.turn();
    assert_eq!((cluster.counts(), cluster.pods.len()), ([0, 0, 0, 0, 1], 0));
    assert_eq!(cluster.message("Failed"), cluster.message("FailureTarget"));
}
