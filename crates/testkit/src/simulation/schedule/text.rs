//! A schedule as text: `write 12: crash after; 3.500s: cut 0 all 20.000s`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::{Fault, Lines, Planned, Plural, Return, Schedule, Side, When};

/// Kinds that a controller watches.
const PLURALS: [Plural; 5] = ["deployments", "replicasets", "jobs", "pods", "leases"];

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&all.join("; "))
    }
}

impl fmt::Display for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.when {
            When::At(at) => write!(f, "{}: {}", seconds(at), self.fault),
            When::Write(n) => write!(f, "write {n}: {}", self.fault),
            When::Request(n) => write!(f, "request {n}: {}", self.fault),
        }
    }
}

impl Fault {
    /// Its sort, in a word: that with which its text begins.
    pub fn word(self) -> &'static str {
        match self {
            Self::Crash(_) => "crash",
            Self::Reset(_) => "reset",
            Self::Silence(_) => "silence",
            Self::Answer(..) => "answer",
            Self::Slow(_) => "slow",
            Self::Late(_) => "late",
            Self::Kill(_) => "kill",
            Self::Stop(_) => "stop",
            Self::Freeze(..) => "freeze",
            Self::Cut(..) => "cut",
            Self::Lag(..) => "lag",
            Self::Close(..) => "close",
            Self::Break(..) => "break",
            Self::Expire(..) => "expire",
            Self::Jump(..) => "jump",
            Self::Steal => "steal",
            Self::Fail(..) => "fail",
            Self::Remove(_) => "remove",
            Self::Evict(_) => "evict",
            Self::Unready(..) => "unready",
            Self::Hang(_) => "hang",
            Self::Reject => "reject",
            Self::Lose(..) => "lose",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())?;
        match *self {
            Self::Crash(side) | Self::Reset(side) | Self::Silence(side) => write!(f, " {side}"),
            Self::Answer(code, after) => write!(f, " {code} {after}"),
            Self::Slow(by) | Self::Late(by) | Self::Hang(by) => write!(f, " {}", seconds(by)),
            Self::Kill(replica) | Self::Stop(replica) => write!(f, " {replica}"),
            Self::Freeze(replica, by) => write!(f, " {replica} {}", seconds(by)),
            Self::Cut(replica, lines, by) => write!(f, " {replica} {lines} {}", seconds(by)),
            Self::Lag(replica, kind, by) => write!(f, " {replica} {kind} {}", seconds(by)),
            Self::Close(replica, kind) | Self::Break(replica, kind) | Self::Expire(replica, kind) => {
                write!(f, " {replica} {kind}")
            }
            Self::Jump(replica, by) => write!(f, " {replica} {by}"),
            Self::Remove(pick) | Self::Evict(pick) => write!(f, " {pick}"),
            Self::Fail(pick, code) => write!(f, " {pick} {code}"),
            Self::Unready(pick, by) => write!(f, " {pick} {}", seconds(by)),
            Self::Lose(pick, by, then) => write!(f, " {pick} {} {then}", seconds(by)),
            Self::Steal | Self::Reject => Ok(()),
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Before => "before",
            Self::After => "after",
        })
    }
}

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Work => "work",
            Self::Election => "election",
            Self::All => "all",
        })
    }
}

impl fmt::Display for Return {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Back => "back",
            Self::Gone => "gone",
        })
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.3}s", time.as_secs_f64())
}

impl FromStr for Schedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split(';').map(str::trim).filter(|part| !part.is_empty());
        parts.map(planned).collect::<Result<_, _>>().map(Self)
    }
}

fn planned(text: &str) -> Result<Planned, String> {
    let (when, fault) = text.split_once(": ").ok_or_else(|| format!("no time in {text:?}"))?;
    let when = match when.split_once(' ') {
        None => When::At(time(when)?),
        Some(("write", n)) => When::Write(number(n)?),
        Some(("request", n)) => When::Request(number(n)?),
        Some(_) => return Err(format!("unknown time {when:?}")),
    };
    let fault = fault_of(&fault.split(' ').collect::<Vec<_>>())?;
    Ok(Planned { when, fault })
}

fn fault_of(words: &[&str]) -> Result<Fault, String> {
    Ok(match *words {
        ["crash", side] => Fault::Crash(side_of(side)?),
        ["reset", side] => Fault::Reset(side_of(side)?),
        ["silence", side] => Fault::Silence(side_of(side)?),
        ["answer", code, after] => Fault::Answer(number(code)?, number(after)?),
        ["slow", by] => Fault::Slow(time(by)?),
        ["late", by] => Fault::Late(time(by)?),
        ["kill", replica] => Fault::Kill(number(replica)?),
        ["stop", replica] => Fault::Stop(number(replica)?),
        ["freeze", replica, by] => Fault::Freeze(number(replica)?, time(by)?),
        ["cut", replica, lines, by] => Fault::Cut(number(replica)?, lines_of(lines)?, time(by)?),
        ["lag", replica, kind, by] => Fault::Lag(number(replica)?, plural(kind)?, time(by)?),
        ["close", replica, kind] => Fault::Close(number(replica)?, plural(kind)?),
        ["break", replica, kind] => Fault::Break(number(replica)?, plural(kind)?),
        ["expire", replica, kind] => Fault::Expire(number(replica)?, plural(kind)?),
        ["jump", replica, by] => Fault::Jump(number(replica)?, number(by)?),
        ["steal"] => Fault::Steal,
        ["fail", pick, code] => Fault::Fail(number(pick)?, number(code)?),
        ["remove", pick] => Fault::Remove(number(pick)?),
        ["evict", pick] => Fault::Evict(number(pick)?),
        ["unready", pick, by] => Fault::Unready(number(pick)?, time(by)?),
        ["hang", by] => Fault::Hang(time(by)?),
        ["reject"] => Fault::Reject,
        ["lose", pick, by, then] => Fault::Lose(number(pick)?, time(by)?, return_of(then)?),
        _ => return Err(format!("unknown fault {words:?}")),
    })
}

fn number<N: FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| format!("{text:?} is no number"))
}

fn time(text: &str) -> Result<Duration, String> {
    let seconds: f64 = number(text.trim_end_matches('s'))?;
    Duration::try_from_secs_f64(seconds).map_err(|error| format!("{text:?}: {error}"))
}

fn side_of(text: &str) -> Result<Side, String> {
    match text {
        "before" => Ok(Side::Before),
        "after" => Ok(Side::After),
        _ => Err(format!("{text:?} is neither before nor after")),
    }
}

fn lines_of(text: &str) -> Result<Lines, String> {
    match text {
        "work" => Ok(Lines::Work),
        "election" => Ok(Lines::Election),
        "all" => Ok(Lines::All),
        _ => Err(format!("{text:?} are no lines")),
    }
}

fn return_of(text: &str) -> Result<Return, String> {
    match text {
        "back" => Ok(Return::Back),
        "gone" => Ok(Return::Gone),
        _ => Err(format!("{text:?} is no way to return")),
    }
}

fn plural(text: &str) -> Result<Plural, String> {
    let known = PLURALS.into_iter().find(|known| *known == text);
    known.ok_or_else(|| format!("nobody watches {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::super::{Trouble, draw};
    use super::*;
    use crate::simulation::seed::Seed;

    #[test]
    fn a_schedule_is_read_as_it_was_printed() {
        for seed in 0..200 {
            for trouble in [Trouble::everything, Trouble::of_jobs] {
                let drawn = draw(Seed(seed), &trouble(2, Duration::from_mins(1)));
                assert_eq!(drawn.to_string().parse::<Schedule>(), Ok(drawn.clone()), "{drawn}");
            }
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["crash after", "write x: crash after", "1s: crash", "1s: lag 0 nodes 1s"] {
            assert!(text.parse::<Schedule>().is_err(), "{text}");
        }
    }
}
