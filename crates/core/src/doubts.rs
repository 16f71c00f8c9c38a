//! Writes whose answers were lost: each may have been applied, and may for a while still be.
//!
//! A read of the object, past every cache, says whether it was applied so far. A create that was not can still arrive late,
//! so its name is what the owner's next create of that kind uses: whichever of the two comes first, there is one object.

use std::collections::HashMap;
use std::sync::Arc;
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
    unborn: HashMap<ObjectKey, Vec<Doubt>>,
}

impl Doubts {
    /// The answer to a write for `owner` was lost.
    pub fn add(&mut self, owner: &ObjectKey, doubt: Doubt) {
        self.open.entry(owner.clone()).or_default().push(doubt);
    }

    /// Takes out what is to be looked up for `owner`.
    pub fn take(&mut self, owner: &ObjectKey) -> Vec<Doubt> {
        self.open.remove(owner).unwrap_or_default()
    }

    /// The object of a create does not exist, so far.
    pub fn not_there(&mut self, owner: &ObjectKey, doubt: Doubt) {
        self.unborn.entry(owner.clone()).or_default().push(doubt);
    }

    /// A name under which a create of this kind may still arrive for `owner`; the next create has to use it.
    pub fn take_name(&mut self, owner: &ObjectKey, kind: Kind, now: Instant) -> Option<Arc<str>> {
        let unborn = self.unborn.get_mut(owner)?;
        unborn.retain(|doubt| now.saturating_duration_since(doubt.since) <= LATE);
        let at = unborn.iter().position(|doubt| doubt.address.kind == kind);
        let name = at.map(|at| Arc::clone(&unborn.swap_remove(at).address.key.name));
        if unborn.is_empty() {
            self.unborn.remove(owner);
        }
        name
    }

    /// A cache shows an object: if it was in doubt it is not any more.
    pub fn appeared(&mut self, kind: Kind, key: &ObjectKey) {
        for doubts in self.unborn.values_mut() {
            doubts.retain(|doubt| doubt.address.kind != kind || doubt.address.key != *key);
        }
        self.unborn.retain(|_, doubts| !doubts.is_empty());
    }

    /// Drops what is recorded for `owner`, which is gone or was replaced.
    pub fn forget(&mut self, owner: &ObjectKey) {
        self.open.remove(owner);
        self.unborn.remove(owner);
    }

    /// Drops all records: the server was restored from a backup.
    pub fn clear(&mut self) {
        *self = Self::default();
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
        let next = || doubts.take_name(&web(), Kind::POD, now).map(|name| name.to_string());
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn a_doubt_is_looked_up_once() {
        let (mut doubts, now) = (Doubts::default(), start());
        doubts.add(&web(), create("web-1", now));
        assert_eq!(doubts.take(&web()), [create("web-1", now)]);
        assert_eq!(doubts.take(&web()), []);
    }

    #[test]
    fn a_name_that_may_still_arrive_is_used_once_and_only_by_its_owner_for_its_kind() {
        let (mut doubts, now) = (Doubts::default(), start());
        doubts.not_there(&web(), create("web-1", now));
        assert_eq!(doubts.take_name(&web(), Kind::REPLICA_SET, now), None);
        assert_eq!(doubts.take_name(&ObjectKey::new("shop", "api"), Kind::POD, now), None);
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
        assert_eq!(doubts.take(&web()), []);
        assert_eq!(names(&mut doubts, now), Vec::<String>::new());
    }
}
