//! Which deeds are tried.

use proptest::prelude::*;
use serde_json::{Value, json};
use testkit::api::POD_DISRUPTION_BUDGET;
use testkit::simulation::server::Propagation;
use workload_core::id::Kind;

use super::deed::{Deed, Others, Seen, Target, WORKLOADS, manifest};
use super::jobs;

fn name() -> impl Strategy<Value = &'static str> {
    prop_oneof![3 => Just("a"), 2 => Just("b")]
}

fn of(kind: Kind) -> impl Strategy<Value = Target> {
    name().prop_map(move |name| Target {
        kind,
        name: name.to_owned(),
    })
}

fn workload() -> impl Strategy<Value = Target> {
    prop_oneof![
        of(Kind::DEPLOYMENT),
        of(Kind::REPLICA_SET),
        of(Kind::JOB),
        of(Kind::POD),
        of(Kind::POD)
    ]
}

fn owner() -> impl Strategy<Value = Target> {
    prop_oneof![of(Kind::DEPLOYMENT), of(Kind::REPLICA_SET)]
}

/// An object that may have an owner, and one that may be it. Owners never go in circles.
fn family() -> impl Strategy<Value = (Target, Target)> {
    prop_oneof![
        (of(Kind::REPLICA_SET), of(Kind::DEPLOYMENT)),
        (of(Kind::POD), of(Kind::REPLICA_SET)),
        (of(Kind::POD), of(Kind::REPLICA_SET)),
        (of(Kind::POD), of(Kind::JOB)),
    ]
}

fn seen() -> impl Strategy<Value = Seen> {
    prop_oneof![6 => Just(Seen::Now), 1 => Just(Seen::Stale), 1 => Just(Seen::Foreign)]
}

fn create() -> impl Strategy<Value = Deed> {
    let free = workload().prop_map(|target| (target, None));
    let owned = family().prop_map(|(target, owner)| (target, Some(owner)));
    let target = prop_oneof![free, owned];
    (target, 0..4_u32, proptest::bool::weighted(0.15)).prop_map(|((target, owner), size, held)| {
        let object = manifest(&target, size, held);
        Deed::Create(target, object, owner)
    })
}

fn change() -> impl Strategy<Value = Deed> {
    let of_both = || {
        prop_oneof![
            Just(json!({"metadata": {"annotations": {"note": "1"}}})),
            Just(json!({"metadata": {"annotations": {"note": null}}})),
            Just(json!({"metadata": {"annotations": {"note": "2", "more": "3"}}, "spec": {"replicas": 2}})),
            Just(json!({"metadata": {"labels": {"app": "b"}}})),
            Just(json!({"metadata": {"labels": {"app": "a", "note": "1"}}})),
            (-1..5_i32).prop_map(|size| json!({"spec": {"replicas": size}})),
            Just(json!({"spec": {"template": {"metadata": {"labels": {"more": "1"}}}}})),
            Just(json!({"spec": {"template": {"metadata": {"labels": {"app": "other"}}}}})),
            Just(json!({"spec": {"selector": {"matchLabels": {"more": "1"}}}})),
            Just(json!({"spec": {"minReadySeconds": 5}})),
            Just(json!({"spec": {"minReadySeconds": 0}})),
        ]
    };
    let of_deployments = prop_oneof![
        Just(json!({"spec": {"strategy": {"type": "Recreate", "rollingUpdate": null}}})),
        Just(json!({"spec": {"strategy": {"type": "Recreate"}}})),
        Just(json!({"spec": {"strategy": {"type": "RollingUpdate"}}})),
        Just(json!({"spec": {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "0%"}}}})),
        Just(json!({"spec": {"strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": "150%"}}}})),
        Just(json!({"spec": {"paused": true}})),
        Just(json!({"spec": {"paused": false}})),
        Just(json!({"spec": {"progressDeadlineSeconds": 5}})),
        Just(json!({"spec": {"progressDeadlineSeconds": 600}})),
    ];
    let write = |(target, seen, fields)| Deed::Change(target, seen, "", fields);
    prop_oneof![
        (owner(), seen(), of_both()).prop_map(write),
        (of(Kind::DEPLOYMENT), seen(), of_deployments).prop_map(write),
        (of(Kind::JOB), seen(), jobs::fields()).prop_map(write),
    ]
}

fn status() -> impl Strategy<Value = Deed> {
    let condition = json!([{
        "type": "Available", "status": "True", "reason": "r", "message": "m",
        "lastUpdateTime": "2026-01-02T03:04:05Z", "lastTransitionTime": "2026-01-02T03:04:05Z",
    }]);
    let conditions = prop_oneof![Just(Value::Null), Just(json!([])), Just(condition)];
    let counts = (
        0..4_i64,
        0..4_i64,
        0..4_i64,
        0..3_i64,
        proptest::option::of(0..3_i64),
        conditions,
    );
    let body = counts.prop_map(|(total, ready, available, observed, collisions, conditions)| {
        let mut status = json!({
            "replicas": total, "readyReplicas": ready, "availableReplicas": available,
            "observedGeneration": observed, "terminatingReplicas": total,
        });
        if let Some(collisions) = collisions {
            status["collisionCount"] = collisions.into();
        }
        if !conditions.is_null() {
            status["conditions"] = conditions;
        }
        json!({ "status": status })
    });
    let more = prop_oneof![
        2 => Just(json!({})),
        1 => Just(json!({"metadata": {"annotations": {"told": "1"}}})),
        1 => Just(json!({"metadata": {"annotations": {"told": "2"}, "labels": {"told": "1"}}})),
    ];
    let of_replicas = (owner(), seen(), body, more).prop_map(|(target, seen, mut body, more)| {
        if target.kind == Kind::REPLICA_SET {
            // These it does not have.
            body["status"].as_object_mut().unwrap().remove("collisionCount");
            for condition in body["status"]["conditions"].as_array_mut().into_iter().flatten() {
                condition.as_object_mut().unwrap().remove("lastUpdateTime");
            }
        }
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Deed::Change(target, seen, "/status", body)
    });
    let of_jobs = (of(Kind::JOB), seen(), jobs::status());
    prop_oneof![
        2 => of_replicas,
        1 => of_jobs.prop_map(|(target, seen, body)| Deed::Change(target, seen, "/status", body)),
    ]
}

/// The status of a running pod.
fn running(ready: &str) -> Value {
    json!({"phase": "Running", "conditions": [
        {"type": "Ready", "status": ready, "lastProbeTime": null, "lastTransitionTime": "2026-01-02T03:04:05Z"},
    ]})
}

fn report() -> impl Strategy<Value = Deed> {
    let status = prop_oneof![
        4 => Just(running("True")),
        1 => Just(running("False")),
        1 => Just(json!({"phase": "Failed", "reason": "Evicted"})),
        1 => Just(json!({"phase": "Succeeded"})),
    ];
    (of(Kind::POD), status).prop_map(|(pod, status)| Deed::Others(Others::Report(pod, status)))
}

fn edit() -> impl Strategy<Value = Deed> {
    let fields = prop_oneof![
        Just(json!({"metadata": {"finalizers": ["test/hold"]}})),
        Just(json!({"metadata": {"finalizers": null}})),
        // A budget is not told of a pod that leaves it.
        Just(json!({"metadata": {"labels": {"tier": "b"}}})),
        Just(json!({"metadata": {"labels": {"tier": null}}})),
        Just(json!({"metadata": {"labels": {"app": "a"}, "annotations": {}}})),
        Just(json!({"status": {"replicas": 3}})),
    ];
    (workload(), fields).prop_map(|(target, fields)| Deed::Others(Others::Edit(target, fields)))
}

fn delete() -> impl Strategy<Value = Deed> {
    let policy = prop_oneof![
        2 => Just(None),
        1 => Just(Some(Propagation::Background)),
        1 => Just(Some(Propagation::Foreground)),
        1 => Just(Some(Propagation::Orphan)),
    ];
    let grace = prop_oneof![4 => Just(None), 2 => Just(Some(0)), 1 => Just(Some(20))];
    let pods = (of(Kind::POD), grace).prop_map(|(target, grace)| Deed::Others(Others::Delete(target, None, grace)));
    let owners = (prop_oneof![2 => owner(), 1 => of(Kind::JOB)], policy)
        .prop_map(|(target, policy)| Deed::Others(Others::Delete(target, policy, None)));
    prop_oneof![pods, owners]
}

/// The one budget. Another one for the same pods would be told of their changes or not, as it happens; and one that is
/// measured by the size of workloads is counted anew only when a pod changes.
fn guard() -> Target {
    Target {
        kind: POD_DISRUPTION_BUDGET,
        name: "guard".to_owned(),
    }
}

fn budget() -> impl Strategy<Value = Deed> {
    let create = (0..3_u32).prop_map(|least| {
        let spec = json!({"minAvailable": least, "selector": {"matchLabels": {"app": "a"}}});
        let object = json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": guard().name}, "spec": spec,
        });
        Deed::Create(guard(), object, None)
    });
    let delete = Just(Deed::Others(Others::Delete(guard(), None, None)));
    prop_oneof![2 => create, 1 => delete]
}

/// A pod is made, bound and reported ready.
fn start() -> impl Strategy<Value = Vec<Deed>> {
    let pod = of(Kind::POD);
    let owner = prop_oneof![of(Kind::REPLICA_SET), of(Kind::JOB)];
    (pod, proptest::option::of(owner), any::<bool>()).prop_map(|(pod, owner, held)| {
        let is_held = held && owner.as_ref().is_some_and(|owner| owner.kind == Kind::JOB);
        let object = manifest(&pod, 0, is_held);
        let others = [Others::Bind(pod.clone()), Others::Report(pod.clone(), running("True"))];
        let created = Deed::Create(pod, object, owner);
        std::iter::once(created).chain(others.map(Deed::Others)).collect()
    })
}

/// Deeds of any sort; some make sense only together.
pub(crate) fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    prop_oneof![
        9 => deed().prop_map(|deed| vec![deed]),
        1 => start(),
    ]
}

/// One deed of any sort.
fn deed() -> impl Strategy<Value = Deed> {
    let pod = || of(Kind::POD);
    prop_oneof![
        14 => create(),
        6 => change(),
        5 => status(),
        2 => (family(), seen()).prop_map(|((child, owner), seen)| Deed::Adopt(child, seen, owner)),
        2 => (family(), seen()).prop_map(|((child, owner), seen)| Deed::Release(child, seen, owner)),
        2 => (of(Kind::POD), seen()).prop_map(|(pod, seen)| Deed::LetGo(pod, seen)),
        3 => (workload(), seen(), any::<bool>()).prop_map(|(target, seen, versioned)| Deed::Remove(target, seen, versioned)),
        6 => (pod(), seen()).prop_map(|(target, seen)| Deed::Evict(target, seen)),
        1 => (seen(), name()).prop_map(|(seen, holder)| Deed::Lead(seen, holder.to_owned())),
        1 => (1..4_i64).prop_map(Deed::Count),
        1 => workload().prop_map(Deed::Read),
        1 => (proptest::sample::select(&WORKLOADS), 1..3_usize).prop_map(|(kind, limit)| Deed::List(kind, limit)),
        4 => edit(),
        2 => delete(),
        6 => pod().prop_map(|pod| Deed::Others(Others::Bind(pod))),
        8 => report(),
        2 => budget(),
    ]
}
