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
        finalizer: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::ObjectKey;
    use crate::labels::Interner;
    use crate::meta::{DecodeError, KeepAnnotations, RawMeta};
    use crate::selector::LabelSelector;
    use rstest::rstest;
    use serde_json::json;

    #[derive(Debug)]
    struct Child(Meta);

    impl Object for Child {
        const KIND: Kind = Kind::POD;

        fn decode(json: &[u8], interner: &Interner) -> Result<Self, DecodeError> {
            let raw: RawMeta<'_> = serde_json::from_slice(json)?;
            Ok(Self(raw.into_meta(KeepAnnotations::All, interner)?))
        }

        fn meta(&self) -> &Meta {
            &self.0
        }
    }

    fn child(name: &str, controller: &str, app: &str, lifecycle: Lifecycle) -> Child {
        let owners = match controller {
            "" => json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u-owner"}]),
            uid => {
                json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": uid, "controller": true}])
            }
        };
        let mut json = json!({"name": name, "namespace": "shop", "uid": format!("u-{name}"), "resourceVersion": "1",
            "labels": {"app": app}, "ownerReferences": owners});
        if lifecycle == Lifecycle::Terminating {
            json["deletionTimestamp"] = "2026-01-02T03:04:05Z".into();
        }
        Child::decode(json.to_string().as_bytes(), &Interner::default()).unwrap()
    }

    fn owner(lifecycle: Lifecycle) -> Meta {
        let mut meta = child("web", "", "any", lifecycle).0;
        meta.uid = Uid::new("u-owner");
        meta
    }

    fn web() -> Selector {
        Selector::new(Some(&LabelSelector::default().with_label("app", "web"))).unwrap()
    }

    const LIVE: Lifecycle = Lifecycle::Live;
    const DYING: Lifecycle = Lifecycle::Terminating;

    // proves: deployment/C-10, deployment/C-11, deployment/C-19, deployment/D-80
    #[rstest]
    #[case::another_owner("u-other", "web", LIVE, LIVE, Claim::Ignore)]
    #[case::another_owner_and_no_match("u-other", "shop", LIVE, LIVE, Claim::Ignore)]
    #[case::ours("u-owner", "web", LIVE, LIVE, Claim::Keep)]
    #[case::ours_though_it_goes("u-owner", "web", LIVE, DYING, Claim::Keep)]
    #[case::ours_though_we_go("u-owner", "web", DYING, LIVE, Claim::Keep)]
    #[case::relabelled("u-owner", "shop", LIVE, LIVE, Claim::Release)]
    #[case::relabelled_and_going("u-owner", "shop", LIVE, DYING, Claim::Release)]
    #[case::relabelled_while_we_go("u-owner", "shop", DYING, LIVE, Claim::Ignore)]
    #[case::foreign_orphan("", "shop", LIVE, LIVE, Claim::Ignore)]
    #[case::orphan_while_we_go("", "web", DYING, LIVE, Claim::Ignore)]
    #[case::orphan_that_goes("", "web", LIVE, DYING, Claim::Ignore)]
    #[case::orphan("", "web", LIVE, LIVE, Claim::Adopt)]
    fn children_are_claimed_by_the_table(
        #[case] controller: &str,
        #[case] app: &str,
        #[case] owner_is: Lifecycle,
        #[case] child_is: Lifecycle,
        #[case] expected: Claim,
    ) {
        let claimant = Claimant {
            kind: Kind::REPLICA_SET,
            meta: &owner(owner_is),
            selector: &web(),
        };
        assert_eq!(claimant.claim(&child("web-1", controller, app, child_is).0), expected);
    }

    // proves: deployment/C-11
    #[test]
    fn an_orphan_of_another_namespace_is_ignored() {
        let mut meta = owner(LIVE);
        meta.key = ObjectKey::new("elsewhere", "web");
        let claimant = Claimant {
            kind: Kind::REPLICA_SET,
            meta: &meta,
            selector: &web(),
        };
        assert_eq!(claimant.claim(&child("web-1", "", "web", LIVE).0), Claim::Ignore);
    }

    // proves: deployment/C-13, deployment/C-14
    #[test]
    fn claims_become_writes_and_adopted_children_count_as_owned() {
        let claimant = Claimant {
            kind: Kind::REPLICA_SET,
            meta: &owner(LIVE),
            selector: &web(),
        };
        let candidates = [
            child("kept", "u-owner", "web", LIVE),
            child("adopted", "", "web", LIVE),
            child("released", "u-owner", "shop", LIVE),
            child("foreign", "u-other", "web", LIVE),
        ];
        let claimed = claimant.claim_all(candidates.map(Arc::new));
        let names: Vec<&str> = claimed.owned().map(|child| &*child.0.key.name).collect();
        assert_eq!(names, ["kept", "adopted"]);
        let [adoption, release] = &claimed.writes[..] else {
            panic!("two writes expected: {:?}", claimed.writes);
        };
        assert_eq!(*adoption.child.key.name, *"adopted");
        assert_eq!(adoption.child.uid, Uid::new("u-adopted"));
        let ClaimChange::Adopt(reference) = &adoption.change else {
            panic!("an adoption expected: {adoption:?}");
        };
        assert_eq!(
            serde_json::to_value(reference).unwrap(),
            json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u-owner",
                "controller": true, "blockOwnerDeletion": true})
        );
        assert_eq!(*release.child.key.name, *"released");
        assert!(matches!(&release.change, ClaimChange::Release(uid) if *uid == Uid::new("u-owner")));
    }
}
