//! Writes of ours that the caches have not shown yet, by the child's name or uid (deployment C-20…C-28).
//!
//! Counting them, as upstream does, goes wrong when a watch drops or repeats an event: names and uids cannot be counted
//! twice. The executor records a child before it sends the write and takes it back if the write certainly failed.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use crate::id::{Kind, ObjectKey, Uid};

/// How long a record holds back further creates and deletes (deployment C-22).
pub const HOLD: Duration = Duration::from_mins(5);

/// Creates and deletes on their way, for all owners of one workload.
#[derive(Debug, Default)]
pub struct Expectations {
    by_owner: HashMap<ObjectKey, Outstanding>,
    owners: HashMap<Child, ObjectKey>,
}

/// One awaited appearance or disappearance.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Child {
    /// A create: an object under this key will appear.
    Named(Kind, ObjectKey),
    /// A delete: the object with this uid will get a deletion timestamp or vanish.
    Leaving(Uid),
}

/// Whether the caches show all that was written for an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// Nothing is awaited.
    Settled,
    /// Children are awaited: none may be created or deleted (deployment C-25).
    Unsettled {
        /// When the last of them was written.
        since: Instant,
        /// How many are awaited.
        awaited: usize,
    },
    /// Children were awaited for longer than [`HOLD`]. The record is dropped and the owner counts as settled (deployment
    /// C-22).
    Expired {
        /// How many were awaited.
        awaited: usize,
    },
}

#[derive(Debug)]
struct Outstanding {
    children: HashSet<Child>,
    since: Instant,
}

impl Expectations {
    /// Awaits `child` on behalf of `owner`; called before the write is sent (deployment C-21).
    pub fn expect(&mut self, owner: &ObjectKey, child: Child, now: Instant) {
        if let Some(former) = self.owners.insert(child.clone(), owner.clone()) {
            self.remove_from(&former, &child);
        }
        let record = self.by_owner.entry(owner.clone()).or_insert_with(|| Outstanding {
            children: HashSet::new(),
            since: now,
        });
        record.children.insert(child);
        record.since = now;
    }

    /// No longer awaits `child`: its write failed for certain, or was never sent (deployment C-24).
    pub fn withdraw(&mut self, child: &Child) {
        self.settle(child);
    }

    /// An object appeared in a cache. Returns the owner that awaited it (deployment C-23).
    pub fn appeared(&mut self, kind: Kind, key: &ObjectKey) -> Option<ObjectKey> {
        self.settle(&Child::Named(kind, key.clone()))
    }

    /// An object got a deletion timestamp or vanished from a cache. Returns the owner that awaited it; the second sign of
    /// one deletion finds nobody (deployment C-23).
    pub fn leaving(&mut self, uid: &Uid) -> Option<ObjectKey> {
        self.settle(&Child::Leaving(uid.clone()))
    }

    /// Whether `owner` still awaits something. Drops a record that has been held for too long.
    pub fn check(&mut self, owner: &ObjectKey, now: Instant) -> Settlement {
        let Some(record) = self.by_owner.get(owner) else {
            return Settlement::Settled;
        };
        let (since, awaited) = (record.since, record.children.len());
        if now.saturating_duration_since(since) <= HOLD {
            return Settlement::Unsettled { since, awaited };
        }
        self.forget(owner);
        Settlement::Expired { awaited }
    }

    /// Drops what is awaited for `owner`, which is gone or was replaced (deployment C-27).
    pub fn forget(&mut self, owner: &ObjectKey) {
        let record = self.by_owner.remove(owner);
        for child in record.iter().flat_map(|record| &record.children) {
            self.owners.remove(child);
        }
    }

    fn settle(&mut self, child: &Child) -> Option<ObjectKey> {
        let owner = self.owners.remove(child)?;
        self.remove_from(&owner, child);
        Some(owner)
    }

    fn remove_from(&mut self, owner: &ObjectKey, child: &Child) {
        let Some(record) = self.by_owner.get_mut(owner) else {
            return;
        };
        record.children.remove(child);
        if record.children.is_empty() {
            self.by_owner.remove(owner);
        }
    }
}
