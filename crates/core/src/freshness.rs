//! Read-your-writes: an owner is not synced while a cache is older than our own last write for it (deployment C-30…C-35).

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::id::{Kind, ObjectKey, ResourceVersion, Uid};

/// How long an owner gets no turn at all because of a cache. A cache that lags for longer is broken, and to wait without a
/// word would hide it.
pub const HOLD: Duration = Duration::from_mins(5);

/// The newest version written for each owner, per kind.
#[derive(Debug, Default)]
pub struct Freshness {
    owners: HashMap<ObjectKey, Written>,
}

/// Whether the caches have caught up with an owner's writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshly {
    /// They have, or cannot be compared.
    Fresh,
    /// Not yet: skip this turn.
    Stale {
        /// The kind whose cache lags; the `resource` label of the metric (deployment C-34).
        kind: Kind,
        /// Since when the owner has been waiting.
        since: Instant,
    },
    /// They have not for longer than [`HOLD`]: warn, count, go on with everything but creates and deletes. The record stays,
    /// for to create on a cache that is known to be behind would be to create twice.
    HeldTooLong {
        /// The kind whose cache lags.
        kind: Kind,
    },
}

#[derive(Debug)]
struct Written {
    uid: Uid,
    newest: HashMap<Kind, ResourceVersion>,
    held_since: Option<Instant>,
}

impl Freshness {
    /// A write for the owner of this key and uid returned this version (deployment C-31). Another uid than before starts
    /// an empty record (C-35). A version that cannot be compared is not recorded.
    pub fn wrote(&mut self, owner: &ObjectKey, uid: &Uid, kind: Kind, version: &ResourceVersion) {
        if version.compare(version).is_none() {
            return;
        }
        let fresh = || Written {
            uid: uid.clone(),
            newest: HashMap::new(),
            held_since: None,
        };
        let record = self.owners.entry(owner.clone()).or_insert_with(fresh);
        if record.uid != *uid {
            *record = fresh();
        }
        let newest = record.newest.entry(kind).or_insert_with(|| version.clone());
        if version.is_newer_than(newest) {
            *newest = version.clone();
        }
    }

    /// Whether what `seen` says of each kind's cache covers every write recorded for the owner. A kind without a cache and
    /// a malformed version count as covered (deployment C-33). A record that is covered is forgotten (C-32).
    pub fn check(
        &mut self,
        owner: &ObjectKey,
        uid: &Uid,
        seen: impl Fn(Kind) -> Option<ResourceVersion>,
        now: Instant,
    ) -> Freshly {
        let lagging = self
            .owners
            .get_mut(owner)
            .filter(|record| record.uid == *uid)
            .and_then(|record| {
                let lags = |(kind, written): (&Kind, &ResourceVersion)| {
                    seen(*kind)
                        .is_some_and(|seen| written.is_newer_than(&seen))
                        .then_some(*kind)
                };
                let kind = record.newest.iter().filter_map(lags).min()?;
                Some((kind, *record.held_since.get_or_insert(now)))
            });
        match lagging {
            Some((kind, since)) if now.saturating_duration_since(since) <= HOLD => Freshly::Stale { kind, since },
            Some((kind, _)) => Freshly::HeldTooLong { kind },
            None => {
                self.owners.remove(owner);
                Freshly::Fresh
            }
        }
    }

    /// Drops what is recorded for an owner that is gone (deployment C-35).
    pub fn forget(&mut self, owner: &ObjectKey) {
        self.owners.remove(owner);
    }

    /// Drops all records: the server was restored from a backup, and versions start again below those recorded.
    pub fn clear(&mut self) {
        self.owners.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn web() -> ObjectKey {
        ObjectKey::new("shop", "web")
    }

    fn uid() -> Uid {
        Uid::new("u1")
    }

    fn version(text: &str) -> ResourceVersion {
        ResourceVersion::new(text)
    }

    fn start() -> Instant {
        crate::time::Clock::instant(&crate::time::SystemClock)
    }

    /// A record of one write of a pod at this version.
    fn having_written(text: &str) -> Freshness {
        let mut freshness = Freshness::default();
        freshness.wrote(&web(), &uid(), Kind::POD, &version(text));
        freshness
    }

    /// What a check says where every cache has come this far.
    fn check(freshness: &mut Freshness, seen: &str, now: Instant) -> Freshly {
        freshness.check(&web(), &uid(), |_| Some(version(seen)), now)
    }

    // proves: deployment/C-32, deployment/C-33
    #[rstest]
    #[case::older("9", "10", true)]
    #[case::equal("10", "10", false)]
    #[case::newer("11", "10", false)]
    #[case::malformed_written("9", "x", false)]
    #[case::malformed_seen("x", "10", false)]
    #[case::leading_zero("09", "10", false)]
    fn an_owner_waits_while_a_cache_is_older_than_its_writes(
        #[case] seen: &str,
        #[case] written: &str,
        #[case] waits: bool,
    ) {
        let (mut freshness, now) = (having_written(written), start());
        let expected = if waits {
            Freshly::Stale {
                kind: Kind::POD,
                since: now,
            }
        } else {
            Freshly::Fresh
        };
        assert_eq!(check(&mut freshness, seen, now), expected);
    }

    // proves: deployment/C-31
    #[rstest]
    #[case::later("10", "11")]
    #[case::earlier("11", "10")]
    #[case::malformed_after("11", "x")]
    #[case::malformed_before("x", "11")]
    fn the_highest_version_written_counts(#[case] first: &str, #[case] second: &str) {
        let (mut freshness, now) = (having_written(first), start());
        freshness.wrote(&web(), &uid(), Kind::POD, &version(second));
        assert!(matches!(check(&mut freshness, "10", now), Freshly::Stale { .. }));
        assert_eq!(check(&mut freshness, "11", now), Freshly::Fresh);
    }

    // proves: deployment/C-31, deployment/C-32
    #[test]
    fn each_kind_is_compared_with_its_own_cache() {
        let (mut freshness, now) = (having_written("10"), start());
        freshness.wrote(&web(), &uid(), Kind::REPLICA_SET, &version("20"));
        let seen = |kind| Some(version(if kind == Kind::POD { "10" } else { "19" }));
        let expected = Freshly::Stale {
            kind: Kind::REPLICA_SET,
            since: now,
        };
        assert_eq!(freshness.check(&web(), &uid(), seen, now), expected);
    }

    // proves: deployment/C-32
    #[test]
    fn a_record_that_was_covered_once_is_forgotten() {
        let (mut freshness, now) = (having_written("10"), start());
        assert_eq!(check(&mut freshness, "10", now), Freshly::Fresh);
        assert_eq!(check(&mut freshness, "1", now), Freshly::Fresh);
    }

    // proves: deployment/C-35
    #[test]
    fn another_uid_under_the_name_starts_without_a_record() {
        let (mut freshness, now) = (having_written("10"), start());
        let reborn = Uid::new("u2");
        freshness.wrote(&web(), &reborn, Kind::REPLICA_SET, &version("5"));
        assert_eq!(
            freshness.check(&web(), &reborn, |_| Some(version("5")), now),
            Freshly::Fresh
        );

        let mut freshness = having_written("10");
        assert_eq!(
            freshness.check(&web(), &reborn, |_| Some(version("5")), now),
            Freshly::Fresh
        );

        let mut freshness = having_written("10");
        freshness.forget(&web());
        assert_eq!(check(&mut freshness, "5", now), Freshly::Fresh);
    }

    #[test]
    fn a_cache_that_never_catches_up_holds_an_owner_for_a_limited_time() {
        let (mut freshness, now) = (having_written("10"), start());
        let stale = Freshly::Stale {
            kind: Kind::POD,
            since: now,
        };
        assert_eq!(check(&mut freshness, "9", now), stale);
        assert_eq!(check(&mut freshness, "9", now + HOLD), stale);
        let too_late = now + HOLD + Duration::from_nanos(1);
        assert_eq!(
            check(&mut freshness, "9", too_late),
            Freshly::HeldTooLong { kind: Kind::POD }
        );
        let still = check(&mut freshness, "9", too_late);
        assert_eq!(still, Freshly::HeldTooLong { kind: Kind::POD }, "it stays behind");
        assert_eq!(check(&mut freshness, "10", too_late), Freshly::Fresh);
    }

    #[test]
    fn a_kind_without_a_list_yet_holds_nobody() {
        let (mut freshness, now) = (having_written("10"), start());
        assert_eq!(freshness.check(&web(), &uid(), |_| None, now), Freshly::Fresh);
    }

    #[test]
    fn a_server_restored_from_a_backup_is_not_waited_for() {
        let (mut freshness, now) = (having_written("12"), start());
        freshness.clear();
        assert_eq!(check(&mut freshness, "5", now), Freshly::Fresh);
    }
}
