//! Read-your-writes: an owner is not synced while a cache is older than our own last write for it (deployment C-30…C-35).

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::id::{Kind, ObjectKey, ResourceVersion, Uid};

/// How long an owner waits for a cache. A cache that lags for longer is broken, and waiting for ever would stop the
/// controller without a word.
pub const HOLD: Duration = Duration::from_mins(5);

/// The newest version written for each owner, per kind.
#[derive(Debug, Default)]
pub struct Freshness {
    owners: HashMap<ObjectKey, Written>,
}

/// Whether the caches have caught up with an owner's writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshly {
    /// They have, or cannot be compared.
    Fresh,
    /// Not yet: skip this turn.
    Stale {
        /// The kind whose cache lags; the `resource` label of the metric (deployment C-34).
        kind: Kind,
        /// Since when the owner has been waiting.
        since: Instant,
    },
    /// They have not for longer than [`HOLD`]. The record is dropped: sync, warn, count.
    HeldTooLong {
        /// The kind whose cache lags.
        kind: Kind,
    },
}

#[derive(Debug)]
struct Written {
    uid: Uid,
    newest: HashMap<Kind, ResourceVersion>,
    held_since: Option<Instant>,
}

impl Freshness {
    /// A write for the owner of this key and uid returned this version (deployment C-31). Another uid than before starts
    /// an empty record (C-35). A version that cannot be compared is not recorded.
    pub fn wrote(&mut self, owner: &ObjectKey, uid: &Uid, kind: Kind, version: &ResourceVersion) {
        if version.compare(version).is_none() {
            return;
        }
        let fresh = || Written {
            uid: uid.clone(),
            newest: HashMap::new(),
            held_since: None,
        };
        let record = self.owners.entry(owner.clone()).or_insert_with(fresh);
        if record.uid != *uid {
            *record = fresh();
        }
        let newest = record.newest.entry(kind).or_insert_with(|| version.clone());
        if version.is_newer_than(newest) {
            *newest = version.clone();
        }
    }

    /// Whether what `seen` says of each kind's cache covers every write recorded for the owner. A kind without a cache and
    /// a malformed version count as covered (deployment C-33). A record that is covered is forgotten (C-32).
    pub fn check(
        &mut self,
        owner: &ObjectKey,
        uid: &Uid,
        seen: impl Fn(Kind) -> Option<ResourceVersion>,
        now: Instant,
    ) -> Freshly {
        let lagging = self
            .owners
            .get_mut(owner)
            .filter(|record| record.uid == *uid)
            .and_then(|record| {
                let lags = |(kind, written): (&Kind, &ResourceVersion)| {
                    seen(*kind)
                        .is_some_and(|seen| written.is_newer_than(&seen))
                        .then_some(*kind)
                };
                let kind = record.newest.iter().filter_map(lags).min()?;
                Some((kind, *record.held_since.get_or_insert(now)))
            });
        match lagging {
            Some((kind, since)) if now.saturating_duration_since(since) <= HOLD => Freshly::Stale { kind, since },
            Some((kind, _)) => {
                self.owners.remove(owner);
                Freshly::HeldTooLong { kind }
            }
            None => {
                self.owners.remove(owner);
                Freshly::Fresh
            }
        }
    }

    /// Drops what is recorded for an owner that is gone (deployment C-35).
    pub fn forget(&mut self, owner: &ObjectKey) {
        self.owners.remove(owner);
    }

    /// A cache that had seen `before` was listed anew at `listed`. An older list means that the server was restored from
    /// a backup: versions start again below those recorded, so all records are dropped. Returns whether they were.
    pub fn relisted(&mut self, before: Option<&ResourceVersion>, listed: &ResourceVersion) -> bool {
        let restored = before.is_some_and(|before| before.is_newer_than(listed));
        if restored {
            self.owners.clear();
        }
        restored
    }
}
