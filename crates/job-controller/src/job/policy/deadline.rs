//! How long a Job may run (J-130), and how long it may take to begin (opt-in `job.start-deadline`).

use std::time::Duration;

use workload_core::time::{self, Timestamp};

use crate::job::spec::Job;
use crate::job::words;

/// How a deadline stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadline {
    /// There is none, or it does not run.
    None,
    /// It passes in this time.
    In(Duration),
    /// It has passed.
    Passed,
}

/// The deadline of the whole Job.
pub fn of(job: &Job, now: Timestamp) -> Deadline {
    stand(job, job.spec.deadline, now)
}

/// The deadline for its first pod to run, where its user asks for one.
pub fn of_start(job: &Job, now: Timestamp) -> Deadline {
    stand(job, job.opt_ins.start_deadline.map(|wait| wait.0), now)
}

/// A deadline does not run while the Job is suspended, and begins anew when it is resumed: whatever start time it still has
/// then is replaced (J-106).
fn stand(job: &Job, after: Option<Duration>, now: Timestamp) -> Deadline {
    let Some(after) = after.filter(|_| !job.spec.is_suspended()) else {
        return Deadline::None;
    };
    let is_resumed = job.status.conditions.holds(words::SUSPENDED).is_some();
    // Without a start the clock begins with this turn, which will store it: a deadline of zero passes before any pod is made.
    let start = job.status.start_time.filter(|_| !is_resumed).unwrap_or(now);
    time::until(time::plus(start, after), now).map_or(Deadline::Passed, Deadline::In)
}
