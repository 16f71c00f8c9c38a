//! What this process has written and the caches may not show yet: expectations and freshness of one workload, shared by
//! the executor (which writes into it), the watches (which settle it) and the loop's gate (which reads it).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use crate::cache::{Delta, Progress};
use crate::doubts::{Doubt, Doubts, Effect};
use crate::expectations::{Child, Expectations, Settlement};
use crate::freshness::{Freshly, Freshness, HOLD};
use crate::id::{Kind, ObjectKey, ResourceVersion, Uid};
use crate::meta::Object;
use crate::mistake::{Mistake, made};
use crate::plan::Address;

/// Expectations and freshness of all objects of one workload.
#[derive(Debug)]
pub struct Ledger {
    root: Kind,
    expectations: Mutex<Expectations>,
    freshness: Mutex<Freshness>,
    doubts: Mutex<Doubts>,
    gone: Mutex<HashMap<ObjectKey, Gone>>,
}

/// An owner that the server does not have any more.
#[derive(Debug)]
struct Gone {
    uid: Uid,
    since: Instant,
}

impl Ledger {
    /// An empty ledger of the workload that reconciles this kind.
    pub fn new(root: Kind) -> Self {
        Self {
            root,
            expectations: Mutex::default(),
            freshness: Mutex::default(),
            doubts: Mutex::default(),
            gone: Mutex::default(),
        }
    }

    /// A create of `owner` is about to be sent.
    pub(super) fn creating(&self, owner: &ObjectKey, kind: Kind, child: &ObjectKey, now: Instant) {
        if made(Mistake::NothingAwaited) {
            return;
        }
        self.expectations
            .lock()
            .expect(owner, Child::Named(kind, child.clone()), now);
    }

    /// A create was confirmed or refused; nothing about it is open any more.
    pub(super) fn create_settled(&self, kind: Kind, child: &ObjectKey) {
        self.expectations.lock().withdraw(&Child::Named(kind, child.clone()));
    }

    /// A delete of `owner` is about to be sent.
    pub(super) fn deleting(&self, owner: &ObjectKey, child: &Uid, now: Instant) {
        if made(Mistake::NothingAwaited) {
            return;
        }
        self.expectations
            .lock()
            .expect(owner, Child::Leaving(child.clone()), now);
    }

    /// A delete was refused or found nothing.
    pub(super) fn not_deleted(&self, child: &Uid) {
        self.expectations.lock().withdraw(&Child::Leaving(child.clone()));
    }

    /// The answer to a create or delete of `owner` was lost. It stays awaited until a cache shows it or
    /// [`Self::not_applied`] says that there is nothing to see.
    pub(super) fn in_doubt(&self, owner: &ObjectKey, doubt: Doubt) {
        self.doubts.lock().add(owner, doubt);
    }

    /// Takes out what is to be looked up for `owner` before its next turn.
    pub(super) fn take_doubts(&self, owner: &ObjectKey, now: Instant) -> Vec<Doubt> {
        self.doubts.lock().take(owner, now)
    }

    /// A write in doubt was not applied. The name of a create is kept for the next one, for it may still arrive.
    pub(super) fn not_applied(&self, owner: &ObjectKey, doubt: Doubt) {
        let Address { kind, key } = &doubt.address;
        match &doubt.effect {
            Effect::Delete(uid) => self.not_deleted(uid),
            Effect::Create => {
                self.create_settled(*kind, key);
                self.doubts.lock().not_there(owner, doubt);
            }
        }
    }

    /// A create of this kind that may still arrive for `owner`; the next one has to use its name.
    pub(super) fn take_unborn(&self, owner: &ObjectKey, kind: Kind, now: Instant) -> Option<Doubt> {
        self.doubts.lock().take_unborn(owner, kind, now)
    }

    /// A write for `owner` returned this version.
    pub(super) fn wrote(&self, owner: &ObjectKey, uid: &Uid, kind: Kind, version: &ResourceVersion) {
        self.freshness.lock().wrote(owner, uid, kind, version);
    }

    /// A cache shows this change; whatever it settles is no longer awaited. Watches call this before they wake the owner. A
    /// root object that vanished takes its records along, so that a successor of the same name does not inherit them
    /// (deployment C-27, C-35).
    pub fn observe<T: Object>(&self, delta: &Delta<T>) {
        if let Delta::Removed { last } = delta
            && T::KIND == self.root
        {
            self.forget(&last.meta().key);
        }
        let mut expectations = self.expectations.lock();
        match delta {
            Delta::Applied { new, .. } => {
                let meta = new.meta();
                self.doubts.lock().appeared(T::KIND, &meta.key);
                expectations.appeared(T::KIND, &meta.key);
                if meta.is_terminating() {
                    expectations.leaving(&meta.uid);
                }
            }
            Delta::Removed { last } => {
                expectations.appeared(T::KIND, &last.meta().key);
                expectations.leaving(&last.meta().uid);
            }
        }
    }

    /// The server turned out to have another history, as after a restore from a backup, and every cache shows it: nothing
    /// that was written before can be waited for.
    pub fn start_over(&self) {
        self.expectations.lock().clear();
        self.freshness.lock().clear();
        self.doubts.lock().clear();
        self.gone.lock().clear();
    }

    /// The server says that it has no owner of this uid any more; the cache will show it.
    pub(crate) fn found_gone(&self, owner: &ObjectKey, uid: &Uid, now: Instant) {
        let gone = Gone {
            uid: uid.clone(),
            since: now,
        };
        self.gone.lock().insert(owner.clone(), gone);
    }

    /// True if the server has said so, for as long as a cache may take to show it. Whatever was done for such an owner would be
    /// undone by the garbage collector, and done again with the next look.
    pub(crate) fn is_gone(&self, owner: &ObjectKey, uid: &Uid, now: Instant) -> bool {
        let gone = self.gone.lock();
        let found = gone.get(owner).filter(|gone| gone.uid == *uid);
        found.is_some_and(|gone| now.saturating_duration_since(gone.since) < HOLD)
    }

    /// Whether the caches have caught up with what was written for this owner.
    pub fn freshness(&self, owner: &ObjectKey, uid: &Uid, caches: &Caches, now: Instant) -> Freshly {
        if made(Mistake::StaleCachesTrusted) {
            return Freshly::Fresh;
        }
        self.freshness.lock().check(owner, uid, |kind| caches.seen(kind), now)
    }

    /// Whether creates and deletes of this owner are still on their way.
    pub fn expectations(&self, owner: &ObjectKey, now: Instant) -> Settlement {
        self.expectations.lock().check(owner, now)
    }

    /// The owner is gone.
    pub fn forget(&self, owner: &ObjectKey) {
        self.expectations.lock().forget(owner);
        self.freshness.lock().forget(owner);
        self.doubts.lock().forget(owner);
        self.gone.lock().remove(owner);
    }
}

/// How far the caches of a workload have come, by kind.
#[derive(Clone, Default)]
pub struct Caches(Vec<(Kind, Arc<dyn Progress>)>);

impl Caches {
    /// These caches, each with the kind it holds.
    pub fn of(caches: impl IntoIterator<Item = (Kind, Arc<dyn Progress>)>) -> Self {
        Self(caches.into_iter().collect())
    }

    fn seen(&self, kind: Kind) -> Option<ResourceVersion> {
        self.0
            .iter()
            .find(|(of, _)| *of == kind)
            .and_then(|(_, cache)| cache.seen())
    }
}

impl std::fmt::Debug for Caches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|(kind, _)| kind.kind))
            .finish()
    }
}
