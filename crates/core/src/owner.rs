//! Who owns what: claims on children and the owner reference that expresses them.

use serde::Serialize;

use crate::id::{Kind, Uid};

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
