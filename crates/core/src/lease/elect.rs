//! One step of the election, without clock, network or tasks.
//!
//! The rules are client-go's. A record counts as expired once it has not changed for its own duration **by the clock of
//! the beholder**; the times written in it are for people, so clocks of different machines need not agree. Every write
//! names the version it replaces, so of two candidates one gets a conflict.

use std::time::{Duration, Instant};

use crate::id::ResourceVersion;
use crate::mistake::{Mistake, made};
use crate::time::Timestamp;

/// How long things take in an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// How long a record is valid after its last change.
    pub lease: Duration,
    /// How long the holder keeps acting after its last successful renewal was sent.
    pub renew_deadline: Duration,
    /// Time between two attempts.
    pub retry: Duration,
}

impl Timing {
    /// Those of every Kubernetes component (deployment I-4).
    pub const UPSTREAM: Self = Self {
        lease: Duration::from_secs(15),
        renew_deadline: Duration::from_secs(10),
        retry: Duration::from_secs(2),
    };
}

/// What the candidates share: the spec of a Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Who holds it; empty if nobody does.
    pub holder: String,
    /// How long it is valid after a change, in seconds.
    pub duration_seconds: u32,
    /// Since when the holder has held it.
    pub acquired: Option<Timestamp>,
    /// When the holder last renewed it.
    pub renewed: Option<Timestamp>,
    /// How often the holder has changed.
    pub transitions: i32,
}

/// The time on both clocks.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Wall-clock time, written into records.
    pub wall: Timestamp,
    /// Monotonic time, by which expiry is judged.
    pub instant: Instant,
}

/// A request to the lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Read the record.
    Read,
    /// Create the record.
    Create(Record),
    /// Replace the record of one version.
    Write {
        /// The new record.
        record: Record,
        /// The version it replaces.
        over: ResourceVersion,
        /// How that version is known.
        basis: Basis,
    },
}

/// How a candidate knows the version that it writes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// From its own last write: saves the holder a read per renewal. If it is outdated the record is read.
    Remembered,
    /// From a read just before: if it is outdated somebody else was faster.
    JustRead,
}

/// What the lock answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The record as it is, or as it was stored.
    Found(Record, ResourceVersion),
    /// There is none.
    Missing,
    /// Somebody else was faster: the record has another version, or exists already.
    Conflict,
    /// No answer, or an error; the text is for the log.
    Failed(String),
}

/// What follows an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Ask this next.
    Ask(Ask),
    /// Acquired or renewed.
    Held,
    /// Another candidate holds it.
    HeldBy(String),
    /// Not acquired or renewed, for this reason.
    Failed(String),
}

/// One candidate.
#[derive(Debug)]
pub struct Elector {
    identity: String,
    timing: Timing,
    seen: Option<Sighting>,
}

/// The record as last seen.
#[derive(Debug)]
struct Sighting {
    record: Record,
    version: ResourceVersion,
    unchanged_since: Instant,
}

impl Elector {
    /// A candidate under a name that no other process ever uses.
    pub fn new(identity: impl Into<String>, timing: Timing) -> Self {
        Self {
            identity: identity.into(),
            timing,
            seen: None,
        }
    }

    /// The first request of an attempt to acquire or renew.
    pub fn begin(&self, at: Moment) -> Ask {
        match &self.seen {
            Some(seen) if seen.record.holder == self.identity && seen.is_valid(at.instant) => {
                self.claim(seen, Basis::Remembered, at.wall)
            }
            Some(_) | None => Ask::Read,
        }
    }

    /// What follows the answer to `ask`.
    pub fn hear(&mut self, ask: &Ask, answer: Answer, at: Moment) -> Step {
        match (ask, answer) {
            (Ask::Read, Answer::Found(record, version)) => {
                self.observe(record, version, at.instant);
                self.contest(at)
            }
            (Ask::Read, Answer::Missing) => {
                if let Some(holder) = self.foreign_holder(at.instant) {
                    return Step::HeldBy(holder.to_owned());
                }
                self.seen = None;
                Step::Ask(Ask::Create(self.record(at.wall, 0)))
            }
            (Ask::Create(_) | Ask::Write { .. }, Answer::Found(record, version)) => {
                self.observe(record, version, at.instant);
                Step::Held
            }
            (
                Ask::Write {
                    basis: Basis::Remembered,
                    ..
                },
                _,
            ) => Step::Ask(Ask::Read),
            (_, Answer::Failed(reason)) => Step::Failed(reason),
            (_, Answer::Conflict | Answer::Missing) => Step::Failed("another candidate was faster".to_owned()),
        }
    }

    /// Takes note of a record that was read or watched.
    pub fn observe(&mut self, record: Record, version: ResourceVersion, now: Instant) {
        match &mut self.seen {
            Some(seen) if seen.record == record => seen.version = version,
            seen => {
                *seen = Some(Sighting {
                    record,
                    version,
                    unchanged_since: now,
                });
            }
        }
    }

    /// True if nobody holds the record that was last seen.
    pub fn is_vacant(&self) -> bool {
        self.seen.as_ref().is_none_or(|seen| seen.record.holder.is_empty())
    }

    /// Who else may still be acting by the record that was last seen. If that record is gone by now its holder does not know
    /// it yet: unlike in client-go, deleting it by hand makes no second master.
    pub fn foreign_holder(&self, now: Instant) -> Option<&str> {
        let seen = self.seen.as_ref().filter(|seen| seen.is_valid(now))?;
        let holder = seen.record.holder.as_str();
        Some(holder).filter(|holder| !holder.is_empty() && *holder != self.identity)
    }

    /// True if a record is as this candidate has left it.
    pub fn is_mine(&self, record: &Record) -> bool {
        record.holder == self.identity
    }

    /// How long until the record that was last seen expires, if it has not.
    pub fn expires_in(&self, now: Instant) -> Option<Duration> {
        let left = self.seen.as_ref()?.expiry().saturating_duration_since(now);
        Some(left).filter(|left| !left.is_zero())
    }

    /// The write that gives the lease back so that a successor need not wait: no holder, and the shortest duration.
    /// `None` if the last record seen is not ours.
    pub fn resign(&self, now: Timestamp) -> Option<Ask> {
        let mine = self.seen.as_ref().filter(|seen| seen.record.holder == self.identity)?;
        let record = Record {
            holder: String::new(),
            duration_seconds: 1,
            acquired: Some(now),
            renewed: Some(now),
            transitions: mine.record.transitions,
        };
        let over = mine.version.clone();
        Some(Ask::Write {
            record,
            over,
            basis: Basis::JustRead,
        })
    }

    fn contest(&self, at: Moment) -> Step {
        let Some(seen) = &self.seen else {
            return Step::Ask(Ask::Read);
        };
        if let Some(holder) = self.foreign_holder(at.instant) {
            return Step::HeldBy(holder.to_owned());
        }
        Step::Ask(self.claim(seen, Basis::JustRead, at.wall))
    }

    fn claim(&self, seen: &Sighting, basis: Basis, now: Timestamp) -> Ask {
        let old = &seen.record;
        let record = if old.holder == self.identity {
            Record {
                acquired: old.acquired,
                ..self.record(now, old.transitions)
            }
        } else {
            self.record(now, old.transitions.saturating_add(1))
        };
        let over = seen.version.clone();
        Ask::Write { record, over, basis }
    }

    fn record(&self, now: Timestamp, transitions: i32) -> Record {
        Record {
            holder: self.identity.clone(),
            duration_seconds: u32::try_from(self.timing.lease.as_secs()).unwrap_or(u32::MAX),
            acquired: Some(now),
            renewed: Some(now),
            transitions,
        }
    }
}

impl Sighting {
    fn is_valid(&self, now: Instant) -> bool {
        now < self.expiry()
    }

    fn expiry(&self) -> Instant {
        let lasts = Duration::from_secs(self.record.duration_seconds.into());
        if made(Mistake::LeaseTakenEarly) {
            return self.unchanged_since + lasts / 3;
        }
        self.unchanged_since + lasts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::{self, Clock, SystemClock};

    /// An elector and its clocks; wall time runs ahead of the monotonic clock by `skew` seconds.
    struct Bench {
        elector: Elector,
        start: Instant,
        skew: u64,
    }

    fn bench(skew: u64) -> Bench {
        Bench {
            elector: Elector::new("me", Timing::UPSTREAM),
            start: SystemClock.instant(),
            skew,
        }
    }

    fn wall(seconds: u64) -> Timestamp {
        time::plus("2026-01-02T03:04:05Z".parse().unwrap(), Duration::from_secs(seconds))
    }

    fn record(holder: &str, renewed: u64, transitions: i32) -> Record {
        Record {
            holder: holder.to_owned(),
            duration_seconds: 15,
            acquired: Some(wall(0)),
            renewed: Some(wall(renewed)),
            transitions,
        }
    }

    fn found(record: Record, version: &str) -> Answer {
        Answer::Found(record, ResourceVersion::new(version))
    }

    impl Bench {
        fn moment(&self, second: u64) -> Moment {
            Moment {
                wall: wall(second + self.skew),
                instant: self.start + Duration::from_secs(second),
            }
        }

        fn hear(&mut self, ask: &Ask, answer: Answer, second: u64) -> Step {
            let at = self.moment(second);
            self.elector.hear(ask, answer, at)
        }

        /// Reads a record and returns what is done next.
        fn read(&mut self, answer: Answer, second: u64) -> Step {
            assert_eq!(self.elector.begin(self.moment(second)), Ask::Read);
            self.hear(&Ask::Read, answer, second)
        }

        fn hold(&mut self, second: u64) {
            let Step::Ask(create) = self.read(Answer::Missing, second) else {
                panic!("not created")
            };
            let Ask::Create(record) = create.clone() else {
                panic!("{create:?}")
            };
            assert_eq!(self.hear(&create, found(record, "1"), second), Step::Held);
        }
    }

    fn written(step: Step) -> (Record, String, Basis) {
        let Step::Ask(Ask::Write { record, over, basis }) = step else {
            panic!("not a write: {step:?}")
        };
        (record, over.to_string(), basis)
    }

    #[test]
    fn a_missing_record_is_created() {
        let mut me = bench(0);
        let Step::Ask(Ask::Create(record)) = me.read(Answer::Missing, 3) else {
            panic!()
        };
        assert_eq!(
            (&*record.holder, record.duration_seconds, record.transitions),
            ("me", 15, 0)
        );
        assert_eq!((record.acquired, record.renewed), (Some(wall(3)), Some(wall(3))));
        assert!(matches!(
            me.hear(&Ask::Create(record), Answer::Conflict, 3),
            Step::Failed(_)
        ));
    }

    // proves: deployment/I-4
    #[test]
    fn a_record_expires_when_it_has_not_changed_for_its_duration_whatever_times_it_carries() {
        for skew in [0, 100_000] {
            let mut me = bench(skew);
            assert_eq!(
                me.read(found(record("other", 0, 4), "7"), 100),
                Step::HeldBy("other".to_owned())
            );
            assert_eq!(
                me.read(found(record("other", 0, 4), "8"), 114),
                Step::HeldBy("other".to_owned()),
                "metadata alone is no renewal, and not yet expired"
            );
            let (mine, over, basis) = written(me.read(found(record("other", 0, 4), "8"), 115));
            assert_eq!(
                (&*mine.holder, mine.transitions, &*over, basis),
                ("me", 5, "8", Basis::JustRead)
            );
            assert_eq!(
                (mine.acquired, mine.renewed),
                (Some(wall(115 + skew)), Some(wall(115 + skew)))
            );
        }
    }

    #[test]
    fn a_renewal_by_another_holder_starts_its_time_anew() {
        let mut me = bench(0);
        assert_eq!(
            me.read(found(record("other", 0, 4), "7"), 0),
            Step::HeldBy("other".to_owned())
        );
        assert_eq!(
            me.read(found(record("other", 10, 4), "8"), 14),
            Step::HeldBy("other".to_owned())
        );
        assert_eq!(
            me.read(found(record("other", 10, 4), "8"), 28),
            Step::HeldBy("other".to_owned())
        );
        written(me.read(found(record("other", 10, 4), "8"), 29));
    }

    #[test]
    fn a_record_without_holder_is_taken_at_once() {
        let mut me = bench(0);
        assert!(me.elector.is_vacant());
        me.elector
            .observe(record("other", 0, 4), ResourceVersion::new("7"), me.start);
        assert!(!me.elector.is_vacant());
        me.elector
            .observe(record("", 0, 4), ResourceVersion::new("8"), me.start);
        assert!(me.elector.is_vacant());
        let (mine, over, _) = written(me.read(found(record("", 0, 4), "8"), 0));
        assert_eq!((&*mine.holder, mine.transitions, &*over), ("me", 5, "8"));
    }

    #[test]
    fn the_holder_renews_over_the_version_it_wrote() {
        let mut me = bench(0);
        me.hold(0);
        let renewal = me.elector.begin(me.moment(2));
        let Ask::Write { record, over, basis } = renewal.clone() else {
            panic!("{renewal:?}")
        };
        assert_eq!((over.as_str(), basis, record.transitions), ("1", Basis::Remembered, 0));
        assert_eq!((record.acquired, record.renewed), (Some(wall(0)), Some(wall(2))));
        assert_eq!(me.hear(&renewal, found(record, "2"), 2), Step::Held);
    }

    #[test]
    fn a_renewal_that_fails_looks_again_and_goes_on_if_the_record_is_still_ours() {
        for answer in [Answer::Conflict, Answer::Failed("timeout".to_owned()), Answer::Missing] {
            let mut me = bench(0);
            me.hold(0);
            let renewal = me.elector.begin(me.moment(2));
            assert_eq!(me.hear(&renewal, answer, 2), Step::Ask(Ask::Read));
            let (again, over, basis) = written(me.hear(&Ask::Read, found(record("me", 0, 0), "5"), 3));
            assert_eq!((over.as_str(), basis, again.transitions), ("5", Basis::JustRead, 0));
            let write = Ask::Write {
                record: again,
                over: ResourceVersion::new("5"),
                basis,
            };
            assert!(
                matches!(me.hear(&write, Answer::Conflict, 3), Step::Failed(_)),
                "no endless contest"
            );
        }
    }

    #[test]
    fn a_holder_that_was_replaced_learns_by_whom() {
        let mut me = bench(0);
        me.hold(0);
        let renewal = me.elector.begin(me.moment(2));
        assert_eq!(me.hear(&renewal, Answer::Conflict, 2), Step::Ask(Ask::Read));
        assert_eq!(
            me.hear(&Ask::Read, found(record("other", 1, 1), "5"), 2),
            Step::HeldBy("other".to_owned())
        );
    }

    #[test]
    fn resigning_empties_the_record_and_shortens_it() {
        let mut me = bench(0);
        assert_eq!(me.elector.resign(wall(0)), None);
        me.hold(0);
        let Some(Ask::Write { record, over, .. }) = me.elector.resign(wall(9)) else {
            panic!()
        };
        assert_eq!((&*record.holder, record.duration_seconds, over.as_str()), ("", 1, "1"));
        me.elector
            .observe(self::record("other", 0, 1), ResourceVersion::new("3"), me.start);
        assert_eq!(me.elector.resign(wall(9)), None, "what is not ours is not given back");
    }
}
