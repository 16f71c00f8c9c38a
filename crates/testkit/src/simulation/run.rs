//! One history, from its beginning to its verdict.

use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, Once};
use std::time::Duration;

use workload_core::id::Kind;

use super::clock::Moment;
use super::oracle::Tally;
use super::process::Controller;
use super::scenario::Scenario;
use super::schedule::{Fault, Schedule};
use super::seed::Seed;
use super::trace::Trace;
use super::world::{self, Shared, World, lock};

/// Nothing has changed for so long: what there is now may be the end.
const CALM: Duration = Duration::from_secs(5);
/// How long the end is watched: nothing may change, and hardly anything may be asked.
const QUIET: Duration = Duration::from_secs(45);
/// How many requests that time may cost; watches end now and then and are opened again.
const QUIET_REQUESTS: u64 = 12;
/// How long after the last disturbance the end may take to come. Less than the five minutes after which a controller gives up
/// waiting for what it expects: it must not come to that.
const PATIENCE: Duration = Duration::from_mins(4);
/// More requests than any story needs.
const MOST_REQUESTS: u64 = 20_000;

/// A controller in a story.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// The controller.
    pub controller: Controller,
    /// The story.
    pub scenario: Scenario,
}

/// What a story comes to if nothing goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// What has to be the same at the end of every history.
    pub summary: String,
    /// What it took.
    pub tally: Tally,
}

/// What happened, and whether that was right.
#[derive(Clone, Debug)]
pub struct History {
    /// Everything, in order.
    pub trace: Trace,
    /// How it ended, or what was wrong.
    pub verdict: Result<End, String>,
    /// How long it lasted.
    pub lasted: Moment,
    /// How many requests reached the server.
    pub requests: u64,
}

impl Simulation {
    /// The story without any trouble.
    pub fn undisturbed(&self, seed: Seed) -> History {
        self.play(seed, &Schedule::none(), None)
    }

    /// The story with trouble. It must come to the same end as `goal`, and may not cost more than the trouble explains.
    pub fn disturbed(&self, seed: Seed, schedule: &Schedule, goal: &End) -> History {
        self.play(seed, schedule, Some(goal))
    }

    fn play(&self, seed: Seed, schedule: &Schedule, goal: Option<&End>) -> History {
        listen_for_panics();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        PANIC.set(Some(Vec::new()));
        let story = async {
            let world = World::new(seed, self.controller.clone(), &self.scenario, schedule);
            let world: Shared = Arc::new(Mutex::new(world));
            let judge = Judge {
                scenario: &self.scenario,
                schedule,
                goal,
                reached: None,
                looked_at: None,
            };
            let verdict = drive(&world, judge).await;
            let mut world = lock(&world);
            world.end_all();
            History {
                trace: std::mem::take(&mut world.trace),
                verdict,
                lasted: world.now(),
                requests: world.network.requests,
            }
        };
        let history = catch_unwind(AssertUnwindSafe(|| runtime.block_on(story)));
        drop(runtime);
        let panics = PANIC.take().unwrap_or_default();
        history.unwrap_or_else(|_| panic!("the simulation itself is broken: {}", panics.join("; ")))
    }
}

/// Lets one event happen after the other until the judge has a verdict.
async fn drive(world: &Shared, mut judge: Judge<'_>) -> Result<End, String> {
    let stir = lock(world).stir();
    loop {
        loop {
            let due = {
                let mut world = lock(world);
                let now = world.now();
                world.agenda.pop(now)
            };
            let Some(event) = due else { break };
            world::happen(world, event);
            tokio::task::yield_now().await;
        }
        if let Some(verdict) = judge.look(&mut lock(world)) {
            return verdict;
        }
        let next = {
            let world = lock(world);
            let next = world.agenda.next().unwrap_or_else(|| world.now() + CALM);
            world.clock.instant_of(next)
        };
        tokio::select! {
            biased;
            () = stir.notified() => {}
            () = tokio::time::sleep_until(next) => {}
        }
    }
}

/// Who says when a history is over, and how it was.
struct Judge<'a> {
    scenario: &'a Scenario,
    schedule: &'a Schedule,
    goal: Option<&'a End>,
    /// Since when the end has been there, and how many requests there were then.
    reached: Option<(Moment, u64)>,
    /// The last change of which the summary was looked at.
    looked_at: Option<(Moment, String)>,
}

impl Judge<'_> {
    fn look(&mut self, world: &mut World) -> Option<Result<End, String>> {
        if let Some(panic) = panicked().or_else(|| world.panic()) {
            world.fail(&format!("a panic: {panic}"));
        }
        let now = world.now();
        if let Some(what) = world.user.waits_in_vain(now, world.busy_until.max(world.excused_until)) {
            world.fail(&format!("the user waits in vain until {what}"));
        }
        if world.tally.requests() > MOST_REQUESTS {
            world.fail("requests without end");
        }
        if let Some(why) = &world.broken {
            return Some(Err(why.clone()));
        }
        let calm_since = world.busy_until.max(world.changed_at);
        if !world.user.is_done() || now < calm_since + CALM {
            self.reached = None;
            return None;
        }
        let verdict = self.judge_calm(world, now)?;
        Some(verdict.and_then(|end| world.judge_end().map(|()| end)))
    }

    fn judge_calm(&mut self, world: &World, now: Moment) -> Option<Result<End, String>> {
        let looked = self.looked_at.take().filter(|(at, _)| *at == world.changed_at);
        let summary = looked.map_or_else(|| self.scenario.summary(&world.state), |(_, summary)| summary);
        let is_end = self.goal.is_none_or(|goal| goal.summary == summary);
        self.looked_at = Some((world.changed_at, summary.clone()));
        if !is_end {
            let late = now > world.busy_until.max(world.excused_until) + PATIENCE;
            return late.then(|| Err(self.differs(&summary)));
        }
        let (since, requests) = *self.reached.get_or_insert_with(|| (now, world.tally.requests()));
        if now < since + QUIET {
            return None;
        }
        let more = world.tally.requests() - requests;
        if more > QUIET_REQUESTS {
            return Some(Err(format!("{more} requests in {} quiet seconds", QUIET.as_secs())));
        }
        let tally = world.tally.clone();
        let too_much = self.goal.and_then(|goal| self.too_much(&tally, goal));
        Some(too_much.map_or(Ok(End { summary, tally }), Err))
    }

    fn differs(&self, summary: &str) -> String {
        let expected = self.goal.map_or("", |goal| goal.summary.as_str());
        format!("the end is not that of the undisturbed story. It is\n{summary}\nIt should be\n{expected}")
    }

    /// What the trouble does not explain.
    fn too_much(&self, tally: &Tally, goal: &End) -> Option<String> {
        let faults = || self.schedule.0.iter().map(|planned| planned.fault);
        // A create that arrives late was repeated under its name by whoever has sent it, but not by a successor; and the name
        // is free again if its object was deleted meanwhile.
        let name_is_free = goal.tally.deletions > 0 || faults().any(Fault::may_end_a_process);
        let explains = |fault: &Fault| fault.harms_pods() || (name_is_free && matches!(fault, Fault::Late(_)));
        let explained = faults().filter(explains).count() as u64;
        for (kind, allowed) in [
            (Kind::DEPLOYMENT, 0),
            (Kind::REPLICA_SET, 0),
            (Kind::POD, 2 * explained),
        ] {
            let (created, needed) = (tally.created(kind), goal.tally.created(kind));
            if created > needed * (1 + self.scenario.again) + allowed {
                return Some(format!("{created} times a {kind} was created, {needed} are needed"));
            }
        }
        let most = 4 * (1 + goal.tally.refused) * (1 + self.schedule.0.len() as u64);
        if tally.refused > most {
            return Some(format!("{} creates were refused, {most} would be many", tally.refused));
        }
        let most = 300 + 4 * goal.tally.requests() * (1 + self.schedule.0.len() as u64);
        let requests = tally.requests();
        (requests > most).then(|| format!("{requests} requests, {most} would be many"))
    }
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.trace)?;
        match &self.verdict {
            Ok(end) => write!(
                f,
                "ended in {:.1} s as it should:\n{}",
                self.lasted.as_secs_f64(),
                end.summary
            ),
            Err(why) => write!(f, "failed after {:.1} s: {why}", self.lasted.as_secs_f64()),
        }
    }
}

thread_local! {
    /// What was said in the panics of the history that runs on this thread, if one does.
    static PANIC: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

fn panicked() -> Option<String> {
    PANIC.with_borrow(|panics| panics.as_ref()?.first().cloned())
}

/// A panic in a turn is caught by the queue; in a simulation nobody may miss it.
fn listen_for_panics() {
    static LISTENING: Once = Once::new();
    LISTENING.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let simulated =
                PANIC.with_borrow_mut(|panics| panics.as_mut().map(|panics| panics.push(panic.to_string())).is_some());
            if !simulated {
                usual(panic);
            }
        }));
    });
}
