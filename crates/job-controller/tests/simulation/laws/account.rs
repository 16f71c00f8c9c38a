//! Every pod is counted once, for what it came to; the world's own account says what that was (job J-35…J-52).

use std::collections::{BTreeMap, BTreeSet};

use testkit::Kind;
use testkit::object::Stored;
use testkit::record::{Change, State};
use testkit::simulation::oracle::{Asking, Oracle};
use testkit::simulation::schedule::Schedule;

use super::basis::Basis;
use super::facts;

/// What a pod is counted as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum As {
    Succeeded,
    Failed,
}

impl As {
    const ALL: [Self; 2] = [Self::Succeeded, Self::Failed];

    fn list(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
        }
    }
}

/// What has been counted so far.
#[derive(Default)]
pub(super) struct Account {
    basis: Basis,
    /// Pods in the lists of a status.
    listed: BTreeMap<String, As>,
    /// Pods that were in a list and are in a counter since.
    counted: BTreeMap<String, As>,
    /// Pods that were let go of without being counted, rightly.
    excused: BTreeSet<String>,
}

impl Oracle for Account {
    fn asked(&mut self, asking: &Asking<'_>) -> Result<(), String> {
        self.basis.asked(asking);
        Ok(())
    }

    fn changed(&mut self, state: &State) -> Result<(), String> {
        let Some(write) = state.newest() else { return Ok(()) };
        let (object, before) = (&write.object, write.before.as_ref());
        match (object.kind(), before) {
            ("Job", Some(before)) if write.change == Change::Modified => self.told(state, before, object),
            ("Pod", Some(before)) if before.has_finalizer(facts::TRACKING) => {
                let is_kept = write.change != Change::Deleted && object.has_finalizer(facts::TRACKING);
                if is_kept {
                    return Ok(());
                }
                self.let_go(state, before)
            }
            _ => Ok(()),
        }
    }

    fn ended(&mut self, state: &State) -> Result<(), String> {
        state
            .all(Kind::JOB)
            .into_iter()
            .try_for_each(|job| self.is_exact(state, job))?;
        let kept = state.pods().into_iter().find(|pod| {
            let is_nobodys = facts::job_of(state, pod).is_none_or(facts::has_finished);
            let is_over = pod.has_ended() && !facts::waits_for_a_successor(state, pod);
            pod.has_finalizer(facts::TRACKING) && (is_over || is_nobodys)
        });
        kept.map_or(Ok(()), |pod| Err(format!("{} keeps the finalizer", pod.name())))
    }
}

impl Account {
    pub(super) fn under(schedule: &Schedule) -> Self {
        Self {
            basis: Basis::under(schedule),
            ..Self::default()
        }
    }

    /// A status was written.
    fn told(&mut self, state: &State, before: &Stored, job: &Stored) -> Result<(), String> {
        for how in As::ALL {
            let (old, new) = (facts::listed(before, how.list()), facts::listed(job, how.list()));
            for pod in new.difference(&old) {
                self.list(state, job, pod, how)?;
            }
            let left: Vec<&String> = old.difference(&new).collect();
            for pod in &left {
                self.count(state, pod, how)?;
            }
            let grown = job.count(how.list()) - before.count(how.list());
            let by_index = how == As::Succeeded && facts::is_indexed(job);
            if !by_index && grown != i64::try_from(left.len()).unwrap_or(i64::MAX) {
                return Err(format!(
                    "{} grows by {grown}, the list of pods shrinks by {}",
                    how.list(),
                    left.len()
                ));
            }
        }
        if facts::is_indexed(job) {
            indexes_are_true(state, before, job)?;
        }
        if facts::has_finished(job) && !facts::has_finished(before) {
            has_no_pods_left(state, job)?;
        }
        Ok(())
    }

    fn list(&mut self, state: &State, job: &Stored, uid: &str, how: As) -> Result<(), String> {
        if self.listed.contains_key(uid) || self.counted.contains_key(uid) {
            return Err(format!("pod {uid} is listed a second time"));
        }
        let pods = facts::pods_ever(state, job);
        let Some(pod) = pods.into_iter().find(|pod| pod.uid() == uid) else {
            return Err(format!("pod {uid} is listed, which {} never had", job.name()));
        };
        let killed = facts::holds(job, "FailureTarget");
        let is_so = match how {
            As::Succeeded => facts::has_succeeded(pod),
            As::Failed => {
                let versions = facts::pod_versions_from(state, pod, self.basis.of(job).pods);
                versions.into_iter().any(|pod| {
                    let is_killed = killed && facts::action(job, pod) != Some("Ignore");
                    is_killed || facts::is_a_failure(job, pod)
                })
            }
        };
        if !is_so {
            return Err(format!("{pod} is listed as {}", how.list()));
        }
        self.listed.insert(uid.to_owned(), how);
        Ok(())
    }

    fn count(&mut self, state: &State, uid: &str, how: As) -> Result<(), String> {
        let there = state.pods().into_iter().find(|pod| pod.uid() == uid);
        if let Some(pod) = there.filter(|pod| pod.has_finalizer(facts::TRACKING)) {
            return Err(format!("{pod} is counted and has its finalizer"));
        }
        self.listed.remove(uid);
        let again = self.counted.insert(uid.to_owned(), how);
        again.map_or(Ok(()), |_| Err(format!("pod {uid} is counted a second time")))
    }

    /// A pod has lost its finalizer: its end is recorded, or there is nothing to record.
    fn let_go(&mut self, state: &State, pod: &Stored) -> Result<(), String> {
        let uid = pod.uid();
        if self.listed.contains_key(uid) || self.counted.contains_key(uid) {
            return Ok(());
        }
        let job = facts::job_of(state, pod).filter(|job| !job.is_terminating() && !facts::has_finished(job));
        let Some(job) = job else {
            self.excused.insert(uid.to_owned());
            return Ok(());
        };
        let by_index = facts::index(pod).filter(|_| facts::is_indexed(job));
        if facts::has_succeeded(pod) && by_index.is_some_and(|index| facts::completed(job).contains(&index)) {
            return Ok(());
        }
        let seen = facts::pod_at(state, pod, self.basis.of(job).pods).unwrap_or(pod);
        let versions = facts::versions_from(state, job, self.basis.of(job).jobs);
        // A surplus pod that ends while it is removed counts for nothing (job J-52).
        let turn = self.basis.of_turn(job).pods;
        let was_active = facts::pod_at(state, pod, turn).is_some_and(Stored::is_active);
        let has_no_part = versions.iter().any(|job| !facts::takes_part(job, pod));
        let given_up = by_index.is_some_and(|index| facts::failed_indexes(job).contains(&index));
        let is_right = facts::holds(job, "SuccessCriteriaMet")
            || [pod, seen].iter().any(|pod| facts::action(job, pod) == Some("Ignore"))
            || has_no_part
            || (given_up && facts::has_succeeded(pod))
            || seen.is_active()
            || was_active;
        if !is_right {
            return Err(format!("{pod} loses its finalizer before its end is recorded"));
        }
        self.excused.insert(uid.to_owned());
        Ok(())
    }

    /// The counters of a Job tell what its pods have come to.
    fn is_exact(&self, state: &State, job: &Stored) -> Result<(), String> {
        let pods = facts::pods_ever(state, job);
        let counted = |how: As| {
            pods.iter()
                .filter(|pod| self.counted.get(pod.uid()) == Some(&how))
                .count()
        };
        for how in As::ALL {
            let by_index = how == As::Succeeded && facts::is_indexed(job);
            let (told, true_) = (job.count(how.list()), i64::try_from(counted(how)).unwrap_or(i64::MAX));
            if !by_index && told != true_ {
                return Err(format!(
                    "{} tells {told} {}, it should be {true_}",
                    job.name(),
                    how.list()
                ));
            }
            if !facts::listed(job, how.list()).is_empty() {
                return Err(format!("{} has pods that are not counted", job.name()));
            }
        }
        pods.into_iter().try_for_each(|pod| self.is_counted(state, job, pod))
    }

    fn is_counted(&self, state: &State, job: &Stored, pod: &Stored) -> Result<(), String> {
        let told = self.counted.get(pod.uid()).copied();
        let ends = facts::counts_as_failed(job, pod) || facts::has_succeeded(pod);
        // What had no part in the work for a while may be forgotten.
        let versions = facts::versions_from(state, job, 0);
        let has_part = versions.iter().all(|version| facts::takes_part(version, pod));
        if !ends || self.excused.contains(pod.uid()) || !has_part || facts::waits_for_a_successor(state, pod) {
            return Ok(());
        }
        let is_right = match told {
            None => {
                let index = facts::index(pod).filter(|_| facts::is_indexed(job));
                let known =
                    |index| facts::completed(job).contains(&index) || facts::failed_indexes(job).contains(&index);
                facts::has_succeeded(pod) && index.is_some_and(known)
            }
            Some(As::Succeeded) => facts::has_succeeded(pod),
            Some(As::Failed) => !facts::has_succeeded(pod) || pod.is_terminating(),
        };
        if is_right {
            return Ok(());
        }
        Err(format!("{pod} has ended and is counted as {told:?}"))
    }
}

fn indexes_are_true(state: &State, before: &Stored, job: &Stored) -> Result<(), String> {
    let (old, new) = (facts::completed(before), facts::completed(job));
    let all = facts::completions(job).unwrap_or_default();
    let lost: Vec<_> = old.difference(&new).filter(|index| **index < all).collect();
    if !lost.is_empty() {
        return Err(format!("indexes {lost:?} are not done any more"));
    }
    let pods = facts::pods_ever(state, job);
    let is_done = |index: &&i64| {
        let of_it = |pod: &&&Stored| facts::index(pod) == Some(**index);
        pods.iter().filter(of_it).any(|pod| facts::has_succeeded(pod))
    };
    if let Some(index) = new.difference(&old).find(|index| !is_done(index)) {
        return Err(format!("index {index} is told to be done"));
    }
    if job.count("succeeded") != i64::try_from(new.len()).unwrap_or(i64::MAX) {
        return Err(format!(
            "{} succeeded, indexes {new:?} are done",
            job.count("succeeded")
        ));
    }
    let (was, is) = (facts::failed_indexes(before), facts::failed_indexes(job));
    if was.difference(&is).any(|index| *index < all) || !is.is_disjoint(&new) {
        return Err(format!("failed indexes {was:?} become {is:?}, done are {new:?}"));
    }
    Ok(())
}

/// The end comes after that of the last pod (job J-150).
fn has_no_pods_left(state: &State, job: &Stored) -> Result<(), String> {
    let live = facts::pods(state, job).into_iter().find(|pod| facts::is_live(pod));
    if let Some(pod) = live {
        return Err(format!("{} has ended, {pod} has not", job.name()));
    }
    let kept = facts::pods(state, job)
        .into_iter()
        .find(|pod| pod.has_finalizer(facts::TRACKING));
    kept.map_or(Ok(()), |pod| {
        Err(format!("{} has ended, {pod} is not counted", job.name()))
    })
}
