//! Who owns what: claims on children and the owner reference that expresses them.

use std::sync::Arc;

use serde::Serialize;

use crate::id::{Kind, Uid};
use crate::meta::{Lifecycle, Meta, Object};
use crate::plan::{self, ClaimChange, Target};
use crate::selector::Selector;

/// A controlling owner reference as this project writes it (deployment C-13).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnerReference {
    api_version: String,
    kind: &'static str,
    name: String,
    uid: String,
    controller: bool,
    block_owner_deletion: bool,
}

impl OwnerReference {
    /// The reference to the controlling owner of this kind, name and uid.
    pub fn controller(kind: Kind, name: &str, uid: &Uid) -> Self {
        Self {
            api_version: kind.api_version(),
            kind: kind.kind,
            name: name.to_owned(),
            uid: uid.to_string(),
            controller: true,
            block_owner_deletion: true,
        }
    }
}

/// What an owner does about one possible child (deployment C-11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Claim {
    /// It is ours; nothing to write.
    Keep,
    /// It is nobody's and fits: make it ours.
    Adopt,
    /// It is ours and fits no longer: let it go.
    Release,
    /// It is none of our business.
    Ignore,
}

/// An owner that looks for its children.
#[derive(Clone, Copy, Debug)]
pub struct Claimant<'a> {
    /// Kind of the owner.
    pub kind: Kind,
    /// Metadata of the owner.
    pub meta: &'a Meta,
    /// Which children fit.
    pub selector: &'a Selector,
}

/// The children of an owner, and what must be written so that the server agrees.
#[derive(Clone, Debug)]
pub struct Claimed<T> {
    /// Owned already.
    pub kept: Vec<Arc<T>>,
    /// Owned once `writes` is done. A plan may count them as owned, because a failed claim ends it (deployment C-15).
    pub adopted: Vec<Arc<T>>,
    /// Adoptions and releases, in the order of the candidates.
    pub writes: Vec<plan::Claim>,
}

impl<T> Claimed<T> {
    /// All owned children: those kept, then those adopted.
    pub fn owned(&self) -> impl Iterator<Item = &Arc<T>> {
        self.kept.iter().chain(&self.adopted)
    }
}

impl Claimant<'_> {
    /// What to do about `child` (deployment C-11). A child owned by uid alone, without `blockOwnerDeletion`, is owned all
    /// the same (C-19).
    pub fn claim(&self, child: &Meta) -> Claim {
        let fits = self.selector.matches(&child.labels);
        match (child.controller_uid(), fits, self.meta.lifecycle, child.lifecycle) {
            (Some(owner), ..) if *owner != self.meta.uid => Claim::Ignore,
            (Some(_), true, ..) => Claim::Keep,
            (Some(_), false, Lifecycle::Live, _) => Claim::Release,
            (None, true, Lifecycle::Live, Lifecycle::Live) if child.key.namespace == self.meta.key.namespace => {
                Claim::Adopt
            }
            (Some(_) | None, ..) => Claim::Ignore,
        }
    }

    /// Sorts candidates into children, kept and new, and collects the writes.
    pub fn claim_all<T: Object>(&self, candidates: impl IntoIterator<Item = Arc<T>>) -> Claimed<T> {
        let mut claimed = Claimed {
            kept: Vec::new(),
            adopted: Vec::new(),
            writes: Vec::new(),
        };
        for child in candidates {
            match self.claim(child.meta()) {
                Claim::Keep => claimed.kept.push(child),
                Claim::Adopt => {
                    let owner = OwnerReference::controller(self.kind, &self.meta.key.name, &self.meta.uid);
                    claimed.writes.push(write(&*child, ClaimChange::Adopt(owner)));
                    claimed.adopted.push(child);
                }
                Claim::Release => {
                    let owner = self.meta.uid.clone();
                    claimed.writes.push(write(&*child, ClaimChange::Release(owner)));
                }
                Claim::Ignore => {}
            }
        }
        claimed
    }
}

fn write<T: Object>(child: &T, change: ClaimChange) -> plan::Claim {
    plan::Claim {
        child: Target::of(T::KIND, child.meta()),
        change,
    }
}
