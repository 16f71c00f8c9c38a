//! Names of things on the API server: kinds, keys, uids and resource versions.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// A kind of API object and the path under which the server offers it. All kinds here live in namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Kind {
    /// API group, empty for the core group.
    pub group: &'static str,
    /// API version inside the group, such as `v1`.
    pub version: &'static str,
    /// Singular name in CamelCase, as `kind` in an object says it.
    pub kind: &'static str,
    /// Lower-case plural, as it stands in a request path.
    pub plural: &'static str,
}

impl Kind {
    /// apps/v1 Deployment.
    pub const DEPLOYMENT: Self = Self::apps("Deployment", "deployments");
    /// apps/v1 ReplicaSet.
    pub const REPLICA_SET: Self = Self::apps("ReplicaSet", "replicasets");
    /// batch/v1 Job.
    pub const JOB: Self = Self {
        group: "batch",
        version: "v1",
        kind: "Job",
        plural: "jobs",
    };
    /// core/v1 Pod.
    pub const POD: Self = Self {
        group: "",
        version: "v1",
        kind: "Pod",
        plural: "pods",
    };

    const fn apps(kind: &'static str, plural: &'static str) -> Self {
        Self {
            group: "apps",
            version: "v1",
            kind,
            plural,
        }
    }

    /// `apiVersion` as objects and owner references carry it: `v1`, `apps/v1`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// True if `api_version` names this kind's group, in whatever version (the way client-go matches owner references).
    pub fn has_group_of(&self, api_version: &str) -> bool {
        let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
        group == self.group
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind)
    }
}

/// Namespace and name of an object: the key of caches and queues (deployment C-2).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey {
    /// The object's namespace.
    pub namespace: Arc<str>,
    /// The object's name.
    pub name: Arc<str>,
}

impl ObjectKey {
    /// A key of these two parts.
    pub fn new(namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// Another name in the same namespace.
    #[must_use]
    pub fn sibling(&self, name: impl Into<Arc<str>>) -> Self {
        Self {
            namespace: Arc::clone(&self.namespace),
            name: name.into(),
        }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// The server's identity of one object, never used again. Ordered bytewise, as victim ranking wants it (deployment C-52).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Uid(Arc<str>);

impl Uid {
    /// The uid as the server wrote it.
    pub fn new(uid: impl Into<Arc<str>>) -> Self {
        Self(uid.into())
    }

    /// The uid as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A version of an object or of a list. Versions of one resource can be ordered (deployment C-33).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResourceVersion(Arc<str>);

impl ResourceVersion {
    /// The version as the server wrote it.
    pub fn new(version: impl Into<Arc<str>>) -> Self {
        Self(version.into())
    }

    /// The version as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Orders two versions as unsigned decimal numbers of any length; `None` if either is not one (empty, a leading zero,
    /// another character). Callers treat `None` as "cannot tell" and go on (deployment C-33).
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        let (a, b) = (self.decimal()?, other.decimal()?);
        Some(a.len().cmp(&b.len()).then_with(|| a.cmp(b)))
    }

    /// True if both are versions that can be compared and this one is the later.
    pub fn is_newer_than(&self, other: &Self) -> bool {
        self.compare(other) == Some(Ordering::Greater)
    }

    fn decimal(&self) -> Option<&str> {
        let text = self.as_str();
        let plain = !text.is_empty() && !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
        plain.then_some(text)
    }
}

impl fmt::Display for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    // proves: deployment/C-33
    #[rstest]
    #[case::same("17", "17", Some(Ordering::Equal))]
    #[case::longer_is_newer("9", "10", Some(Ordering::Less))]
    #[case::same_length_by_digit("123", "121", Some(Ordering::Greater))]
    #[case::beyond_u64("99999999999999999999998", "99999999999999999999999", Some(Ordering::Less))]
    #[case::empty("", "1", None)]
    #[case::leading_zero("01", "1", None)]
    #[case::zero("0", "1", None)]
    #[case::text("1a", "1", None)]
    fn resource_versions_compare_as_decimals(#[case] a: &str, #[case] b: &str, #[case] expected: Option<Ordering>) {
        assert_eq!(ResourceVersion::new(a).compare(&ResourceVersion::new(b)), expected);
    }

    #[test]
    fn owner_kinds_match_by_group_whatever_the_version() {
        assert!(Kind::REPLICA_SET.has_group_of("apps/v1beta2"));
        assert!(!Kind::REPLICA_SET.has_group_of("example.com/v1"));
        assert!(Kind::POD.has_group_of("v1"));
    }
}
