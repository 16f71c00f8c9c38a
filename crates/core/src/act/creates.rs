//! Creates: in batches with slow start, each under a name chosen here so that it can be repeated.

use std::sync::Arc;

use futures::future::join_all;
use http::Method;

use crate::act::classify::Asked;
use crate::act::executor::{Then, Turn, stored};
use crate::act::live::{Call, Content, JSON, Sent, Stored, is_unknown};
use crate::act::{names, slow_start};
use crate::doubts::{Doubt, Effect};
use crate::id::{Kind, ObjectKey};
use crate::mistake::{Mistake, made};
use crate::outcome::{Failure, FailureClass, Receipt, Verb};
use crate::plan::{Address, Create, NewName, Note};
use crate::workload::LiveRead;

impl Turn<'_> {
    /// Sends creates in batches of 1, 2, 4, …; none after a batch with a failure (deployment C-40). A namespace that is
    /// being deleted stops the rest too.
    pub(super) async fn create(&mut self, creates: Vec<Create>) -> Then {
        let mut left = creates.as_slice();
        for size in slow_start::batches(creates.len()) {
            let (batch, rest) = left.split_at_checked(size).unwrap_or((left, &[]));
            left = rest;
            let results = join_all(batch.iter().map(|create| self.create_one(create))).await;
            let mut then = Then::GoOn;
            for (create, (name, result)) in batch.iter().zip(results) {
                then = then.and(self.settle_create(create, &name, result));
            }
            if then == Then::Stop && !made(Mistake::SlowStartGoesOn) {
                return Then::Stop;
            }
        }
        Then::GoOn
    }

    fn settle_create(&mut self, create: &Create, name: &Arc<str>, result: Result<Receipt, Failure>) -> Then {
        let created = result.is_ok();
        let key = ObjectKey::new(Arc::clone(&create.namespace), Arc::clone(name));
        let then = self.settle_named(Verb::Create, create.kind, &key, result);
        if let Some(note) = create.note.as_ref().filter(|_| created) {
            self.say(named(note, name));
        }
        then
    }

    /// Creates one object, under another random name if the first belongs to somebody else. The name tried last comes back
    /// with the result.
    async fn create_one(&self, create: &Create) -> (Arc<str>, Result<Receipt, Failure>) {
        let (mut name, mut past) = self.first_name(create);
        for _ in 1..names::ATTEMPTS {
            let result = self.create_named(create, &name, past).await;
            let taken = result
                .as_ref()
                .is_err_and(|failure| failure.class == FailureClass::AlreadyExists);
            if !taken || matches!(create.name, NewName::Exact(_)) {
                return (name, result);
            }
            (name, past) = (names::choose(&create.name, &self.executor.chance), Past::None);
        }
        let result = self.create_named(create, &name, past).await;
        (name, result)
    }

    /// The name under which an earlier create may still arrive, if there is one: two creates under one name make one object.
    fn first_name(&self, create: &Create) -> (Arc<str>, Past) {
        let now = self.executor.clock.instant();
        let unborn = match &create.name {
            NewName::Random(_) if !made(Mistake::LostCreatesRenamed) => {
                self.executor.ledger.take_unborn(&self.owner.key, create.kind, now)
            }
            NewName::Random(_) | NewName::Exact(_) => None,
        };
        unborn.map_or_else(
            || (names::choose(&create.name, &self.executor.chance), Past::None),
            |doubt| (Arc::clone(&doubt.address.key.name), Past::AnswerLost(doubt)),
        )
    }

    /// Creates under exactly this name. If the name is taken although that may have been us, whoever controls the object says
    /// whether it is ours.
    async fn create_named(&self, create: &Create, name: &Arc<str>, past: Past) -> Result<Receipt, Failure> {
        let key = ObjectKey::new(Arc::clone(&create.namespace), Arc::clone(name));
        let (ledger, owner) = (&self.executor.ledger, &self.owner.key);
        let call = self.call(create, name);
        ledger.creating(owner, create.kind, &key, self.executor.clock.instant());
        let Sent { result, mut in_doubt } = self.executor.live.write_repeatedly(call).await;
        let mut result = stored(result);
        let is_taken = |failure: &Failure| failure.class == FailureClass::AlreadyExists;
        let may_be_ours = (in_doubt || past != Past::None) && !made(Mistake::OwnNamesDisowned);
        if may_be_ours && result.as_ref().is_err_and(is_taken) {
            result = self.ours(create.kind, &key).await;
            in_doubt = true;
        }
        in_doubt |= is_unknown(&result);
        match (result, past) {
            // A confirmed create is covered by its version (freshness); only one whose fate is unknown stays expected.
            (Err(failure), _) if in_doubt && !is_proof(&failure) => {
                self.doubt(Address { kind: create.kind, key }, Effect::Create);
                Err(Failure::new(FailureClass::Unknown, failure.message))
            }
            // This one was refused; the earlier one may still arrive.
            (Err(failure), Past::AnswerLost(doubt)) if !is_proof(&failure) => {
                ledger.not_applied(owner, doubt);
                Err(failure)
            }
            (result, _) => {
                ledger.create_settled(create.kind, &key);
                result
            }
        }
    }

    fn call(&self, create: &Create, name: &Arc<str>) -> Call {
        Call {
            asked: Asked::Create,
            method: Method::POST,
            path: self.executor.live.collection(create.kind, &create.namespace),
            content_type: JSON,
            content: Content::New(create.clone(), Arc::clone(name)),
        }
    }

    /// The receipt for an object under a name that we have tried to create, if it is controlled by our owner.
    async fn ours(&self, kind: Kind, key: &ObjectKey) -> Result<Receipt, Failure> {
        let address = Address { kind, key: key.clone() };
        let taken = || Failure::new(FailureClass::AlreadyExists, format!("{kind} {key} already exists"));
        let LiveRead::Found(object) = self.executor.live.read(&address).await? else {
            return Err(Failure::new(
                FailureClass::Missing,
                format!("{kind} {key} was created and is gone again"),
            ));
        };
        let found: Stored = serde_json::from_slice(&object)
            .map_err(|error| Failure::new(FailureClass::Unknown, format!("{kind} {key} cannot be read: {error}")))?;
        if !found.metadata.is_controlled_by(&self.owner.uid) {
            return Err(taken());
        }
        Ok(Receipt::Stored {
            uid: found.metadata.uid(),
            version: found.metadata.version(),
        })
    }
}

/// What happened to a name before.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Past {
    None,
    /// A create was sent under it and its answer was lost.
    AnswerLost(Doubt),
}

/// Whether a failure proves that there is no object of ours under the name, whatever became of attempts whose answers were
/// lost.
fn is_proof(failure: &Failure) -> bool {
    matches!(
        failure.class,
        FailureClass::Missing | FailureClass::AlreadyExists | FailureClass::NamespaceEnding
    )
}

fn named(note: &Note, name: &str) -> Note {
    Note {
        message: note.message.replace("{name}", name),
        ..note.clone()
    }
}
