//! Which change wakes which ReplicaSet (deployment RS-1, RS-2, C-10, C-17, C-18). Follows the event handlers of upstream's
//! ReplicaSet controller. Writes that are awaited are settled by the loop, not here.

use std::sync::Arc;
use std::time::Duration;

use workload_core::cache::{Delta, Store};
use workload_core::id::{Kind, ObjectKey};
use workload_core::meta::Object;
use workload_core::pod::PodView;

use super::spec::ReplicaSet;
use crate::deployment::opt_ins::OptIns;
use crate::deployment::spec::Deployment;

/// A key and when to look at it.
pub type Due = (ObjectKey, Duration);

const NOW: Duration = Duration::ZERO;

/// Every change of a ReplicaSet wakes it, our own status write included (RS-1).
pub fn of_replica_set(delta: &Delta<ReplicaSet>) -> Vec<Due> {
    let (Delta::Applied { new: set, .. } | Delta::Removed { last: set }) = delta;
    vec![(set.meta.key.clone(), NOW)]
}

/// A Deployment whose opt-ins have changed, or that came or went with some, wakes its ReplicaSets: how they make and remove
/// pods depends on them.
pub fn of_deployment(delta: &Delta<Deployment>, sets: &Store<ReplicaSet>) -> Vec<Due> {
    let unset = OptIns::default();
    let (deployment, changed) = match delta {
        Delta::Removed { last } => (last, last.opt_ins != unset),
        Delta::Applied { old, new } => (new, old.as_deref().map_or(&unset, |old| &old.opt_ins) != &new.opt_ins),
    };
    if !changed {
        return Vec::new();
    }
    let owned = sets.controlled_by(&deployment.meta.uid);
    owned.iter().map(|set| now(set)).collect()
}

/// A change of a pod wakes the ReplicaSets that own it, have owned it or could adopt it.
pub fn of_pod(delta: &Delta<PodView>, sets: &Store<ReplicaSet>) -> Vec<Due> {
    match delta {
        Delta::Removed { last } => owner(last, sets).map(|set| now(&set)).into_iter().collect(),
        Delta::Applied { old, new } => {
            let left = old.as_deref().filter(|old| old.meta.controller != new.meta.controller);
            let former = left.and_then(|old| owner(old, sets)).map(|set| now(&set));
            former.into_iter().chain(current(old.as_deref(), new, sets)).collect()
        }
    }
}

/// Whoever has to do with the pod as it is now.
fn current(old: Option<&PodView>, new: &PodView, sets: &Store<ReplicaSet>) -> Vec<Due> {
    if new.meta.controller.is_some() {
        let Some(set) = owner(new, sets) else { return Vec::new() };
        return [now(&set)].into_iter().chain(once_available(old, new, &set)).collect();
    }
    let unchanged = |old: &PodView| old.meta.labels == new.meta.labels && old.meta.controller == new.meta.controller;
    if new.meta.is_terminating() || old.is_some_and(unchanged) {
        return Vec::new();
    }
    let could_adopt = |set: &Arc<ReplicaSet>| {
        let selector = set.selector.as_ref().ok();
        selector.is_some_and(|selector| !selector.is_empty() && selector.matches(&new.meta.labels))
    };
    let mut adopters = sets.in_namespace(&new.meta.key.namespace);
    adopters.retain(could_adopt);
    adopters.iter().map(|set| now(set)).collect()
}

/// A pod that has just become ready wakes its owner again when it becomes available (RS-2).
fn once_available(old: Option<&PodView>, new: &PodView, set: &ReplicaSet) -> Option<Due> {
    let became_ready = old.is_some_and(|old| !old.is_ready()) && new.is_ready() && !new.meta.is_terminating();
    (became_ready && set.min_ready_seconds > 0).then(|| (set.meta.key.clone(), set.min_ready()))
}

/// The ReplicaSet that controls the pod: found by kind and name, and only if it still is the one with that uid (C-10).
fn owner(pod: &PodView, sets: &Store<ReplicaSet>) -> Option<Arc<ReplicaSet>> {
    let controller = pod
        .meta
        .controller
        .as_deref()
        .filter(|controller| controller.is_of(Kind::REPLICA_SET))?;
    let set = sets.get(&pod.meta.key.sibling(Arc::clone(&controller.name)))?;
    (set.meta.uid == controller.uid).then_some(set)
}

fn now(set: &ReplicaSet) -> Due {
    (set.meta().key.clone(), NOW)
}
