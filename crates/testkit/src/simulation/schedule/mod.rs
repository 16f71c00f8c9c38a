//! What goes wrong in a history, and when. A schedule is data: it is drawn from a seed, printed, read back and made smaller.

mod draw;
mod shrink;
mod text;

use std::time::Duration;

use super::clock::Moment;

pub use draw::{Trouble, draw};
pub use shrink::shrunk;

/// Faults and their times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule(pub Vec<Planned>);

/// One fault and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// When it happens.
    pub when: When,
    /// What happens.
    pub fault: Fault,
}

/// When a fault happens. Numbers count from 1 over all replicas of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// So long after the beginning.
    At(Moment),
    /// With the n-th write that reaches the server, leases left out.
    Write(u64),
    /// With the n-th request that reaches the server.
    Request(u64),
}

/// Before or after the server has carried a request out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The server does not see the request.
    Before,
    /// It is carried out; its answer does not arrive.
    After,
}

/// Which connections of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// That of its work.
    Work,
    /// That of its election.
    Election,
    /// Both.
    All,
}

/// What becomes of a node of which nothing was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Return {
    /// It is back, and its pods with it.
    Back,
    /// It has gone for good, and its pods with it.
    Gone,
}

/// A kind that is watched, by its plural.
pub type Plural = &'static str;

/// What goes wrong. A fault about a request that comes by time hits the next write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The process that sends the request is killed, and started anew after a while.
    Crash(Side),
    /// The connection breaks.
    Reset(Side),
    /// No answer ever comes.
    Silence(Side),
    /// The answer is this status, with `Retry-After` in seconds if not 0; nothing is carried out.
    Answer(u16, u32),
    /// The request is so long on its way; it is carried out if somebody still waits for the answer.
    Slow(Duration),
    /// The server gives the request up (504), and carries it out so much later all the same.
    Late(Duration),
    /// This replica is killed, and started anew after a while.
    Kill(usize),
    /// This replica is asked to stop in order, and started anew.
    Stop(usize),
    /// This replica stands still for so long.
    Freeze(usize, Duration),
    /// This replica reaches the server by none of these lines for so long.
    Cut(usize, Lines, Duration),
    /// What happens to a kind arrives so much later at this replica, for a minute.
    Lag(usize, Plural, Duration),
    /// The server ends this replica's watches of a kind.
    Close(usize, Plural),
    /// The connection of this replica's watches of a kind breaks.
    Break(usize, Plural),
    /// This replica's watches of a kind are told nothing for a while, and end because the server has forgotten their
    /// versions meanwhile.
    Expire(usize, Plural),
    /// The wall clock of this replica's machine jumps by so many seconds.
    Jump(usize, i64),
    /// Somebody else takes the lease, and does nothing with it.
    Steal,
    /// A pod's containers end with this exit code; the number picks the pod.
    Fail(u64, u8),
    /// A user deletes a pod; the number picks it.
    Remove(u64),
    /// A pod is evicted; the number picks it.
    Evict(u64),
    /// A pod is not ready for so long; the number picks the pod.
    Unready(u64, Duration),
    /// The next pod that is deleted takes so long to end.
    Hang(Duration),
    /// The next pod that is bound is rejected by its node.
    Reject,
    /// Nothing is heard of a node for so long; the number picks the node.
    Lose(u64, Duration, Return),
}

impl Schedule {
    /// Nothing goes wrong.
    pub fn none() -> Self {
        Self::default()
    }

    /// One fault.
    pub fn of(when: When, fault: Fault) -> Self {
        Self(vec![Planned { when, fault }])
    }

    /// Whether anything happens to pods beside what the controller does.
    pub fn harms_pods(&self) -> bool {
        self.0.iter().any(|planned| planned.fault.harms_pods())
    }
}

impl Fault {
    /// Whether it happens to a pod.
    pub fn harms_pods(self) -> bool {
        matches!(
            self,
            Self::Fail(..) | Self::Unready(..) | Self::Reject | Self::Lose(..) | Self::Remove(_) | Self::Evict(_)
        )
    }

    /// Whether a process may end by it, or lose its lease.
    pub fn may_end_a_process(self) -> bool {
        matches!(
            self,
            Self::Crash(_)
                | Self::Kill(_)
                | Self::Stop(_)
                | Self::Freeze(..)
                | Self::Cut(..)
                | Self::Steal
                | Self::Jump(..)
                | Self::Silence(_)
                | Self::Slow(_)
        )
    }

    /// Whether it is about one request.
    pub(super) fn is_of_a_request(self) -> bool {
        matches!(
            self,
            Self::Crash(_) | Self::Reset(_) | Self::Silence(_) | Self::Answer(..) | Self::Slow(_) | Self::Late(_)
        )
    }
}
