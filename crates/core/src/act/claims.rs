//! Adoptions and releases (deployment C-11…C-15).

use http::Method;
use serde_json::Value;

use crate::act::body;
use crate::act::classify::Asked;
use crate::act::executor::{Then, Turn, stored};
use crate::act::live::{Call, Content, STRATEGIC, Stored};
use crate::mistake::{Mistake, made};
use crate::outcome::{Failure, FailureClass, Receipt, Verb};
use crate::plan::{Address, Claim, ClaimChange, Target};
use crate::workload::LiveRead;

impl Turn<'_> {
    /// Tries every claim; one that fails does not keep the others from being tried, but ends the plan (C-15).
    pub(super) async fn claim(&mut self, claims: Vec<Claim>) -> Then {
        let mut may_adopt: Option<Result<(), Failure>> = None;
        let mut then = Then::GoOn;
        for Claim {
            child,
            change,
            finalizer,
        } in claims
        {
            let (verb, result) = match change {
                ClaimChange::Release(owner) => (
                    Verb::Release,
                    released(
                        self.send_claim(&child, body::release(&child.uid, &owner, finalizer))
                            .await,
                    ),
                ),
                ClaimChange::Adopt(owner) => {
                    if may_adopt.is_none() {
                        may_adopt = Some(self.owner_is_fit().await);
                    }
                    let patch = body::adopt(&child.uid, &owner, finalizer);
                    let result = match may_adopt.clone() {
                        Some(Err(unfit)) => Err(unfit),
                        Some(Ok(())) | None => adopted(self.send_claim(&child, patch).await),
                    };
                    (Verb::Adopt, result)
                }
            };
            then = then.and(self.settle(verb, &child, result));
        }
        then
    }

    /// The owner as the server has it now: the same one, and not being deleted (C-12).
    async fn owner_is_fit(&self) -> Result<(), Failure> {
        if made(Mistake::OwnersNotLookedUp) {
            return Ok(());
        }
        let unfit = |why: &str| {
            Failure::new(
                FailureClass::OwnerUnfit,
                format!("{} {} {why}", self.owner.kind, self.owner.key),
            )
        };
        let address = Address {
            kind: self.owner.kind,
            key: self.owner.key.clone(),
        };
        let LiveRead::Found(object) = self.executor.live.read(&address).await? else {
            return Err(unfit("no longer exists"));
        };
        let live: Stored =
            serde_json::from_slice(&object).map_err(|error| unfit(&format!("cannot be read: {error}")))?;
        if live.metadata.uid() != self.owner.uid {
            return Err(unfit("was replaced by another of the same name"));
        }
        match live.metadata.deletion_timestamp {
            Some(_) => Err(unfit("is being deleted")),
            None => Ok(()),
        }
    }

    async fn send_claim(&self, child: &Target, patch: Value) -> Result<Receipt, Failure> {
        let call = Call {
            asked: Asked::Existing,
            method: Method::PATCH,
            path: self.executor.live.object(child.kind, &child.key, ""),
            content_type: STRATEGIC,
            content: Content::Bytes(body::to_bytes(&patch)?),
        };
        stored(self.executor.live.write(call).await)
    }
}

/// A child that is gone cannot be adopted, which is nobody's fault: the plan goes on, and `conclude` sees it (C-13).
fn adopted(result: Result<Receipt, Failure>) -> Result<Receipt, Failure> {
    match result {
        Err(failure) if failure.class == FailureClass::Missing => Ok(Receipt::Gone),
        other => other,
    }
}

/// A child that is gone, or another one by now, no longer needs to be released (C-14).
fn released(result: Result<Receipt, Failure>) -> Result<Receipt, Failure> {
    match result {
        Err(failure)
            if matches!(
                failure.class,
                FailureClass::Missing | FailureClass::Replaced | FailureClass::Invalid
            ) =>
        {
            Ok(Receipt::Gone)
        }
        other => other,
    }
}
