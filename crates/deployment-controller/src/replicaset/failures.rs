//! Opt-in failed-pod-backoff: a ReplicaSet whose pods fail at once waits before it makes others (L-7, field FR-DP-01).
//!
//! All is read from the pods in the cache, which stay when they have failed, so that a restart forgets nothing. A failed pod
//! that somebody removes is not counted any more.

use std::time::Duration;

use workload_core::opt_in::Backoff;
use workload_core::pod::PodView;
use workload_core::time::{self, Timestamp};

/// A pod that fails within this time of its creation makes it likely that the next one will too.
const SOON: u32 = 30;

/// A failure counts for twice the longest wait, and at least for this time: later it says nothing about now, though failed pods
/// may stay for weeks.
const MEMORY: Duration = Duration::from_mins(10);

/// Times of the API are cut off to whole seconds: what they stand for ends a second later.
const SECOND: Duration = Duration::from_secs(1);

/// The pods that failed soon, since one of the ReplicaSet was last ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failures {
    /// How often in a row. Pods that were made before the first of them had failed count together, as one try.
    tries: u32,
    /// When the last one failed.
    last: Option<Timestamp>,
    /// Since when the youngest pod is being tried that was made after that, has not got ready, and is not old enough to be no
    /// sign any more.
    trial: Option<Timestamp>,
}

/// How missing pods are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// All at once, as upstream does.
    Full,
    /// One after the other, each to see whether it lives.
    Trial {
        /// How often pods failed soon.
        tries: u32,
        /// From when on the next one may be made.
        from: Timestamp,
    },
}

impl Failures {
    /// What these pods of one ReplicaSet tell.
    pub(super) fn of<'a>(pods: impl Iterator<Item = &'a PodView> + Clone, backoff: Backoff, now: Timestamp) -> Self {
        let ready = pods.clone().filter_map(PodView::ready_since).max();
        let memory = MEMORY.max(backoff.cap.saturating_mul(2));
        // One of the clocks is wrong where more is still to come: nobody shall wait for hours because of that.
        let is_past = |at: Timestamp| at <= time::plus(now, backoff.cap);
        let mut failed: Vec<(Timestamp, Timestamp)> = pods.clone().filter_map(failed_soon).collect();
        failed.retain(|(_, at)| ready.is_none_or(|ready| *at > ready) && time::plus(*at, memory) > now && is_past(*at));
        failed.sort_unstable();
        let Some(last) = failed.iter().map(|(_, at)| *at).max() else {
            return Self::default();
        };
        let mut tries = 0;
        let mut ended = None;
        for (created, at) in failed {
            if ended.is_none_or(|ended| created > ended) {
                tries += 1;
                ended = Some(at);
            }
        }
        let trials = pods.filter(|pod| pod.is_active() && !pod.is_ready());
        let trials = trials.filter_map(|pod| pod.meta.created);
        Self {
            tries,
            last: Some(last),
            trial: trials.filter(|created| *created > last && is_past(*created)).max(),
        }
    }

    /// How missing pods are made.
    pub(super) fn pace(&self, backoff: Backoff) -> Pace {
        let Some(last) = self.last else {
            return Pace::Full;
        };
        let waited = time::plus(time::plus(last, SECOND), backoff.after(self.tries));
        let seen_through = self
            .trial
            .map(|trial| time::plus(trial, SECOND.saturating_mul(SOON + 1)));
        Pace::Trial {
            tries: self.tries,
            from: seen_through.map_or(waited, |through| through.max(waited)),
        }
    }
}

/// When a pod that failed soon was created, and when it failed.
fn failed_soon(pod: &PodView) -> Option<(Timestamp, Timestamp)> {
    pod.failed_after.filter(|after| *after <= SOON)?;
    Some((pod.meta.created?, pod.failed_at()?))
}

impl Pace {
    /// How many of `missing` pods may be made now.
    pub(super) fn allowed(self, missing: usize, now: Timestamp) -> usize {
        match self {
            Self::Full => missing,
            Self::Trial { from, .. } if from <= now => missing.min(1),
            Self::Trial { .. } => 0,
        }
    }
}
