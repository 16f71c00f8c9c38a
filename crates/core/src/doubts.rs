//! Writes whose answers were lost: each may have been applied, and may for a while still be.
//!
//! A read of the object, past every cache, says whether it was applied so far. A create that was not can still arrive late,
//! so its name is what the owner's next create of that kind uses: whichever of the two comes first, there is one object.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use crate::id::{Kind, ObjectKey, Uid};
use crate::plan::Address;

/// For how long a request whose answer was lost may still be applied: an API server gives up on a request after a minute.
pub const LATE: Duration = Duration::from_mins(1);

/// One write whose answer was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// What it wrote.
    pub address: Address,
    /// What it would do.
    pub effect: Effect,
    /// When the answer was given up.
    pub since: Instant,
}

/// What a write in doubt would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The object exists.
    Create,
    /// The object with this uid is terminating or gone.
    Delete(Uid),
}

/// The writes in doubt of all owners of one workload.
#[derive(Debug, Default)]
pub struct Doubts {
    open: HashMap<ObjectKey, Vec<Doubt>>,
    /// Creates that may still arrive, by owner.
    unborn: HashMap<ObjectKey, Vec<Doubt>>,
    /// Whose they are, by what they create: every event of a cache asks.
    owners: HashMap<Address, ObjectKey>,
    /// The same in about the order in which nothing can arrive any more.
    ends: VecDeque<(Instant, Address)>,
}

impl Doubts {
    /// The answer to a write for `owner` was lost.
    pub fn add(&mut self, owner: &ObjectKey, doubt: Doubt) {
        self.open.entry(owner.clone()).or_default().push(doubt);
    }

    /// Takes out what is to be looked up for `owner`.
    pub fn take(&mut self, owner: &ObjectKey, now: Instant) -> Vec<Doubt> {
        self.expire(now);
        self.open.remove(owner).unwrap_or_default()
    }

    /// The object of a create does not exist, so far.
    pub fn not_there(&mut self, owner: &ObjectKey, doubt: Doubt) {
        self.remove(&doubt.address);
        self.ends.push_back((doubt.since, doubt.address.clone()));
        self.owners.insert(doubt.address.clone(), owner.clone());
        self.unborn.entry(owner.clone()).or_default().push(doubt);
    }

    /// Takes out a create of this kind that may still arrive for `owner`; the next one has to use its name.
    pub fn take_unborn(&mut self, owner: &ObjectKey, kind: Kind, now: Instant) -> Option<Doubt> {
        let unborn = self.unborn.get(owner)?.iter();
        let mut possible = unborn.filter(|doubt| now.saturating_duration_since(doubt.since) <= LATE);
        let address = possible.find(|doubt| doubt.address.kind == kind)?.address.clone();
        self.remove(&address)
    }

    /// A cache shows an object: if it was in doubt it is not any more.
    pub fn appeared(&mut self, kind: Kind, key: &ObjectKey) {
        if !self.owners.is_empty() {
            let key = key.clone();
            self.remove(&Address { kind, key });
        }
    }

    /// Drops what is recorded for `owner`, which is gone or was replaced.
    pub fn forget(&mut self, owner: &ObjectKey) {
        self.open.remove(owner);
        for doubt in self.unborn.remove(owner).iter().flatten() {
            self.owners.remove(&doubt.address);
        }
    }

    /// Drops all records: the server was restored from a backup.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Drops the creates that cannot arrive any more.
    fn expire(&mut self, now: Instant) {
        let is_over = |since: Instant| now.saturating_duration_since(since) > LATE;
        while let Some((_, address)) = self.ends.pop_front_if(|(since, _)| is_over(*since)) {
            let owner = self.owners.get(&address);
            let mut unborn = owner.and_then(|owner| self.unborn.get(owner)).into_iter().flatten();
            // Another create may have used the name meanwhile.
            if unborn.any(|doubt| doubt.address == address && is_over(doubt.since)) {
                self.remove(&address);
            }
        }
    }

    fn remove(&mut self, address: &Address) -> Option<Doubt> {
        let owner = self.owners.remove(address)?;
        let unborn = self.unborn.get_mut(&owner)?;
        let at = unborn.iter().position(|doubt| doubt.address == *address)?;
        let doubt = unborn.remove(at);
        if unborn.is_empty() {
            self.unborn.remove(&owner);
        }
        Some(doubt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start() -> Instant {
        crate::time::Clock::instant(&crate::time::SystemClock)
    }

    fn web() -> ObjectKey {
        ObjectKey::new("shop", "web")
    }

    fn create(name: &str, since: Instant) -> Doubt {
        Doubt {
            address: Address {
                kind: Kind::POD,
                key: ObjectKey::new("shop", name),
            },
            effect: Effect::Create,
            since,
        }
    }

    fn names(doubts: &mut Doubts, now: Instant) -> Vec<String> {
        let next = || {
            doubts
                .take_unborn(&web(), Kind::POD, now)
                .map(|doubt| doubt.address.key.name.to_string())
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn a_doubt_is_looked_up_once() {
        let (mut doubts, now) = (Doubts::default(), start());
        doubts.add(&web(), create("web-1", now));
        assert_eq!(doubts.take(&web(), now), [create("web-1", now)]);
        assert_eq!(doubts.take(&web(), now), []);
    }

    #[test]
    fn a_name_that_may_still_arrive_is_used_once_and_only_by_its_owner_for_its_kind() {
        let (mut doubts, now) = (Doubts::default(), start());
        doubts.not_there(&web(), create("web-1", now));
        assert_eq!(doubts.take_unborn(&web(), Kind::REPLICA_SET, now), None);
        assert_eq!(doubts.take_unborn(&ObjectKey::new("shop", "api"), Kind::POD, now), None);
        assert_eq!(names(&mut doubts, now), ["web-1"]);
        assert_eq!(names(&mut doubts, now), Vec::<String>::new());
    }

    #[test]
    fn a_name_is_free_once_nothing_can_arrive_any_more() {
        let (mut doubts, now) = (Doubts::default(), start());
        doubts.not_there(&web(), create("web-1", now));
        doubts.not_there(&web(), create("web-2", now + Duration::from_secs(1)));
        assert_eq!(names(&mut doubts, now + LATE + Duration::from_millis(1)), ["web-2"]);
    }

    #[test]
    fn what_has_arrived_is_not_created_again_under_its_name() {
        let (mut doubts, now) = (Doubts::default(), start());
        doubts.not_there(&web(), create("web-1", now));
        doubts.not_there(&web(), create("web-2", now));
        doubts.appeared(Kind::POD, &ObjectKey::new("shop", "web-1"));
        assert_eq!(names(&mut doubts, now), ["web-2"]);
    }

    #[test]
    fn a_successor_inherits_nothing() {
        let (mut doubts, now) = (Doubts::default(), start());
        doubts.add(&web(), create("web-1", now));
        doubts.not_there(&web(), create("web-2", now));
        doubts.forget(&web());
        assert_eq!(doubts.take(&web(), now), []);
        assert_eq!(names(&mut doubts, now), Vec::<String>::new());
    }

    #[test]
    fn nothing_is_kept_of_a_create_that_arrived_or_cannot_any_more_or_whose_owner_is_gone() {
        let at = |seconds: u64, start: Instant| start + Duration::from_secs(seconds);
        let (mut doubts, now) = (Doubts::default(), start());
        for (name, since) in [("web-1", 0), ("web-2", 1), ("web-3", 2)] {
            doubts.not_there(&web(), create(name, at(since, now)));
        }
        doubts.appeared(Kind::POD, &ObjectKey::new("shop", "web-1"));
        let renewed = doubts.take_unborn(&web(), Kind::POD, now).unwrap();
        assert_eq!(renewed, create("web-2", at(1, now)));
        doubts.not_there(&web(), create("web-2", at(50, now)));
        doubts.take(&ObjectKey::new("shop", "api"), at(70, now));
        assert_eq!((doubts.owners.len(), doubts.ends.len()), (1, 1), "{doubts:?}");
        assert_eq!(names(&mut doubts, at(70, now)), ["web-2"]);
        doubts.not_there(&web(), create("web-2", at(50, now)));
        doubts.forget(&web());
        doubts.take(&web(), at(111, now));
        assert!(
            doubts.owners.is_empty() && doubts.unborn.is_empty() && doubts.ends.is_empty(),
            "{doubts:?}"
        );
    }
}
