//! What holds for a ReplicaSet whatever its pods are like.

use deployment_controller::replicaset::decide::Intent;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use testkit::builders::{Manifest as _, Pod, Templated as _, replica_set};
use workload_core::outcome::Outcome;
use workload_core::plan::{Claim, ClaimChange, Delete, Plan, Stage};
use workload_core::workload::Children;

use super::{Stored, Turn, World, at, changed, noon, orphan, owned, text, web};

/// A pod in one of all states that matter.
fn any_pod(name: String) -> impl Strategy<Value = Pod> {
    let foreign = replica_set("other").uid("uid-of-other").json();
    let owner = select(vec![Some(web(0).json()), Some(web(0).json()), None, Some(foreign)]);
    let label = select(vec!["web", "web", "web", "other"]);
    let phase = select(vec!["Pending", "Running", "Running", "Failed", "Succeeded", "Unknown"]);
    let since = select(vec![None, Some("11:00:00"), Some("11:20:00"), Some("11:59:58")]);
    let node = select(vec![None, Some("n1"), Some("n2")]);
    let leaving = prop::bool::weighted(0.2);
    (owner, label, phase, since, node, leaving, 0..3_u32).prop_map(
        move |(owner, label, phase, since, node, leaving, restarts)| {
            let mut pod = orphan(&name).label("app", label).restarts(restarts);
            pod = owner.iter().fold(pod, Pod::owned_by);
            pod = since
                .iter()
                .fold(pod, |pod, since| pod.ready_since(at(&format!("2026-01-02T{since}Z"))));
            pod = node.iter().fold(pod, |pod, node| pod.on(node));
            pod = if leaving { pod.terminating(noon()) } else { pod };
            pod.phase(phase)
        },
    )
}

prop_compose! {
    /// A ReplicaSet of a few pods, sometimes on its way out, sometimes before all its writes are seen.
    fn any_world()(
        pods in (0..9_usize).prop_flat_map(|count| (0..count).map(|n| any_pod(format!("p{n}"))).collect::<Vec<_>>()),
        replicas in 0..6_u32,
        seconds in select(vec![0, 5]),
        leaving in prop::bool::weighted(0.1),
        unsettled in prop::bool::weighted(0.1),
    ) -> World {
        let set = web(replicas).min_ready_seconds(seconds);
        let set = if leaving { set.terminating(noon()) } else { set };
        let world = World::of(set, pods);
        if unsettled { world.unsettled() } else { world }
    }
}

fn wanted(world: &World) -> usize {
    usize::try_from(world.sets[0]["spec"]["replicas"].as_u64().unwrap()).unwrap()
}

fn pod_named<'a>(world: &'a World, name: &str) -> &'a Value {
    world.pods.iter().find(|pod| pod["metadata"]["name"] == *name).unwrap()
}

fn owner_of(pod: &Value) -> &str {
    pod["metadata"]["ownerReferences"][0]["uid"]
        .as_str()
        .unwrap_or("nobody")
}

fn is_active(pod: &Value) -> bool {
    let finished = ["Failed", "Succeeded"].contains(&pod["status"]["phase"].as_str().unwrap_or_default());
    !finished && pod["metadata"]["deletionTimestamp"].is_null()
}

fn fits(pod: &Value) -> bool {
    pod["metadata"]["labels"]["app"] == "web"
}

/// Pods that count as the set's once its claims are written.
fn counted(world: &World) -> usize {
    let adopts = world.sets[0]["metadata"]["deletionTimestamp"].is_null();
    let ours = |pod: &Value| owner_of(pod) == "uid-of-web" || adopts && owner_of(pod) == "nobody";
    world
        .pods
        .iter()
        .filter(|pod| is_active(pod) && fits(pod) && ours(pod))
        .count()
}

fn claims(plan: &Plan<Intent>) -> impl Iterator<Item = &Claim> {
    plan.stages.iter().flat_map(|stage| {
        if let Stage::Claim(claims) = stage {
            &claims[..]
        } else {
            &[]
        }
    })
}

fn deletes(plan: &Plan<Intent>) -> impl Iterator<Item = &Delete> {
    plan.stages.iter().flat_map(|stage| {
        if let Stage::Delete(deletes) | Stage::Evict(deletes) = stage {
            &deletes[..]
        } else {
            &[]
        }
    })
}

/// The world after the plan was carried out and the report stored.
fn after(world: &World) -> World {
    let mut next = world.clone();
    let turn = world.turn();
    for stage in &turn.plan.stages {
        apply(&mut next, stage);
    }
    let fields = changed(&turn.report(&Outcome::default()));
    for (field, value) in fields.as_object().into_iter().flatten() {
        next.sets[0]["status"][field] = value.clone();
    }
    next
}

fn apply(world: &mut World, stage: &Stage) {
    let gone = |pod: &Value, name: &str| pod["metadata"]["name"] == *name;
    match stage {
        Stage::Claim(claims) => {
            for claim in claims {
                let pod = world
                    .pods
                    .iter_mut()
                    .find(|pod| gone(pod, &claim.child.key.name))
                    .unwrap();
                pod["metadata"]["ownerReferences"] = match &claim.change {
                    ClaimChange::Adopt(owner) => json!([owner]),
                    ClaimChange::Release(_) => json!([]),
                };
            }
        }
        Stage::Create(creates) => {
            let new = (0..creates.len()).map(|number| owned(&format!("new-{number}")).json());
            world.pods.extend(new);
        }
        Stage::Delete(deletes) | Stage::Evict(deletes) => {
            let doomed = |pod: &Value| deletes.iter().any(|delete| gone(pod, &delete.target.key.name));
            world.pods.retain(|pod| !doomed(pod));
        }
        Stage::Status(_)
        | Stage::Patch(_)
        | Stage::PatchEach(_)
        | Stage::Depart(_)
        | Stage::DeleteForeground(_)
        | Stage::Read(_) => {
            panic!("never part of a plan for a ReplicaSet: {stage:?}")
        }
    }
}

proptest! {
    // proves: deployment/RS-10, deployment/RS-6, deployment/C-25
    #[test]
    fn it_creates_what_is_missing_deletes_what_is_surplus_and_never_both(world in any_world()) {
        let plan = world.turn().plan;
        let created: usize = plan.stages.iter().map(|stage| if let Stage::Create(creates) = stage { creates.len() } else { 0 }).sum();
        let deleted = deletes(&plan).count();
        let (counted, wanted) = (counted(&world), wanted(&world));
        let may_scale = world.children == Children::Settled && world.sets[0]["metadata"]["deletionTimestamp"].is_null();
        let expected = if may_scale { (wanted.saturating_sub(counted), counted.saturating_sub(wanted)) } else { (0, 0) };
        prop_assert_eq!((created, deleted), expected);
    }

    // proves: deployment/C-11, deployment/C-16, deployment/RS-4, deployment/RS-5
    #[test]
    fn it_touches_only_active_pods_that_are_its_own_or_nobodys(world in any_world()) {
        let plan = world.turn().plan;
        for claim in claims(&plan) {
            let pod = pod_named(&world, &claim.child.key.name);
            let fit = match &claim.change {
                ClaimChange::Adopt(_) => owner_of(pod) == "nobody" && fits(pod),
                ClaimChange::Release(_) => owner_of(pod) == "uid-of-web" && !fits(pod),
            };
            prop_assert!(fit && is_active(pod), "{pod}");
        }
        for delete in deletes(&plan) {
            let pod = pod_named(&world, &delete.target.key.name);
            prop_assert!(is_active(pod) && fits(pod) && owner_of(pod) != "uid-of-other", "{pod}");
        }
    }

    #[test]
    fn the_order_in_which_the_cache_holds_pods_does_not_matter(world in any_world(), by in 0..9_usize) {
        let mut turned = world.clone();
        let count = turned.pods.len();
        turned.pods.rotate_left(by % count.max(1));
        turned.pods.reverse();
        let (one, other) = (world.turn(), turned.turn());
        prop_assert_eq!(text(&one.plan), text(&other.plan));
        let report = |turn: &Turn| format!("{:?}", turn.report(&Outcome::default()));
        prop_assert_eq!(report(&one), report(&other));
    }

    // proves: deployment/W-25, deployment/I-1
    #[test]
    fn once_plan_and_report_are_carried_out_there_is_nothing_more_to_write(world in any_world()) {
        let turn = after(&after(&world)).turn();
        prop_assert_eq!(text(&turn.plan), "nothing");
        prop_assert_eq!(changed(&turn.report(&Outcome::default())), Value::Null);
    }

    // proves: deployment/RS-20
    #[test]
    fn a_report_passes_the_servers_validation(world in any_world()) {
        let set: deployment_controller::replicaset::spec::ReplicaSet = Stored(after(&world).sets.remove(0)).decode();
        let status = set.status;
        prop_assert!(0 <= status.available_replicas && status.available_replicas <= status.ready_replicas);
        prop_assert!(status.ready_replicas <= status.replicas && status.fully_labeled_replicas <= status.replicas);
    }
}
