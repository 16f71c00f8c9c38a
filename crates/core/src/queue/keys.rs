//! Which keys wait, which are being worked on, which will be due later: the queue without tasks and clocks.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use crate::id::ObjectKey;

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
    live: VecDeque<Entry>,
    resync: VecDeque<Entry>,
    places: HashMap<ObjectKey, Place>,
    delayed: BTreeMap<(Instant, Ticket), ObjectKey>,
    due: HashMap<ObjectKey, (Instant, Ticket)>,
    last_ticket: Ticket,
}

/// Numbers that make entries unique; an entry whose ticket is not the one of its key's place is void.
type Ticket = u64;

#[derive(Debug)]
struct Entry {
    ticket: Ticket,
    key: ObjectKey,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    InLine { ticket: Ticket, added: Added },
    Taken { at: Instant, again: Option<Added> },
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
        match self.places.get_mut(&key) {
            None => {
                self.line_up(key, added);
                Addition::New
            }
            Some(Place::InLine { added: known, .. }) => {
                if known.priority < priority {
                    let raised = Added {
                        priority,
                        since: known.since,
                    };
                    self.line_up(key, raised);
                }
                Addition::Known
            }
            Some(Place::Taken { again: Some(known), .. }) => {
                known.priority = known.priority.max(priority);
                Addition::Known
            }
            Some(Place::Taken { again, .. }) => {
                *again = Some(added);
                Addition::New
            }
        }
    }

    /// Puts `key` in line at `at`, or at an earlier time for which it is already booked.
    pub fn add_at(&mut self, key: ObjectKey, at: Instant) {
        if let Some(&(booked, ticket)) = self.due.get(&key) {
            if booked <= at {
                return;
            }
            self.delayed.remove(&(booked, ticket));
        }
        let ticket = self.ticket();
        self.due.insert(key.clone(), (at, ticket));
        self.delayed.insert((at, ticket), key);
    }

    /// Puts the keys in line whose time has come, and says how many were not there already.
    pub fn release_due(&mut self, now: Instant) -> usize {
        let mut new = 0;
        while let Some(entry) = self.delayed.first_entry().filter(|entry| entry.key().0 <= now) {
            let key = entry.remove();
            self.due.remove(&key);
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
            let Some(place) = self.places.get_mut(&key) else {
                continue;
            };
            let Place::InLine { ticket: valid, added } = *place else {
                continue;
            };
            if valid == ticket {
                *place = Place::Taken { at: now, again: None };
                let waited = now.saturating_duration_since(added.since);
                return Some(Taken { key, waited });
            }
        }
        None
    }

    /// Work on `key` has ended. Says when it began; `None` if the key was not worked on.
    pub fn finish(&mut self, key: &ObjectKey) -> Option<Instant> {
        let Some(&Place::Taken { at, again }) = self.places.get(key) else {
            return None;
        };
        self.places.remove(key);
        if let Some(added) = again {
            self.line_up(key.clone(), added);
        }
        Some(at)
    }

    /// How many keys wait to be worked on, those included that are worked on now and come back.
    pub fn depth(&self) -> usize {
        let waits = |place: &&Place| !matches!(place, Place::Taken { again: None, .. });
        self.places.values().filter(waits).count()
    }

    /// True if a key is in line.
    pub fn is_ready(&self) -> bool {
        self.places.values().any(|place| matches!(place, Place::InLine { .. }))
    }

    /// Since when each key that is worked on has been.
    pub fn taken(&self) -> impl Iterator<Item = Instant> {
        self.places.values().filter_map(|place| match place {
            Place::Taken { at, .. } => Some(*at),
            Place::InLine { .. } => None,
        })
    }

    fn line_up(&mut self, key: ObjectKey, added: Added) {
        let ticket = self.ticket();
        self.places.insert(key.clone(), Place::InLine { ticket, added });
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
