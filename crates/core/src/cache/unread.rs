//! Objects of which nothing is known but that they are there and who controls them: those that could not be decoded and of
//! which no earlier copy is stored.

use std::collections::{HashMap, HashSet};

use crate::id::{ObjectKey, Uid};

/// Keys of such objects, each with its controller.
#[derive(Debug, Default)]
pub(super) struct Unread {
    controllers: HashMap<ObjectKey, Uid>,
    counts: HashMap<Uid, usize>,
}

impl Unread {
    /// Takes one in. Of one that nobody controls nobody has to know.
    pub(super) fn put(&mut self, key: &ObjectKey, controller: Option<&Uid>) {
        self.take(key);
        if let Some(controller) = controller {
            self.controllers.insert(key.clone(), controller.clone());
            *self.counts.entry(controller.clone()).or_default() += 1;
        }
    }

    /// It is gone, or could be decoded.
    pub(super) fn take(&mut self, key: &ObjectKey) {
        let Some(controller) = self.controllers.remove(key) else {
            return;
        };
        if let Some(count) = self.counts.get_mut(&controller) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&controller);
            }
        }
    }

    /// What is not `present` on the server is gone.
    pub(super) fn retain(&mut self, present: &HashSet<ObjectKey>) {
        let gone: Vec<ObjectKey> = self
            .controllers
            .keys()
            .filter(|key| !present.contains(*key))
            .cloned()
            .collect();
        for key in &gone {
            self.take(key);
        }
    }

    /// How many this owner controls.
    pub(super) fn of(&self, owner: &Uid) -> usize {
        self.counts.get(owner).copied().unwrap_or_default()
    }
}
