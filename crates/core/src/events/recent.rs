//! A map that forgets what has not been used for the longest time.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// At most `capacity` entries.
#[derive(Debug)]
pub(super) struct Recent<K, V> {
    capacity: usize,
    entries: HashMap<K, Slot<V>>,
    by_use: BTreeMap<u64, K>,
    uses: u64,
}

#[derive(Debug)]
struct Slot<V> {
    used: u64,
    value: V,
}

impl<K: Hash + Eq + Clone, V> Recent<K, V> {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self {
            capacity,
            entries: HashMap::new(),
            by_use: BTreeMap::new(),
            uses: 0,
        }
    }

    /// The value under `key`, made by `new` if there is none.
    pub(super) fn entry(&mut self, key: &K, new: impl FnOnce() -> V) -> &mut V {
        self.uses += 1;
        let used = self.uses;
        self.by_use.insert(used, key.clone());
        match self.entries.get(key) {
            Some(slot) => {
                self.by_use.remove(&slot.used);
            }
            None if self.entries.len() >= self.capacity => {
                if let Some((_, oldest)) = self.by_use.pop_first() {
                    self.entries.remove(&oldest);
                }
            }
            None => {}
        }
        let slot = self
            .entries
            .entry(key.clone())
            .or_insert_with(|| Slot { used, value: new() });
        slot.used = used;
        &mut slot.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entry_unused_for_longest_makes_room() {
        let mut recent = Recent::with_capacity(2);
        *recent.entry(&"a", || 0) += 1;
        *recent.entry(&"b", || 0) += 1;
        *recent.entry(&"a", || 0) += 1;
        *recent.entry(&"c", || 0) += 1;
        assert_eq!(*recent.entry(&"a", || 0), 2, "kept");
        assert_eq!(*recent.entry(&"b", || 0), 0, "forgotten");
        assert_eq!((recent.entries.len(), recent.by_use.len()), (2, 2));
    }
}
