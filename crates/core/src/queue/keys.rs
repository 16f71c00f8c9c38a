//! Which keys wait, which are being worked on, which will be due later: the queue without tasks and clocks.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use crate::id::ObjectKey;
use crate::mistake::{Mistake, made};

/// How urgent a key is. Keys of one priority leave in the order in which they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Looked at to be sure: first lists and resyncs (deployment C-6). Waits while anything live is there.
    Resync,
    /// Something changed, or a time has come.
    Live,
}

/// The keys of a queue.
///
/// A key is at most once in line, and never while it is worked on: adding it then makes it come back once afterwards
/// (deployment C-2).
#[derive(Debug, Default)]
pub struct Keys {
    in_line: HashMap<ObjectKey, Waiting>,
    live: VecDeque<Entry>,
    resync: VecDeque<Entry>,
    taken: HashMap<ObjectKey, Working>,
    delayed: BTreeMap<(Instant, Ticket), ObjectKey>,
    booked: HashMap<ObjectKey, (Instant, Ticket)>,
    last_ticket: Ticket,
}

/// Numbers places in line and bookings.
type Ticket = u64;

/// A place in one of the two lanes. Void if its ticket is not the one that its key waits with: the key was raised to the
/// other lane.
#[derive(Debug)]
struct Entry {
    ticket: Ticket,
    key: ObjectKey,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    ticket: Ticket,
    added: Added,
}

#[derive(Clone, Copy, Debug)]
struct Working {
    began: Instant,
    again: Option<Added>,
}

#[derive(Clone, Copy, Debug)]
struct Added {
    priority: Priority,
    since: Instant,
}

/// What adding a key came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addition {
    /// It will be worked on because of this.
    New,
    /// It would have been worked on anyway.
    Known,
}

/// A key to work on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The key.
    pub key: ObjectKey,
    /// How long it was in line.
    pub waited: Duration,
}

impl Keys {
    /// Puts `key` in line, or raises its priority if it is there with a lower one.
    pub fn add(&mut self, key: ObjectKey, priority: Priority, now: Instant) -> Addition {
        let added = Added { priority, since: now };
        if let Some(working) = self.taken.get_mut(&key) {
            if made(Mistake::WakesLost) {
                return Addition::Known;
            }
            return working.come_back(added);
        }
        let Some(waiting) = self.in_line.get(&key) else {
            self.line_up(key, added);
            return Addition::New;
        };
        if waiting.added.priority < priority {
            let since = waiting.added.since;
            self.line_up(key, Added { priority, since });
        }
        Addition::Known
    }

    /// Puts `key` in line at `at`, or at an earlier time for which it is already booked.
    pub fn add_at(&mut self, key: ObjectKey, at: Instant) {
        if let Some(&(booked, ticket)) = self.booked.get(&key) {
            if booked <= at {
                return;
            }
            self.delayed.remove(&(booked, ticket));
        }
        let ticket = self.ticket();
        self.booked.insert(key.clone(), (at, ticket));
        self.delayed.insert((at, ticket), key);
    }

    /// Puts the keys in line whose time has come, and says how many were not there already.
    pub fn release_due(&mut self, now: Instant) -> u64 {
        let mut new = 0;
        while let Some(entry) = self.delayed.first_entry().filter(|entry| entry.key().0 <= now) {
            let key = entry.remove();
            self.booked.remove(&key);
            if self.add(key, Priority::Live, now) == Addition::New {
                new += 1;
            }
        }
        new
    }

    /// When the next delayed key is due.
    pub fn next_due(&self) -> Option<Instant> {
        self.delayed.keys().next().map(|&(at, _)| at)
    }

    /// The first key in line; it counts as worked on until [`Keys::finish`].
    pub fn take(&mut self, now: Instant) -> Option<Taken> {
        while let Some(Entry { ticket, key }) = self.live.pop_front().or_else(|| self.resync.pop_front()) {
            let Some(waiting) = self
                .in_line
                .get(&key)
                .copied()
                .filter(|waiting| waiting.ticket == ticket)
            else {
                continue;
            };
            self.in_line.remove(&key);
            let working = Working {
                began: now,
                again: None,
            };
            self.taken.insert(key.clone(), working);
            let waited = now.saturating_duration_since(waiting.added.since);
            return Some(Taken { key, waited });
        }
        None
    }

    /// Work on `key` has ended. Says when it began; `None` if the key was not worked on.
    pub fn finish(&mut self, key: &ObjectKey) -> Option<Instant> {
        let working = self.taken.remove(key)?;
        if let Some(added) = working.again {
            self.line_up(key.clone(), added);
        }
        Some(working.began)
    }

    /// How many keys wait to be worked on, those included that are worked on now and come back.
    pub fn depth(&self) -> usize {
        let coming_back = self.taken.values().filter(|working| working.again.is_some());
        self.in_line.len() + coming_back.count()
    }

    /// True if a key is in line.
    pub fn is_ready(&self) -> bool {
        !self.in_line.is_empty()
    }

    /// True if a key is worked on.
    pub fn is_working(&self) -> bool {
        !self.taken.is_empty()
    }

    /// Since when each key that is worked on has been.
    pub fn working_since(&self) -> impl Iterator<Item = Instant> {
        self.taken.values().map(|working| working.began)
    }

    fn line_up(&mut self, key: ObjectKey, added: Added) {
        let ticket = self.ticket();
        self.in_line.insert(key.clone(), Waiting { ticket, added });
        let lane = match added.priority {
            Priority::Live => &mut self.live,
            Priority::Resync => &mut self.resync,
        };
        lane.push_back(Entry { ticket, key });
    }

    fn ticket(&mut self) -> Ticket {
        self.last_ticket += 1;
        self.last_ticket
    }
}

impl Working {
    fn come_back(&mut self, added: Added) -> Addition {
        match &mut self.again {
            Some(known) => {
                known.priority = known.priority.max(added.priority);
                Addition::Known
            }
            none => {
                *none = Some(added);
                Addition::New
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::{Clock, SystemClock};
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn key(name: &str) -> ObjectKey {
        ObjectKey::new("ns", name)
    }

    fn take(keys: &mut Keys, now: Instant) -> Option<String> {
        keys.take(now).map(|taken| taken.key.name.to_string())
    }

    // proves: deployment/C-2
    #[test]
    fn a_key_is_in_line_once_and_comes_back_once_after_adds_during_work() {
        let now = SystemClock.instant();
        let mut keys = Keys::default();
        assert_eq!(keys.add(key("a"), Priority::Live, now), Addition::New);
        assert_eq!(keys.add(key("a"), Priority::Live, now), Addition::Known);
        assert_eq!(take(&mut keys, now).as_deref(), Some("a"));
        assert_eq!(keys.add(key("a"), Priority::Live, now), Addition::New);
        assert_eq!(keys.add(key("a"), Priority::Live, now), Addition::Known);
        assert_eq!(take(&mut keys, now), None, "not while it is worked on");
        assert_eq!(keys.depth(), 1);
        assert!(keys.finish(&key("a")).is_some());
        assert_eq!(take(&mut keys, now).as_deref(), Some("a"));
        keys.finish(&key("a"));
        assert_eq!((take(&mut keys, now), keys.depth()), (None, 0));
        assert_eq!(keys.finish(&key("a")), None);
    }

    #[test]
    fn a_place_left_behind_by_a_raised_key_is_void() {
        let now = SystemClock.instant();
        let mut keys = Keys::default();
        keys.add(key("raised"), Priority::Resync, now);
        keys.add(key("other"), Priority::Resync, now);
        keys.add(key("raised"), Priority::Live, now);
        assert_eq!(take(&mut keys, now).as_deref(), Some("raised"));
        keys.finish(&key("raised"));
        keys.add(key("raised"), Priority::Resync, now);
        assert_eq!(
            take(&mut keys, now).as_deref(),
            Some("other"),
            "its first place is not its own any more"
        );
        assert_eq!(take(&mut keys, now).as_deref(), Some("raised"));
    }

    #[test]
    fn live_keys_leave_before_resynced_ones_and_each_lane_is_first_in_first_out() {
        let now = SystemClock.instant();
        let mut keys = Keys::default();
        for (name, priority) in [
            ("r1", Priority::Resync),
            ("raised", Priority::Resync),
            ("r2", Priority::Resync),
            ("l1", Priority::Live),
            ("raised", Priority::Live),
            ("l2", Priority::Live),
            ("l1", Priority::Resync),
        ] {
            keys.add(key(name), priority, now);
        }
        let order: Vec<String> = std::iter::from_fn(|| take(&mut keys, now)).collect();
        assert_eq!(order, ["l1", "raised", "l2", "r1", "r2"]);
    }

    #[test]
    fn a_key_that_comes_back_keeps_the_highest_priority_asked_for() {
        let now = SystemClock.instant();
        let mut keys = Keys::default();
        keys.add(key("a"), Priority::Live, now);
        keys.take(now);
        keys.add(key("b"), Priority::Resync, now);
        keys.add(key("a"), Priority::Resync, now);
        keys.add(key("a"), Priority::Live, now);
        keys.finish(&key("a"));
        assert_eq!(take(&mut keys, now).as_deref(), Some("a"));
    }

    #[test]
    fn a_delayed_key_comes_at_the_earliest_time_asked_for() {
        let now = SystemClock.instant();
        let at = |seconds: u64| now + Duration::from_secs(seconds);
        let mut keys = Keys::default();
        keys.add_at(key("a"), at(10));
        keys.add_at(key("a"), at(5));
        keys.add_at(key("a"), at(20));
        keys.add_at(key("b"), at(7));
        assert_eq!((keys.next_due(), keys.release_due(at(4))), (Some(at(5)), 0));
        assert_eq!(
            (keys.release_due(at(5)), take(&mut keys, at(5)).as_deref()),
            (1, Some("a"))
        );
        keys.finish(&key("a"));
        assert_eq!(
            (keys.release_due(at(100)), take(&mut keys, at(100)).as_deref()),
            (1, Some("b"))
        );
        assert_eq!((keys.next_due(), take(&mut keys, at(100))), (None, None));
    }

    #[test]
    fn waiting_counts_from_the_first_add() {
        let now = SystemClock.instant();
        let mut keys = Keys::default();
        keys.add(key("a"), Priority::Resync, now);
        keys.add(key("a"), Priority::Live, now + Duration::from_secs(1));
        let taken = keys.take(now + Duration::from_secs(3)).unwrap();
        assert_eq!(taken.waited, Duration::from_secs(3));
        assert_eq!(keys.working_since().collect::<Vec<_>>(), [now + Duration::from_secs(3)]);
    }

    #[derive(Clone, Debug)]
    enum Move {
        Add(u8, Priority),
        AddAt(u8, u64),
        Pass(u64),
        Take,
        Finish(u8),
    }

    fn moves() -> impl Strategy<Value = Vec<Move>> {
        let one = prop_oneof![
            (0..4_u8, prop_oneof![Just(Priority::Live), Just(Priority::Resync)]).prop_map(|(key, p)| Move::Add(key, p)),
            (0..4_u8, 0..9_u64).prop_map(|(key, wait)| Move::AddAt(key, wait)),
            (0..5_u64).prop_map(Move::Pass),
            Just(Move::Take),
            (0..4_u8).prop_map(Move::Finish),
        ];
        prop::collection::vec(one, 0..60)
    }

    proptest! {
        // proves: deployment/C-2, job/J-2
        #[test]
        fn no_key_is_worked_on_twice_at_once_and_no_add_is_lost(moves in moves()) {
            let mut now = SystemClock.instant();
            let mut keys = Keys::default();
            let mut owed: HashSet<ObjectKey> = HashSet::new();
            let mut later: HashSet<ObjectKey> = HashSet::new();
            let mut working: HashSet<ObjectKey> = HashSet::new();
            for step in moves {
                match step {
                    Move::Add(name, priority) => {
                        keys.add(key(&name.to_string()), priority, now);
                        owed.insert(key(&name.to_string()));
                    }
                    Move::AddAt(name, wait) => {
                        keys.add_at(key(&name.to_string()), now + Duration::from_secs(wait));
                        later.insert(key(&name.to_string()));
                    }
                    Move::Pass(seconds) => now += Duration::from_secs(seconds),
                    Move::Take => {
                        keys.release_due(now);
                        if let Some(taken) = keys.take(now) {
                            prop_assert!(working.insert(taken.key.clone()), "{} is worked on twice", taken.key);
                            prop_assert!(owed.remove(&taken.key) | later.contains(&taken.key));
                        }
                    }
                    Move::Finish(name) => {
                        let known = working.remove(&key(&name.to_string()));
                        prop_assert_eq!(keys.finish(&key(&name.to_string())).is_some(), known);
                    }
                }
            }
            for key in working.drain() {
                keys.finish(&key);
            }
            keys.release_due(now + Duration::from_secs(10));
            while let Some(taken) = keys.take(now) {
                owed.remove(&taken.key);
                keys.finish(&taken.key);
            }
            prop_assert!(owed.is_empty(), "lost: {owed:?}");
            prop_assert_eq!((keys.depth(), keys.next_due()), (0, None));
        }
    }
}
