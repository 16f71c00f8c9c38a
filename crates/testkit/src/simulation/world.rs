//! The world around the processes: one server, and an agenda of all that is going to happen. Everything happens on one thread
//! and in one order, which follows from the seed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use workload_core::id::Kind;

use super::agenda::Agenda;
use super::clock::{MachineClock, Moment, WorldClock};
use super::connection::{Answer, Call, Life, Waiting};
use super::faults::Plan;
use super::loss::Loss;
use super::network::Network;
use super::node::{Node, Step};
use super::oracle::{Asking, Oracle, Tally};
use super::process::{Controller, Replica};
use super::scenario::Scenario;
use super::schedule::{Fault, Plural, Schedule};
use super::seed::Seed;
use super::server::ApiServer;
use super::trace::Trace;
use super::user::User;
use super::watches::End;
use super::work::Turn;
use crate::api::{EVENT, LEASE};
use crate::object::Stored;
use crate::proxy::Asked;
use crate::state::{Change, State};

/// How long after the replica before it each one starts.
const APART: Duration = Duration::from_millis(300);
/// How late the garbage collector comes, in milliseconds.
const COLLECTING: std::ops::RangeInclusive<u64> = 20..=400;

/// A world that processes and the driver share.
pub(super) type Shared = Arc<Mutex<World>>;

pub(super) fn lock(world: &Shared) -> MutexGuard<'_, World> {
    world.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Something that is going to happen.
pub(super) enum Event {
    Arrive(Box<Call>),
    Answer(Waiting, Answer),
    Show(u64, u64),
    Bookmark(u64),
    EndWatch(u64),
    Expire(usize, Plural),
    Start(usize),
    Ended(Life, String),
    Thaw(Life),
    Thawed(Life),
    Fault(Fault),
    Node(Step),
    Work(Turn),
    Loss(Loss),
    User,
    Collect,
}

/// All that is shared.
pub(super) struct World {
    pub(super) seed: Seed,
    pub(super) clock: WorldClock,
    pub(super) agenda: Agenda<Event>,
    pub(super) server: ApiServer,
    pub(super) network: Network,
    pub(super) replicas: Vec<Replica>,
    pub(super) controller: Controller,
    pub(super) node: Node,
    pub(super) user: User,
    pub(super) plan: Plan,
    pub(super) trace: Trace,
    pub(super) state: State,
    pub(super) tally: Tally,
    /// What has gone wrong, by the sort of fault.
    pub(super) met: BTreeMap<&'static str, u64>,
    pub(super) oracles: Vec<Box<dyn Oracle>>,
    /// The first thing that must not be.
    pub(super) broken: Option<String>,
    /// Until then something is out of order.
    pub(super) busy_until: Moment,
    /// Until then a controller may have a reason to wait.
    pub(super) excused_until: Moment,
    /// When an object other than leases has changed last.
    pub(super) changed_at: Moment,
    absorbed: u64,
    collecting: bool,
    stir: Arc<Notify>,
}

impl World {
    pub(super) fn new(seed: Seed, controller: Controller, scenario: &Scenario, schedule: &Schedule) -> Self {
        let clock = WorldClock::start();
        let mut world = Self {
            seed,
            clock,
            agenda: Agenda::default(),
            server: ApiServer::new(seed.mixed("server"), &scenario.custom),
            network: Network::new(seed.stream("network")),
            replicas: (0..scenario.replicas)
                .map(|_| Replica::new(MachineClock::of(clock)))
                .collect(),
            controller,
            node: Node::new(seed.stream("nodes"), scenario.habits.clone()),
            user: User::of(scenario),
            plan: Plan::default(),
            trace: Trace::default(),
            state: State::default(),
            tally: Tally::default(),
            met: BTreeMap::new(),
            oracles: scenario.oracles(schedule),
            broken: None,
            busy_until: Moment::ZERO,
            excused_until: Moment::ZERO,
            changed_at: Moment::ZERO,
            absorbed: 0,
            collecting: false,
            stir: Arc::default(),
        };
        let mut start = Duration::ZERO;
        for replica in 0..scenario.replicas {
            world.later(start, Event::Start(replica));
            start += APART;
        }
        world.later(Duration::ZERO, Event::User);
        world.expect_trouble(schedule);
        world
    }

    pub(super) fn now(&self) -> Moment {
        self.clock.elapsed()
    }

    /// Puts an event on the agenda.
    pub(super) fn later(&mut self, by: Duration, event: Event) {
        self.agenda.put(self.now() + by, event);
    }

    /// The agenda has changed from outside.
    pub(super) fn stirred(&self) {
        self.stir.notify_one();
    }

    pub(super) fn stir(&self) -> Arc<Notify> {
        Arc::clone(&self.stir)
    }

    /// Something is wrong now.
    pub(super) fn disturbed(&mut self) {
        self.busy_for(Duration::ZERO);
    }

    /// Something is wrong for so long.
    pub(super) fn busy_for(&mut self, by: Duration) {
        self.busy_until = self.busy_until.max(self.now() + by);
    }

    /// Writes a line about a process into the trace.
    pub(super) fn note(&mut self, life: Life, what: &str) {
        self.trace.add(self.clock.elapsed(), life.to_string(), what);
    }

    /// Writes a line about somebody else into the trace.
    pub(super) fn tell(&mut self, who: &str, what: &str) {
        self.trace.add(self.clock.elapsed(), who, what);
    }

    /// The history has failed.
    pub(super) fn fail(&mut self, why: &str) {
        self.tell("oracle", why);
        self.broken.get_or_insert_with(|| why.to_owned());
    }

    /// Asks the oracles about a write that is about to be carried out.
    pub(super) fn consult(&mut self, asked: &Asked, life: Life) {
        let watches = &self.network.watches;
        let seen = |kind: Kind| watches.version_seen(life, kind);
        let asking = Asking {
            asked,
            state: &self.state,
            seen: &seen,
            now: workload_core::time::Clock::now(&self.clock),
        };
        let verdicts = self.oracles.iter_mut().filter_map(|oracle| oracle.asked(&asking).err());
        if let Some(why) = verdicts.collect::<Vec<_>>().into_iter().next() {
            self.fail(&why);
        }
    }

    /// Asks the oracles about the end of the history.
    pub(super) fn judge_end(&mut self) -> Result<(), String> {
        let Self { oracles, state, .. } = self;
        oracles.iter_mut().try_for_each(|oracle| oracle.ended(state))
    }

    /// Takes in what has happened on the server: who has to hear of it?
    pub(super) fn absorb(&mut self) {
        let since = std::mem::replace(&mut self.absorbed, self.server.version());
        if since == self.absorbed {
            return;
        }
        let mut writes: Vec<(u64, Kind, Change, Stored)> = Vec::new();
        for kind in self.server.kinds() {
            writes.extend(self.server.writes_after(kind, since).map(|write| {
                let change = match (write.before, write.deleted) {
                    (_, true) => Change::Deleted,
                    (None, false) => Change::Added,
                    (Some(_), false) => Change::Modified,
                };
                (write.version, kind, change, write.after.clone())
            }));
        }
        writes.sort_by_key(|(version, ..)| *version);
        for (version, kind, change, object) in writes {
            self.heard_of(version, kind, change, &object);
        }
    }

    fn heard_of(&mut self, version: u64, kind: Kind, change: Change, object: &Stored) {
        self.tell_watches(kind, version);
        self.tally.stored(kind, change);
        if kind == LEASE {
            return;
        }
        self.state.record(kind, change, object.clone());
        // Events can be late: those that are still to be written are not over either.
        self.changed_at = self.now();
        if kind == EVENT {
            return;
        }
        if kind == Kind::POD {
            self.notice_pod(change, object);
            self.notice_work(change, object);
        }
        let verdicts: Vec<_> = self
            .oracles
            .iter_mut()
            .filter_map(|oracle| oracle.changed(&self.state).err())
            .collect();
        if let Some(why) = verdicts.into_iter().next() {
            self.fail(&format!("at version {version}: {why}"));
        }
        self.later(Duration::ZERO, Event::User);
        if !std::mem::replace(&mut self.collecting, true) {
            let soon = self.network.stream.millis(&COLLECTING);
            self.later(soon, Event::Collect);
        }
    }

    /// One step of what kube-controller-manager does beside; as long as there is something to do, it goes on.
    fn collect(&mut self) {
        self.collecting = false;
        let now = workload_core::time::Clock::now(&self.clock);
        if let Some(what) = self.server.collect(now) {
            self.tell("gc", &what);
        }
        self.server.count_budgets(now);
        self.absorb();
    }
}

/// Lets an event happen.
pub(super) fn happen(world: &Shared, event: Event) {
    if let Event::Start(replica) = event {
        return super::process::start(world, replica);
    }
    let mut world = lock(world);
    match event {
        Event::Arrive(call) => world.arrive(*call),
        Event::Answer(waiting, answer) => drop(waiting.send(answer)),
        Event::Show(watch, version) => world.show(watch, version),
        Event::Bookmark(watch) => world.bookmark(watch),
        Event::EndWatch(watch) => world.end_watch(watch, End::Closed),
        Event::Expire(replica, kind) => world.expire(replica, kind),
        Event::Start(_) => {}
        Event::Ended(life, how) => world.ended(life, &how),
        Event::Thaw(life) => world.thaw(life),
        Event::Thawed(life) => world.thawed(life),
        Event::Fault(fault) => world.happen(fault),
        Event::Node(step) => world.step(step),
        Event::Work(turn) => world.take_turn(turn),
        Event::Loss(loss) => world.go_on_with(loss),
        Event::User => world.go_on(),
        Event::Collect => world.collect(),
    }
}
