//! The suffix that tells the ReplicaSets of one Deployment apart, and revision names in general.

use std::fmt;
use std::sync::Arc;

use crate::template::Digest;

/// The value of label `pod-template-hash` and the suffix of a ReplicaSet's name: 1 to 10 characters of `4-9bcdf`
/// (deployment C-61, C-64).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TemplateHash(Arc<str>);

impl TemplateHash {
    /// The hash of a template with this digest after so many collisions. No count and a count of 0 give different hashes
    /// (deployment C-60).
    ///
    /// Only names of new ReplicaSets come from it; an existing one is found by its template (C-62).
    pub fn new(template: Digest, collisions: Option<i32>) -> Self {
        let mut sum = Fnv32::default();
        sum.write(&template.to_bytes());
        sum.write_collisions(collisions);
        Self(safe_encode(sum.value()).into())
    }

    /// The hash as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TemplateHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// FNV-1a with 32 bits, the hash in upstream's revision names.
#[derive(Clone, Copy, Debug)]
pub struct Fnv32(u32);

impl Default for Fnv32 {
    fn default() -> Self {
        Self(0x811c_9dc5)
    }
}

impl Fnv32 {
    /// Feeds bytes.
    pub fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        }
    }

    /// Feeds a collision count: nothing if there is none, else eight bytes of which the first four are the count, little
    /// end first (deployment C-60).
    pub fn write_collisions(&mut self, collisions: Option<i32>) {
        if let Some(count) = collisions {
            self.write(&count.to_le_bytes());
            self.write(&[0; 4]);
        }
    }

    /// The hash of what was fed.
    pub fn value(self) -> u32 {
        self.0
    }
}

/// `hash` in decimal, each digit replaced by a character that cannot form words (deployment C-60, C-61).
pub fn safe_encode(hash: u32) -> String {
    hash.to_string()
        .bytes()
        .map(|digit| match digit {
            b'0'..=b'5' => char::from(digit + 4),
            b'6' => 'b',
            b'7' => 'c',
            b'8' => 'd',
            _ => 'f',
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labels::Interner;
    use crate::template::Template;
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::json;
    use std::collections::HashSet;

    // proves: deployment/C-61
    #[rstest]
    #[case::nothing("", None, 2_166_136_261, "65bb57b6b5")]
    #[case::one_letter("a", None, 3_826_002_220, "7d6b446664")]
    #[case::after_a_collision("a", Some(1), 3_689_284_045, "7bdf6d8489")]
    fn hashes_have_upstreams_values(
        #[case] input: &str,
        #[case] collisions: Option<i32>,
        #[case] value: u32,
        #[case] encoded: &str,
    ) {
        let mut sum = Fnv32::default();
        sum.write(input.as_bytes());
        sum.write_collisions(collisions);
        assert_eq!(sum.value(), value);
        assert_eq!(safe_encode(sum.value()), encoded);
    }

    // proves: deployment/C-63, deployment/C-64
    #[test]
    fn a_template_has_one_hash_per_collision_count() {
        let template = |image: &str| {
            let json = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"image": image}]}});
            Template::of(&json, &Interner::default()).unwrap().digest()
        };
        let hash = |collisions| TemplateHash::new(template("web:1"), collisions);
        assert_eq!(hash(None), hash(None));
        let all = [
            hash(None),
            hash(Some(0)),
            hash(Some(1)),
            TemplateHash::new(template("web:2"), None),
        ];
        let distinct: HashSet<&TemplateHash> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
        // A retry by a later release must hit the name that this one has taken.
        assert_eq!(hash(None).as_str(), "7dc7966cc5");
    }

    proptest! {
        // proves: deployment/C-61
        #[test]
        fn every_digit_has_its_own_character(hash in any::<u32>()) {
            const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
            let expected: String = hash.to_string().bytes().map(|digit| char::from(ALPHABET[usize::from(digit) % 27])).collect();
            prop_assert_eq!(safe_encode(hash), expected);
        }
    }
}
