//! Cases that random series do not reach.

use proptest::strategy::{Strategy, ValueTree as _};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use testkit::api::{NAMESPACE, POD_DISRUPTION_BUDGET, RESOURCE_QUOTA};
use testkit::server::{Server, block_on, skipped};
use testkit::simulation::server::{Propagation, Quota};
use workload_core::id::Kind;

use super::deed::{Deed, Others, Seen, Target, manifest};
use super::jobs;
use super::pair::{Pair, eventually};

fn target(kind: Kind, name: &str) -> Target {
    Target {
        kind,
        name: name.to_owned(),
    }
}

fn pod(name: &str) -> Target {
    target(Kind::POD, name)
}

fn set() -> Target {
    target(Kind::REPLICA_SET, "a")
}

fn web() -> Target {
    target(Kind::DEPLOYMENT, "a")
}

fn create(what: &Target, size: u32, owner: Option<Target>) -> Deed {
    Deed::Create(what.clone(), manifest(what, size, false), owner)
}

fn running(name: &str) -> [Deed; 2] {
    let ready =
        json!({"type": "Ready", "status": "True", "lastProbeTime": null, "lastTransitionTime": "2026-01-02T03:04:05Z"});
    let status = json!({"phase": "Running", "conditions": [ready]});
    [Others::Bind(pod(name)), Others::Report(pod(name), status)].map(Deed::Others)
}

fn budget(name: &str, mut spec: Value) -> Deed {
    let budget = target(POD_DISRUPTION_BUDGET, name);
    spec["selector"] = json!({"matchLabels": {"app": "a"}});
    let object = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": spec,
    });
    Deed::Create(budget, object, None)
}

/// Plays a case on both servers.
fn case(name: &str, body: impl AsyncFnOnce(&'static Server, &mut Pair) -> Result<(), String>) {
    block_on(async {
        let Some(server) = Server::ours().await else {
            return skipped("the servers of `cargo xtask test`");
        };
        let namespace = format!("conformance-{name}-{}", std::process::id());
        let mut pair = Pair::open(server, namespace).await;
        let outcome = body(server, &mut pair).await;
        pair.close(server).await;
        outcome.unwrap_or_else(|why| panic!("{why}"));
    });
}

async fn all(pair: &mut Pair, deeds: impl IntoIterator<Item = Deed>) -> Result<(), String> {
    for deed in deeds {
        pair.play(&deed).await.map_err(|why| format!("{deed:?}: {why}"))?;
    }
    Ok(())
}

#[test]
fn budgets_measured_by_the_size_of_workloads_count_and_refuse_equally() {
    let specs = [
        json!({"maxUnavailable": "50%"}),
        json!({"minAvailable": "50%"}),
        json!({"maxUnavailable": 1}),
        json!({"maxUnavailable": 0, "unhealthyPodEvictionPolicy": "AlwaysAllow"}),
    ];
    for (number, spec) in specs.into_iter().enumerate() {
        case(&format!("budgets-{number}"), async |_, pair| {
            all(pair, [create(&web(), 3, None), create(&set(), 3, Some(web()))]).await?;
            for name in ["a", "b", "c"] {
                all(pair, [create(&pod(name), 0, Some(set()))]).await?;
            }
            all(pair, running("a").into_iter().chain(running("b"))).await?;
            all(
                pair,
                [
                    Deed::Others(Others::Bind(pod("c"))),
                    Deed::Others(Others::Report(pod("c"), json!({"phase": "Running"}))),
                ],
            )
            .await?;
            all(pair, [budget("guard", spec.clone())]).await?;
            all(pair, ["a", "b", "c", "a"].map(|name| Deed::Evict(pod(name), Seen::Now))).await
        });
    }
}

#[test]
fn two_budgets_refuse_equally() {
    case("two-budgets", async |_, pair| {
        all(pair, [create(&pod("a"), 0, None)]).await?;
        all(pair, running("a")).await?;
        all(
            pair,
            ["one", "two"].map(|name| budget(name, json!({"minAvailable": 0}))),
        )
        .await?;
        all(pair, [Deed::Evict(pod("a"), Seen::Now)]).await
    });
}

#[test]
fn a_tree_of_objects_goes_equally_whatever_the_policy() {
    for policy in [Propagation::Background, Propagation::Foreground, Propagation::Orphan] {
        case(&policy.as_str().to_lowercase(), async |_, pair| {
            all(pair, [create(&web(), 2, None), create(&set(), 2, Some(web()))]).await?;
            all(pair, ["a", "b"].map(|name| create(&pod(name), 0, Some(set())))).await?;
            all(pair, running("a").into_iter().chain(running("b"))).await?;
            all(pair, [Deed::Others(Others::Delete(web(), Some(policy), None))]).await?;
            all(
                pair,
                ["a", "b"].map(|name| Deed::Others(Others::Delete(pod(name), None, Some(0)))),
            )
            .await?;
            all(pair, [Deed::Read(web()), Deed::Read(set())]).await?;
            pair.compare_histories().await
        });
    }
}

#[test]
fn a_quota_refuses_in_the_same_words() {
    case("quota", async |_, pair| {
        let object = json!({
            "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"}, "spec": {"hard": {"pods": "1"}},
        });
        let api = pair.api();
        api.create(RESOURCE_QUOTA, &object).await.unwrap();
        let counts = async || {
            let quota = api.get(RESOURCE_QUOTA, "few").await.unwrap();
            quota["status"]["used"]["pods"] == "0"
        };
        eventually("the quota counts", counts).await;
        let namespace = pair.namespace().to_owned();
        pair.server().set_quota(Quota {
            name: "few".to_owned(),
            namespace,
            kind: Kind::POD,
            hard: 1,
        });
        all(pair, ["a", "b"].map(|name| create(&pod(name), 0, None))).await
    });
}

#[test]
fn a_namespace_that_ends_refuses_in_the_same_words() {
    case("ending", async |server, pair| {
        let held = Deed::Create(pod("held"), manifest(&pod("held"), 0, true), None);
        all(pair, [held, Deed::Others(Others::Bind(pod("held")))]).await?;
        let namespace = pair.namespace().to_owned();
        server.api().delete(NAMESPACE, &namespace, &Value::Null).await.unwrap();
        pair.server().end_namespace(&namespace);
        let ends = async || {
            let pod = pair.api().get(Kind::POD, "held").await.unwrap();
            !pod["metadata"]["deletionTimestamp"].is_null()
        };
        eventually("the namespace ends", ends).await;
        pair.by_hand(&Deed::Others(Others::Delete(pod("held"), None, None)))
            .await;
        all(
            pair,
            [create(&pod("a"), 0, None), create(&web(), 1, None), Deed::Count(1)],
        )
        .await
    });
}

#[test]
fn a_status_of_a_job_is_refused_equally() {
    jobs_are_changed("job-status", "/status", 160, jobs::status());
}

#[test]
fn a_change_of_a_job_is_answered_equally() {
    jobs_are_changed("job-spec", "", 80, jobs::fields());
}

/// Changes different Jobs so often.
fn jobs_are_changed(name: &str, part: &'static str, times: usize, changes: impl Strategy<Value = Value>) {
    case(name, async |_, pair| {
        let kinds: Vec<Target> = (0..4).map(|size| target(Kind::JOB, &format!("job-{size}"))).collect();
        for (size, job) in (0..).zip(&kinds) {
            all(pair, [create(job, size, None)]).await?;
        }
        let mut runner = TestRunner::deterministic();
        let mut different = Vec::new();
        for job in kinds.iter().cycle().take(times) {
            let body = changes.new_tree(&mut runner).unwrap().current();
            let deed = Deed::Change(job.clone(), Seen::Now, part, body);
            different.extend(pair.play(&deed).await.err().map(|why| format!("{deed:?}: {why}")));
        }
        if different.is_empty() {
            Ok(())
        } else {
            Err(different.join("\n\n"))
        }
    });
}

#[test]
fn a_stream_begins_equally() {
    case("stream", async |_, pair| {
        all(pair, ["a", "b"].map(|name| create(&pod(name), 0, None))).await?;
        all(pair, [create(&web(), 1, None)]).await?;
        all(pair, running("a")).await?;
        pair.compare_streams().await
    });
}
