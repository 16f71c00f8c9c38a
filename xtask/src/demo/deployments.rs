//! The story of a Deployment, step by step.

use anyhow::Result;
use serde_json::{Value, json};

use super::rollout::Row;
use super::stage::{DEPLOYMENTS, Stage};
use super::table::follow;
use super::{change_leaders, scrape, start_controller, title};

/// What `kubectl get pods` shows of pods that wait.
const WAITING: &str = "--output=custom-columns=POD:.metadata.name,PHASE:.status.phase,\
                       WAITS:.status.containerStatuses[0].state.waiting.reason,IMAGE:.spec.containers[0].image";
const MEBIBYTE: f64 = 1_048_576.0;

/// Plays the story.
pub(super) fn play(stage: &mut Stage) -> Result<()> {
    start_controller(stage, DEPLOYMENTS)?;
    roll_out(stage)?;
    get_stuck(stage)?;
    go_back(stage)?;
    grow(stage)?;
    lose_the_leader(stage)
}

fn roll_out(stage: &mut Stage) -> Result<()> {
    title("A Deployment comes up");
    stage.apply("web.json", &web())?;
    follow(stage, Row::is_complete)?;
    stage.kubectl(&["get", "deployments,replicasets"])?;
    title("A new image rolls out: never more than 8 pods wanted, never fewer than 5 available");
    stage.kubectl(&["set", "image", "deployment/web", "web=registry.example/web:2"])?;
    follow(stage, Row::is_complete)?;
    stage.kubectl(&["rollout", "status", "deployment/web"])
}

fn get_stuck(stage: &mut Stage) -> Result<()> {
    title("An image that does not exist: the rollout stops, the service goes on");
    stage.kubectl(&["set", "image", "deployment/web", "web=registry.example/web:missing"])?;
    follow(stage, Row::is_stuck)?;
    println!("Why? The new pods wait, and the old ones that are left may not go:");
    stage.kubectl(&["get", "pods", "--selector=app=web", WAITING])?;
    println!("kubectl tells it as ever:");
    stage.kubectl(&["rollout", "status", "deployment/web"])
}

fn go_back(stage: &mut Stage) -> Result<()> {
    title("Back to what worked");
    stage.kubectl(&["rollout", "undo", "deployment/web"])?;
    follow(stage, Row::is_complete)?;
    stage.kubectl(&["rollout", "history", "deployment/web"])
}

fn grow(stage: &mut Stage) -> Result<()> {
    title("From 6 to 200 replicas");
    stage.kubectl(&["scale", "deployment/web", "--replicas=200"])?;
    follow(stage, Row::is_complete)?;
    let leader = stage.leader(DEPLOYMENTS, None)?;
    let metrics = stage.metrics(leader)?;
    let requests: Vec<_> = scrape::by_label(&metrics, "rest_client_requests_total", "method")
        .into_iter()
        .map(|(method, count)| format!("{count} {method}"))
        .collect();
    let memory = scrape::sum(&metrics, "process_resident_memory_bytes") / MEBIBYTE;
    println!(
        "So far the leader has sent {} requests and uses {memory:.0} MiB.",
        requests.join(", ")
    );
    Ok(())
}

fn lose_the_leader(stage: &mut Stage) -> Result<()> {
    title("The leader is killed in the middle of a rollout");
    let leader = stage.leader(DEPLOYMENTS, None)?;
    stage.kubectl(&["set", "image", "deployment/web", "web=registry.example/web:3"])?;
    follow(stage, |row: &Row| row.has_updated(60))?;
    change_leaders(stage, DEPLOYMENTS, leader)?;
    follow(stage, Row::is_complete)?;
    stage.kubectl(&["rollout", "status", "deployment/web"])?;
    stage.kubectl(&["get", "deployments,replicasets"])
}

fn web() -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {
            "replicas": 6,
            // Short, so that the demo need not wait ten minutes for a rollout to be called stuck.
            "progressDeadlineSeconds": 8,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "registry.example/web:1"}]},
            },
        },
    })
}
