//! What has become of writes whose answers were lost: asked of the server before the owner's next turn.

use std::iter;

use crate::act::Executor;
use crate::act::live::Stored;
use crate::doubts::Effect;
use crate::mistake::{Mistake, made};
use crate::outcome::Failure;
use crate::plan::Target;
use crate::workload::LiveRead;

/// What the server says about a write in doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Proof {
    /// It was applied; the cache will show it, or has shown it.
    Applied,
    /// It was not, so far.
    NotApplied,
}

impl Executor {
    /// Looks up what is in doubt for `owner`, one by one: a server that does not answer is not asked for the rest. What was
    /// applied stays awaited until the cache shows it; what was not is no longer awaited. What cannot be looked up stays in
    /// doubt.
    pub async fn resolve_doubts(&self, owner: &Target) -> Result<(), Failure> {
        if made(Mistake::DoubtsNotLookedUp) {
            return Ok(());
        }
        let mut doubts = self.ledger.take_doubts(&owner.key, self.clock.instant()).into_iter();
        while let Some(doubt) = doubts.next() {
            match self.live.read(&doubt.address).await {
                Ok(answer) => {
                    if proof(&doubt.effect, &answer, owner) == Proof::NotApplied {
                        self.ledger.not_applied(&owner.key, doubt);
                    }
                }
                Err(failure) => {
                    iter::once(doubt)
                        .chain(doubts)
                        .for_each(|doubt| self.ledger.in_doubt(&owner.key, doubt));
                    return Err(failure);
                }
            }
        }
        Ok(())
    }
}

fn proof(effect: &Effect, answer: &LiveRead, owner: &Target) -> Proof {
    let found = match answer {
        LiveRead::Found(object) => serde_json::from_slice::<Stored>(object).ok(),
        LiveRead::Missing => None,
    };
    let applied = match (effect, found) {
        (Effect::Create, found) => found.is_some_and(|object| object.metadata.is_controlled_by(&owner.uid)),
        (Effect::Delete(uid), Some(object)) => {
            object.metadata.uid() != *uid || object.metadata.deletion_timestamp.is_some()
        }
        (Effect::Delete(_), None) => true,
    };
    if applied { Proof::Applied } else { Proof::NotApplied }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::Duration;

    use serde_json::{Value, json};

    use crate::act::tests::{Answer, World, classes, delete, object, owner, pods, refusal, settlement, world};
    use crate::doubts::LATE;
    use crate::expectations::Settlement;
    use crate::lease::Fence;
    use crate::outcome::FailureClass;
    use crate::plan::Stage;

    /// A server that answers no write until it is back; then it creates what is asked for, and answers reads by `read`.
    struct Outage {
        world: World,
        is_over: Arc<AtomicBool>,
    }

    fn outage(read: Value) -> Outage {
        let is_over = Arc::new(AtomicBool::new(false));
        let back = Arc::clone(&is_over);
        let world = world(Fence::open(), move |_, seen| {
            if !back.load(Ordering::SeqCst) {
                Answer::Broken
            } else if !seen.line.starts_with("GET") {
                object("p1", "9")
            } else if read.is_null() {
                refusal(404, "NotFound")
            } else {
                Answer::Status(200, read.clone())
            }
        });
        Outage { world, is_over }
    }

    impl Outage {
        /// The server comes back, and the owner's next turn begins.
        async fn ends(&self) {
            self.is_over.store(true, Ordering::SeqCst);
            self.world.executor.resolve_doubts(&owner()).await.unwrap();
        }

        fn is_settled(&self) -> bool {
            settlement(&self.world) == Settlement::Settled
        }
    }

    fn pod(owner: &str) -> Value {
        let owner = json!([{"uid": owner, "controller": true}]);
        json!({"metadata": {"uid": "p1", "resourceVersion": "9", "ownerReferences": owner}})
    }

    // proves: deployment/C-24
    #[tokio::test(start_paused = true)]
    async fn a_create_that_was_not_applied_is_repeated_under_its_name_as_soon_as_the_server_is_back() {
        let outage = outage(Value::Null);
        outage.world.run(vec![Stage::Create(pods(1))]).await;
        assert!(!outage.is_settled());
        outage.ends().await;
        assert!(outage.is_settled());
        let asked = outage.world.lines().len();
        let outcome = outage.world.run(vec![Stage::Create(pods(2))]).await;
        assert_eq!(classes(&outcome), []);
        let name = |at: usize| outage.world.body(at)["metadata"]["name"].clone();
        assert_eq!(name(asked), name(0));
        assert_ne!(name(asked + 1), name(0), "a name is used once");
    }

    // proves: deployment/C-21, deployment/C-25
    #[tokio::test(start_paused = true)]
    async fn a_create_that_was_applied_stays_awaited_until_a_cache_shows_it() {
        let outage = outage(pod("o1"));
        outage.world.run(vec![Stage::Create(pods(1))]).await;
        outage.ends().await;
        assert!(!outage.is_settled());
    }

    #[tokio::test(start_paused = true)]
    async fn somebody_elses_object_under_the_name_is_not_awaited() {
        let outage = outage(pod("another"));
        outage.world.run(vec![Stage::Create(pods(1))]).await;
        outage.ends().await;
        assert!(outage.is_settled());
    }

    // proves: deployment/C-24
    #[tokio::test(start_paused = true)]
    async fn a_delete_is_awaited_only_if_the_object_is_on_its_way_out() {
        let alive = pod("o1");
        let mut terminating = pod("o1");
        terminating["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        let mut reborn = pod("o1");
        reborn["metadata"]["uid"] = "p2".into();
        for (stored, settled) in [
            (alive, true),
            (terminating, false),
            (reborn, false),
            (Value::Null, false),
        ] {
            let outage = outage(stored.clone());
            outage.world.run(vec![Stage::Delete(vec![delete("a", "p1")])]).await;
            assert!(!outage.is_settled());
            outage.ends().await;
            assert_eq!(outage.is_settled(), settled, "{stored}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_doubt_that_cannot_be_looked_up_stays_and_the_others_are_not_tried() {
        let outage = outage(Value::Null);
        outage.world.run(vec![Stage::Create(pods(2))]).await;
        let asked = outage.world.lines().len();
        let failure = outage.world.executor.resolve_doubts(&owner()).await.unwrap_err();
        assert_eq!(failure.class, FailureClass::Unknown);
        assert_eq!(outage.world.lines().len(), asked + 1);
        assert!(!outage.is_settled());
        outage.ends().await;
        assert!(outage.is_settled());
    }

    /// A refusal of the create by the name that is in doubt proves nothing about the one before, but neither does it put
    /// itself in doubt.
    // proves: deployment/C-24
    #[tokio::test(start_paused = true)]
    async fn a_refused_repetition_means_what_it_says_and_the_name_is_kept_for_a_minute_after_the_first() {
        let slow_down = json!({"message": "slow down", "details": {"retryAfterSeconds": 30}});
        let phase = Arc::new(AtomicUsize::new(0));
        let now = Arc::clone(&phase);
        let world = world(Fence::open(), move |_, seen| match now.load(Ordering::SeqCst) {
            0 => Answer::Broken,
            _ if seen.line.starts_with("GET") => refusal(404, "NotFound"),
            1 => Answer::Status(429, slow_down.clone()),
            2 => refusal(403, "Forbidden"),
            _ => object("p1", "9"),
        });
        world.run(vec![Stage::Create(pods(1))]).await;
        let throttled = FailureClass::Throttled(Some(Duration::from_secs(30)));
        for (at, expected) in [(1, throttled), (2, FailureClass::Rejected)] {
            phase.store(at, Ordering::SeqCst);
            world.executor.resolve_doubts(&owner()).await.unwrap();
            let before = world.lines().len();
            let outcome = world.run(vec![Stage::Create(pods(1))]).await;
            assert_eq!(classes(&outcome), [expected]);
            assert_eq!(world.lines().len(), before + 1);
            assert_eq!(
                world.body(before)["metadata"]["name"],
                world.body(0)["metadata"]["name"]
            );
            assert_eq!(settlement(&world), Settlement::Settled);
        }
        let before = world.lines().len();
        world.executor.resolve_doubts(&owner()).await.unwrap();
        assert_eq!(world.lines().len(), before, "nothing new is in doubt");
        tokio::time::advance(LATE + Duration::from_secs(1)).await;
        phase.store(3, Ordering::SeqCst);
        world.run(vec![Stage::Create(pods(1))]).await;
        assert_ne!(
            world.body(before)["metadata"]["name"],
            world.body(0)["metadata"]["name"]
        );
    }

    // proves: deployment/C-24
    #[tokio::test(start_paused = true)]
    async fn a_server_that_answers_is_asked_once() {
        for (code, expected) in [
            (429, FailureClass::Throttled(None)),
            (502, FailureClass::Unknown),
            (503, FailureClass::Transient),
            (504, FailureClass::Unknown),
        ] {
            let world = world(Fence::open(), move |_, _| refusal(code, "x"));
            for stage in [Stage::Create(pods(1)), Stage::Delete(vec![delete("a", "p1")])] {
                let before = world.lines().len();
                assert_eq!(classes(&world.run(vec![stage]).await), [expected]);
                assert_eq!(world.lines().len(), before + 1, "{code}");
            }
        }
    }
}
