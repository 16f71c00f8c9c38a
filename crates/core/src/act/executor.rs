//! Runs the stages of one plan in order.
//!
//! A turn remembers the version that each of its writes returned and uses it in the writes that follow, so that a turn
//! never conflicts with itself (deployment D-65).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use parking_lot::Mutex;
use serde_json::Value;

use crate::act::body;
use crate::act::classify::Asked;
use crate::act::ledger::Ledger;
use crate::act::live::{Call, Content, Live, MERGE, STRATEGIC, Stored};
use crate::act::metrics::ActMetrics;
use crate::act::refusals::Refusals;
use crate::act::removals::Way;
use crate::chance::Chance;
use crate::doubts::{Doubt, Effect};
use crate::events::Recorder;
use crate::id::{Kind, ObjectKey, ResourceVersion, Uid};
use crate::mistake::{Mistake, made};
use crate::outcome::{Attempt, Failure, FailureClass, Outcome, Receipt, Verb};
use crate::plan::{Address, Note, PatchForm, Stage, StatusWrite, Target};
use crate::time::SharedClock;
use crate::workload::LiveReads;

/// Carries out the plans of one workload.
#[derive(Debug)]
pub struct Executor {
    pub(super) live: Live,
    pub(super) ledger: Arc<Ledger>,
    pub(super) clock: SharedClock,
    pub(super) chance: Chance,
    recorder: Recorder,
    metrics: ActMetrics,
    unstored: Mutex<HashSet<(Kind, &'static str)>>,
    pub(super) refusals: Refusals,
}

/// Parts of an [`Executor`].
#[derive(Debug)]
pub struct ExecutorParts {
    /// Where requests go.
    pub live: Live,
    /// Where they are settled.
    pub ledger: Arc<Ledger>,
    /// Where notes go.
    pub recorder: Recorder,
    /// Where writes are counted.
    pub metrics: ActMetrics,
    /// Time.
    pub clock: SharedClock,
    /// Names.
    pub chance: Chance,
}

impl Executor {
    /// An executor of these parts.
    pub fn new(parts: ExecutorParts) -> Self {
        Self {
            live: parts.live,
            ledger: parts.ledger,
            clock: parts.clock,
            chance: parts.chance,
            recorder: parts.recorder,
            metrics: parts.metrics,
            unstored: Mutex::default(),
            refusals: Refusals::default(),
        }
    }

    /// Starts the writes of one turn for `owner`.
    pub fn turn(&self, owner: Target) -> Turn<'_> {
        Turn {
            executor: self,
            owner,
            versions: HashMap::new(),
            outcome: Outcome::default(),
        }
    }

    /// Reads these objects live and adds the answers to `live`.
    pub async fn read(&self, addresses: &[Address], live: &mut LiveReads) -> Result<(), Failure> {
        for address in addresses {
            let answer = self.live.read(address).await?;
            live.insert(address.clone(), answer);
        }
        Ok(())
    }
}

/// The writes of one turn.
#[derive(Debug)]
pub struct Turn<'a> {
    pub(super) executor: &'a Executor,
    pub(super) owner: Target,
    versions: HashMap<Uid, ResourceVersion>,
    outcome: Outcome,
}

/// Whether the next stage may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// All writes so far were confirmed.
    GoOn,
    /// One was not.
    Stop,
}

impl Then {
    pub(super) fn and(self, other: Self) -> Self {
        if self == Self::GoOn { other } else { Self::Stop }
    }
}

impl Turn<'_> {
    /// Runs `stages` up to the first that fails.
    pub async fn run(&mut self, stages: Vec<Stage>) {
        for stage in stages {
            let then = match stage {
                Stage::Claim(claims) => self.claim(claims).await,
                Stage::Status(write) => self.status(write).await,
                Stage::Create(creates) => self.create(creates).await,
                Stage::Patch(patches) => self.patch_in_order(patches).await,
                Stage::PatchEach(patches) => self.patch_each(patches).await,
                Stage::Delete(deletes) => self.delete_at_once(Way::Delete, deletes).await,
                Stage::DeleteForeground(deletes) => self.delete_at_once(Way::Foreground, deletes).await,
                Stage::Depart(departures) => self.depart(departures).await,
                Stage::Evict(deletes) => self.evict_in_order(deletes).await,
                // The loop answers reads before it runs a plan; one behind a write has no meaning.
                Stage::Read(_) => Then::Stop,
            };
            if then == Then::Stop {
                return;
            }
        }
    }

    /// What has become of the writes so far.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// Tells people about the owner.
    pub fn say(&self, note: Note) {
        self.executor.recorder.say(&self.owner, note);
    }

    /// Writes a status; its version is the newest that this turn knows.
    pub async fn status(&mut self, write: StatusWrite) -> Then {
        let StatusWrite {
            target,
            body,
            may_lack,
            notes,
        } = write;
        let kind = target.kind;
        let Some(body) = body::without_unstored(body, |field| self.executor.is_unstored(kind, field)) else {
            return Then::GoOn;
        };
        let sent: Vec<&'static str> = may_lack
            .iter()
            .copied()
            .filter(|field| has_status(&body, field))
            .collect();
        let result = self.send_patch(&target, "/status", PatchForm::Fields, body).await;
        if let Ok(reply) = &result {
            self.executor.remember_unstored(kind, &sent, reply);
        }
        let then = self.settle(Verb::Status, &target, stored(result));
        for note in notes.into_iter().filter(|_| then == Then::GoOn) {
            self.say(note);
        }
        then
    }

    /// Keeps a write whose answer was lost, to be looked up before the owner's next turn.
    pub(super) fn doubt(&self, address: Address, effect: Effect) {
        let since = self.executor.clock.instant();
        let doubt = Doubt { address, effect, since };
        self.executor.ledger.in_doubt(&self.owner.key, doubt);
    }

    pub(super) async fn send_patch(
        &self,
        target: &Target,
        part: &str,
        form: PatchForm,
        body: Value,
    ) -> Result<Bytes, Failure> {
        let (content_type, version) = match form {
            PatchForm::Metadata => (STRATEGIC, None),
            PatchForm::Fields => (MERGE, Some(self.version_of(target))),
        };
        let version = version.filter(|_| !made(Mistake::VersionsLeftOut));
        let call = Call {
            asked: Asked::Existing,
            method: Method::PATCH,
            path: self.executor.live.object(target.kind, &target.key, part),
            content_type,
            content: Content::Bytes(body::to_bytes(&body::guarded(body, &target.uid, version))?),
        };
        self.executor.live.write(call).await
    }

    pub(super) fn version_of<'t>(&'t self, target: &'t Target) -> &'t ResourceVersion {
        self.versions.get(&target.uid).unwrap_or(&target.version)
    }

    /// Records one result everywhere it matters.
    pub(super) fn settle(&mut self, verb: Verb, target: &Target, result: Result<Receipt, Failure>) -> Then {
        self.settle_named(verb, target.kind, &target.key, result)
    }

    /// As [`Self::settle`], for an object that has only a name yet.
    pub(super) fn settle_named(
        &mut self,
        verb: Verb,
        kind: Kind,
        key: &ObjectKey,
        result: Result<Receipt, Failure>,
    ) -> Then {
        self.executor.metrics.count(kind, verb, &result);
        if let Ok(Receipt::Stored { uid, version }) = &result {
            // Only a write that was bound to a version proves that nothing else has changed since the decision.
            if matches!(verb, Verb::Status | Verb::Patch) {
                self.versions.insert(uid.clone(), version.clone());
            }
            if !matches!(verb, Verb::Delete | Verb::Evict) {
                self.executor
                    .ledger
                    .wrote(&self.owner.key, &self.owner.uid, kind, version);
            }
        }
        let then = if result.is_ok() { Then::GoOn } else { Then::Stop };
        self.outcome.attempts.push(Attempt {
            verb,
            kind,
            key: key.clone(),
            result,
        });
        then
    }
}

impl Executor {
    fn is_unstored(&self, kind: Kind, field: &str) -> bool {
        self.unstored
            .lock()
            .iter()
            .any(|(of, known)| *of == kind && *known == field)
    }

    fn remember_unstored(&self, kind: Kind, sent: &[&'static str], reply: &[u8]) {
        if sent.is_empty() {
            return;
        }
        let reply: Value = serde_json::from_slice(reply).unwrap_or_default();
        let lacking = sent.iter().filter(|field| !has_status(&reply, field));
        self.unstored.lock().extend(lacking.map(|field| (kind, *field)));
    }
}

fn has_status(object: &Value, field: &str) -> bool {
    object
        .get("status")
        .and_then(|status| status.get(field))
        .is_some_and(|value| !value.is_null())
}

/// The receipt in an answer that carries the stored object.
pub(super) fn stored(reply: Result<Bytes, Failure>) -> Result<Receipt, Failure> {
    let reply = match reply {
        Err(failure) if failure.class == FailureClass::Conflict && made(Mistake::ConflictsIgnored) => {
            return Ok(Receipt::Gone);
        }
        other => other?,
    };
    let object: Stored = serde_json::from_slice(&reply)
        .map_err(|error| Failure::new(FailureClass::Unknown, format!("unexpected answer: {error}")))?;
    Ok(Receipt::Stored {
        uid: object.metadata.uid(),
        version: object.metadata.version(),
    })
}
