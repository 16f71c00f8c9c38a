//! Creates: in batches with slow start, each under a name chosen here so that it can be repeated.

use std::sync::Arc;

use futures::future::join_all;
use http::Method;

use crate::act::body;
use crate::act::classify::Asked;
use crate::act::executor::{TRIES, Then, Turn, is_unknown, leaves_doubt, stored};
use crate::act::live::{Call, JSON, Stored};
use crate::act::{names, slow_start};
use crate::doubts::Effect;
use crate::id::{Kind, ObjectKey};
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
            if then == Then::Stop {
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
            (name, past) = (names::choose(&create.name), Past::None);
        }
        let result = self.create_named(create, &name, past).await;
        (name, result)
    }

    /// The name under which an earlier create may still arrive, if there is one: two creates under one name make one object.
    fn first_name(&self, create: &Create) -> (Arc<str>, Past) {
        let now = self.executor.clock.instant();
        let doubtful = match &create.name {
            NewName::Random(_) => self.executor.ledger.doubtful_name(&self.owner.key, create.kind, now),
            NewName::Exact(_) => None,
        };
        doubtful.map_or_else(
            || (names::choose(&create.name), Past::None),
            |name| (name, Past::AnswerLost),
        )
    }

    /// Creates under exactly this name. While it is in doubt whether that has happened the same create is sent again; if the
    /// name is taken by then, whoever controls the object says whether it is ours.
    async fn create_named(&self, create: &Create, name: &Arc<str>, past: Past) -> Result<Receipt, Failure> {
        let key = ObjectKey::new(Arc::clone(&create.namespace), Arc::clone(name));
        let ledger = &self.executor.ledger;
        ledger.creating(&self.owner.key, create.kind, &key, self.executor.clock.instant());
        let mut in_doubt = past == Past::AnswerLost;
        let mut result = Err(Failure::new(FailureClass::Unknown, "not sent"));
        for _ in 0..TRIES {
            result = stored(self.send_create(create, name).await);
            in_doubt |= is_unknown(&result);
            let is_taken = |failure: &Failure| failure.class == FailureClass::AlreadyExists;
            if in_doubt && result.as_ref().is_err_and(is_taken) {
                result = self.ours(create.kind, &key).await;
            }
            if !(in_doubt && leaves_doubt(&result)) {
                break;
            }
        }
        let result = result.map_err(|failure| if in_doubt { doubtful(failure) } else { failure });
        // A confirmed create is covered by its version (freshness); only one whose fate is unknown stays expected.
        if is_unknown(&result) {
            self.doubt(Address { kind: create.kind, key }, Effect::Create);
        } else {
            ledger.create_settled(create.kind, &key);
        }
        result
    }

    async fn send_create(&self, create: &Create, name: &str) -> Result<bytes::Bytes, Failure> {
        let live = &self.executor.live;
        let call = Call {
            asked: Asked::Create,
            method: Method::POST,
            path: live.collection(create.kind, &create.namespace),
            content_type: JSON,
            body: body::create(create.kind, &create.namespace, &create.name, name, &create.object)?,
        };
        live.write(call).await
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Past {
    None,
    /// A create was sent under it and its answer was lost.
    AnswerLost,
}

/// A failure after an attempt whose answer was lost. Unless it proves that there is no such object of ours, the lost attempt
/// may still have been applied.
fn doubtful(failure: Failure) -> Failure {
    let is_proof = matches!(
        failure.class,
        FailureClass::Missing | FailureClass::AlreadyExists | FailureClass::NamespaceEnding
    );
    if is_proof {
        failure
    } else {
        Failure::new(FailureClass::Unknown, failure.message)
    }
}

fn named(note: &Note, name: &str) -> Note {
    Note {
        message: note.message.replace("{name}", name),
        ..note.clone()
    }
}
