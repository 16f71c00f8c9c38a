//! The loop: the one place where the order of the phases is written.
//!
//! gate (fence, freshness, expectations) → observe → decide → act → conclude → final status write → wake.

mod told;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;

use crate::act::ledger::Caches;
use crate::act::metrics::GateMetrics;
use crate::act::{Executor, Ledger};
use crate::expectations::{HOLD, Settlement};
use crate::freshness::Freshly;
use crate::id::ObjectKey;
use crate::outcome::{Failure, FailureClass, Outcome, Retry, Verb};
use crate::plan::{Plan, Stage, Target, Wake};
use crate::queue::{self, Verdict};
use crate::time::SharedClock;
use crate::workload::{Aids, Children, LiveReads, Observation, Workload};

use self::told::Told;
pub use self::told::{INVALID_OPT_IN, ToldMetrics};

/// How often one turn may ask for live reads and decide anew.
const ROUNDS: usize = 4;
/// How often an object is looked at whose cache has been behind for too long: claims and status go on, children wait. Also
/// how often one that cannot be decided about, once its retries are used up: nothing else may ever wake it.
const RECHECK: Duration = Duration::from_mins(1);

/// Runs turns of one workload.
#[derive(Debug)]
pub struct Reconciler<W> {
    workload: Arc<W>,
    executor: Executor,
    ledger: Arc<Ledger>,
    caches: Caches,
    clock: SharedClock,
    metrics: GateMetrics,
    told: Told,
}

/// Parts of a [`Reconciler`].
#[derive(Debug)]
pub struct ReconcilerParts<W> {
    /// The controller.
    pub workload: Arc<W>,
    /// What carries out its plans; settles into the same `ledger`.
    pub executor: Executor,
    /// What it has written.
    pub ledger: Arc<Ledger>,
    /// The caches that show what it has written.
    pub caches: Caches,
    /// Time.
    pub clock: SharedClock,
    /// Counters of the gate.
    pub metrics: GateMetrics,
    /// Counters of what people are told.
    pub told: ToldMetrics,
}

impl<W: Workload> Reconciler<W> {
    /// A loop of these parts.
    pub fn new(parts: ReconcilerParts<W>) -> Self {
        Self {
            workload: parts.workload,
            executor: parts.executor,
            ledger: parts.ledger,
            caches: parts.caches,
            clock: parts.clock,
            metrics: parts.metrics,
            told: Told::new(W::KIND, parts.told),
        }
    }

    async fn run(&self, key: ObjectKey) -> Verdict {
        let Some(root) = self.workload.root(&key) else {
            self.ledger.forget(&key);
            self.told.forget(&key);
            return Verdict::Done(Wake::OnChange);
        };
        if self.ledger.is_gone(&key, &root.uid, self.clock.instant()) {
            // The cache will show it, and wakes the key then.
            return Verdict::Done(Wake::After(RECHECK));
        }
        match self.executor.resolve_doubts(&root).await {
            // Without the right to look it up only time or a cache can tell.
            Err(failure) if failure.class != FailureClass::Rejected => {
                return failed::<W>(&root, &failure, failure.class.retry(), Wake::After(RECHECK));
            }
            Ok(()) | Err(_) => {}
        }
        let Some(pass) = self.gate(&root) else {
            return Verdict::Held;
        };
        let undecided = pass.wake.sooner(Wake::After(RECHECK));
        let mut live = LiveReads::default();
        for _ in 0..ROUNDS {
            let now = self.clock.now();
            let aids = Aids {
                children: pass.children,
                live: &live,
                now,
            };
            let seen = match self.workload.observe(&key, &aids) {
                Observation::Absent => return Verdict::Done(Wake::OnChange),
                Observation::Ignored(why) => {
                    tracing::debug!(queue = W::QUEUE, %key, why, "object left alone");
                    return Verdict::Done(Wake::OnChange);
                }
                Observation::Ready(seen) => seen,
            };
            if self.workload.root(&key).is_none_or(|now| now.uid != root.uid) {
                // Deleted or replaced while it was observed; its own event wakes the key.
                return Verdict::Done(Wake::OnChange);
            }
            let plan = self.workload.decide(&seen, now);
            if let Some(Stage::Read(addresses)) = plan.stages.first() {
                match self.executor.read(addresses, &mut live).await {
                    Ok(()) => continue,
                    Err(failure) => return failed::<W>(&root, &failure, failure.class.retry(), undecided),
                }
            }
            return self.carry_out(root, &seen, plan, pass.wake).await;
        }
        tracing::warn!(queue = W::QUEUE, %key, rounds = ROUNDS, "no decision within the allowed live reads");
        Verdict::Retry(Retry::Backoff, undecided)
    }

    async fn carry_out(&self, root: Target, seen: &W::Observed, plan: Plan<W::Intent>, at_latest: Wake) -> Verdict {
        let Plan {
            stages,
            intent,
            notes,
            wake,
        } = plan;
        let wake = wake.sooner(at_latest);
        let mut turn = self.executor.turn(root.clone());
        turn.run(stages).await;
        let rejected = self.told.rejected(&root, self.workload.rejected_opt_ins(seen));
        for note in notes.into_iter().chain(rejected) {
            turn.say(note);
        }
        if claims_failed(turn.outcome()) {
            return verdict::<W>(&root, turn.outcome(), wake);
        }
        let conclusion = self.workload.conclude(seen, &intent, turn.outcome(), self.clock.now());
        let tell = |by| self.told.held_up(&root, by, self.clock.instant());
        let explained = conclusion.held_up.map(tell).unwrap_or_default();
        for note in conclusion.notes.into_iter().chain(explained) {
            turn.say(note);
        }
        if let Some(status) = conclusion.status {
            turn.status(status).await;
        }
        if turn.outcome().found_gone() {
            self.ledger.found_gone(&root.key, &root.uid, self.clock.instant());
        }
        self.workload.settled(seen, &intent, turn.outcome(), self.clock.now());
        verdict::<W>(&root, turn.outcome(), wake.sooner(conclusion.wake))
    }

    /// Whether the caches allow a turn, and how much of one. While something of ours is unseen the key is looked at again by
    /// itself when that has been waited for long enough: nothing else may ever wake it.
    fn gate(&self, root: &Target) -> Option<Pass> {
        let now = self.clock.instant();
        let key = &root.key;
        match self.ledger.freshness(key, &root.uid, &self.caches, now) {
            Freshly::Fresh => {}
            Freshly::Stale { kind, .. } => {
                self.metrics.count_stale(kind);
                return None;
            }
            Freshly::HeldTooLong { kind } => {
                self.metrics.count_given_up("freshness");
                tracing::warn!(queue = W::QUEUE, %key, %kind, "a cache has not shown our own write for too long");
                return Some(Pass::without_children(RECHECK));
            }
        }
        match self.ledger.expectations(key, now) {
            Settlement::Settled => {}
            Settlement::Unsettled { since, .. } => {
                let rest = HOLD.saturating_sub(now.saturating_duration_since(since));
                return Some(Pass::without_children(rest + Duration::from_secs(1)));
            }
            Settlement::Expired { .. } => {
                self.metrics.count_given_up("expectations");
                tracing::warn!(queue = W::QUEUE, %key, "creates or deletes were not seen for too long; going on");
            }
        }
        Some(Pass {
            children: Children::Settled,
            wake: Wake::OnChange,
        })
    }
}

/// What the gate lets a turn do, and when to look again at the latest.
struct Pass {
    children: Children,
    wake: Wake,
}

impl Pass {
    fn without_children(look_again: Duration) -> Self {
        Self {
            children: Children::Unsettled,
            wake: Wake::After(look_again),
        }
    }
}

impl<W: Workload> queue::Turn for Reconciler<W> {
    fn turn(&self, key: ObjectKey) -> BoxFuture<'_, Verdict> {
        Box::pin(self.run(key))
    }
}

fn verdict<W: Workload>(root: &Target, outcome: &Outcome, wake: Wake) -> Verdict {
    let Some((failure, retry)) = outcome.failure().zip(outcome.retry()) else {
        return Verdict::Done(wake);
    };
    failed::<W>(root, failure, retry, wake)
}

fn failed<W: Workload>(root: &Target, failure: &Failure, retry: Retry, wake: Wake) -> Verdict {
    let (queue, key, class) = (W::QUEUE, &root.key, failure.class.as_str());
    if failure.class.is_expected() {
        tracing::debug!(queue, %key, class, error = %failure, "turn not completed");
    } else {
        tracing::warn!(queue, %key, class, error = %failure, "turn failed");
    }
    Verdict::Retry(retry, wake)
}

/// A failed adoption or release ends the turn before any status write (deployment C-15).
fn claims_failed(outcome: &Outcome) -> bool {
    let mut claims = outcome
        .attempts
        .iter()
        .filter(|attempt| matches!(attempt.verb, Verb::Adopt | Verb::Release));
    claims.any(|attempt| attempt.result.is_err())
}

#[cfg(test)]
mod tests;
