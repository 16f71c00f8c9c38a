//! What may become of the pods of a Job.

use std::time::Duration;

use testkit::simulation::fate::{Beginning, Fate};
use testkit::simulation::seed::Stream;

use super::spec::{CODES, Spec, Work};

/// A pod that does its work.
pub(super) const DONE: Fate = Fate::Exit(Duration::from_millis(1200), 0);

/// How the pods of a Job are, in percent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nature {
    fails: u64,
    is_disturbed: u64,
    stays: u64,
    /// So many pods of a Job, and of an index, may come to a bad end: a Job does not wait for hours.
    bad: usize,
    bad_of_index: usize,
    /// How long the work takes, in milliseconds.
    takes: u64,
}

impl Nature {
    pub(super) fn of(spec: &Spec, stream: &Stream) -> Self {
        let size = match spec.work {
            Work::Queue => 2,
            Work::Fixed(pods) | Work::Indexed(pods) => pods,
        };
        Self {
            fails: *stream.pick(&[0, 10, 30, 60]),
            is_disturbed: *stream.pick(&[0, 0, 10, 25]),
            stays: *stream.pick(&[0, 0, 0, 0, 40]),
            bad: usize::try_from(size).unwrap_or_default() + 4,
            bad_of_index: 3,
            takes: *stream.pick(&[300, 3_000, 15_000]),
        }
    }

    pub(super) fn fate(&self, pod: &Beginning<'_>, stream: &Stream) -> Fate {
        let is_past =
            pod.number >= self.bad || (pod.index().is_some() && pod.attempt >= self.bad_of_index) || pod.restarts >= 3;
        let takes = stream.millis(&(50..=self.takes));
        let chance = stream.between(&(0..=99));
        if stream.between(&(0..=99)) < self.stays {
            return Fate::Stays;
        }
        if is_past {
            return Fate::Exit(takes, 0);
        }
        if chance < self.fails {
            return Fate::Exit(takes, *stream.pick(&CODES));
        }
        if chance < self.fails + self.is_disturbed {
            return *stream.pick(&[Fate::Evicted(takes), Fate::Deleted(takes), Fate::Rejected]);
        }
        Fate::Exit(takes, 0)
    }
}
