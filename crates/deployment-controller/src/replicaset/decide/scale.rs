//! The step from the number of pods there are to the number wanted (deployment RS-10, C-40, C-41, C-50…C-53, C-70…C-72).
//! Follows upstream's `manageReplicas`.

use std::sync::Arc;

use workload_core::id::Kind;
use workload_core::owner::OwnerReference;
use workload_core::plan::{Create, Delete, DeleteGuard, NewName, NewObject, Note, Stage, Target};
use workload_core::pod::PodView;
use workload_core::rank::{self, Candidate};
use workload_core::time::Timestamp;

use super::Intent;
use crate::deployment::opt_ins::DisruptionBudgets;
use crate::replicaset::observe::Observed;
use crate::replicaset::spec::ReplicaSet;
use crate::replicaset::words;

/// Most creates, and most deletes, in one turn (C-41).
const BURST: usize = 500;

/// What to do about too few or too many pods.
pub(super) fn step(seen: &Observed, now: Timestamp) -> (Intent, Option<Stage>) {
    let surplus = seen.surplus();
    let difference = usize::try_from(surplus.unsigned_abs()).unwrap_or(usize::MAX);
    match surplus {
        0 => (Intent::Scale, None),
        1.. => (
            Intent::Scale,
            Some(removal(seen, deletes(seen, difference.min(BURST), now))),
        ),
        ..0 if seen.set.template.labels().is_empty() => (Intent::Refuse("the pod template has no labels"), None),
        ..0 => {
            let room = difference.saturating_sub(seen.awaited()).min(BURST);
            let count = seen.pace().allowed(room, now);
            let creates = (count > 0).then(|| Stage::Create(vec![create(&seen.set); count]));
            (Intent::Scale, creates)
        }
    }
}

/// What a rollout takes away may be protected (L-4); upstream knows no budgets here (C-72).
fn removal(seen: &Observed, victims: Vec<Delete>) -> Stage {
    match seen.disruption_budgets() {
        DisruptionBudgets::Ignore => Stage::Delete(victims),
        DisruptionBudgets::Respect => Stage::Evict(victims),
    }
}

fn deletes(seen: &Observed, count: usize, now: Timestamp) -> Vec<Delete> {
    let candidate = |pod| Candidate {
        pod,
        colocated: seen.crowd.get(&pod.node).copied().unwrap_or_default(),
    };
    let candidates: Vec<Candidate<'_>> = seen.active.iter().map(|pod| candidate(pod)).collect();
    rank::victims(&candidates, count, now).into_iter().map(delete).collect()
}

/// The default grace period applies (C-72). Upstream deletes by name alone; the uid keeps a pod
/// of the same name that came later.
fn delete(pod: &PodView) -> Delete {
    Delete {
        target: Target::of(Kind::POD, &pod.meta),
        guard: DeleteGuard::Uid,
        note: Some(Note::normal(
            words::SUCCESSFUL_DELETE,
            format!("Deleted pod: {}", pod.meta.key.name),
        )),
    }
}

/// The name's base ends with a dash: the server takes that for every name that a ReplicaSet can have (C-71).
fn create(set: &ReplicaSet) -> Create {
    Create {
        kind: Kind::POD,
        namespace: Arc::clone(&set.meta.key.namespace),
        name: NewName::Random(format!("{}-", set.meta.key.name).into()),
        object: Arc::new(pod(set)),
        note: Some(Note::normal(words::SUCCESSFUL_CREATE, "Created pod: {name}")),
    }
}

/// A pod gets the metadata and the spec of the template, and one owner (C-70).
fn pod(set: &ReplicaSet) -> NewObject {
    let template = &set.template;
    NewObject {
        labels: template.labels().clone(),
        annotations: template.annotations().clone(),
        finalizers: template.finalizers().to_vec(),
        owner: Some(OwnerReference::controller(
            Kind::REPLICA_SET,
            &set.meta.key.name,
            &set.meta.uid,
        )),
        fields: vec![("spec", template.spec())],
    }
}
