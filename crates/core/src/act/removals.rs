//! Removals: deletes, at once or after all that is owned, and evictions, which are deletes that a disruption budget can refuse.

use std::time::Duration;

use futures::future::join_all;
use http::Method;

use crate::act::body;
use crate::act::classify::Asked;
use crate::act::executor::{Then, Turn, stored};
use crate::act::live::{Call, Content, JSON, Sent, object_path};
use crate::doubts::Effect;
use crate::id::ResourceVersion;
use crate::outcome::{Failure, FailureClass, Receipt, Verb};
use crate::plan::{Address, Delete};

/// So many refusals in a row end a series: a budget that keeps these pods keeps the others too, most often.
const ENOUGH: usize = 10;
/// No eviction is begun later than this after the first of its series: others wait for the worker, and a process that is
/// asked to stop waits for the turn. What is left wakes its owner again, by the pods that go or by those that were refused.
const LONGEST_SERIES: Duration = Duration::from_secs(5);

/// The ways to remove an object.
#[derive(Clone, Copy)]
pub(super) enum Way {
    /// As the server does by default.
    Delete,
    /// After what it owns.
    Foreground,
    /// Unless a disruption budget forbids it.
    Evict,
}

impl Turn<'_> {
    pub(super) async fn delete_at_once(&mut self, way: Way, deletes: Vec<Delete>) -> Then {
        let sent = deletes.iter().map(|delete| self.remove(way, delete));
        let results = join_all(sent).await;
        let mut then = Then::GoOn;
        for (delete, result) in deletes.into_iter().zip(results) {
            then = then.and(self.removed(Verb::Delete, delete, result));
        }
        then
    }

    /// Evicts one after the other, in short series. What nobody answers, or what must not be sent, ends a series: the next
    /// one would fare no better. So do [`ENOUGH`] refusals in a row, those counted that are remembered from a moment ago: an
    /// owner that is woken before it is time to ask again sends nothing. Each series asks for other pods too than the one
    /// before, so that a pod which no budget protects goes although many before it stay.
    pub(super) async fn evict_in_order(&mut self, evictions: Vec<Delete>) -> Then {
        let begin = self.executor.clock.instant();
        let (mut then, mut in_a_row) = (Then::GoOn, 0);
        for eviction in self.executor.refusals.in_order(evictions, begin) {
            let result = self.evict(&eviction).await;
            let hopeless = result
                .as_ref()
                .is_err_and(|failure| matches!(failure.class, FailureClass::Unknown | FailureClass::Fenced));
            in_a_row = match &result {
                Ok(Receipt::Protected { .. }) => in_a_row + 1,
                Ok(Receipt::Stored { .. } | Receipt::Gone) => 0,
                Err(_) => in_a_row,
            };
            then = then.and(self.removed(Verb::Evict, eviction, result));
            let took = self.executor.clock.instant().saturating_duration_since(begin);
            if hopeless || in_a_row >= ENOUGH || took >= LONGEST_SERIES {
                break;
            }
        }
        then
    }

    /// A pod that was refused a moment ago is not asked for: its owner may be woken by much else before the time has come.
    async fn evict(&self, eviction: &Delete) -> Result<Receipt, Failure> {
        let (refusals, clock, uid) = (&self.executor.refusals, &self.executor.clock, &eviction.target.uid);
        if let Some(protected) = refusals.still(uid, clock.instant()) {
            return Ok(protected);
        }
        match self.remove(Way::Evict, eviction).await {
            Err(failure) if failure.class == FailureClass::Protected => {
                Ok(refusals.remember(uid, failure.message, clock.instant()))
            }
            result => result,
        }
    }

    /// Sends a delete.
    pub(super) async fn delete_one(&self, delete: &Delete) -> Result<Receipt, Failure> {
        self.remove(Way::Delete, delete).await
    }

    pub(super) fn removed(&mut self, verb: Verb, delete: Delete, result: Result<Receipt, Failure>) -> Then {
        let stored = matches!(result, Ok(Receipt::Stored { .. }));
        let then = self.settle(verb, &delete.target, result);
        if let Some(note) = delete.note.filter(|_| stored) {
            self.say(note);
        }
        then
    }

    /// Sends a removal; repeating it is harmless because it names the uid.
    async fn remove(&self, way: Way, delete: &Delete) -> Result<Receipt, Failure> {
        let target = &delete.target;
        let ledger = &self.executor.ledger;
        let call = way.call(delete, self.version_of(target))?;
        ledger.deleting(&self.owner.key, &target.uid, self.executor.clock.instant());
        let Sent { result, in_doubt } = self.executor.live.write_repeatedly(call).await;
        match result {
            // Kinds that do not return the deleted object, and evictions, answer with a bare Status.
            Ok(reply) => stored(Ok(reply)).or_else(|_| {
                Ok(Receipt::Stored {
                    uid: target.uid.clone(),
                    version: target.version.clone(),
                })
            }),
            Err(failure) if matches!(failure.class, FailureClass::Missing | FailureClass::Replaced) => {
                ledger.not_deleted(&target.uid);
                Ok(Receipt::Gone)
            }
            // An attempt whose answer was lost may have been applied, whatever came of the next.
            Err(failure) if in_doubt => {
                let address = Address {
                    kind: target.kind,
                    key: target.key.clone(),
                };
                self.doubt(address, Effect::Delete(target.uid.clone()));
                Err(Failure::new(FailureClass::Unknown, failure.message))
            }
            Err(failure) => {
                ledger.not_deleted(&target.uid);
                Err(failure)
            }
        }
    }
}

impl Way {
    fn call(self, delete: &Delete, version: &ResourceVersion) -> Result<Call, Failure> {
        let Delete { target, guard, .. } = delete;
        let path = object_path(target.kind, &target.key);
        let (asked, method, path, body) = match self {
            Self::Delete => {
                let body = body::delete(&target.uid, version, *guard);
                (Asked::Existing, Method::DELETE, path, body)
            }
            Self::Foreground => {
                let body = body::delete_foreground(&target.uid, version, *guard);
                (Asked::Existing, Method::DELETE, path, body)
            }
            Self::Evict => {
                let body = body::eviction(&target.key.name, &target.uid, version, *guard);
                (Asked::Eviction, Method::POST, format!("{path}/eviction"), body)
            }
        };
        Ok(Call {
            asked,
            method,
            path,
            content_type: JSON,
            content: Content::Bytes(body::to_bytes(&body)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::act::tests::{Answer, Seen, World, classes, delete, object, refusal, settlement, world};
    use crate::expectations::Settlement;
    use crate::id::{Kind, ObjectKey};
    use crate::lease::Fence;
    use crate::outcome::Outcome;
    use crate::plan::Stage;
    use serde_json::json;

    /// A script by the last but one part of the path, which is the pod of an eviction.
    fn pod_of(seen: &Seen) -> &str {
        seen.line.rsplit('/').nth(1).unwrap()
    }

    fn no_budget() -> Answer {
        let cause = json!({"reason": "DisruptionBudget", "message": "The disruption budget web needs 3 healthy pods."});
        let body = json!({"message": "Cannot evict pod.", "reason": "TooManyRequests", "details": {"causes": [cause]}});
        Answer::Status(429, body)
    }

    // proves: deployment/L-4
    #[tokio::test(start_paused = true)]
    async fn a_refused_eviction_is_no_failure_and_the_next_ones_are_tried() {
        let world = world(Fence::open(), |_, seen| match pod_of(seen) {
            "guarded" => no_budget(),
            "gone" => refusal(404, "NotFound"),
            "denied" => refusal(403, "Forbidden"),
            _ => Answer::Status(201, json!({"kind": "Status", "status": "Success"})),
        });
        let pods = [("guarded", "1"), ("gone", "2"), ("denied", "3"), ("free", "4")];
        let outcome = world
            .run(vec![Stage::Evict(
                pods.iter().map(|(name, uid)| delete(name, uid)).collect(),
            )])
            .await;
        let lines = pods.map(|(name, _)| format!("POST /api/v1/namespaces/shop/pods/{name}/eviction"));
        assert_eq!(world.lines(), lines);
        assert_eq!(
            world.body(3),
            json!({
                "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "free"},
                "deleteOptions": {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "4"}},
            })
        );
        assert_eq!(classes(&outcome), [FailureClass::Rejected]);
        let words = "Cannot evict pod. The disruption budget web needs 3 healthy pods.".to_owned();
        let again_in = Duration::from_secs(10);
        let results: Vec<_> = outcome
            .attempts
            .into_iter()
            .map(|attempt| attempt.result.ok())
            .collect();
        assert_eq!(results[0], Some(Receipt::Protected { words, again_in }));
        assert_eq!(results[1], Some(Receipt::Gone));
        assert!(matches!(settlement(&world), Settlement::Unsettled { awaited: 1, .. }));
    }

    // proves: deployment/L-4
    #[tokio::test(start_paused = true)]
    async fn a_protected_pod_is_asked_for_every_ten_seconds_and_deleted_at_any_time() {
        let world = world(Fence::open(), |_, seen| {
            if seen.line.ends_with("/eviction") {
                no_budget()
            } else {
                object("p", "9")
            }
        });
        let evict = || vec![Stage::Evict(vec![delete("guarded", "1")])];
        world.run(evict()).await;
        tokio::time::advance(Duration::from_secs(9)).await;
        let outcome = world.run(evict()).await;
        let again_in = |outcome: &Outcome| match &outcome.attempts[0].result {
            Ok(Receipt::Protected { again_in, .. }) => again_in.as_secs(),
            other => panic!("{other:?}"),
        };
        assert_eq!((world.lines().len(), again_in(&outcome)), (1, 1));
        tokio::time::advance(Duration::from_secs(1)).await;
        let outcome = world.run(evict()).await;
        assert_eq!((world.lines().len(), again_in(&outcome)), (2, 10));
        let outcome = world.run(vec![Stage::Delete(vec![delete("guarded", "1")])]).await;
        assert!(outcome.applied(Verb::Delete, Kind::POD, &ObjectKey::new("shop", "guarded")));
    }

    /// The evictions of so many pods.
    fn old_pods(count: usize) -> Vec<Stage> {
        let pod = |at: usize| delete(&at.to_string(), &at.to_string());
        vec![Stage::Evict((0..count).map(pod).collect())]
    }

    fn asked(world: &World) -> Vec<String> {
        let lines = world.lines();
        lines
            .iter()
            .map(|line| line.rsplit('/').nth(1).unwrap().to_owned())
            .collect()
    }

    // proves: deployment/L-4
    #[tokio::test(start_paused = true)]
    async fn ten_refusals_in_a_row_end_a_series_and_an_owner_woken_early_sends_nothing() {
        let world = world(Fence::open(), |_, _| no_budget());
        let outcome = world.run(old_pods(500)).await;
        assert_eq!((asked(&world).len(), outcome.attempts.len()), (10, 10));
        for _ in 0..3 {
            tokio::time::advance(Duration::from_secs(3)).await;
            let outcome = world.run(old_pods(500)).await;
            assert_eq!((asked(&world).len(), outcome.attempts.len()), (10, 10));
        }
        tokio::time::advance(Duration::from_secs(1)).await;
        world.run(old_pods(500)).await;
        assert_eq!(
            asked(&world)[10..],
            ["0", "1", "2", "3", "4", "10", "11", "12", "13", "14"]
        );
    }

    // proves: deployment/L-4
    #[tokio::test(start_paused = true)]
    async fn a_pod_that_may_go_goes_although_many_before_it_stay() {
        let world = world(Fence::open(), |_, seen| match pod_of(seen) {
            "499" => Answer::Status(201, json!({"kind": "Status", "status": "Success"})),
            _ => no_budget(),
        });
        let mut rounds = 0;
        while !asked(&world).contains(&"499".to_owned()) {
            rounds += 1;
            assert!(rounds < 100, "never asked for");
            world.run(old_pods(500)).await;
            tokio::time::advance(Duration::from_secs(10)).await;
        }
        assert!(asked(&world).len() <= (rounds + 1) * ENOUGH);
    }

    // proves: deployment/L-4
    #[tokio::test(start_paused = true)]
    async fn a_series_does_not_keep_its_worker_for_long() {
        let world = world(Fence::open(), |_, _| {
            Answer::Late(Duration::from_secs(1), json!({"kind": "Status", "status": "Success"}))
        });
        let outcome = world.run(old_pods(500)).await;
        assert_eq!((asked(&world).len(), classes(&outcome)), (5, Vec::new()));
    }

    // proves: deployment/L-4, deployment/C-24
    #[tokio::test(start_paused = true)]
    async fn where_nobody_answers_one_eviction_is_tried() {
        let world = world(Fence::open(), |_, _| Answer::Broken);
        let outcome = world
            .run(vec![Stage::Evict(vec![delete("a", "1"), delete("b", "2")])])
            .await;
        assert_eq!(classes(&outcome), [FailureClass::Unknown]);
        assert_eq!(world.lines().len(), 3, "all for the first pod");
        assert!(matches!(settlement(&world), Settlement::Unsettled { awaited: 1, .. }));
    }
}
