//! Pods are made only where one is missing, and deleted only where one is too many or the Job has come to its end (job J-33,
//! J-60, J-61, J-70, J-91, J-158).

use std::collections::BTreeSet;

use testkit::Kind;
use testkit::object::Stored;
use testkit::proxy::Verb;
use testkit::record::{Change, State};
use testkit::simulation::oracle::{Asking, Oracle};
use testkit::simulation::schedule::Schedule;

use super::basis::Basis;
use super::facts;

/// What happens to pods.
#[derive(Default)]
pub(super) struct Pods {
    basis: Basis,
    /// Jobs whose pods were killed: their end must follow.
    ending: BTreeSet<String>,
}

impl Oracle for Pods {
    fn asked(&mut self, asking: &Asking<'_>) -> Result<(), String> {
        self.basis.asked(asking);
        let asked = asking.asked;
        match (asked.verb, &*asked.plural) {
            (Verb::Delete, "pods") => self.pod_goes(asking.state, &asked.name),
            (Verb::Delete, "jobs") => job_goes(asking.state, &asked.name),
            (Verb::Delete, other) => Err(format!("a {other} is deleted, which no controller does")),
            _ => Ok(()),
        }
    }

    fn changed(&mut self, state: &State) -> Result<(), String> {
        let Some(write) = state.newest() else { return Ok(()) };
        let job = facts::job_of(state, &write.object);
        match job.filter(|_| write.change == Change::Added && write.object.kind() == "Pod") {
            Some(job) => self.pod_comes(state, job, &write.object),
            None => Ok(()),
        }
    }

    fn ended(&mut self, state: &State) -> Result<(), String> {
        let goes_on = |job: &&Stored| !facts::holds(job, "FailureTarget") && !facts::holds(job, "SuccessCriteriaMet");
        let jobs = state.all(Kind::JOB).into_iter();
        let mut spared = jobs.filter(|job| self.ending.contains(job.uid())).filter(goes_on);
        spared.next().map_or(Ok(()), |job| {
            Err(format!("pods of {} were killed, and it has no end", job.name()))
        })
    }
}

impl Pods {
    pub(super) fn under(schedule: &Schedule) -> Self {
        Self {
            basis: Basis::under(schedule),
            ..Self::default()
        }
    }

    fn pod_comes(&self, state: &State, job: &Stored, pod: &Stored) -> Result<(), String> {
        let versions = facts::versions_from(state, job, self.basis.of(job).jobs);
        let waits = facts::waits_for_ends(job);
        let there: Vec<&Stored> = facts::pods(state, job)
            .into_iter()
            .filter(|pod| if waits { facts::is_live(pod) } else { pod.is_active() })
            .collect();
        let most = versions.iter().map(|job| job.number("/spec/parallelism")).max();
        if i64::try_from(there.len()).unwrap_or(i64::MAX) > most.unwrap_or_default() {
            return Err(format!("{} pods of {} run, {most:?} may", there.len(), job.name()));
        }
        if let Some(index) = facts::index(pod).filter(|_| facts::is_indexed(job)) {
            return comes_to_its_turn(job, &versions, &there, index);
        }
        let all = versions.iter().filter_map(|job| facts::completions(job)).max();
        let done = facts::successes_that_count(state, job);
        let running = i64::try_from(there.len()).unwrap_or(i64::MAX);
        match all {
            Some(all) if waits && done.saturating_add(running) > all => Err(format!(
                "{done} pods of {} have succeeded, {running} run, {all} are wanted",
                job.name()
            )),
            _ => Ok(()),
        }
    }

    fn pod_goes(&mut self, state: &State, name: &str) -> Result<(), String> {
        let Some(pod) = state.get(Kind::POD, name).filter(|pod| pod.is_active()) else {
            return Ok(());
        };
        let Some(job) = facts::job_of(state, pod) else {
            return Err(format!("{name} is deleted, which no Job controls"));
        };
        let shown = self.basis.of_turn(job).pods;
        let was_let_go = facts::pod_at(state, pod, shown).is_some_and(|pod| !pod.has_finalizer(facts::TRACKING));
        if pod.has_finalizer(facts::TRACKING) {
            self.ending.insert(job.uid().to_owned());
            return Ok(());
        }
        let versions = facts::versions_from(state, job, self.basis.of(job).jobs);
        let active = |pod: &&Stored| {
            let seen = facts::pod_at(state, pod, self.basis.of(job).pods);
            pod.is_active() || seen.is_some_and(Stored::is_active)
        };
        let there: Vec<&Stored> = facts::pods(state, job).into_iter().filter(active).collect();
        let surplus = |job: &&Stored| is_surplus(state, job, pod, &there);
        if versions.iter().any(surplus) {
            return Ok(());
        }
        if was_let_go {
            // Left over by a turn that did not come to its end: it goes with its Job.
            self.ending.insert(job.uid().to_owned());
            return Ok(());
        }
        Err(format!("{name} is deleted, {} pods are active", there.len()))
    }
}

/// An index has one pod at a time, and none once it is done or given up.
fn comes_to_its_turn(job: &Stored, versions: &[&Stored], there: &[&Stored], index: i64) -> Result<(), String> {
    let of_it = there.iter().filter(|pod| facts::index(pod) == Some(index)).count();
    if of_it > 1 {
        return Err(format!("{of_it} pods of index {index} of {} run", job.name()));
    }
    let is_over = |job: &&Stored| {
        let outside = facts::completions(job).is_none_or(|all| index >= all);
        outside || facts::completed(job).contains(&index) || facts::failed_indexes(job).contains(&index)
    };
    if versions.iter().all(is_over) {
        return Err(format!("index {index} of {} gets a pod for nothing", job.name()));
    }
    Ok(())
}

/// Whether a pod is too many for this version of its Job.
fn is_surplus(state: &State, job: &Stored, pod: &Stored, there: &[&Stored]) -> bool {
    if job.at("/spec/suspend") == true || !facts::takes_part(job, pod) {
        return true;
    }
    let parallelism = job.number("/spec/parallelism");
    let done = i64::try_from(facts::successes(state, job).len()).unwrap_or(i64::MAX);
    let wanted = facts::completions(job).map_or(parallelism, |all| parallelism.min(all - done));
    let twice = facts::is_indexed(job)
        && there
            .iter()
            .filter(|other| facts::index(other) == facts::index(pod))
            .count()
            > 1;
    twice || i64::try_from(there.len()).unwrap_or(i64::MAX) > wanted
}

/// A finished Job goes when its time has come.
fn job_goes(state: &State, name: &str) -> Result<(), String> {
    let Some(job) = state.job(name).filter(|job| !job.is_terminating()) else {
        return Ok(());
    };
    if facts::has_finished(job) && job.at("/spec/ttlSecondsAfterFinished").is_number() {
        return Ok(());
    }
    Err(format!("{name} is deleted, whose time has not come"))
}
