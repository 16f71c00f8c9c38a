//! What the kubelet does without being told.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use tokio::sync::watch;
use workload_core::time::{Clock as _, SystemClock};

use super::{Hand, is_bound, running};
use crate::object::Stored;
use crate::record::{Record, State};

/// How many pods are served at the same time.
const CONCURRENCY: usize = 16;

/// What the kubelet does on its own.
#[derive(Clone, Debug, Default)]
pub(super) struct Habits {
    /// Which new pods it gets ready.
    pub(super) starts: Starts,
    /// Whether it ends terminating pods at once.
    pub(super) ends: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) enum Starts {
    #[default]
    None,
    Image(String),
    All,
}

impl Habits {
    fn gets_ready(&self, pod: &Stored) -> bool {
        match &self.starts {
            Starts::None => false,
            Starts::Image(image) => pod.image() == image,
            Starts::All => true,
        }
    }
}

/// One deed on one pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Deed {
    Start,
    End,
}

impl Hand {
    /// Does what habits demand. A pod that has changed or gone meanwhile is seen again, or needs nothing.
    async fn act(&self, deed: Deed, pod: &Stored) {
        let name = pod.name();
        let answer = match deed {
            Deed::End => self.end(name).await,
            Deed::Start => {
                if !is_bound(pod) {
                    let _ = self.bind(name, &self.node).await;
                }
                self.report(name, &running("True", SystemClock.now(), 0)).await
            }
        };
        if let Err(error) = answer {
            assert!(matches!(error.code, 404 | 409), "{name}: {error}");
        }
    }
}

/// Follows the record and does what the habits demand, once per pod and deed.
pub(super) async fn serve(hand: Hand, record: Arc<Record>, mut habits: watch::Receiver<Habits>) {
    let mut done = HashSet::new();
    loop {
        let wanted = habits.borrow_and_update().clone();
        let long = Duration::from_hours(1);
        let due = tokio::select! {
            due = record.find(long, |state| Some(due(state, &wanted, &done)).filter(|due| !due.is_empty())) => due,
            _ = habits.changed() => None,
        };
        let due = due.unwrap_or_default();
        done.extend(due.iter().map(|(deed, pod)| (*deed, pod.uid().to_owned())));
        let hand = &hand;
        let acts = due
            .into_iter()
            .map(|(deed, pod)| async move { hand.act(deed, &pod).await });
        futures::stream::iter(acts)
            .for_each_concurrent(CONCURRENCY, |act| act)
            .await;
    }
}

fn due(state: &State, habits: &Habits, done: &HashSet<(Deed, String)>) -> Vec<(Deed, Stored)> {
    let deed = |pod: &Stored| {
        let ends = habits.ends && pod.is_terminating() && is_bound(pod);
        let starts = pod.is_active() && !pod.is_ready() && habits.gets_ready(pod);
        ends.then_some(Deed::End).or_else(|| starts.then_some(Deed::Start))
    };
    let open = |(deed, pod): &(Deed, Stored)| !done.contains(&(*deed, pod.uid().to_owned()));
    state
        .pods()
        .into_iter()
        .filter_map(|pod| Some((deed(pod)?, pod.clone())))
        .filter(open)
        .collect()
}
