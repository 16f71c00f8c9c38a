//! When a history is over, and whether it came to what it had to.

use std::time::Duration;

use workload_core::id::Kind;

use super::clock::Moment;
use super::oracle::Tally;
use super::run::{End, panicked};
use super::scenario::Scenario;
use super::schedule::{Fault, Schedule};
use super::world::World;

/// Nothing has changed for so long: what there is now may be the end.
pub(super) const CALM: Duration = Duration::from_secs(5);
/// How long the end is watched: nothing may change, and hardly anything may be asked.
const QUIET: Duration = Duration::from_secs(45);
/// How many requests that time may cost; watches end now and then and are opened again.
const QUIET_REQUESTS: u64 = 12;
/// How long after the last disturbance the end may take to come. Less than the five minutes after which a controller gives up
/// waiting for what it expects: it must not come to that.
const PATIENCE: Duration = Duration::from_mins(4);
/// More requests than any story needs.
const MOST_REQUESTS: u64 = 20_000;

/// Who says when a history is over, and how it was.
pub(super) struct Judge<'a> {
    scenario: &'a Scenario,
    schedule: &'a Schedule,
    goal: Option<&'a End>,
    /// Since when the end has been there, and how many requests there were then.
    reached: Option<(Moment, u64)>,
    /// What the world looked like after its last change.
    looked_at: Option<Look>,
}

/// A look at the world.
struct Look {
    /// At the world as it was since then.
    since: Moment,
    summary: String,
    /// Finalizers that should not be there.
    left: Vec<String>,
    /// Where nobody knows what the end has to be: what the laws have against this one.
    wrong: Option<String>,
}

impl<'a> Judge<'a> {
    pub(super) fn of(scenario: &'a Scenario, schedule: &'a Schedule, goal: Option<&'a End>) -> Self {
        Self {
            scenario,
            schedule,
            goal,
            reached: None,
            looked_at: None,
        }
    }

    /// The verdict, once there is one.
    pub(super) fn look(&mut self, world: &mut World) -> Option<Result<End, String>> {
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

    fn judge_calm(&mut self, world: &mut World, now: Moment) -> Option<Result<End, String>> {
        let looked = self.looked_at.take().filter(|look| look.since == world.changed_at);
        let look = &*self
            .looked_at
            .insert(looked.unwrap_or_else(|| Look::at(world, self.scenario, self.goal)));
        let is_end = look.left.is_empty()
            && match self.goal {
                Some(goal) => goal.summary == look.summary,
                None => look.wrong.is_none(),
            };
        if !is_end {
            let late = now > world.busy_until.max(world.excused_until) + PATIENCE;
            return late.then(|| Err(look.differs(self.goal)));
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
        let summary = self.looked_at.as_ref().map(|look| look.summary.clone());
        let end = End {
            summary: summary.unwrap_or_default(),
            tally,
        };
        Some(too_much.map_or(Ok(end), Err))
    }

    /// What the trouble does not explain.
    fn too_much(&self, tally: &Tally, goal: &End) -> Option<String> {
        let faults = || self.schedule.0.iter().map(|planned| planned.fault);
        // A create that arrives late was repeated under its name by whoever has sent it, but not by a successor; and the name
        // is free again if its object was deleted meanwhile.
        let name_is_free = goal.tally.deletions > 0 || faults().any(Fault::may_end_a_process);
        let late = faults().filter(|fault| name_is_free && matches!(fault, Fault::Late(_)));
        let late = late.count() as u64;
        let explained = late + faults().filter(|fault| fault.harms_pods()).count() as u64;
        for (kind, allowed) in [
            (Kind::DEPLOYMENT, 0),
            (Kind::REPLICA_SET, late),
            (Kind::POD, 2 * explained + tally.lost),
        ] {
            let (created, needed) = (tally.created(kind), goal.tally.created(kind));
            if created > needed * (1 + self.scenario.again) + allowed {
                return Some(format!("{created} times a {kind} was created, {needed} are needed"));
            }
        }
        // Each fault explains that one of them was repeated, or that of one pod more; what was made once more goes once more,
        // with its two pods.
        let again = faults().count() as u64 + tally.lost + 3 * late;
        let most = goal.tally.deletions * (1 + self.scenario.again) + again;
        if tally.deletions > most {
            return Some(format!(
                "{} deletions were asked for, {most} would be many",
                tally.deletions
            ));
        }
        let most = 4 * (1 + goal.tally.refused) * (1 + self.schedule.0.len() as u64);
        if tally.refused > most {
            return Some(format!("{} writes were refused, {most} would be many", tally.refused));
        }
        let most = 300 + 4 * goal.tally.requests() * (1 + self.schedule.0.len() as u64);
        let requests = tally.requests();
        (requests > most).then(|| format!("{requests} requests, {most} would be many"))
    }
}

impl Look {
    fn at(world: &mut World, scenario: &Scenario, goal: Option<&End>) -> Self {
        let wrong = if goal.is_none() { world.judge_end().err() } else { None };
        let left = world.server.finalizers().into_iter();
        let left = left.filter(|((_, finalizer), _)| !scenario.kept.contains(&finalizer.as_str()));
        Self {
            since: world.changed_at,
            summary: scenario.summary(&world.state),
            left: left
                .map(|((kind, finalizer), count)| format!("{count} {kind} with finalizer {finalizer}"))
                .collect(),
            wrong,
        }
    }

    fn differs(&self, goal: Option<&End>) -> String {
        if !self.left.is_empty() {
            return format!("at the end there are {}", self.left.join(", "));
        }
        let summary = &self.summary;
        if let Some(wrong) = &self.wrong {
            return format!("{wrong}. The end is\n{summary}");
        }
        let expected = goal.map_or("", |goal| goal.summary.as_str());
        format!("the end is not that of the undisturbed story. It is\n{summary}\nIt should be\n{expected}")
    }
}
