//! One history, from its beginning to its verdict.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, Once};

use super::clock::Moment;
use super::judge::{self, Judge};
use super::oracle::Tally;
use super::process::Controller;
use super::scenario::Scenario;
use super::schedule::Schedule;
use super::seed::Seed;
use super::trace::Trace;
use super::world::{self, Shared, World, lock};

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
    /// What went wrong, by the sort of fault.
    pub met: BTreeMap<&'static str, u64>,
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

    /// A story with trouble of which nobody knows what it comes to without: its laws judge its end.
    pub fn invented(&self, seed: Seed, schedule: &Schedule) -> History {
        self.play(seed, schedule, None)
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
            let judge = Judge::of(&self.scenario, schedule, goal);
            let verdict = drive(&world, judge).await;
            let mut world = lock(&world);
            world.end_all();
            History {
                trace: std::mem::take(&mut world.trace),
                verdict,
                lasted: world.now(),
                requests: world.network.requests,
                met: std::mem::take(&mut world.met),
            }
        };
        let history = catch_unwind(AssertUnwindSafe(|| runtime.block_on(story)));
        drop(runtime);
        let panics = PANIC.take().unwrap_or_default();
        history.unwrap_or_else(|_| panic!("the simulation itself is broken: {}", panics.join("; ")))
    }
}

impl History {
    /// Fails the test if another history is not the same, or if hardly anything happened.
    #[track_caller]
    pub fn check_same(&self, other: &Self) {
        let difference = self.trace.first_difference(&other.trace);
        assert!(difference.is_none(), "{}", difference.unwrap_or_default());
        assert_eq!(self.verdict, other.verdict);
        assert!(self.trace.len() > 20, "hardly anything happened:\n{}", self.trace);
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
            let next = world.agenda.next().unwrap_or_else(|| world.now() + judge::CALM);
            world.clock.instant_of(next)
        };
        tokio::select! {
            biased;
            () = stir.notified() => {}
            () = tokio::time::sleep_until(next) => {}
        }
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

pub(super) fn panicked() -> Option<String> {
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
