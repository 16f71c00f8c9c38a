//! What happens in the demo, step by step.

use anyhow::Result;
use serde_json::{Value, json};

use super::stage::Stage;
use super::{scrape, table};
use crate::clock;

/// What `kubectl get pods` shows of pods that wait.
const WAITING: &str = "--output=custom-columns=POD:.metadata.name,PHASE:.status.phase,\
                       WAITS:.status.containerStatuses[0].state.waiting.reason,IMAGE:.spec.containers[0].image";
const MEBIBYTE: f64 = 1_048_576.0;

/// Plays the story.
pub(super) fn play(stage: &mut Stage) -> Result<()> {
    start_controller(stage)?;
    roll_out(stage)?;
    get_stuck(stage)?;
    go_back(stage)?;
    grow(stage)?;
    lose_the_leader(stage)
}

fn start_controller(stage: &mut Stage) -> Result<()> {
    title("A cluster on which nobody reconciles Deployments and ReplicaSets");
    println!("kube-controller-manager runs with --controllers=*,-deployment-controller,-replicaset-controller.");
    stage.kubectl(&["get", "nodes"])?;
    title("Two replicas of deployment-controller, with the rights of their chart and no others");
    stage.install_rights()?;
    stage.start_replica()?;
    stage.start_replica()?;
    let leader = stage.leader(None)?;
    println!(
        "Process {} leads, the other one stands by with warm caches.",
        stage.pid(leader)?
    );
    stage.kubectl(&["get", "lease", "deployment-controller", "--namespace=kube-system"])
}

fn roll_out(stage: &mut Stage) -> Result<()> {
    title("A Deployment comes up");
    stage.apply("web.json", &web())?;
    table::follow(stage, table::Row::is_complete)?;
    stage.kubectl(&["get", "deployments,replicasets"])?;
    title("A new image rolls out: never more than 8 pods wanted, never fewer than 5 available");
    stage.kubectl(&["set", "image", "deployment/web", "web=registry.example/web:2"])?;
    table::follow(stage, table::Row::is_complete)?;
    stage.kubectl(&["rollout", "status", "deployment/web"])
}

fn get_stuck(stage: &mut Stage) -> Result<()> {
    title("An image that does not exist: the rollout stops, the service goes on");
    stage.kubectl(&["set", "image", "deployment/web", "web=registry.example/web:missing"])?;
    table::follow(stage, table::Row::is_stuck)?;
    println!("Why? The new pods wait, and the old ones that are left may not go:");
    stage.kubectl(&["get", "pods", "--selector=app=web", WAITING])?;
    println!("kubectl tells it as ever:");
    stage.kubectl(&["rollout", "status", "deployment/web"])
}

fn go_back(stage: &mut Stage) -> Result<()> {
    title("Back to what worked");
    stage.kubectl(&["rollout", "undo", "deployment/web"])?;
    table::follow(stage, table::Row::is_complete)?;
    stage.kubectl(&["rollout", "history", "deployment/web"])
}

fn grow(stage: &mut Stage) -> Result<()> {
    title("From 6 to 200 replicas");
    stage.kubectl(&["scale", "deployment/web", "--replicas=200"])?;
    table::follow(stage, table::Row::is_complete)?;
    let leader = stage.leader(None)?;
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
    let leader = stage.leader(None)?;
    stage.kubectl(&["set", "image", "deployment/web", "web=registry.example/web:3"])?;
    table::follow(stage, |row| row.has_updated(60))?;
    println!("$ kill -9 {}", stage.pid(leader)?);
    stage.kill(leader)?;
    let killed = clock::now();
    println!("Its Lease has to expire before the other one may write; running pods do not notice.");
    let successor = stage.leader(Some(leader))?;
    println!(
        "Process {} leads after {}.",
        stage.pid(successor)?,
        clock::for_people(killed.elapsed())
    );
    table::follow(stage, table::Row::is_complete)?;
    stage.kubectl(&["rollout", "status", "deployment/web"])?;
    stage.kubectl(&["get", "deployments,replicasets"])
}

fn title(text: &str) {
    println!();
    println!("== {text}");
    println!();
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
