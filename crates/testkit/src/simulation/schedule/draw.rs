//! Schedules from a seed.

use std::time::Duration;

use super::{Fault, Lines, Planned, Plural, Return, Schedule, Side, When};
use crate::simulation::seed::{Seed, Stream};

/// What may go wrong.
#[derive(Clone, Copy, Debug)]
pub struct Trouble {
    /// How many replicas of the controller run.
    pub replicas: usize,
    /// In which time after the beginning.
    pub span: Duration,
    /// Whether pods fail by themselves.
    pub pods: bool,
    /// The most faults.
    pub most: u64,
    /// The kinds whose watches get into trouble.
    pub kinds: &'static [Plural],
    /// Whether pods come to an end by themselves: then they are deleted and evicted too.
    pub works: bool,
}

impl Trouble {
    /// All that there is.
    pub fn everything(replicas: usize, span: Duration) -> Self {
        Self {
            replicas,
            span,
            pods: true,
            most: 6,
            kinds: &KINDS,
            works: false,
        }
    }

    /// The same for a controller of Jobs.
    pub fn of_jobs(replicas: usize, span: Duration) -> Self {
        Self {
            kinds: &["jobs", "pods"],
            works: true,
            ..Self::everything(replicas, span)
        }
    }
}

const KINDS: [Plural; 3] = ["deployments", "replicasets", "pods"];

/// The schedule of a seed: one fault at least.
pub fn draw(seed: Seed, trouble: &Trouble) -> Schedule {
    let stream = seed.stream("schedule");
    let count = stream.between(&(1..=trouble.most));
    Schedule((0..count).map(|_| planned(&stream, trouble)).collect())
}

fn planned(stream: &Stream, trouble: &Trouble) -> Planned {
    let fault = fault(stream, trouble);
    let span = u64::try_from(trouble.span.as_millis()).unwrap_or(u64::MAX);
    let at = When::At(stream.millis(&(0..=span)));
    let when = match stream.between(&(1..=4)) {
        1 => at,
        2 => When::Request(stream.between(&(1..=120))),
        _ => When::Write(stream.between(&(1..=60))),
    };
    Planned { when, fault }
}

fn fault(stream: &Stream, trouble: &Trouble) -> Fault {
    match stream.between(&(1..=10)) {
        1..=4 => of_a_request(stream),
        7..=8 => of_a_watch(stream, trouble),
        9 if trouble.pods => of_a_pod(stream, trouble.works),
        _ => of_a_process(stream, trouble),
    }
}

fn of_a_request(stream: &Stream) -> Fault {
    let side = *stream.pick(&[Side::Before, Side::After]);
    match stream.between(&(1..=8)) {
        1..=2 => Fault::Crash(side),
        3 => Fault::Reset(side),
        4 => Fault::Silence(side),
        5 => Fault::Slow(stream.millis(&(500..=40_000))),
        // Sooner or later than its sender gives up.
        6 => Fault::Late(stream.millis(stream.pick(&[500..=8_000, 31_000..=55_000]))),
        _ => {
            let (code, after) = *stream.pick(&[(409, 0), (429, 1), (429, 12), (500, 0), (503, 0), (503, 2), (504, 0)]);
            Fault::Answer(code, after)
        }
    }
}

fn of_a_process(stream: &Stream, trouble: &Trouble) -> Fault {
    let replica = replica(stream, trouble);
    match stream.between(&(1..=8)) {
        1..=2 => Fault::Kill(replica),
        3 => Fault::Stop(replica),
        4 => Fault::Freeze(replica, stream.millis(&(200..=40_000))),
        5 => Fault::Jump(replica, *stream.pick(&[-7200, -60, -5, 5, 60, 7200])),
        6 => Fault::Steal,
        _ => {
            let lines = *stream.pick(&[Lines::Work, Lines::Election, Lines::All]);
            Fault::Cut(replica, lines, stream.millis(&(200..=45_000)))
        }
    }
}

fn of_a_watch(stream: &Stream, trouble: &Trouble) -> Fault {
    let (replica, kind) = (replica(stream, trouble), *stream.pick(trouble.kinds));
    match stream.between(&(1..=5)) {
        1..=2 => Fault::Lag(replica, kind, stream.millis(&(100..=20_000))),
        3 => Fault::Close(replica, kind),
        4 => Fault::Break(replica, kind),
        _ => Fault::Expire(replica, kind),
    }
}

fn of_a_pod(stream: &Stream, works: bool) -> Fault {
    match stream.between(&(1..=if works { 7 } else { 5 })) {
        6 => Fault::Remove(stream.between(&(0..=9))),
        7 => Fault::Evict(stream.between(&(0..=9))),
        1 => Fault::Fail(stream.between(&(0..=9)), *stream.pick(&[1, 137])),
        2 => Fault::Unready(stream.between(&(0..=9)), stream.millis(&(1_000..=20_000))),
        3 => Fault::Hang(stream.millis(&(1_000..=30_000))),
        4 => {
            let (node, by) = (stream.between(&(0..=9)), stream.millis(&(1_000..=60_000)));
            Fault::Lose(node, by, *stream.pick(&[Return::Back, Return::Gone]))
        }
        _ => Fault::Reject,
    }
}

fn replica(stream: &Stream, trouble: &Trouble) -> usize {
    let last = trouble.replicas.saturating_sub(1) as u64;
    usize::try_from(stream.between(&(0..=last))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// All sorts of faults. One that is new is to be drawn, and to stand here.
    const SORTS: [&str; 21] = [
        "answer", "break", "close", "crash", "cut", "expire", "fail", "freeze", "hang", "jump", "kill", "lag", "late",
        "lose", "reject", "reset", "silence", "slow", "steal", "stop", "unready",
    ];

    fn drawn() -> Vec<Fault> {
        let trouble = Trouble::everything(2, Duration::from_mins(1));
        let schedules = (0..1000).map(|seed| draw(Seed(seed), &trouble));
        schedules
            .flat_map(|schedule| schedule.0)
            .map(|planned| planned.fault)
            .collect()
    }

    fn counted<K: Ord>(keys: impl Iterator<Item = K>) -> BTreeMap<K, u32> {
        let mut counts = BTreeMap::new();
        keys.for_each(|key| *counts.entry(key).or_default() += 1);
        counts
    }

    #[test]
    fn every_sort_of_fault_is_drawn_often() {
        let counts = counted(drawn().into_iter().map(Fault::word));
        let sorts: Vec<_> = counts.keys().copied().collect();
        assert_eq!(sorts, SORTS);
        assert!(counts.values().all(|count| *count >= 40), "{counts:?}");
    }

    #[test]
    fn every_form_of_a_fault_is_drawn() {
        let form = |fault: Fault| match fault {
            Fault::Crash(side) | Fault::Reset(side) | Fault::Silence(side) => Some(format!("{} {side}", fault.word())),
            Fault::Answer(code, after) => Some(format!("answer {code} {after}")),
            Fault::Cut(replica, lines, _) => Some(format!("cut {replica} {lines}")),
            Fault::Lag(replica, kind, _) | Fault::Expire(replica, kind) => {
                Some(format!("{} {replica} {kind}", fault.word()))
            }
            Fault::Jump(_, by) => Some(format!("jump {}", if by < 0 { "back" } else { "ahead" })),
            Fault::Lose(_, _, then) => Some(format!("lose {then}")),
            Fault::Late(by) => Some(format!(
                "late {}",
                if by.as_secs() < 31 {
                    "soon"
                } else {
                    "after all patience"
                }
            )),
            Fault::Slow(_)
            | Fault::Kill(_)
            | Fault::Stop(_)
            | Fault::Freeze(..)
            | Fault::Close(..)
            | Fault::Break(..)
            | Fault::Steal
            | Fault::Fail(..)
            | Fault::Unready(..)
            | Fault::Hang(_)
            | Fault::Remove(_)
            | Fault::Evict(_)
            | Fault::Reject => None,
        };
        let counts = counted(drawn().into_iter().filter_map(form));
        assert_eq!(counts.len(), 3 * 2 + 7 + 2 * 3 + 2 * 2 * 3 + 2 + 2 + 2, "{counts:?}");
        assert!(counts.values().all(|count| *count >= 10), "{counts:?}");
    }
}
