//! Kubernetes' Deployment and ReplicaSet controllers.
//!
//! Two sets of rooms, [`deployment`] and [`replicaset`], over shared caches: each kind is watched once. [`install`] says
//! which event wakes whom.

pub mod args;
pub mod deployment;
pub mod replicaset;

use std::sync::Arc;

use workload_core::cache::{Cache, Progress};
use workload_core::id::Kind;
use workload_core::pod::PodView;
use workload_core::run::{LoopArgs, Program, Site};

use self::args::Controller;
use self::deployment::Deployments;
use self::deployment::opt_ins::ReplicaSetLoop;
use self::deployment::spec::Deployment;
use self::replicaset::ReplicaSets;
use self::replicaset::metrics::DeletionAges;
use self::replicaset::spec::ReplicaSet;

/// What this program is called.
pub const PROGRAM: Program = Program {
    name: "deployment-controller",
    version: env!("CARGO_PKG_VERSION"),
};

/// The caches of a process, before they run.
struct Caches {
    deployments: Cache<Deployment>,
    sets: Cache<ReplicaSet>,
    pods: Cache<PodView>,
}

/// Sets up the caches and the loops that `controllers` names.
pub fn install(site: &mut Site, controllers: &LoopArgs<Controller>) {
    let mut caches = Caches {
        deployments: site.cache(),
        sets: site.cache(),
        pods: site.cache(),
    };
    let [deployments, replica_sets] =
        [Controller::Deployment, Controller::ReplicaSet].map(|controller| controllers.runs(&controller));
    if deployments {
        let by = if replica_sets {
            ReplicaSetLoop::Here
        } else {
            ReplicaSetLoop::Elsewhere
        };
        install_deployments(site, &mut caches, by);
    }
    if replica_sets {
        install_replica_sets(site, &mut caches, deployments);
    }
    if deployments {
        site.keep(caches.deployments);
    }
    site.keep(caches.sets);
    site.keep(caches.pods);
}

fn install_deployments(site: &mut Site, caches: &mut Caches, replica_sets: ReplicaSetLoop) {
    let Caches {
        deployments,
        sets,
        pods,
    } = caches;
    let (roots, set_store) = (deployments.store(), sets.store());
    let workload = Deployments {
        deployments: deployments.store(),
        sets: sets.store(),
        pods: pods.store(),
        replica_sets,
    };
    let children: (Kind, Arc<dyn Progress>) = (Kind::REPLICA_SET, sets.store());
    let wakes = site.reconcile(workload, deployments, [children]);
    deployments.subscribe(wakes.on(deployment::watches::of_deployment));
    let owners = Arc::clone(&roots);
    sets.subscribe(wakes.on(move |delta| deployment::watches::of_replica_set(delta, &owners)));
    pods.subscribe(wakes.on(move |delta| deployment::watches::of_pod(delta, &set_store, &roots)));
}

/// `with_opt_ins`: whether this process reconciles their Deployments too.
fn install_replica_sets(site: &mut Site, caches: &mut Caches, with_opt_ins: bool) {
    let Caches {
        deployments,
        sets,
        pods,
    } = caches;
    let (roots, owned) = (sets.store(), sets.store());
    let ages = site.metrics().register(DeletionAges::register);
    let workload = ReplicaSets {
        deployments: with_opt_ins.then(|| deployments.store()),
        sets: sets.store(),
        pods: pods.store(),
        ages,
    };
    let children: (Kind, Arc<dyn Progress>) = (Kind::POD, pods.store());
    let wakes = site.reconcile(workload, sets, [children]);
    deployments.subscribe(wakes.on(move |delta| replicaset::watches::of_deployment(delta, &owned)));
    sets.subscribe(wakes.on(replicaset::watches::of_replica_set));
    pods.subscribe(wakes.on(move |delta| replicaset::watches::of_pod(delta, &roots)));
}
