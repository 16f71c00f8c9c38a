//! Writes of ours that the caches have not shown yet, by the child's name or uid (deployment C-20…C-28).

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use crate::id::{Kind, ObjectKey, Uid};

/// How long a record holds back further creates and deletes (deployment C-22).
pub const HOLD: Duration = Duration::from_secs(5 * 60);

/// Creates and deletes on their way, for all owners of one workload.
#[derive(Debug, Default)]
pub struct Expectations {
    by_owner: HashMap<ObjectKey, Outstanding>,
    owners: HashMap<Child, ObjectKey>,
}

/// One awaited appearance or disappearance.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Child {
    /// A create: an object under this key will appear.
    Named(Kind, ObjectKey),
    /// A delete: the object with this uid will get a deletion timestamp or vanish.
    Leaving(Uid),
}

#[derive(Debug)]
struct Outstanding {
    children: HashSet<Child>,
    since: Instant,
}
