//! What is due when.

use std::collections::BTreeMap;

use super::clock::Moment;

/// Events in the order of their times; of those due at one time, the one that was put in first comes first.
#[derive(Debug)]
pub(super) struct Agenda<E> {
    due: BTreeMap<(Moment, u64), E>,
    last: u64,
}

impl<E> Agenda<E> {
    pub(super) fn put(&mut self, at: Moment, event: E) {
        self.last += 1;
        self.due.insert((at, self.last), event);
    }

    /// When the next event is due.
    pub(super) fn next(&self) -> Option<Moment> {
        self.due.keys().next().map(|(at, _)| *at)
    }

    /// The next event that is due by `now`.
    pub(super) fn pop(&mut self, now: Moment) -> Option<E> {
        let first = self.due.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(first.remove())
    }
}

impl<E> Default for Agenda<E> {
    fn default() -> Self {
        Self {
            due: BTreeMap::new(),
            last: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_the_order_of_their_times_and_then_of_their_arrival() {
        let at = Moment::from_millis;
        let mut agenda = Agenda::default();
        agenda.put(at(5), "c");
        agenda.put(at(1), "a");
        agenda.put(at(1), "b");
        assert_eq!(agenda.next(), Some(at(1)));
        assert_eq!(
            (agenda.pop(at(4)), agenda.pop(at(4)), agenda.pop(at(4))),
            (Some("a"), Some("b"), None)
        );
        assert_eq!(agenda.pop(at(5)), Some("c"));
    }
}
