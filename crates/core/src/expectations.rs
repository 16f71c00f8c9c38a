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

    /// Drops all records: the server was restored from a backup, and knows nothing of what was written before.
    pub fn clear(&mut self) {
        *self = Self::default();
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    fn key(name: &str) -> ObjectKey {
        ObjectKey::new("shop", name)
    }

    fn pod(name: &str) -> Child {
        Child::Named(Kind::POD, key(name))
    }

    fn leaving(uid: &str) -> Child {
        Child::Leaving(Uid::new(uid))
    }

    fn awaited(settlement: Settlement) -> usize {
        match settlement {
            Settlement::Settled => 0,
            Settlement::Unsettled { awaited, .. } | Settlement::Expired { awaited } => awaited,
        }
    }

    fn start() -> Instant {
        crate::time::Clock::instant(&crate::time::SystemClock)
    }

    // proves: deployment/C-21, deployment/C-22, deployment/C-23
    #[test]
    fn an_owner_settles_when_the_last_child_has_shown() {
        let (mut expectations, now) = (Expectations::default(), start());
        assert_eq!(expectations.check(&key("web"), now), Settlement::Settled);
        expectations.expect(&key("web"), pod("web-1"), now);
        expectations.expect(&key("web"), leaving("u2"), now);
        let open = |awaited| Settlement::Unsettled { since: now, awaited };
        assert_eq!(expectations.check(&key("web"), now), open(2));
        assert_eq!(expectations.appeared(Kind::POD, &key("web-1")), Some(key("web")));
        assert_eq!(expectations.check(&key("web"), now), open(1));
        assert_eq!(expectations.leaving(&Uid::new("u2")), Some(key("web")));
        assert_eq!(expectations.check(&key("web"), now), Settlement::Settled);
    }

    #[test]
    fn after_a_restore_from_a_backup_nothing_is_awaited() {
        let (mut expectations, now) = (Expectations::default(), start());
        expectations.expect(&key("web"), pod("web-1"), now);
        expectations.expect(&key("web"), leaving("u2"), now);
        expectations.clear();
        assert_eq!(expectations.check(&key("web"), now), Settlement::Settled);
        assert_eq!(expectations.leaving(&Uid::new("u2")), None);
    }

    // proves: deployment/C-23, deployment/T-18
    #[test]
    fn two_signs_of_one_deletion_count_once() {
        let (mut expectations, now) = (Expectations::default(), start());
        expectations.expect(&key("web"), leaving("u1"), now);
        expectations.expect(&key("web"), leaving("u2"), now);
        assert_eq!(expectations.leaving(&Uid::new("u1")), Some(key("web")));
        assert_eq!(expectations.leaving(&Uid::new("u1")), None);
        assert_eq!(awaited(expectations.check(&key("web"), now)), 1);
    }

    #[rstest]
    #[case::another_name(Kind::POD, "web-2")]
    #[case::another_kind(Kind::REPLICA_SET, "web-1")]
    fn what_nobody_awaits_settles_nothing(#[case] kind: Kind, #[case] name: &str) {
        let (mut expectations, now) = (Expectations::default(), start());
        expectations.expect(&key("web"), pod("web-1"), now);
        assert_eq!(expectations.appeared(kind, &key(name)), None);
        assert_eq!(awaited(expectations.check(&key("web"), now)), 1);
    }

    // proves: deployment/C-24
    #[test]
    fn a_failed_write_is_awaited_no_longer() {
        let (mut expectations, now) = (Expectations::default(), start());
        expectations.expect(&key("web"), pod("web-1"), now);
        expectations.withdraw(&pod("web-1"));
        assert_eq!(expectations.check(&key("web"), now), Settlement::Settled);
        expectations.withdraw(&pod("web-1"));
    }

    // proves: deployment/C-22
    #[test]
    fn a_record_counts_as_satisfied_once_it_is_too_old() {
        let (mut expectations, now) = (Expectations::default(), start());
        expectations.expect(&key("web"), pod("web-1"), now);
        let later = now + Duration::from_secs(1);
        expectations.expect(&key("web"), pod("web-2"), later);
        assert_eq!(awaited(expectations.check(&key("web"), later + HOLD)), 2);
        let too_late = later + HOLD + Duration::from_nanos(1);
        assert_eq!(
            expectations.check(&key("web"), too_late),
            Settlement::Expired { awaited: 2 }
        );
        assert_eq!(expectations.check(&key("web"), too_late), Settlement::Settled);
        assert_eq!(expectations.appeared(Kind::POD, &key("web-1")), None);
    }

    // proves: deployment/C-27
    #[test]
    fn nothing_is_awaited_for_an_owner_that_is_gone() {
        let (mut expectations, now) = (Expectations::default(), start());
        expectations.expect(&key("web"), pod("web-1"), now);
        expectations.expect(&key("shop"), pod("shop-1"), now);
        expectations.forget(&key("web"));
        assert_eq!(expectations.check(&key("web"), now), Settlement::Settled);
        assert_eq!(expectations.appeared(Kind::POD, &key("web-1")), None);
        assert_eq!(awaited(expectations.check(&key("shop"), now)), 1);
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Expect(u8, u8),
        Withdraw(u8),
        Appear(u8),
        Forget(u8),
    }

    fn any_step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0..3_u8, 0..6_u8).prop_map(|(owner, child)| Step::Expect(owner, child)),
            (0..6_u8).prop_map(Step::Withdraw),
            (0..6_u8).prop_map(Step::Appear),
            (0..3_u8).prop_map(Step::Forget),
        ]
    }

    proptest! {
        // proves: deployment/C-22
        #[test]
        fn an_owner_is_unsettled_exactly_while_a_child_of_it_is_awaited(steps in prop::collection::vec(any_step(), 0..40)) {
            let (mut expectations, now) = (Expectations::default(), start());
            let mut model: HashMap<u8, u8> = HashMap::new();
            for step in steps {
                match step {
                    Step::Expect(owner, child) => {
                        expectations.expect(&key(&owner.to_string()), pod(&child.to_string()), now);
                        model.insert(child, owner);
                    }
                    Step::Withdraw(child) => {
                        expectations.withdraw(&pod(&child.to_string()));
                        model.remove(&child);
                    }
                    Step::Appear(child) => {
                        let owner = expectations.appeared(Kind::POD, &key(&child.to_string()));
                        prop_assert_eq!(owner, model.remove(&child).map(|owner| key(&owner.to_string())));
                    }
                    Step::Forget(owner) => {
                        expectations.forget(&key(&owner.to_string()));
                        model.retain(|_, of| *of != owner);
                    }
                }
                for owner in 0..3 {
                    let expected = model.values().filter(|of| **of == owner).count();
                    prop_assert_eq!(awaited(expectations.check(&key(&owner.to_string()), now)), expected);
                }
            }
            prop_assert_eq!(expectations.owners.len(), model.len());
        }
    }
}
