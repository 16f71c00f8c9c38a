//! What the caches know of one Deployment: its ReplicaSets, which of them has the template, what stands in the way.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use workload_core::cache::Store;
use workload_core::id::{Kind, ObjectKey, Uid};
use workload_core::meta::Meta;
use workload_core::owner::{Claimant, Claimed};
use workload_core::plan::Claim;
use workload_core::pod::PodView;
use workload_core::revision::TemplateHash;
use workload_core::selector::Selector;
use workload_core::workload::{Aids, Children, Observation};

use super::Deployments;
use super::explain::Stall;
use super::opt_ins::{PodReplacement, ReplicaSetLoop};
use super::spec::{Deployment, Strategy};
use crate::replicaset::spec::ReplicaSet;

/// One Deployment and what belongs to it.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The Deployment.
    pub deployment: Arc<Deployment>,
    /// Adoptions and releases to write. The ReplicaSets to adopt count as owned below, those to release do not (C-11).
    pub claims: Vec<Claim>,
    /// The ReplicaSet that has the Deployment's template.
    pub new: NewSet,
    /// All other ReplicaSets, oldest first (D-5, D-7).
    pub old: Vec<Arc<ReplicaSet>>,
    /// Whether pods of old ReplicaSets stand in the way of a Recreate rollout.
    pub old_pods: OldPods,
    /// How much room the pods that are there leave for others.
    pub occupancy: Occupancy,
    /// Whether the caches show all ReplicaSets that this process has created and deleted.
    pub children: Children,
    /// What the rollout may wait for, if it has not got on for a while.
    pub stall: Option<Stall>,
    /// Whether it has to do with pods that could not be decoded: they count as pods that have not ended, and nobody tells when
    /// they go.
    pub unread: bool,
}

/// The ReplicaSet that has the Deployment's template.
#[derive(Clone, Debug)]
pub enum NewSet {
    /// The oldest one with an equal template (D-6).
    Found(Arc<ReplicaSet>),
    /// There is none.
    Missing(Vacancy),
}

impl NewSet {
    fn found(&self) -> Option<&Arc<ReplicaSet>> {
        match self {
            Self::Found(set) => Some(set),
            Self::Missing(_) => None,
        }
    }
}

/// What the ReplicaSet for the template would be called.
#[derive(Clone, Debug)]
pub struct Vacancy {
    /// Value of its label `pod-template-hash`.
    pub hash: TemplateHash,
    /// Its name (D-16).
    pub name: Arc<str>,
    /// Whether it can have that name.
    pub is: Name,
}

/// Whether a name can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// As far as the cache knows.
    Free,
    /// A ReplicaSet that is not of this Deployment, or has another template, has it (D-14).
    Taken,
}

/// Whether pods of old ReplicaSets stand in the way of a Recreate rollout (D-41).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OldPods {
    /// None, or another strategy does not ask.
    Gone,
    /// At least one may still run.
    Running,
}

/// How many pods there are, as far as that limits how many may be made (L-2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Occupancy {
    /// Nobody asks: only sizes count, as upstream has it (D-31).
    Unasked,
    /// A ReplicaSet has not taken in its size yet, so it may be making pods that neither it nor the cache shows.
    Unsure,
    /// Pods by ReplicaSet, those on their way out among them.
    Known(BTreeMap<Uid, i64>),
}

impl Occupancy {
    /// How many pods this ReplicaSet has; 0 if nobody asks.
    pub fn of(&self, set: &ReplicaSet) -> i64 {
        match self {
            Self::Unasked | Self::Unsure => 0,
            Self::Known(pods) => pods.get(&set.meta.uid).copied().unwrap_or_default(),
        }
    }
}

impl Observed {
    /// The ReplicaSet with the Deployment's template, if it exists.
    pub fn found(&self) -> Option<&ReplicaSet> {
        self.new.found().map(|set| &**set)
    }

    /// All its ReplicaSets: the old ones, oldest first, then the new one.
    pub fn sets(&self) -> impl Iterator<Item = &ReplicaSet> {
        self.old.iter().map(|set| &**set).chain(self.found())
    }
}

/// The Deployment that controls a ReplicaSet: by kind and name, and then by uid (C-10).
pub fn of_set(set: &Meta, deployments: &Store<Deployment>) -> Option<Arc<Deployment>> {
    let controller = set
        .controller
        .as_deref()
        .filter(|controller| controller.is_of(Kind::DEPLOYMENT))?;
    deployments
        .get(&set.key.sibling(Arc::clone(&controller.name)))
        .filter(|deployment| deployment.meta.uid == controller.uid)
}

/// Order by creation, then name (D-5).
pub(super) fn by_age(a: &ReplicaSet, b: &ReplicaSet) -> Ordering {
    (a.meta.created, &a.meta.key.name).cmp(&(b.meta.created, &b.meta.key.name))
}

/// True for a pod that has not ended, one that terminates or whose node is silent too: a Recreate rollout waits for it (D-41),
/// and it takes the room of its replacement where that has to wait (L-2).
pub(super) fn takes_room(pod: &PodView) -> bool {
    !pod.is_finished()
}

pub(super) fn observe(caches: &Deployments, key: &ObjectKey, aids: &Aids<'_>) -> Observation<Observed> {
    let Some(deployment) = caches.deployments.get(key) else {
        return Observation::Absent;
    };
    let deployment = with_own_opt_ins(deployment, caches.replica_sets);
    let Ok(selector) = &deployment.spec.selector else {
        return Observation::Ignored("its selector is invalid");
    };
    let Claimed { kept, adopted, writes } = claimed(&deployment, selector, &caches.sets);
    let mut old: Vec<_> = kept.into_iter().chain(adopted).collect();
    old.sort_by(|a, b| by_age(a, b));
    let template = &deployment.spec.template;
    let found = old.iter().position(|set| set.template.same_as(template));
    let new = match found.map(|at| old.remove(at)) {
        Some(set) => NewSet::Found(set),
        None => NewSet::Missing(vacancy(&deployment, &caches.sets)),
    };
    Observation::Ready(Observed {
        unread: counts_pods(&deployment)
            && old
                .iter()
                .chain(new.found())
                .any(|set| caches.pods.unread_of(&set.meta.uid) > 0),
        old_pods: old_pods(&deployment, &old, &caches.pods),
        stall: Stall::observe(&deployment, &new, &old, &caches.pods, aids.now),
        occupancy: occupancy(&deployment, old.iter().chain(new.found()), &caches.pods),
        deployment,
        claims: writes,
        new,
        old,
        children: aids.children,
    })
}

/// The Deployment with those opt-ins only that this process can keep: half of some is done by the ReplicaSet loop, and a
/// promise must not be kept by half.
fn with_own_opt_ins(deployment: Arc<Deployment>, replica_sets: ReplicaSetLoop) -> Arc<Deployment> {
    match replica_sets {
        ReplicaSetLoop::Elsewhere if deployment.opt_ins.concern_replica_sets() => {
            let opt_ins = deployment.opt_ins.clone();
            Arc::new(Deployment {
                opt_ins: opt_ins.without_replica_sets(&deployment.meta.annotations),
                ..(*deployment).clone()
            })
        }
        ReplicaSetLoop::Elsewhere | ReplicaSetLoop::Here => deployment,
    }
}

/// The ReplicaSets that the Deployment owns or adopts (C-11, C-16); none for a selector that would take all.
fn claimed(deployment: &Deployment, selector: &Selector, sets: &Store<ReplicaSet>) -> Claimed<ReplicaSet> {
    let claimant = Claimant {
        kind: Kind::DEPLOYMENT,
        meta: &deployment.meta,
        selector,
    };
    let candidates = if deployment.selects_everything() {
        Vec::new()
    } else {
        let mut own = sets.controlled_by(&deployment.meta.uid);
        own.extend(sets.orphans_in(&deployment.meta.key.namespace));
        own
    };
    claimant.claim_all(candidates)
}

/// Longest name of a ReplicaSet, in bytes.
const LONGEST_NAME: usize = 253;

/// No ReplicaSet has the template. One that is in the way by its name is not of this Deployment, is just being released, or
/// has another template: with the first two cases and the third alike another name must be found (D-14).
fn vacancy(deployment: &Deployment, sets: &Store<ReplicaSet>) -> Vacancy {
    let hash = TemplateHash::new(deployment.spec.template.digest(), deployment.status.collision_count);
    let room = LONGEST_NAME - 1 - hash.as_str().len();
    let own = &*deployment.meta.key.name;
    let name: Arc<str> = format!("{}-{hash}", own.get(..room).unwrap_or(own)).into();
    let is = match sets.get(&deployment.meta.key.sibling(Arc::clone(&name))) {
        Some(_) => Name::Taken,
        None => Name::Free,
    };
    Vacancy { hash, name, is }
}

fn old_pods(deployment: &Deployment, old: &[Arc<ReplicaSet>], pods: &Store<PodView>) -> OldPods {
    let blocked = deployment.spec.strategy == Strategy::Recreate
        && old.iter().any(|set| {
            let own = pods.controlled_by(&set.meta.uid);
            own.iter().any(|pod| takes_room(pod)) || pods.unread_of(&set.meta.uid) > 0
        });
    if blocked { OldPods::Running } else { OldPods::Gone }
}

/// True if it looks at pods themselves, not only at what ReplicaSets report.
fn counts_pods(deployment: &Deployment) -> bool {
    deployment.spec.strategy == Strategy::Recreate
        || deployment.opt_ins.pod_replacement == PodReplacement::TerminationComplete
}

/// Counts pods if replacements have to wait for their end. That a ReplicaSet has taken in its latest size means that it makes
/// no pod beyond that size any more.
fn occupancy<'a>(
    deployment: &Deployment,
    sets: impl Iterator<Item = &'a Arc<ReplicaSet>> + Clone,
    pods: &Store<PodView>,
) -> Occupancy {
    if deployment.opt_ins.pod_replacement == PodReplacement::TerminationStarted {
        return Occupancy::Unasked;
    }
    if sets.clone().any(|set| !set.is_observed()) {
        return Occupancy::Unsure;
    }
    let count = |set: &ReplicaSet| {
        let own = pods.controlled_by(&set.meta.uid);
        let shown = own.iter().filter(|pod| takes_room(pod)).count() + pods.unread_of(&set.meta.uid);
        i64::try_from(shown)
            .unwrap_or(i64::MAX)
            .max(i64::from(set.status.replicas))
    };
    Occupancy::Known(sets.map(|set| (set.meta.uid.clone(), count(set))).collect())
}
