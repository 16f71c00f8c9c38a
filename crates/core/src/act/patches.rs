//! Patches of existing objects: in order, all at once, or each before a removal.

use futures::future::join_all;

use crate::act::executor::{Then, Turn, stored};
use crate::outcome::{Failure, FailureClass, Receipt, Verb};
use crate::plan::{Departure, Note, Patch, Target};

impl Turn<'_> {
    pub(super) async fn patch_in_order(&mut self, patches: Vec<Patch>) -> Then {
        for Patch {
            target,
            form,
            body,
            note,
        } in patches
        {
            let result = self.send_patch(&target, "", form, body).await;
            if self.settle(Verb::Patch, &target, stored(result)) == Then::Stop {
                return Then::Stop;
            }
            if let Some(note) = note {
                self.say(note);
            }
        }
        Then::GoOn
    }

    /// Whatever becomes of the patches, the plan goes on.
    pub(super) async fn patch_each(&mut self, patches: Vec<Patch>) -> Then {
        let results = join_all(patches.iter().map(|patch| self.patch_one(patch))).await;
        for (patch, result) in patches.into_iter().zip(results) {
            self.patched(&patch.target, patch.note, result);
        }
        Then::GoOn
    }

    pub(super) async fn depart(&mut self, departures: Vec<Departure>) -> Then {
        let sent = departures.iter().map(async |departure| {
            let patched = self.patch_one(&departure.patch).await;
            let removed = match &patched {
                Ok(_) => Some(self.delete_one(&departure.delete).await),
                Err(_) => None,
            };
            (patched, removed)
        });
        let results = join_all(sent).await;
        let mut then = Then::GoOn;
        for (Departure { patch, delete }, (patched, removed)) in departures.into_iter().zip(results) {
            then = then.and(self.patched(&patch.target, patch.note, patched));
            if let Some(removed) = removed {
                then = then.and(self.removed(Verb::Delete, delete, removed));
            }
        }
        then
    }

    /// An object that is gone, or another one by now, needs no patch.
    async fn patch_one(&self, patch: &Patch) -> Result<Receipt, Failure> {
        let sent = self.send_patch(&patch.target, "", patch.form, patch.body.clone()).await;
        match stored(sent) {
            Err(failure) if matches!(failure.class, FailureClass::Missing | FailureClass::Replaced) => {
                Ok(Receipt::Gone)
            }
            other => other,
        }
    }

    fn patched(&mut self, target: &Target, note: Option<Note>, result: Result<Receipt, Failure>) -> Then {
        let applied = matches!(result, Ok(Receipt::Stored { .. }));
        let then = self.settle(Verb::Patch, target, result);
        if let Some(note) = note.filter(|_| applied) {
            self.say(note);
        }
        then
    }
}
