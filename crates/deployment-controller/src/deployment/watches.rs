//! Which change wakes which Deployment (D-1, C-10, C-17, C-18). Follows upstream's event handlers of the Deployment
//! controller.

use std::sync::Arc;

use workload_core::cache::{Delta, Store};
use workload_core::id::{Kind, ObjectKey};
use workload_core::meta::Meta;
use workload_core::pod::PodView;

use super::observe::{of_set, takes_room};
use super::opt_ins::PodReplacement;
use super::spec::{Deployment, Strategy};
use crate::replicaset::spec::ReplicaSet;

/// Every change of a Deployment wakes it.
pub fn of_deployment(delta: &Delta<Deployment>) -> Vec<ObjectKey> {
    let (Delta::Applied { new: deployment, .. } | Delta::Removed { last: deployment }) = delta;
    vec![deployment.meta.key.clone()]
}

/// A change of a ReplicaSet wakes the Deployment that owns it and the one that did, and one without owner all that could
/// adopt it, when it is new or fits others than before.
pub fn of_replica_set(delta: &Delta<ReplicaSet>, deployments: &Store<Deployment>) -> Vec<ObjectKey> {
    let (old, new) = match delta {
        Delta::Removed { last } => return keys(of_set(&last.meta, deployments)),
        Delta::Applied { old, new } => (old.as_deref().map(|old| &old.meta), &new.meta),
    };
    let moved = old.is_some_and(|old| old.controller != new.controller);
    let former = old.filter(|_| moved).and_then(|old| of_set(old, deployments));
    let mut woken = keys(former);
    if new.controller.is_some() {
        woken.extend(keys(of_set(new, deployments)));
        return woken;
    }
    let attracts = match old {
        None => !new.is_terminating(),
        Some(old) => moved || old.labels != new.labels,
    };
    if attracts {
        woken.extend(keys(possible_owners(new, deployments)));
    }
    woken
}

/// A pod for which a Deployment waited, and need not wait any longer, wakes it: one with strategy Recreate, and one whose
/// pods are replaced when they have gone (L-2). Upstream wakes it only
/// when the pod's object goes, so that a rollout can idle beside a pod that has ended but stays.
pub fn of_pod(delta: &Delta<PodView>, sets: &Store<ReplicaSet>, deployments: &Store<Deployment>) -> Vec<ObjectKey> {
    let pod = match delta {
        Delta::Removed { last } => last,
        Delta::Applied { old: Some(old), new } if takes_room(old) && !takes_room(new) => new,
        Delta::Applied { .. } => return Vec::new(),
    };
    let set = pod
        .meta
        .controller
        .as_deref()
        .filter(|controller| controller.is_of(Kind::REPLICA_SET));
    let set = set
        .and_then(|controller| sets.get(&pod.meta.key.sibling(Arc::clone(&controller.name))))
        .filter(|set| pod.meta.is_controlled_by(&set.meta.uid));
    let waits = |deployment: &Arc<Deployment>| {
        deployment.spec.strategy == Strategy::Recreate
            || deployment.opt_ins.pod_replacement == PodReplacement::TerminationComplete
    };
    keys(set.and_then(|set| of_set(&set.meta, deployments)).filter(waits))
}

/// The Deployments that could adopt a ReplicaSet. An empty selector adopts nothing here, and neither does anything adopt a
/// ReplicaSet without labels (C-17).
fn possible_owners(set: &Meta, deployments: &Store<Deployment>) -> Vec<Arc<Deployment>> {
    let fits = |deployment: &Arc<Deployment>| {
        let selector = deployment.spec.selector.as_ref();
        selector.is_ok_and(|selector| !selector.is_empty() && selector.matches(&set.labels))
    };
    let mut fitting = deployments.in_namespace(&set.key.namespace);
    fitting.retain(|deployment| !set.labels.is_empty() && fits(deployment));
    fitting
}

fn keys(deployments: impl IntoIterator<Item = Arc<Deployment>>) -> Vec<ObjectKey> {
    deployments
        .into_iter()
        .map(|deployment| deployment.meta.key.clone())
        .collect()
}
