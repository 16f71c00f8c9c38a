//! A Job comes to the end that its pods give it; or it is rightly still open (job J-31, J-60, J-105, J-120…J-131).

use std::collections::BTreeSet;

use serde_json::Value;
use testkit::Kind;
use testkit::object::Stored;
use testkit::proxy::Verb;
use testkit::record::{Change, State};
use testkit::simulation::oracle::{Asking, Oracle};

use super::facts;

/// How Jobs end.
#[derive(Default)]
pub(super) struct Ends {
    /// Pods that the controller has killed.
    killed: BTreeSet<String>,
}

impl Oracle for Ends {
    fn asked(&mut self, asking: &Asking<'_>) -> Result<(), String> {
        let asked = asking.asked;
        if asked.verb == Verb::Delete && asked.plural == "pods" {
            let pod = asking.state.get(Kind::POD, &asked.name).filter(|pod| pod.is_active());
            self.killed.extend(pod.map(|pod| pod.uid().to_owned()));
        }
        Ok(())
    }

    fn ended(&mut self, state: &State) -> Result<(), String> {
        state.all(Kind::JOB).into_iter().try_for_each(|job| {
            let case = Case {
                state,
                job,
                failures: self.failures(state, job),
                certain: self.certain_failures(state, job),
            };
            let wrong = if job.is_terminating() {
                Some("is still there".to_owned())
            } else if facts::has_finished(job) {
                case.is_wrong_end()
            } else {
                case.is_stuck()
            };
            wrong.map_or(Ok(()), |why| Err(format!("{} {why}", job.name())))
        })
    }
}

impl Ends {
    /// How many pods have failed by themselves, and count whenever they were seen.
    fn certain_failures(&self, state: &State, job: &Stored) -> usize {
        let pods = facts::pods_ever(state, job).into_iter();
        pods.filter(|pod| facts::is_a_failure(job, pod) && !self.killed.contains(pod.uid()))
            .count()
    }

    /// How many pods have failed by themselves, and may count: one that is going may have been seen before it succeeded.
    fn failures(&self, state: &State, job: &Stored) -> usize {
        let pods = facts::pods_that(state, job, |pod| facts::is_a_failure(job, pod));
        pods.into_iter().filter(|pod| !self.killed.contains(pod.uid())).count()
    }
}

/// A Job that may be over.
struct Case<'s> {
    state: &'s State,
    job: &'s Stored,
    failures: usize,
    certain: usize,
}

impl Case<'_> {
    fn spec(&self, field: &str) -> Option<i64> {
        self.job.at("/spec")[field].as_i64()
    }

    fn reason(&self, condition: &str) -> Option<String> {
        let condition = self
            .job
            .condition(condition)
            .filter(|found| found["status"] == "True")?;
        condition["reason"].as_str().map(str::to_owned)
    }

    /// What is wrong with the end of the Job.
    fn is_wrong_end(&self) -> Option<String> {
        if self.job.at("/spec/ttlSecondsAfterFinished").is_number() {
            return Some("is still there although its time has come".to_owned());
        }
        let (complete, failed) = (self.reason("Complete"), self.reason("Failed"));
        let is_right = match (&complete, &failed) {
            (Some(reason), None) if reason == "SuccessPolicy" => self.has_succeeded_enough(),
            (Some(reason), None) if reason == "CompletionsReached" => {
                self.versions().iter().any(|job| self.is_done(job))
            }
            (None, Some(reason)) => self.is_right_failure(reason),
            _ => false,
        };
        (!is_right).then(|| format!("has ended as {complete:?} {failed:?} with {}", self.job.at("/status")))
    }

    fn is_right_failure(&self, reason: &str) -> bool {
        let (failed, done) = (facts::failed_indexes(self.job), facts::completed(self.job));
        match reason {
            "BackoffLimitExceeded" => {
                let restarts = self.job.at("/spec/template/spec/restartPolicy") == "OnFailure";
                restarts || self.is_past_limit(self.failures)
            }
            "DeadlineExceeded" => self.spec("activeDeadlineSeconds").is_some(),
            "PodFailurePolicy" => {
                let meets = |pod: &Stored| {
                    facts::counts_as_failed(self.job, pod) && facts::action(self.job, pod) == Some("FailJob")
                };
                !facts::pods_that(self.state, self.job, meets).is_empty()
            }
            "MaxFailedIndexesExceeded" => {
                let most = self.spec("maxFailedIndexes").unwrap_or(i64::MAX);
                i64::try_from(failed.len()).unwrap_or(i64::MAX) > most
            }
            "FailedIndexes" => self.versions().iter().any(|job| {
                let all = facts::completions(job).unwrap_or_default();
                !failed.is_empty() && i64::try_from(failed.len() + done.len()).unwrap_or(i64::MAX) >= all
            }),
            _ => false,
        }
    }

    fn is_past_limit(&self, failures: usize) -> bool {
        let most = self.spec("backoffLimit").unwrap_or(i64::MAX);
        i64::try_from(failures).unwrap_or(i64::MAX) > most
    }

    /// The Job as users have wanted it one after the other.
    fn versions(&self) -> Vec<&Stored> {
        let writes = self.state.writes(Kind::JOB);
        let of_it = writes.filter(|write| write.change != Change::Deleted && write.object.uid() == self.job.uid());
        of_it.map(|write| &write.object).collect()
    }

    /// Whether what has succeeded is all that this version wants.
    fn is_done(&self, wanted: &Stored) -> bool {
        let succeeded = self.job.count("succeeded");
        facts::completions(wanted).map_or(succeeded > 0, |all| succeeded >= all)
    }

    fn has_succeeded_enough(&self) -> bool {
        let done = facts::completed(self.job);
        let rules = self.job.at("/spec/successPolicy/rules").as_array();
        rules.into_iter().flatten().any(|rule| {
            let named = rule["succeededIndexes"].as_str().map(facts::indexes);
            let of_them = named
                .as_ref()
                .map_or(done.len(), |named| done.intersection(named).count());
            let count = rule["succeededCount"]
                .as_u64()
                .and_then(|count| usize::try_from(count).ok());
            of_them
                >= count
                    .or_else(|| named.as_ref().map(BTreeSet::len))
                    .unwrap_or(usize::MAX)
        })
    }

    /// Why a Job that has not ended is not rightly open.
    fn is_stuck(&self) -> Option<String> {
        let job = self.job;
        for interim in ["FailureTarget", "SuccessCriteriaMet"] {
            if facts::holds(job, interim) {
                return Some(format!("is to end ({interim}) and does not"));
            }
        }
        let pods = facts::pods(self.state, job);
        let live = pods.iter().filter(|pod| facts::is_live(pod)).count();
        let active = i64::try_from(pods.iter().filter(|pod| pod.is_active()).count()).unwrap_or(i64::MAX);
        if self.is_done(job) && live == 0 {
            return Some("is done and goes on".to_owned());
        }
        if *job.at("/spec/suspend") == Value::Bool(true) {
            let is_quiet = live == 0 && facts::holds(job, "Suspended");
            return (!is_quiet).then(|| format!("is suspended, {live} pods run"));
        }
        if self.spec("activeDeadlineSeconds").is_some() {
            return Some("goes on after its deadline".to_owned());
        }
        if self.is_past_limit(self.certain) {
            return Some(format!("goes on after {} failures", self.certain));
        }
        let wanted = self.wanted();
        let told = job.count("active");
        (active != wanted || told != active || facts::holds(job, "Suspended")).then(|| {
            format!(
                "has {active} active pods, tells {told}, {wanted} are wanted: {}",
                job.at("/status")
            )
        })
    }

    /// How many pods an open Job has.
    fn wanted(&self) -> i64 {
        let parallelism = self.job.number("/spec/parallelism");
        let given_up = i64::try_from(facts::failed_indexes(self.job).len()).unwrap_or(i64::MAX);
        match facts::completions(self.job) {
            // Once one has succeeded no other is made, and those that run go on (job J-60).
            None if self.job.count("succeeded") > 0 => self.job.count("active"),
            None => parallelism,
            Some(all) => parallelism.min(all - self.job.count("succeeded") - given_up),
        }
    }
}
