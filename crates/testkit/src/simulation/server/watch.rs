//! Watches.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::json;
use workload_core::id::Kind;

use super::ApiServer;
use super::shape::{Scope, Since};
use super::status::Status;
use super::store::{Change, Entry};

/// An open watch. It is at a version; [`ApiServer::events`] takes it further.
#[derive(Debug)]
pub struct Subscription {
    scope: Scope,
    cursor: u64,
    begin: Begin,
    /// When the server is to end it; `None` for never.
    pub lifetime: Option<Duration>,
}

/// What is still to be said before changes.
#[derive(Debug)]
enum Begin {
    /// Nothing.
    Over,
    /// The state at the cursor's version, and whether a bookmark marks its end.
    State(VecDeque<Arc<Entry>>, bool),
    /// That the version asked for is forgotten.
    Expired(Bytes),
    /// The server has ended the watch.
    Ended,
}

impl Subscription {
    /// What it is about.
    pub fn kind(&self) -> Kind {
        self.scope.kind
    }

    /// The version up to which it has told everything.
    pub fn version(&self) -> u64 {
        self.cursor
    }

    /// True if the server has ended it, after an error that it has told.
    pub fn is_ended(&self) -> bool {
        matches!(self.begin, Begin::Ended)
    }

    /// A bookmark of the version up to which everything was told; `None` before the initial state was. The real server sends
    /// one about every minute.
    pub fn bookmark(&self) -> Option<Bytes> {
        matches!(self.begin, Begin::Over).then(|| bookmark(self.kind(), self.cursor, &json!({})))
    }
}

impl ApiServer {
    /// Opens a watch.
    pub fn subscribe(&self, scope: Scope, from: Since, lifetime: Option<Duration>) -> Subscription {
        let newest = self.store.version();
        let (cursor, begin) = match from {
            Since::Everything | Since::Any => {
                let state = self.snapshot(&scope, newest).into_values().collect();
                (newest, Begin::State(state, from == Since::Everything))
            }
            Since::After(version) if version < self.store.forgotten() => {
                let words = format!("too old resource version: {version} ({})", self.store.forgotten());
                (version, Begin::Expired(error(&Status::expired(words))))
            }
            Since::After(version) => (version, Begin::Over),
        };
        Subscription {
            scope,
            cursor,
            begin,
            lifetime,
        }
    }

    /// What a watch has to tell up to this version, in order, one frame each; the watch is at that version then. The initial
    /// state is told as a whole, at the version that the server had when the watch began.
    pub fn events(&self, watch: &mut Subscription, up_to: u64) -> Vec<Bytes> {
        let mut frames = Vec::new();
        let kind = watch.kind();
        match std::mem::replace(&mut watch.begin, Begin::Over) {
            Begin::Over => {}
            Begin::Ended => {
                watch.begin = Begin::Ended;
                return frames;
            }
            Begin::Expired(error) => {
                watch.begin = Begin::Ended;
                return vec![error];
            }
            Begin::State(state, marks_end) if up_to >= watch.cursor => {
                frames.extend(state.iter().map(|entry| frame("ADDED", kind, entry)));
                if marks_end {
                    let annotations = json!({"k8s.io/initial-events-end": "true"});
                    frames.push(bookmark(kind, watch.cursor, &json!({"annotations": annotations})));
                }
            }
            early @ Begin::State(..) => {
                watch.begin = early;
                return frames;
            }
        }
        for change in self.store.changes_after(kind, watch.cursor) {
            if change.version > up_to {
                break;
            }
            frames.extend(told(&watch.scope, change));
        }
        watch.cursor = watch.cursor.max(up_to.min(self.store.version()));
        frames
    }
}

/// What a watch on `scope` says about a change.
fn told(scope: &Scope, change: &Change) -> Option<Bytes> {
    let (kind, after) = (scope.kind, &change.after);
    let covers = |entry: &Arc<Entry>| scope.covers(&change.key, entry);
    let before = change.before.as_ref().filter(|before| covers(before));
    match (before, covers(after) && !change.deleted) {
        (None, true) => Some(frame("ADDED", kind, after)),
        (Some(_), true) => Some(frame("MODIFIED", kind, after)),
        (Some(_), false) if change.deleted => Some(frame("DELETED", kind, after)),
        (Some(before), false) => {
            // It is not of this scope any more: told in its last state here, with the version of the change.
            let mut last = before.object.json().clone();
            last["metadata"]["resourceVersion"] = change.version.to_string().into();
            Some(frame("DELETED", kind, &Entry::new(last, change.version)))
        }
        (None, false) => None,
    }
}

fn frame(what: &str, kind: Kind, entry: &Entry) -> Bytes {
    let mut frame = format!(r#"{{"type":"{what}","object":"#).into_bytes();
    entry.write(kind, &mut frame);
    frame.extend(b"}\n");
    frame.into()
}

fn bookmark(kind: Kind, version: u64, more: &serde_json::Value) -> Bytes {
    let mut metadata = more.clone();
    metadata["resourceVersion"] = version.to_string().into();
    let object = json!({"kind": kind.kind, "apiVersion": kind.api_version(), "metadata": metadata});
    format!("{}\n", json!({"type": "BOOKMARK", "object": object})).into()
}

fn error(status: &Status) -> Bytes {
    format!("{}\n", json!({"type": "ERROR", "object": status.body()})).into()
}
