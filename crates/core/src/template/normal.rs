//! What a template means, apart from how it is written: the form that is compared and hashed.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// 128 bits that stand for a template: equal templates have equal digests, and different ones different digests for all
/// that can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(u128);

impl Digest {
    /// The digest of a pod template, its hash label left aside.
    pub(super) fn of_template(template: &Value) -> Self {
        let hash = Sha256::digest(template.to_string());
        let mut first = [0; 16];
        first.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
        Self(u128::from_be_bytes(first))
    }

    /// The digest as bytes.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }
}
