//! The replicas of the controller under test: each life of one is a whole process as in production, behind a gate.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use tokio::sync::mpsc;
use workload_core::client::{self, ClientMetrics};
use workload_core::metrics::Metrics;
use workload_core::run::signals::Stops;
use workload_core::run::{Calls, Gate, Parts, Process, Program, RunArgs, Site};
use workload_core::time::SharedClock;

use super::clock::MachineClock;
use super::connection::{Connection, Life, Line};
use super::world::{Event, Shared, World, lock};

/// How long it takes until a process that has ended is started anew.
const RESTART: Duration = Duration::from_secs(2);

/// How much later than the others the last task of a frozen process goes on, in milliseconds.
const LAST: std::ops::RangeInclusive<u64> = 0..=20;

/// The controller under test.
#[derive(Clone)]
pub struct Controller {
    /// What it is called.
    pub program: Program,
    /// Its flags.
    pub args: RunArgs,
    /// What sets up its caches and loops.
    pub install: Arc<dyn Fn(&mut Site) + Send + Sync>,
}

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Controller({})", self.program.name)
    }
}

/// A replica of the controller.
pub(super) struct Replica {
    clock: MachineClock,
    life: u64,
    running: Option<Running>,
}

struct Running {
    gate: Gate,
    stop: mpsc::UnboundedSender<()>,
}

/// What asks a simulated process to stop.
struct Asked(mpsc::UnboundedReceiver<()>);

impl Stops for Asked {
    async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

impl Replica {
    pub(super) fn new(clock: MachineClock) -> Self {
        Self {
            clock,
            life: 0,
            running: None,
        }
    }
}

/// Starts a replica, unless it runs.
pub(super) fn start(world: &Shared, replica: usize) {
    let mut guard = lock(world);
    if guard.replicas[replica].running.is_some() {
        return;
    }
    let (gate, (stop, stops)) = (Gate::default(), mpsc::unbounded_channel());
    let each = &mut guard.replicas[replica];
    each.life += 1;
    let running = Running {
        gate: gate.clone(),
        stop,
    };
    each.running = Some(running);
    let life = Life {
        replica,
        number: each.life,
    };
    let clock: SharedClock = Arc::new(each.clock.clone());
    guard.note(life, "starts");
    let controller = guard.controller.clone();
    let parts = parts(world, &guard, &controller, life, clock);
    drop(guard);
    let install = controller.install;
    let (mut stops, end) = (Asked(stops), Arc::clone(world));
    let life_of_it = async move {
        let process = Process::assemble(parts, |site| install(site));
        let how = match process.run(&mut stops).await {
            Ok(()) => "stopped in order".to_owned(),
            Err(ended) => ended.to_string(),
        };
        let mut world = lock(&end);
        world.later(Duration::ZERO, Event::Ended(life, how));
        world.stirred();
    };
    gate.spawn("process", life_of_it).detach();
}

fn parts(world: &Shared, guard: &World, controller: &Controller, life: Life, clock: SharedClock) -> Parts {
    let metrics = Metrics::default();
    let counters = metrics.register(ClientMetrics::register);
    let calls = Calls::of(controller.program, &controller.args);
    let server = Uri::from_static("https://simulation");
    let client = |channel, options| {
        let connection = Connection::new(world, life, channel);
        client::over(connection, &server, options, &counters, Arc::clone(&clock)).expect("a client")
    };
    let host = life.to_string();
    Parts {
        program: controller.program,
        args: controller.args.clone(),
        work: client(Line::Work, &calls.work),
        election: client(Line::Election, &calls.election),
        chance: guard.seed.stream(&host).chance(),
        clock,
        host,
        metrics,
    }
}

impl World {
    /// A process has ended by itself.
    pub(super) fn ended(&mut self, life: Life, how: &str) {
        if self.is_alive(life) {
            self.note(life, how);
            self.bury(life.replica);
        }
    }

    /// The process that has sent a request is killed.
    pub(super) fn crash(&mut self, life: Life) {
        if self.is_alive(life) {
            self.note(life, "is killed");
            self.bury(life.replica);
        }
    }

    /// A replica is killed if it runs.
    pub(super) fn kill(&mut self, replica: usize) {
        if let Some(life) = self.life_of(replica) {
            self.crash(life);
        }
    }

    /// A replica is asked to stop.
    pub(super) fn stop(&mut self, replica: usize) {
        if let Some(running) = self.replicas.get(replica).and_then(|each| each.running.as_ref()) {
            let _gone = running.stop.send(());
        }
    }

    pub(super) fn freeze(&mut self, replica: usize, by: Duration) {
        if let (Some(life), Some(gate)) = (self.life_of(replica), self.gate(replica)) {
            self.note(life, "is frozen");
            gate.freeze();
            self.later(by, Event::Thaw(life));
        }
    }

    pub(super) fn thaw(&mut self, life: Life) {
        if self.is_alive(life)
            && let Some(gate) = self.gate(life.replica)
        {
            self.note(life, "goes on");
            gate.thaw_but("election");
            let late = self.network.stream.millis(&LAST);
            self.later(late, Event::Thawed(life));
        }
    }

    /// The last of its tasks goes on too: that which finds out that the lease is lost.
    pub(super) fn thawed(&mut self, life: Life) {
        if self.is_alive(life)
            && let Some(gate) = self.gate(life.replica)
        {
            gate.thaw();
        }
    }

    pub(super) fn jump(&mut self, replica: usize, seconds: i64) {
        if let Some(each) = self.replicas.get(replica) {
            each.clock.jump(seconds);
        }
    }

    /// What a task said when it panicked.
    pub(super) fn panic(&self) -> Option<String> {
        let mut running = self.replicas.iter().filter_map(|each| each.running.as_ref());
        running.find_map(|running| running.gate.panicked())
    }

    /// Ends all processes.
    pub(super) fn end_all(&mut self) {
        for each in &mut self.replicas {
            if let Some(running) = each.running.take() {
                running.gate.kill();
            }
        }
    }

    fn bury(&mut self, replica: usize) {
        let Some(life) = self.life_of(replica) else { return };
        if let Some(running) = self.replicas[replica].running.take() {
            running.gate.kill();
        }
        self.forget_watches(life);
        self.later(RESTART, Event::Start(replica));
        self.busy_for(RESTART);
    }

    fn life_of(&self, replica: usize) -> Option<Life> {
        let each = self.replicas.get(replica).filter(|each| each.running.is_some())?;
        let number = each.life;
        Some(Life { replica, number })
    }

    fn is_alive(&self, life: Life) -> bool {
        self.life_of(life.replica) == Some(life)
    }

    fn gate(&self, replica: usize) -> Option<Gate> {
        let running = self.replicas.get(replica)?.running.as_ref()?;
        Some(running.gate.clone())
    }
}
