//! What to do about a ReplicaSet: claim pods, then create missing ones or delete surplus ones (deployment RS-3, RS-10).

mod scale;

use std::time::Duration;

use workload_core::plan::{Plan, Stage, Wake};
use workload_core::time::Timestamp;
use workload_core::workload::Children;

use super::observe::Observed;

/// What a turn made of the difference between the pods there are and those wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// The plan deals with it, if there is one.
    Scale,
    /// Pods are missing that cannot be created; the text says why.
    Refuse(&'static str),
}

/// How often a ReplicaSet is looked at of whose pods some cannot be decoded: when such a pod goes, no event tells.
const UNREAD: Duration = Duration::from_mins(1);

/// The plan for one turn. A ReplicaSet that is being deleted claims, creates and deletes nothing (RS-6); while earlier
/// writes are not all in the cache it is only claimed for (C-25).
pub fn decide(seen: &Observed, now: Timestamp) -> Plan<Intent> {
    let mut plan = Plan::quiet(Intent::Scale);
    if !seen.claims.is_empty() {
        plan.stages.push(Stage::Claim(seen.claims.clone()));
    }
    if seen.unread > 0 {
        plan.wake = plan.wake.sooner(Wake::After(UNREAD));
    }
    if seen.children == Children::Settled && !seen.set.meta.is_terminating() {
        let (intent, step) = scale::step(seen, now);
        plan.intent = intent;
        plan.stages.extend(step);
    }
    plan
}
