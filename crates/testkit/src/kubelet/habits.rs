//! What the kubelet does without being told.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use serde_json::Value;
use tokio::sync::watch;
use workload_core::time::{Clock as _, SystemClock};

use super::{Hand, finished, is_bound, running};
use crate::api::ApiError;
use crate::object::Stored;
use crate::record::{Record, State};

/// How many pods are served at the same time.
const CONCURRENCY: usize = 16;

/// What the kubelet does on its own.
#[derive(Clone, Default)]
pub(super) struct Habits {
    /// Which new pods it gets ready.
    pub(super) starts: Starts,
    /// Whether it ends terminating pods at once.
    pub(super) ends: bool,
}

/// With which exit code a pod ends; with none it runs on.
pub(super) type ExitCodes = Arc<dyn Fn(&Stored) -> Option<u8> + Send + Sync>;

#[derive(Clone, Default)]
pub(super) enum Starts {
    #[default]
    None,
    Image(String),
    All,
    Exits(ExitCodes),
}

impl Habits {
    /// What is to be done about a pod that should run.
    fn start(&self, pod: &Stored) -> Option<Deed> {
        let starts = match &self.starts {
            Starts::None => false,
            Starts::Image(image) => pod.image() == image,
            Starts::All => true,
            Starts::Exits(code) => match code(pod) {
                Some(code) => return Some(Deed::Exit(code)),
                None => true,
            },
        };
        (starts && !pod.is_ready()).then_some(Deed::Start)
    }
}

/// One deed on one pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Deed {
    Start,
    Exit(u8),
    End,
}

impl Hand {
    /// Does what habits demand. A pod that has changed or gone meanwhile is seen again, or needs nothing.
    async fn act(&self, deed: Deed, pod: &Stored) {
        let name = pod.name();
        let answer = match deed {
            Deed::End => self.terminate(pod).await,
            Deed::Start | Deed::Exit(_) => {
                if !is_bound(pod) {
                    let _ = self.bind(name, &self.node).await;
                }
                let status = match deed {
                    Deed::Exit(0) => finished("Succeeded", 0),
                    Deed::Exit(code) => finished("Failed", code),
                    Deed::Start | Deed::End => running("True", SystemClock.now(), 0),
                };
                self.report(name, &status).await
            }
        };
        if let Err(error) = answer {
            assert!(matches!(error.code, 404 | 409), "{name}: {error}");
        }
    }
}

impl Hand {
    /// Ends a pod that was asked to go. Of one that runs to an end, that end is reported first, as a kubelet does it.
    async fn terminate(&self, pod: &Stored) -> Result<Value, ApiError> {
        if !pod.has_ended() && pod.text("/spec/restartPolicy") != "Always" {
            self.report(pod.name(), &finished("Failed", 143)).await?;
        }
        self.end(pod.name()).await
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
        let starts = || pod.is_active().then(|| habits.start(pod)).flatten();
        ends.then_some(Deed::End).or_else(starts)
    };
    let open = |(deed, pod): &(Deed, Stored)| !done.contains(&(*deed, pod.uid().to_owned()));
    state
        .pods()
        .into_iter()
        .filter_map(|pod| Some((deed(pod)?, pod.clone())))
        .filter(open)
        .collect()
}
