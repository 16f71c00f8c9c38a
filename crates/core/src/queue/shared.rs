//! The queue that event sources, wakes and workers share.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::id::ObjectKey;
use crate::mistake::{Mistake, made};
use crate::outcome::Retry;
use crate::plan::Wake;
use crate::queue::Verdict;
use crate::queue::backoff::{Backoff, Next, Span};
use crate::queue::keys::{Addition, Keys, Priority};
use crate::queue::metrics::{Load, Meters, QueueMetrics};
use crate::time::SharedClock;
use crate::workload::RetryLimit;

/// A work queue. Clones are the same queue.
///
/// It begins paused: nothing gathers (a standby may wait for weeks, and its keys would outlive their objects). Whoever opens
/// it puts every object in line.
#[derive(Clone, Debug)]
pub struct Queue(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    name: &'static str,
    state: Mutex<State>,
    changed: Notify,
    /// The last turn under way has ended.
    at_rest: Notify,
    clock: SharedClock,
    meters: Meters,
}

#[derive(Debug)]
struct State {
    keys: Keys,
    backoff: Backoff,
    door: Door,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Door {
    Paused,
    Open,
    Held,
    Closed,
}

/// The farthest look ahead. Users can ask for waits that no clock can count.
const FARTHEST: Duration = Duration::from_hours(24 * 365 * 10);
/// After a failed turn a key is not looked at sooner for its own reasons.
const CALM: Duration = Duration::from_secs(1);

fn after(moment: Instant, wait: Duration) -> Instant {
    moment + wait.min(FARTHEST)
}

/// What a worker finds at the queue.
enum Found {
    Key(ObjectKey),
    Nothing { until: Option<Instant> },
    Closed,
}

impl Queue {
    /// A paused queue with this name in metrics (deployment C-7) and this patience with failing keys (C-4).
    pub fn new(name: &'static str, retries: RetryLimit, clock: SharedClock, metrics: &QueueMetrics) -> Self {
        let state = State {
            keys: Keys::default(),
            backoff: Backoff::new(retries),
            door: Door::Paused,
        };
        let queue = Self(Arc::new(Shared {
            name,
            state: Mutex::new(state),
            changed: Notify::new(),
            at_rest: Notify::new(),
            clock,
            meters: metrics.of(name),
        }));
        metrics.watch(&queue);
        queue
    }

    /// The name in metrics.
    pub fn name(&self) -> &'static str {
        self.0.name
    }

    /// Puts `key` in line; not while the queue is paused.
    pub fn add(&self, key: ObjectKey, priority: Priority) {
        let mut state = self.0.state.lock();
        if state.door == Door::Paused {
            return;
        }
        let addition = state.keys.add(key, priority, self.0.clock.instant());
        drop(state);
        if addition == Addition::New {
            self.0.meters.added(1);
            self.0.changed.notify_one();
        }
    }

    /// Puts `key` in line after `wait`; an earlier time for which it is already booked holds. Not while the queue is paused.
    pub fn add_after(&self, key: ObjectKey, wait: Duration) {
        let at = after(self.0.clock.instant(), wait);
        let mut state = self.0.state.lock();
        if state.door == Door::Paused {
            return;
        }
        state.keys.add_at(key, at);
        drop(state);
        self.0.meters.retried();
        self.0.changed.notify_one();
    }

    /// Takes keys and hands them out from now on.
    pub fn open(&self) {
        self.set(Door::Open);
    }

    /// Hands out no keys until it is opened again, but takes them; turns that have begun go on. A paused queue stays paused.
    pub fn hold(&self) {
        let mut state = self.0.state.lock();
        if state.door == Door::Open {
            state.door = Door::Held;
        }
    }

    /// Waits until no key is worked on. A queue that hands out keys may have moved on by the time the caller looks.
    pub async fn at_rest(&self) {
        loop {
            let at_rest = self.0.at_rest.notified();
            if !self.0.state.lock().keys.is_working() {
                return;
            }
            at_rest.await;
        }
    }

    /// Hands out no more keys, and never again; workers end after the key that they have.
    pub fn close(&self) {
        self.set(Door::Closed);
    }

    fn set(&self, door: Door) {
        let mut state = self.0.state.lock();
        if state.door != Door::Closed {
            state.door = door;
        }
        drop(state);
        self.0.changed.notify_waiters();
        self.0.changed.notify_one();
    }

    /// The next key to work on; `None` once the queue is closed.
    pub(super) async fn next(&self) -> Option<ObjectKey> {
        loop {
            let changed = self.0.changed.notified();
            match self.look() {
                Found::Key(key) => return Some(key),
                Found::Closed => return None,
                Found::Nothing { until: None } => changed.await,
                Found::Nothing { until: Some(due) } => {
                    let due = tokio::time::Instant::from_std(due);
                    let _either = tokio::time::timeout_at(due, changed).await;
                }
            }
        }
    }

    fn look(&self) -> Found {
        let now = self.0.clock.instant();
        let mut state = self.0.state.lock();
        match state.door {
            Door::Closed => return Found::Closed,
            Door::Paused | Door::Held => return Found::Nothing { until: None },
            Door::Open => {}
        }
        self.0.meters.added(state.keys.release_due(now));
        let Some(taken) = state.keys.take(now) else {
            let until = state.keys.next_due();
            return Found::Nothing { until };
        };
        if state.keys.is_ready() {
            // A notification wakes one worker at most, and two of them may have merged: whoever leaves keys behind wakes the next.
            self.0.changed.notify_one();
        }
        self.0.meters.waited(taken.waited);
        Found::Key(taken.key)
    }

    /// The turn of `key` has ended with `verdict`.
    pub(super) fn finish(&self, key: &ObjectKey, verdict: Verdict) {
        self.conclude(key, verdict, verdict.as_str());
    }

    /// The turn of `key` has ended in a panic, which counts as a failure.
    pub(super) fn finish_panicked(&self, key: &ObjectKey) {
        self.0.meters.panicked();
        self.conclude(key, Verdict::Retry(Retry::Backoff, Wake::OnChange), "panic");
    }

    fn conclude(&self, key: &ObjectKey, verdict: Verdict, result: &'static str) {
        let ended = self.0.clock.instant();
        let mut state = self.0.state.lock();
        let Some(began) = state.keys.finish(key) else { return };
        let again = state.judge(key, Span { began, ended }, verdict);
        if let Some(at) = again {
            state.keys.add_at(key.clone(), at);
            self.0.meters.retried();
        }
        let is_working = state.keys.is_working();
        drop(state);
        if !is_working {
            self.0.at_rest.notify_waiters();
        }
        self.0.meters.worked(ended.saturating_duration_since(began), result);
        self.0.changed.notify_one();
    }

    /// What is in the queue now.
    pub(super) fn load(&self) -> Load {
        let now = self.0.clock.instant();
        let state = self.0.state.lock();
        let ages = state
            .keys
            .working_since()
            .map(|began| now.saturating_duration_since(began));
        let (total, longest) = ages.fold((Duration::ZERO, Duration::ZERO), |(total, longest), age| {
            (total + age, longest.max(age))
        });
        Load {
            depth: state.keys.depth(),
            unfinished: total,
            longest_running: longest,
        }
    }

    pub(super) fn downgrade(&self) -> WeakQueue {
        WeakQueue(Arc::downgrade(&self.0))
    }
}

/// A queue that may be gone.
#[derive(Debug)]
pub(super) struct WeakQueue(std::sync::Weak<Shared>);

impl WeakQueue {
    pub(super) fn get(&self) -> Option<Queue> {
        self.0.upgrade().map(Queue)
    }
}

impl State {
    /// When the key is to be looked at again although nothing changes.
    fn judge(&mut self, key: &ObjectKey, turn: Span, verdict: Verdict) -> Option<Instant> {
        let at = |wake| match wake {
            Wake::After(wait) => Some(after(turn.ended, wait)),
            Wake::OnChange => None,
        };
        let (at_least, wake) = match verdict {
            Verdict::Done(wake) | Verdict::Retry(Retry::OnChange, wake) => {
                self.backoff.forget(key);
                return at(wake);
            }
            Verdict::Retry(_, wake) if made(Mistake::RetriesForgotten) => return at(wake),
            Verdict::Held => return Some(self.backoff.held(key, turn)),
            Verdict::Retry(Retry::NotBefore(wait), wake) => (wait, wake),
            Verdict::Retry(Retry::Backoff, wake) => (Duration::ZERO, wake),
        };
        match self.backoff.failed(key, turn, at_least) {
            Next::At(due) => {
                let soonest = after(turn.ended, at_least.max(CALM));
                Some(at(wake).map_or(due, |own| own.max(soonest).min(due)))
            }
            Next::GiveUp => {
                tracing::warn!(object = %key, "retries are used up, the object is left alone until it changes");
                at(wake)
            }
        }
    }
}
