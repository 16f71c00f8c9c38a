//! Recreate: all old pods are gone before the first new one is made (D-40…D-43). Follows upstream's `rolloutRecreate`.

use super::draft::Draft;
use super::{Report, cleanup, revisions};
use crate::deployment::observe::OldPods;
use crate::deployment::progress;

/// One step of a rollout.
pub(super) fn step(draft: &mut Draft<'_>) -> Report {
    let seen = draft.seen;
    revisions::refresh(draft);
    for set in seen.old.iter().filter(|set| set.replicas > 0) {
        draft.resize(set, 0);
    }
    let still_counted = seen.old.iter().any(|set| set.status.replicas > 0);
    if draft.resizes() || still_counted || seen.old_pods == OldPods::Running {
        return Report::Progress;
    }
    if revisions::ensure(draft).is_none() {
        return Report::Marks;
    }
    if let Some(set) = seen.found() {
        draft.resize(set, seen.deployment.spec.wanted());
    }
    if progress::is_complete(&seen.deployment.status, &seen.deployment) {
        cleanup::step(draft);
    }
    Report::Progress
}
