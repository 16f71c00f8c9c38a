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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::act::tests::{Answer, Seen, classes, delete, object, pods, refusal, target, world};
    use crate::id::{Kind, ObjectKey};
    use crate::lease::Fence;
    use crate::outcome::{FailureClass, Receipt, Verb};
    use crate::plan::{Claim, ClaimChange, Departure, Patch, PatchForm, Stage};
    use crate::{id::Uid, owner::OwnerReference};

    fn release(name: &str) -> Patch {
        Patch {
            target: target(Kind::POD, name, "p", "7"),
            form: PatchForm::Metadata,
            body: json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/x"]}}),
            note: None,
        }
    }

    fn depart(name: &str) -> Departure {
        Departure {
            patch: release(name),
            delete: delete(name, "p"),
        }
    }

    /// Pods `denied` cannot be patched, `gone` are gone, `kept` cannot be deleted.
    fn answer(_: usize, seen: &Seen) -> Answer {
        let (verb, path) = seen.line.split_once(' ').unwrap();
        match (verb, path.rsplit('/').next().unwrap()) {
            ("PATCH", "denied") | ("DELETE", "kept") => refusal(403, "Forbidden"),
            (_, "gone") => refusal(404, "NotFound"),
            _ => object("p", "9"),
        }
    }

    // proves: job/J-43
    #[tokio::test(start_paused = true)]
    async fn patches_are_each_tried_and_the_plan_goes_on() {
        let world = world(Fence::open(), answer);
        let patches = ["denied", "gone", "live"].map(release).to_vec();
        let outcome = world.run(vec![Stage::PatchEach(patches), Stage::Create(pods(1))]).await;
        assert_eq!(classes(&outcome), [FailureClass::Rejected]);
        assert_eq!(world.lines().len(), 4, "three patches and a create");
        let applied = |name| outcome.applied(Verb::Patch, Kind::POD, &ObjectKey::new("shop", name));
        assert_eq!(["denied", "gone", "live"].map(applied), [false, true, true]);
        assert_eq!(outcome.attempts[1].result, Ok(Receipt::Gone));
        assert_eq!(
            world.body(2)["metadata"],
            json!({"uid": "p", "$deleteFromPrimitiveList/finalizers": ["example.com/x"]})
        );
    }

    // proves: job/J-52, job/J-91, job/J-93
    #[tokio::test(start_paused = true)]
    async fn what_cannot_be_patched_is_not_deleted() {
        let world = world(Fence::open(), answer);
        let departures = ["denied", "gone", "kept", "live"].map(depart).to_vec();
        let outcome = world.run(vec![Stage::Depart(departures), Stage::Create(pods(1))]).await;
        assert_eq!(classes(&outcome), [FailureClass::Rejected, FailureClass::Rejected]);
        let mut lines = world.lines();
        lines.sort_unstable();
        let pod = |name: &str| format!("/api/v1/namespaces/shop/pods/{name}");
        let expected = [
            ("DELETE", "gone"),
            ("DELETE", "kept"),
            ("DELETE", "live"),
            ("PATCH", "denied"),
            ("PATCH", "gone"),
            ("PATCH", "kept"),
            ("PATCH", "live"),
        ];
        assert_eq!(lines, expected.map(|(verb, name)| format!("{verb} {}", pod(name))));
        let deleted = |name| outcome.applied(Verb::Delete, Kind::POD, &ObjectKey::new("shop", name));
        assert_eq!(
            ["denied", "gone", "kept", "live"].map(deleted),
            [false, true, false, true]
        );
    }

    // proves: job/J-21, job/J-22
    #[tokio::test(start_paused = true)]
    async fn a_finalizer_comes_and_goes_with_the_ownership() {
        let world = world(Fence::open(), |_, _| object("o1", "9"));
        let claim = |change| Claim {
            child: target(Kind::POD, "a", "p", "7"),
            change,
            finalizer: Some("example.com/x"),
        };
        let owner = OwnerReference::controller(Kind::REPLICA_SET, "web", &Uid::new("o1"));
        let claims = vec![
            claim(ClaimChange::Release(Uid::new("o1"))),
            claim(ClaimChange::Adopt(owner)),
        ];
        world.run(vec![Stage::Claim(claims)]).await;
        let release: Value = json!({"uid": "p", "ownerReferences": [{"$patch": "delete", "uid": "o1"}],
            "$deleteFromPrimitiveList/finalizers": ["example.com/x"]});
        assert_eq!(world.body(0)["metadata"], release);
        assert_eq!(world.body(2)["metadata"]["finalizers"], json!(["example.com/x"]));
    }
}
