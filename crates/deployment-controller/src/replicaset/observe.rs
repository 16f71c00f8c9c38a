//! What the caches know of one ReplicaSet and its pods (deployment RS-3 up to the claims).

use std::collections::BTreeMap;
use std::sync::Arc;

use workload_core::cache::Store;
use workload_core::id::{Kind, ObjectKey};
use workload_core::mistake::{Mistake, made};
use workload_core::owner::{Claim, Claimant};
use workload_core::plan;
use workload_core::pod::PodView;
use workload_core::selector::Selector;
use workload_core::workload::{Aids, Children, Observation};

use super::ReplicaSets;
use super::failures::{Failures, Pace};
use super::spec::ReplicaSet;
use crate::deployment::opt_ins::{DisruptionBudgets, PodReplacement};
use crate::deployment::{self, spec::Deployment};

/// One ReplicaSet at the start of a turn.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The ReplicaSet.
    pub set: Arc<ReplicaSet>,
    /// The Deployment that controls it, for its opt-ins. They are never read from the ReplicaSet, which has a copy of them
    /// only while it is the newest.
    pub deployment: Option<Arc<Deployment>>,
    /// Its active pods, those included that `claims` is about to adopt (RS-4, RS-11).
    pub active: Vec<Arc<PodView>>,
    /// How many of its pods are on their way out (RS-5).
    pub terminating: usize,
    /// What is known of pods that failed soon, where its Deployment asks for a back-off; nothing elsewhere.
    pub failures: Failures,
    /// Adoptions and releases that have to be written.
    pub claims: Vec<plan::Claim>,
    /// Whether earlier creates and deletes of ours are all in the cache.
    pub children: Children,
    /// How many of its pods exist that could not be decoded at all: they may be active or not.
    pub unread: usize,
    /// How crowded nodes are, for the choice of victims; empty where nothing is to choose.
    pub crowd: Crowd,
}

/// Active pods of a ReplicaSet and its siblings, by node; pods without a node count as if they shared one (C-50).
pub type Crowd = BTreeMap<Option<Arc<str>>, usize>;

impl Observed {
    /// How many pods have to go before others may take their place (L-2); 0 as upstream has it (RS-10).
    pub fn awaited(&self) -> usize {
        match self.pod_replacement() {
            PodReplacement::TerminationStarted => 0,
            PodReplacement::TerminationComplete => self.terminating,
        }
    }

    /// When its pods may be replaced, as its Deployment has it.
    pub fn pod_replacement(&self) -> PodReplacement {
        let asked = self
            .deployment
            .as_deref()
            .map(|deployment| deployment.opt_ins.pod_replacement);
        asked.unwrap_or_default()
    }

    /// How missing pods are made (L-7).
    pub fn pace(&self) -> Pace {
        let backoff = self
            .deployment
            .as_deref()
            .and_then(|owner| owner.opt_ins.failed_pod_backoff);
        backoff.map_or(Pace::Full, |backoff| self.failures.pace(backoff))
    }

    /// Whether disruption budgets can keep its surplus pods (L-4): those that a rollout takes away. The newest ReplicaSet only
    /// shrinks because somebody wants fewer pods, and one whose Deployment wants none, or is going, has nothing to roll out. A
    /// newest one that is smaller than its Deployment was an old one a moment ago: its pods are about to be wanted again. A
    /// pause ends no protection: what waits for its budget goes on waiting.
    pub fn disruption_budgets(&self) -> DisruptionBudgets {
        let rolled_out = |deployment: &&Deployment| {
            let replicas = deployment.spec.replicas;
            let is_newest = self.set.template.same_as(&deployment.spec.template);
            !deployment.meta.is_terminating() && replicas > 0 && (!is_newest || self.set.replicas < replicas)
        };
        let deployment = self.deployment.as_deref().filter(rolled_out);
        deployment
            .map(|deployment| deployment.opt_ins.disruption_budgets)
            .unwrap_or_default()
    }

    /// How many active pods there are beyond those wanted; negative if some are missing (RS-10). Pods that could not be decoded
    /// are in nobody's place and take nobody's: none is made for them and none deleted on their account.
    pub fn surplus(&self) -> i64 {
        let count = |pods: usize| i64::try_from(pods).unwrap_or(i64::MAX);
        let surplus = count(self.active.len()) - i64::from(self.set.replicas);
        if surplus < 0 {
            surplus.saturating_add(count(self.unread)).min(0)
        } else {
            surplus
        }
    }
}

/// Reads the caches.
pub(super) fn observe(caches: &ReplicaSets, key: &ObjectKey, aids: &Aids<'_>) -> Observation<Observed> {
    let ReplicaSets {
        deployments,
        sets,
        pods,
        ..
    } = caches;
    let Some(set) = sets.get(key) else {
        return Observation::Absent;
    };
    let Ok(selector) = &set.selector else {
        return Observation::Ignored("the selector cannot be parsed");
    };
    let owner = Claimant {
        kind: Kind::REPLICA_SET,
        meta: &set.meta,
        selector,
    };
    let mut candidates = pods.controlled_by(&set.meta.uid);
    candidates.retain(|pod| names(pod, &set));
    let deployment = deployments
        .as_deref()
        .and_then(|deployments| deployment::of_set(&set.meta, deployments));
    let backoff = deployment.as_deref().and_then(|owner| owner.opt_ins.failed_pod_backoff);
    let failures = backoff.map(|backoff| Failures::of(candidates.iter().map(|pod| &**pod), backoff, aids.now));
    candidates.extend(pods.orphans_in(&key.namespace));
    let is_leaving = |pod: &&Arc<PodView>| pod.is_terminating() && owner.claim(&pod.meta) == Claim::Keep;
    let terminating = candidates.iter().filter(is_leaving).count();
    candidates.retain(|pod| pod.is_active() || (pod.is_terminating() && made(Mistake::TerminatingCounted)));
    let mut claimed = owner.claim_all(candidates);
    claimed.writes.sort_by(|a, b| a.child.key.cmp(&b.child.key));
    let unread = pods.unread_of(&set.meta.uid);
    let mut seen = Observed {
        active: claimed.owned().cloned().collect(),
        terminating,
        failures: failures.unwrap_or_default(),
        claims: claimed.writes,
        children: aids.children,
        unread,
        crowd: Crowd::new(),
        deployment,
        set: Arc::clone(&set),
    };
    if must_choose(&seen) {
        seen.crowd = crowd(&set, sets, pods);
    }
    Observation::Ready(seen)
}

/// True if the pod's controller is named like `set`, where it can only be looked for: a reference that has the uid and
/// another kind or name, or that crosses namespaces, leads nowhere (C-10, C-16).
fn names(pod: &PodView, set: &ReplicaSet) -> bool {
    let controller = pod.meta.controller.as_deref();
    controller.is_some_and(|controller| controller.is_of(Kind::REPLICA_SET) && controller.name == set.meta.key.name)
        && pod.meta.key.namespace == set.meta.key.namespace
}

/// True if some, not all, of the active pods may have to go.
fn must_choose(seen: &Observed) -> bool {
    seen.children == Children::Settled && seen.set.replicas > 0 && seen.surplus() > 0
}

/// Counts the active pods that any ReplicaSet of the same controller selects, whoever owns them. A ReplicaSet without a
/// controller has no siblings and counts nothing, not even its own pods (C-50).
fn crowd(set: &ReplicaSet, sets: &Store<ReplicaSet>, pods: &Store<PodView>) -> Crowd {
    let siblings = set
        .meta
        .controller_uid()
        .map(|owner| sets.controlled_by(owner))
        .unwrap_or_default();
    let selectors: Vec<&Selector> = siblings
        .iter()
        .filter_map(|sibling| sibling.selector.as_ref().ok())
        .collect();
    let mut crowd = Crowd::new();
    if selectors.is_empty() {
        return crowd;
    }
    let selected = |pod: &PodView| selectors.iter().any(|selector| selector.matches(&pod.meta.labels));
    for pod in pods.in_namespace(&set.meta.key.namespace) {
        if pod.is_active() && selected(&pod) {
            *crowd.entry(pod.node.clone()).or_default() += 1;
        }
    }
    crowd
}
