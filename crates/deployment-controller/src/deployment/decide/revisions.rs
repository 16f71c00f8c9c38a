//! Revisions: what the ReplicaSet for the template carries of its Deployment, and how it comes into being (D-8…D-16).
//! Follows upstream's `getNewReplicaSet` and `SetNewReplicaSetAnnotations`.

use std::sync::Arc;

use serde_json::json;
use workload_core::id::Kind;
use workload_core::labels::Labels;
use workload_core::opt_in;
use workload_core::owner::OwnerReference;
use workload_core::plan::{Create, NewName, NewObject};
use workload_core::template::Json;
use workload_core::workload::Children;

use super::draft::{self, Draft};
use super::hold::Hold;
use super::rolling;
use crate::deployment::observe::{Name, NewSet, Vacancy};
use crate::deployment::spec::{Strategy, to_count};
use crate::deployment::words;
use crate::replicaset::spec::ReplicaSet;

/// Longest list of former revisions, in characters (D-10).
const LONGEST_HISTORY: usize = 2000;

/// How the ReplicaSet for the template stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    /// Its size after what is planned so far.
    pub(super) size: i64,
    /// Its available pods.
    pub(super) available: i64,
}

/// The revision of a ReplicaSet: 0 if it has none, nothing if it is not a number (D-8).
pub(in crate::deployment) fn revision(set: &ReplicaSet) -> Option<i64> {
    match set.meta.annotations.get(words::REVISION) {
        None => Some(0),
        Some(text) => text.parse().ok(),
    }
}

/// The revision that a ReplicaSet had first, before going back to it gave it others (D-10).
pub(super) fn first_revision(set: &ReplicaSet) -> Option<i64> {
    let history = set.meta.annotations.get(words::REVISION_HISTORY).unwrap_or_default();
    let first = history.split(',').next().and_then(|text| text.parse().ok());
    first.or_else(|| revision(set))
}

/// True for an annotation that goes from a Deployment to its ReplicaSet and back (D-9).
pub(super) fn is_copied(key: &str) -> bool {
    !words::NOT_COPIED.contains(&key)
}

/// Brings the ReplicaSet for the template up to date, if there is one (D-8…D-12).
pub(super) fn refresh(draft: &mut Draft<'_>) {
    let Some(set) = draft.seen.found() else { return };
    let deployment = &*draft.seen.deployment;
    draft.set_min_ready_seconds(set, deployment.spec.min_ready_seconds);
    let text = set
        .meta
        .annotations
        .get(words::REVISION)
        .filter(|text| !text.is_empty());
    let number = match text.map(|text| (text, text.parse::<i64>())) {
        None => 0,
        Some((_, Ok(number))) => number,
        // Somebody has put a word where the number was: the annotations are left alone (D-10).
        Some((word, Err(_))) => return draft.set_revision(word.to_owned()),
    };
    for (key, value) in deployment.meta.annotations.iter().filter(|(key, _)| is_copied(key)) {
        draft.annotate(set, key, value);
    }
    // Going back to a revision restores its annotations: an opt-in that was taken back must not come to life again.
    let taken_back =
        |(key, _): &(&str, &str)| key.starts_with(opt_in::PREFIX) && deployment.meta.annotations.get(key).is_none();
    for (key, _) in set.meta.annotations.iter().filter(taken_back) {
        draft.unannotate(set, key);
    }
    let next = next_revision(draft);
    if number < next {
        draft.annotate(set, words::REVISION, &next.to_string());
        let former = set.meta.annotations.get(words::REVISION_HISTORY).unwrap_or_default();
        if let Some(history) = text.and_then(|text| extended(former, text)) {
            draft.annotate(set, words::REVISION_HISTORY, &history);
        }
    }
    let settled = match text {
        Some(text) if number >= next => text.to_owned(),
        Some(_) | None => next.to_string(),
    };
    draft.set_revision(settled);
}

/// Brings the ReplicaSet for the template up to date or creates it. Nothing if it cannot be created in this turn.
pub(super) fn ensure(draft: &mut Draft<'_>) -> Option<Standing> {
    match &draft.seen.new {
        NewSet::Found(set) => {
            refresh(draft);
            Some(Standing {
                size: draft.size(set),
                available: i64::from(set.status.available_replicas),
            })
        }
        NewSet::Missing(Vacancy { is: Name::Taken, .. }) => {
            draft.collide();
            None
        }
        NewSet::Missing(vacancy) => match draft.seen.children {
            Children::Settled => Some(create(draft, vacancy)),
            // It may have been created already: the cache will tell.
            Children::Unsettled => None,
        },
    }
}

/// One more than the highest revision of the old ReplicaSets (D-8).
fn next_revision(draft: &Draft<'_>) -> i64 {
    let old = draft.seen.old.iter().filter_map(|set| revision(set));
    old.max().unwrap_or(0).max(0).saturating_add(1)
}

/// The list of former revisions with one more; the oldest go if it gets too long. Nothing if it cannot fit (D-10).
fn extended(former: &str, revision: &str) -> Option<String> {
    if former.is_empty() || former.starts_with(',') {
        return Some(revision.to_owned());
    }
    let whole = format!("{former},{revision}");
    let mut rest = whole.as_str();
    while rest.len() > LONGEST_HISTORY {
        rest = rest.split_once(',')?.1;
    }
    Some(rest.to_owned())
}

/// Creates the ReplicaSet for the template (D-13), in the size that the strategy gives to one that starts at nothing.
fn create(draft: &mut Draft<'_>, vacancy: &Vacancy) -> Standing {
    let spec = &draft.seen.deployment.spec;
    let size = match spec.strategy {
        Strategy::Recreate => spec.wanted(),
        Strategy::RollingUpdate { .. } => {
            let wanted = Hold::of(draft).map_or_else(|| spec.wanted(), |hold| hold.most_updated(0));
            rolling::grown(0, draft.total(), wanted, draft.bounds)
        }
    };
    let size = to_count(size.min(draft.ceiling(None)));
    let revision = next_revision(draft).to_string();
    let create = Create {
        kind: Kind::REPLICA_SET,
        namespace: Arc::clone(&draft.seen.deployment.meta.key.namespace),
        name: NewName::Exact(Arc::clone(&vacancy.name)),
        object: Arc::new(newcomer(draft, vacancy, size, &revision)),
        note: draft::scaled(&vacancy.name, 0, size),
    };
    draft.create(create, &vacancy.name, size);
    draft.set_revision(revision);
    Standing {
        size: i64::from(size),
        available: 0,
    }
}

fn newcomer(draft: &Draft<'_>, vacancy: &Vacancy, size: i32, revision: &str) -> NewObject {
    let deployment = &*draft.seen.deployment;
    let (spec, hash) = (&deployment.spec, vacancy.hash.as_str());
    let sizes = draft.size_annotations();
    let own = sizes
        .iter()
        .map(|(key, value)| (*key, value.as_str()))
        .chain([(words::REVISION, revision)]);
    let copied = deployment.meta.annotations.iter().filter(|(key, _)| is_copied(key));
    let annotations: Labels = copied.chain(own).collect();
    let body = json!({
        // Written even if 0: an absent field would become 1.
        "replicas": size,
        "minReadySeconds": spec.min_ready_seconds,
        "selector": spec.raw_selector.clone().with_label(words::HASH_LABEL, hash),
        "template": spec.template.with_label(words::HASH_LABEL, hash).to_value(),
    });
    NewObject {
        labels: spec.template.labels().with(words::HASH_LABEL, hash),
        annotations,
        finalizers: Vec::new(),
        owner: Some(OwnerReference::controller(
            Kind::DEPLOYMENT,
            &deployment.meta.key.name,
            &deployment.meta.uid,
        )),
        fields: vec![("spec", Json::of(&body))],
    }
}
