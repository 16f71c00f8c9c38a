//! Evictions that were refused: when they may be asked for again, and which pods a series asks for first.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::id::Uid;
use crate::outcome::Receipt;
use crate::plan::Delete;

/// How long a pod that a budget protects is left alone. Nobody tells when a budget allows more.
const PATIENCE: Duration = Duration::from_secs(10);
/// So many pods of a series are asked for in the order of the plan. Behind them come those that were not asked for longest.
const FIRST: usize = 5;
/// For how long it is remembered when a pod was asked for. Long enough to ask for every pod of the largest plan in between.
const MEMORY: Duration = Duration::from_mins(30);

/// The pods that a budget protected lately.
#[derive(Debug, Default)]
pub(super) struct Refusals(Mutex<HashMap<Uid, Refusal>>);

#[derive(Debug)]
struct Refusal {
    words: String,
    at: Instant,
}

impl Refusal {
    /// How long it is too early to ask again.
    fn rest(&self, now: Instant) -> Option<Duration> {
        let rest = PATIENCE.saturating_sub(now.saturating_duration_since(self.at));
        (!rest.is_zero()).then_some(rest)
    }
}

impl Refusals {
    /// The evictions in the order of their series: the first ones as they come; then those that were refused a moment ago,
    /// which cost nothing; then those never asked for; then those asked for longest ago.
    pub(super) fn in_order(&self, mut evictions: Vec<Delete>, now: Instant) -> Vec<Delete> {
        let mut refusals = self.0.lock();
        refusals.retain(|_, refusal| now.saturating_duration_since(refusal.at) < MEMORY);
        let mut others = evictions.split_off(FIRST.min(evictions.len()));
        others.sort_by_key(|eviction| {
            let refusal = refusals.get(&eviction.target.uid);
            let asks = refusal.is_none_or(|refusal| refusal.rest(now).is_none());
            (asks, refusal.map(|refusal| refusal.at))
        });
        evictions.append(&mut others);
        evictions
    }

    /// The refusal of this pod, while it is too early to ask again.
    pub(super) fn still(&self, pod: &Uid, now: Instant) -> Option<Receipt> {
        let refusals = self.0.lock();
        let refusal = refusals.get(pod)?;
        Some(Receipt::Protected {
            again_in: refusal.rest(now)?,
            words: refusal.words.clone(),
        })
    }

    pub(super) fn remember(&self, pod: &Uid, words: String, now: Instant) -> Receipt {
        let refusal = Refusal {
            words: words.clone(),
            at: now,
        };
        self.0.lock().insert(pod.clone(), refusal);
        Receipt::Protected {
            words,
            again_in: PATIENCE,
        }
    }
}
