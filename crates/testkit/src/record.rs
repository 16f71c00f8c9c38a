//! A record of every version of every object in a namespace, kept by watches.
//!
//! Tests wait on it instead of polling, and ask it afterwards what has been written in which order. A bound that holds for
//! every recorded version holds always, not only at the moments somebody looked.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::{TryStreamExt as _, pin_mut};
use kube::api::WatchEvent;
use std::sync::{Mutex, MutexGuard};
use tokio::sync::watch;
use tokio::task::JoinSet;
use workload_core::id::Kind;

use crate::api::{Api, EVENT};
use crate::object::Stored;
pub use crate::state::{Change, State, Version};

/// What is recorded.
pub const KINDS: [Kind; 5] = [Kind::DEPLOYMENT, Kind::REPLICA_SET, Kind::JOB, Kind::POD, EVENT];

/// How often a server that does not answer is asked again.
const POLL: Duration = Duration::from_millis(100);

/// What the end of a watch means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outages {
    /// Something is wrong: the record breaks, and so does the test that looks at it.
    Unexpected,
    /// The test has stopped the server. The record takes the state up when the server answers again. Of what was written
    /// between the end of the watch and that moment it knows the last version only.
    Expected,
}

/// The running record. Its watches end when it is dropped.
pub struct Record {
    shared: Arc<Shared>,
    _watches: JoinSet<()>,
}

struct Shared {
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Record {
    /// Records `namespace` from `version` on, at which it was empty.
    pub(crate) fn start(namespace: &Api, version: &str, outages: Outages) -> Self {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            changed: watch::Sender::new(()),
        });
        let mut watches = JoinSet::new();
        for kind in KINDS {
            let (shared, api, mut version) = (Arc::clone(&shared), namespace.clone(), version.to_owned());
            watches.spawn(async move {
                loop {
                    match (follow(&shared, &api, kind, &mut version).await, outages) {
                        (_, Outages::Expected) => version = take_up(&shared, &api, kind).await,
                        // A busy server ends watches that do not keep up.
                        (Ok(()), Outages::Unexpected) => {}
                        (Err(error), Outages::Unexpected) => {
                            shared.lock().broken = Some(format!("watch of {kind}: {error}"));
                            shared.changed.send_replace(());
                            return;
                        }
                    }
                }
            });
        }
        Self {
            shared,
            _watches: watches,
        }
    }

    /// Looks at the state. The look must not wait for anything.
    pub fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.shared.lock())
    }

    /// Waits until `find` finds something; `None` when it did not within that time.
    pub async fn find<T>(&self, within: Duration, mut find: impl FnMut(&State) -> Option<T>) -> Option<T> {
        let mut changes = self.shared.changed.subscribe();
        let wait = async {
            loop {
                changes.borrow_and_update();
                {
                    let state = self.shared.lock();
                    if let Some(broken) = &state.broken {
                        panic!("the record of the namespace broke: {broken}");
                    }
                    if let Some(found) = find(&state) {
                        return found;
                    }
                }
                changes.changed().await.expect("the record lives as long as this");
            }
        };
        tokio::time::timeout(within, wait).await.ok()
    }

    /// Waits until the record shows all that the server stores at this moment. Each kind has a watch of its own, and these
    /// are not in step with each other.
    pub(crate) async fn catch_up(&self, api: &Api) {
        futures::future::join_all(KINDS.map(|kind| self.catch_up_with(api, kind))).await;
    }

    async fn catch_up_with(&self, api: &Api, kind: Kind) {
        let (version, stored) = api.list_metadata(kind).await.unwrap_or_else(|error| panic!("{error}"));
        let stored: HashMap<_, _> = stored
            .into_iter()
            .map(Stored::from)
            .map(|object| (object.uid().to_owned(), object))
            .collect();
        let shows_all = |state: &State| {
            let shown: HashMap<_, _> = state
                .all(kind)
                .into_iter()
                .map(|object| (object.uid(), object.version()))
                .collect();
            let has = |uid: &str, version| shown.get(uid).is_some_and(|shown| *shown >= version);
            let nothing_lacks = stored
                .iter()
                .all(|(uid, object)| has(uid, object.version()) || state.gone.contains(uid));
            // What the list did not have must be newer than it.
            let nothing_stays = shown
                .iter()
                .all(|(uid, shown)| *shown > version || stored.contains_key(*uid));
            (nothing_lacks && nothing_stays).then_some(())
        };
        let caught_up = self.find(Duration::from_secs(30), shows_all).await;
        assert!(caught_up.is_some(), "the watch of {kind} does not show what is stored");
    }

    /// Waits until the record knows this version of `object`, or a later one.
    pub(crate) async fn reach(&self, object: &Stored) {
        let reached = self
            .find(Duration::from_secs(30), |state| state.reached(object).then_some(()))
            .await;
        assert!(
            reached.is_some(),
            "the watch does not show {object:?} at version {}",
            object.version()
        );
    }
}

/// Brings the record of a kind up to what the server stores, as soon as it answers; returns the version of that.
async fn take_up(shared: &Shared, api: &Api, kind: Kind) -> String {
    loop {
        if let Ok((version, stored)) = api.list(kind).await {
            shared.lock().take_up(kind, stored);
            shared.changed.send_replace(());
            return version.to_string();
        }
        tokio::time::sleep(POLL).await;
    }
}

/// Follows a watch from `version` to its end; afterwards `version` is that of the last event.
async fn follow(shared: &Shared, api: &Api, kind: Kind, version: &mut String) -> Result<(), kube::Error> {
    let events = api.watch(kind, version).await?;
    pin_mut!(events);
    while let Some(event) = events.try_next().await? {
        let (change, object) = match event {
            WatchEvent::Added(object) => (Change::Added, object),
            WatchEvent::Modified(object) => (Change::Modified, object),
            WatchEvent::Deleted(object) => (Change::Deleted, object),
            // So that a watch of a kind that hardly changes can go on from a version that the server still has.
            WatchEvent::Bookmark(bookmark) => {
                version.clone_from(&bookmark.metadata.resource_version);
                continue;
            }
            WatchEvent::Error(status) => return Err(kube::Error::Api(status)),
        };
        if let Some(reached) = object["metadata"]["resourceVersion"].as_str() {
            reached.clone_into(version);
        }
        shared.lock().apply(kind, change, object);
        shared.changed.send_replace(());
    }
    Ok(())
}
