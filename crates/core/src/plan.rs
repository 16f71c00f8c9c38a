//! What a controller has decided to do: ordered stages of writes, what to say about them, when to look again.
//!
//! A plan is plain data. Only [`crate::act`] carries it out; it adds what the server needs (preconditions, names, field
//! manager), so a decision can neither forget a guard nor repeat a create under a second name.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::id::{Kind, ObjectKey, ResourceVersion, Uid};
use crate::labels::Labels;
use crate::meta::Meta;
use crate::owner::OwnerReference;
use crate::template::Json;

/// The result of a decision. `I` is what the controller itself wants to remember of it when it draws conclusions.
#[derive(Clone, Debug)]
pub struct Plan<I> {
    /// Done in order. A stage that fails ends the plan; what was not sent is not reported.
    pub stages: Vec<Stage>,
    /// Handed to the controller's `conclude`.
    pub intent: I,
    /// Said whatever becomes of the stages.
    pub notes: Vec<Note>,
    /// When to look again if nothing changes.
    pub wake: Wake,
}

impl<I> Plan<I> {
    /// A plan that writes and says nothing.
    pub fn quiet(intent: I) -> Self {
        Self {
            stages: Vec::new(),
            intent,
            notes: Vec::new(),
            wake: Wake::OnChange,
        }
    }
}

/// One step of a plan.
#[derive(Clone, Debug)]
pub enum Stage {
    /// Adoptions and releases. All are tried; if any failed the turn ends without a status write (deployment C-15).
    Claim(Vec<Claim>),
    /// A status write that must be stored before what follows (write-ahead protocols).
    Status(StatusWrite),
    /// Creates with slow start: batches of 1, 2, 4, … and none after a failed batch (deployment C-40).
    Create(Vec<Create>),
    /// Patches one after the other, none after a failed one.
    Patch(Vec<Patch>),
    /// Patches of different objects, all at once and all tried. One that fails does not end the plan; an object that is gone
    /// needs none (job J-43).
    PatchEach(Vec<Patch>),
    /// Deletes, all at once.
    Delete(Vec<Delete>),
    /// Deletes, all at once, of objects that stay, terminating, until what they own is gone (job TTL-5).
    DeleteForeground(Vec<Delete>),
    /// Removals of objects that have to be patched first, all at once. One whose patch fails stays (job J-91, J-93).
    Depart(Vec<Departure>),
    /// Removals of pods that a disruption budget can refuse, one after the other: what a budget allows goes to the first. A
    /// refusal is no failure; the others are tried all the same, until ten in a row were refused or five seconds have passed.
    /// Those left are not reported; a later turn begins with the first ones again, then goes on with those not asked for
    /// longest.
    Evict(Vec<Delete>),
    /// Live reads. The answers go into [`crate::workload::Aids::live`] and the decision is taken anew.
    Read(Vec<Address>),
}

/// An object by kind and key, whichever uid it has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// Kind of the object.
    pub kind: Kind,
    /// Its key.
    pub key: ObjectKey,
}

/// One existing object, as a cache showed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Kind of the object.
    pub kind: Kind,
    /// Its key.
    pub key: ObjectKey,
    /// Its identity; every write carries it as a precondition.
    pub uid: Uid,
    /// The version that was seen. The executor replaces it by a newer one that an earlier write of the plan returned.
    pub version: ResourceVersion,
}

impl Target {
    /// The object with this metadata.
    pub fn of(kind: Kind, meta: &Meta) -> Self {
        Self {
            kind,
            key: meta.key.clone(),
            uid: meta.uid.clone(),
            version: meta.version.clone(),
        }
    }
}

/// An adoption or release.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The child.
    pub child: Target,
    /// What happens to it.
    pub change: ClaimChange,
    /// A finalizer that comes with the ownership and goes with it (job J-21, J-22).
    pub finalizer: Option<&'static str>,
}

/// The two ways in which a controller changes what it owns.
#[derive(Clone, Debug)]
pub enum ClaimChange {
    /// Add the owner as controller (deployment C-13). Before the first one of a plan the owner is read live (C-12).
    Adopt(OwnerReference),
    /// Remove the owner (deployment C-14).
    Release(Uid),
}

/// A write of the status subresource: JSON merge patch with uid and version.
#[derive(Clone, Debug)]
pub struct StatusWrite {
    /// Whose status.
    pub target: Target,
    /// The patch, such as `{"status": {…}}`; `metadata.annotations` may stand beside it (deployment A-3).
    pub body: Value,
    /// Status fields that a server of another minor version, or with a gate off, may not store. Once the server has not
    /// stored one it is left out of later writes, so that it cannot cause the same write again and again.
    pub may_lack: &'static [&'static str],
    /// Said if the status was stored.
    pub notes: Vec<Note>,
}

/// A new object.
#[derive(Clone, Debug)]
pub struct Create {
    /// Kind of the object.
    pub kind: Kind,
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: NewName,
    /// What it contains; shared between creates that differ only in name.
    pub object: Arc<NewObject>,
    /// Said if the object was created.
    pub note: Option<Note>,
}

/// How a new object gets its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewName {
    /// Exactly this. If it is taken the create fails as `AlreadyExists`.
    Exact(Arc<str>),
    /// This base and five characters that the executor chooses (deployment A-9), the same ones again when it repeats a
    /// create whose answer was lost.
    Random(Arc<str>),
}

/// The contents of a new object.
#[derive(Clone, Debug, Default)]
pub struct NewObject {
    /// `metadata.labels`.
    pub labels: Labels,
    /// `metadata.annotations`.
    pub annotations: Labels,
    /// `metadata.finalizers`.
    pub finalizers: Vec<Arc<str>>,
    /// The controlling owner.
    pub owner: Option<OwnerReference>,
    /// Fields beside `metadata`, such as `spec`, as JSON that is embedded unchanged.
    pub fields: Vec<(&'static str, Json)>,
}

/// A change of an existing object.
#[derive(Clone, Debug)]
pub struct Patch {
    /// The object.
    pub target: Target,
    /// How it is sent and guarded.
    pub form: PatchForm,
    /// The patch without preconditions; the executor adds them.
    pub body: Value,
    /// Said if the patch was applied.
    pub note: Option<Note>,
}

/// The two forms in which fields of existing objects are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchForm {
    /// Metadata of built-in kinds: strategic merge patch that carries the uid, and a version only if its body names one.
    Metadata,
    /// Spec and annotations: JSON merge patch that carries uid and version; a conflict means: decide anew.
    Fields,
}

/// The removal of an object; always by uid.
#[derive(Clone, Debug)]
pub struct Delete {
    /// The object.
    pub target: Target,
    /// What must still hold.
    pub guard: DeleteGuard,
    /// Said if the server accepted the delete. An object already gone says nothing.
    pub note: Option<Note>,
}

/// The removal of an object that has to be patched first.
#[derive(Clone, Debug)]
pub struct Departure {
    /// The patch.
    pub patch: Patch,
    /// The removal, sent once the patch was applied.
    pub delete: Delete,
}

/// Precondition of a delete. There is no form without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeleteGuard {
    /// The object is still the same one.
    Uid,
    /// The object is still the same one and has not changed: for reasons that can lapse.
    UidAndVersion,
}

/// Something to tell people: becomes an Event on the object it regards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Normal or Warning.
    pub severity: Severity,
    /// Machine-readable reason in CamelCase, as upstream says it.
    pub reason: Cow<'static, str>,
    /// The text for people. In a [`Create`]'s note `{name}` stands for the name the object got.
    pub message: String,
}

/// Type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// For information.
    Normal,
    /// Something needs attention.
    Warning,
}

impl Severity {
    /// The word in an Event's `type`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

impl Note {
    /// A Normal note.
    pub fn normal(reason: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Normal,
            reason: reason.into(),
            message: message.into(),
        }
    }

    /// A Warning note.
    pub fn warning(reason: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            reason: reason.into(),
            message: message.into(),
        }
    }
}

/// When a key wants to be looked at again although nothing changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wake {
    /// Not before a change.
    #[default]
    OnChange,
    /// After this time.
    After(Duration),
}

impl Wake {
    /// The earlier of the two.
    #[must_use]
    pub fn sooner(self, other: Self) -> Self {
        match (self, other) {
            (Self::After(a), Self::After(b)) => Self::After(a.min(b)),
            (Self::After(a), Self::OnChange) | (Self::OnChange, Self::After(a)) => Self::After(a),
            (Self::OnChange, Self::OnChange) => Self::OnChange,
        }
    }
}
