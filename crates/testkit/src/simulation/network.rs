//! The connections between the replicas of a controller and the server: every request takes a while, and may go wrong on its
//! way.

use http::{Response, header};
use tokio::sync::oneshot;
use tower::BoxError;
use workload_core::client::ConnectionError;
use workload_core::time::Clock as _;

use super::clock::Moment;
use super::connection::{Answer, Call, Delay, Frames, Life, Line, Waiting};
use super::schedule::{Fault, Lines, Plural, Side};
use super::seed::Stream;
use super::server::Reply;
use super::watches::Watches;
use super::world::{Event, World};
use crate::api::LEASE;
use crate::proxy::Asked;

/// How long a request is on its way, and its answer, in milliseconds.
const WAY: std::ops::RangeInclusive<u64> = 1..=4;

/// What is on its way, and what is wrong with the ways.
pub(super) struct Network {
    pub(super) stream: Stream,
    pub(super) requests: u64,
    pub(super) writes: u64,
    pub(super) watches: Watches,
    pub(super) cuts: Vec<Cut>,
    pub(super) lags: Vec<Lag>,
    /// Answers that never come.
    silent: Vec<Waiting>,
    /// Who has written, in the order of their first writes.
    writers: Vec<Life>,
}

/// A replica that does not reach the server.
pub(super) struct Cut {
    pub(super) replica: usize,
    pub(super) lines: Lines,
    pub(super) until: Moment,
}

/// A replica that is told late.
pub(super) struct Lag {
    pub(super) replica: usize,
    pub(super) kind: Plural,
    pub(super) by: Moment,
    pub(super) until: Moment,
}

impl Network {
    pub(super) fn new(stream: Stream) -> Self {
        Self {
            stream,
            requests: 0,
            writes: 0,
            watches: Watches::default(),
            cuts: Vec::new(),
            lags: Vec::new(),
            silent: Vec::new(),
            writers: Vec::new(),
        }
    }

    fn is_cut(&self, life: Life, channel: Line, now: Moment) -> bool {
        self.cuts
            .iter()
            .any(|cut| cut.replica == life.replica && cut.until > now && cut.lines.covers(channel))
    }

    /// No process writes once another one has written after it.
    fn is_usurped(&mut self, life: Life) -> bool {
        if self.writers.last() == Some(&life) {
            return false;
        }
        let wrote_before = self.writers.contains(&life);
        self.writers.push(life);
        wrote_before
    }
}

impl Lines {
    pub(super) fn covers(self, channel: Line) -> bool {
        match self {
            Self::All => true,
            Self::Work => channel == Line::Work,
            Self::Election => channel == Line::Election,
        }
    }
}

impl Call {
    /// A write that counts: leases are written all the time.
    fn is_write(&self) -> bool {
        self.asked.verb.writes() && self.asked.plural != LEASE.plural
    }

    fn text(&self) -> String {
        let Asked {
            plural,
            name,
            subresource,
            ..
        } = &self.asked;
        let part = if subresource.is_empty() { "" } else { "/" };
        format!("{:?} {plural} {name}{part}{subresource}", self.asked.verb)
    }
}

impl World {
    /// A replica sends a request.
    pub(super) fn send(&mut self, call: Call) {
        let now = self.now();
        let way = self.network.stream.millis(&WAY);
        if self.network.is_cut(call.life, call.channel, now) {
            self.later(way, Event::Answer(call.answer, Err(not_made())));
        } else {
            self.later(way, Event::Arrive(Box::new(call)));
        }
        self.stirred();
    }

    /// A request reaches the server, unless something happens to it.
    pub(super) fn arrive(&mut self, call: Call) {
        if call.delay == Delay::Slow && call.answer.is_closed() {
            return self.note(call.life, &format!("{}: given up before it arrived", call.text()));
        }
        if self.network.is_cut(call.life, call.channel, self.now()) {
            return self.answer(call.answer, Err(broken()));
        }
        match self.fault_of(&call) {
            None => self.carry_out(call),
            Some(fault) => self.meet(call, fault),
        }
    }

    /// Counts the request, and finds out what happens to it.
    fn fault_of(&mut self, call: &Call) -> Option<Fault> {
        if call.delay != Delay::None {
            return None;
        }
        self.network.requests += 1;
        let mut due = self.plan.at_request(self.network.requests);
        if call.is_write() {
            self.network.writes += 1;
            due.extend(self.plan.at_write(self.network.writes));
        }
        let (of_the_request, others): (Vec<_>, Vec<_>) = due.into_iter().partition(|fault| fault.is_of_a_request());
        for fault in others {
            self.happen(fault);
        }
        let mut of_the_request = of_the_request.into_iter();
        let first = of_the_request.next();
        of_the_request.for_each(|fault| self.plan.with_next_write(fault));
        first
    }

    fn meet(&mut self, mut call: Call, fault: Fault) {
        self.note(call.life, &format!("{}: {fault}", call.text()));
        self.count(fault);
        self.disturbed();
        match fault {
            Fault::Crash(Side::Before) => self.crash(call.life),
            Fault::Crash(Side::After) => {
                let life = call.life;
                self.carry_out_unanswered(call);
                self.crash(life);
            }
            Fault::Reset(Side::Before) => self.answer(call.answer, Err(broken())),
            Fault::Reset(Side::After) => {
                let waiting = self.carry_out_unanswered(call);
                self.answer(waiting, Err(broken()));
            }
            Fault::Silence(Side::Before) => self.network.silent.push(call.answer),
            Fault::Silence(Side::After) => {
                let waiting = self.carry_out_unanswered(call);
                self.network.silent.push(waiting);
            }
            Fault::Answer(code, after) => self.answer(call.answer, Ok(status(code, after))),
            Fault::Slow(by) => {
                call.delay = Delay::Slow;
                self.later(by, Event::Arrive(Box::new(call)));
                self.busy_for(by);
            }
            Fault::Late(by) => {
                let nobody = oneshot::channel().0;
                let sender = std::mem::replace(&mut call.answer, nobody);
                self.answer(sender, Ok(status(504, 0)));
                call.delay = Delay::Late;
                self.later(by, Event::Arrive(Box::new(call)));
                self.busy_for(by);
            }
            Fault::Kill(_)
            | Fault::Stop(_)
            | Fault::Freeze(..)
            | Fault::Cut(..)
            | Fault::Lag(..)
            | Fault::Close(..)
            | Fault::Break(..)
            | Fault::Expire(..)
            | Fault::Jump(..)
            | Fault::Steal
            | Fault::Fail(..)
            | Fault::Unready(..)
            | Fault::Remove(_)
            | Fault::Evict(_)
            | Fault::Hang(_)
            | Fault::Reject
            | Fault::Lose(..) => self.carry_out(call),
        }
    }

    fn carry_out(&mut self, call: Call) {
        let (reply, life, channel, answer) = self.reply(call);
        let answered = match reply {
            Reply::Answer(answer) => answer.map(|body| Frames::Whole(Some(body))),
            Reply::Watch(subscription) => self.open_watch(life, channel, subscription),
        };
        self.answer(answer, Ok(answered));
    }

    /// Who waits for the answer learns nothing. A watch is not opened.
    fn carry_out_unanswered(&mut self, call: Call) -> Waiting {
        self.reply(call).3
    }

    fn reply(&mut self, call: Call) -> (Reply, Life, Line, Waiting) {
        self.judge(&call);
        let text = call.text();
        let now = self.clock.now();
        let reply = self.server.call(&call.request, now);
        let outcome = match &reply {
            Reply::Answer(answer) => {
                self.tally.answered(&call.asked, answer.status());
                answer.status().as_u16().to_string()
            }
            Reply::Watch(_) => "open".to_owned(),
        };
        if let Some(unknown) = self.server.unknown().last() {
            let unknown = unknown.clone();
            self.fail(&format!("the server does not know this request: {unknown}"));
        }
        let seen = self.network.watches.seen_by(call.life);
        self.note(
            call.life,
            &format!("{text} -> {outcome} @{} ({seen})", self.server.version()),
        );
        self.absorb();
        (reply, call.life, call.channel, call.answer)
    }

    /// What holds for every request.
    fn judge(&mut self, call: &Call) {
        if !call.is_write() {
            if call.asked.plural != LEASE.plural {
                self.tally.reads += 1;
            }
            return;
        }
        self.tally.count(&call.asked);
        if call.delay != Delay::Late && self.network.is_usurped(call.life) {
            let who = call.life;
            self.fail(&format!("{who} writes after its successor has: {}", call.text()));
        }
        self.consult(&call.asked, call.life);
    }

    fn answer(&mut self, waiting: Waiting, answer: Answer) {
        let way = self.network.stream.millis(&WAY);
        self.later(way, Event::Answer(waiting, answer));
    }
}

fn status(code: u16, retry_after: u32) -> Response<Frames> {
    let body = serde_json::json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "the simulation says so", "reason": reason(code), "code": code,
    });
    let mut answer = Response::builder()
        .status(code)
        .header(header::CONTENT_TYPE, "application/json");
    if retry_after > 0 {
        answer = answer.header(header::RETRY_AFTER, retry_after);
    }
    let body = Frames::Whole(Some(body.to_string().into()));
    answer.body(body).expect("a valid answer")
}

fn reason(code: u16) -> &'static str {
    match code {
        409 => "Conflict",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "InternalError",
    }
}

pub(super) fn broken() -> BoxError {
    ConnectionError::Broke("connection reset by the simulation".into()).into()
}

fn not_made() -> BoxError {
    ConnectionError::NotMade("the simulation lets nobody through".into()).into()
}
