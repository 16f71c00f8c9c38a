//! What the server refuses of a Job's status (job J-200…J-202). Most rules hold only for writes that touch what they are about.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::simulation::server::status::Fault;

/// What is wrong with a write of the status.
pub(in super::super) fn written(stored: &Value, object: &Value) -> Vec<Fault> {
    let change = Change {
        spec: &object["spec"],
        old: &stored["status"],
        new: &object["status"],
        faults: Vec::new(),
    };
    change.judged()
}

struct Change<'a> {
    spec: &'a Value,
    old: &'a Value,
    new: &'a Value,
    faults: Vec<Fault>,
}

impl Change<'_> {
    /// In the order in which the server names what it refuses.
    fn judged(mut self) -> Vec<Fault> {
        self.counts();
        self.pods();
        self.completion();
        self.ends();
        self.finished();
        self.indexes();
        let (was, is) = (has_ended(self.old), has_ended(self.new));
        if is && self.number("terminating") > 0 && (!was || self.touches("terminating")) {
            self.invalid("terminating", "terminating>0 is invalid for finished job");
        }
        let more_are_ready = self.number("ready") > self.number("active");
        if more_are_ready && (self.touches("ready") || self.touches("active")) {
            self.invalid("ready", "cannot set more ready pods than active");
        }
        self.success();
        self.history();
        self.faults
    }

    fn invalid(&mut self, field: &str, why: &str) {
        let value = &self.new[field];
        let counts = ["active", "succeeded", "failed"];
        let zero = Value::from(0);
        let value = if value.is_null() && counts.contains(&field) {
            &zero
        } else {
            value
        };
        let fault = Fault::invalid(&format!("status.{field}"), value, why);
        self.faults.push(fault);
    }

    fn number(&self, field: &str) -> i64 {
        self.new[field].as_i64().unwrap_or_default()
    }

    /// Whether a field differs, as far as an absent one and an empty one do.
    fn touches(&self, field: &str) -> bool {
        let absent = |value: &Value| value.is_null() || *value == 0 || *value == "";
        let (old, new) = (&self.old[field], &self.new[field]);
        old != new && !(absent(old) && absent(new))
    }

    fn turns(&self, condition: &str) -> bool {
        holds(self.old, condition) != holds(self.new, condition)
    }

    fn is(&self, condition: &str) -> bool {
        holds(self.new, condition)
    }

    fn counts(&mut self) {
        for field in ["active", "succeeded", "failed", "ready", "terminating"] {
            if self.number(field) < 0 {
                self.invalid(field, "must be greater than or equal to 0");
            }
        }
    }

    fn pods(&mut self) {
        let mut seen = BTreeSet::new();
        for list in ["succeeded", "failed"] {
            let pods = self.new["uncountedTerminatedPods"][list].as_array();
            for (at, pod) in pods.into_iter().flatten().enumerate() {
                let field = format!("status.uncountedTerminatedPods.{list}[{at}]");
                if *pod == "" {
                    self.faults.push(Fault::invalid(&field, pod, "must not be empty"));
                } else if !seen.insert(pod.to_string()) {
                    self.faults.push(Fault {
                        field,
                        reason: "FieldValueDuplicate",
                        words: format!("Duplicate value: {pod}"),
                    });
                }
            }
        }
    }

    /// A contradiction between conditions, if a write of one of them makes it.
    fn contradicts(&mut self, holds: bool, of: &[&str], why: &str) {
        if holds && of.iter().any(|condition| self.turns(condition)) {
            self.faults.push(of_conditions(why));
        }
    }

    fn completion(&mut self) {
        let (complete, failed, target) = (self.is("Complete"), self.is("Failed"), self.is("FailureTarget"));
        self.contradicts(
            complete && failed,
            &["Complete", "Failed"],
            "cannot set Complete=True and Failed=true conditions",
        );
        self.contradicts(
            complete && target,
            &["Complete", "FailureTarget"],
            "cannot set Complete=True and FailureTarget=true conditions",
        );
        let done = !self.new["completionTime"].is_null();
        let turns = self.turns("Complete") || self.touches("completionTime");
        if turns && done && !complete {
            let why = "cannot set completionTime when there is no Complete=True condition";
            self.invalid("completionTime", why);
        }
        if turns && complete && !done {
            let why = "completionTime is required for Complete jobs";
            self.faults.push(Fault::required("status.completionTime", why));
        }
        let start = self.new["startTime"].as_str();
        let is_before = done && start.is_some_and(|start| self.new["completionTime"].as_str() < Some(start));
        if is_before && (self.touches("completionTime") || self.touches("startTime")) {
            self.invalid("completionTime", "must be equal to or after `startTime`");
        }
    }

    fn ends(&mut self) {
        let (complete, failed) = (self.is("Complete"), self.is("Failed"));
        let (target, met) = (self.is("FailureTarget"), self.is("SuccessCriteriaMet"));
        self.contradicts(
            failed && !target,
            &["Failed"],
            "cannot set Failed=True condition without the FailureTarget=true condition",
        );
        self.contradicts(
            complete && !met,
            &["Complete", "SuccessCriteriaMet"],
            "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
        );
    }

    fn finished(&mut self) {
        if !has_ended(self.new) {
            return;
        }
        let was = has_ended(self.old);
        if self.number("active") > 0 && (!was || self.touches("active")) {
            self.invalid("active", "active>0 is invalid for finished job");
        }
        let has_nothing_to_do = self.spec["suspend"] == true && self.spec["completions"] == 0;
        if self.new["startTime"].is_null() && !has_nothing_to_do && (!was || self.touches("startTime")) {
            let why = "startTime is required for finished job";
            self.faults.push(Fault::required("status.startTime", why));
        }
        let uncounted = &self.new["uncountedTerminatedPods"];
        let waits = ["succeeded", "failed"].iter().any(|list| !uncounted[list].is_null());
        if waits && (!was || self.touches("uncountedTerminatedPods")) {
            self.faults.push(Fault {
                field: "status.uncountedTerminatedPods".to_owned(),
                reason: "FieldValueInvalid",
                words: format!(
                    "Invalid value: {{\"Succeeded\":{},\"Failed\":{}}}: must be empty for finished job",
                    uncounted["succeeded"], uncounted["failed"]
                ),
            });
        }
    }

    fn fits(&mut self, field: &str, indexes: &str) {
        let completions = self.spec["completions"].as_u64().unwrap_or(u64::MAX);
        let is_too_large = |index: &&str| index.parse().is_ok_and(|index: u64| index >= completions);
        if let Some(index) = indexes.split([',', '-']).find(is_too_large) {
            self.invalid(field, &format!("error parsing {field}: too large index: {index:?}"));
        }
    }

    fn success(&mut self) {
        let met = self.is("SuccessCriteriaMet");
        let (failed, target) = (self.is("Failed"), self.is("FailureTarget"));
        if met && failed {
            self.faults.push(of_conditions(
                "cannot set Failed=True and SuccessCriteriaMet=true conditions",
            ));
        }
        if met && target {
            let why = "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions";
            self.faults.push(of_conditions(why));
        }
    }

    fn indexes(&mut self) {
        let done = self.touches("completedIndexes");
        let failed = self.old["failedIndexes"] != self.new["failedIndexes"];
        let text = |field: &str| self.new[field].as_str().unwrap_or_default().to_owned();
        let (completed, given_up) = (text("completedIndexes"), text("failedIndexes"));
        if done {
            self.fits("completedIndexes", &completed);
            if self.spec["completionMode"] != "Indexed" && !completed.is_empty() {
                let why = "cannot set non-empty completedIndexes when non-indexed completion mode";
                self.invalid("completedIndexes", why);
            }
        }
        let limited = !self.spec["backoffLimitPerIndex"].is_null();
        if failed && limited {
            self.fits("failedIndexes", &given_up);
        } else if failed && !self.new["failedIndexes"].is_null() {
            let why = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
            self.invalid("failedIndexes", why);
        }
        let (completed, given_up) = (indexes(&completed), indexes(&given_up));
        let first = completed.intersection(&given_up).next();
        if let (true, Some(first)) = ((done || failed) && !self.spec["completions"].is_null(), first) {
            let why = format!("failedIndexes and completedIndexes overlap at index: {first}");
            self.invalid("failedIndexes", &why);
        }
    }

    fn history(&mut self) {
        let shrinks = |field: &str| self.number(field) < self.old[field].as_i64().unwrap_or_default();
        let elastic = self.spec["completionMode"] == "Indexed" && self.spec["completions"] == self.spec["parallelism"];
        let (failed, succeeded) = (shrinks("failed"), shrinks("succeeded"));
        if failed {
            self.invalid("failed", "cannot decrease the failed counter");
        }
        if succeeded && !elastic {
            self.invalid("succeeded", "cannot decrease the succeeded counter");
        }
        for kind in ["Complete", "Failed", "FailureTarget", "SuccessCriteriaMet"] {
            if holds(self.old, kind) && !holds(self.new, kind) {
                let terminal = if matches!(kind, "Complete" | "Failed") {
                    "terminal "
                } else {
                    ""
                };
                let why = format!("cannot disable the {terminal}{kind}=True condition");
                self.faults.push(of_conditions(&why));
            }
        }
        self.times();
    }

    fn times(&mut self) {
        let was = &self.old["startTime"];
        let was_suspended = holds(self.old, "Suspended");
        let resumes = was_suspended && !holds(self.new, "Suspended");
        if self.touches("startTime") && !was.is_null() && self.spec["suspend"] != true && !resumes {
            self.invalid("startTime", "field is immutable for unsuspended job once set");
        }
        if self.touches("completionTime") && !self.old["completionTime"].is_null() {
            self.invalid("completionTime", "field is immutable");
        }
    }
}

fn of_conditions(why: &str) -> Fault {
    Fault {
        field: "status.conditions".to_owned(),
        reason: "FieldValueInvalid",
        words: format!("Invalid value: {why}"),
    }
}

fn holds(status: &Value, kind: &str) -> bool {
    let conditions = status["conditions"].as_array();
    let is_true = |condition: &Value| condition["type"] == kind && condition["status"] == "True";
    conditions.is_some_and(|conditions| conditions.iter().any(is_true))
}

fn has_ended(status: &Value) -> bool {
    holds(status, "Complete") || holds(status, "Failed")
}

fn indexes(text: &str) -> BTreeSet<u64> {
    let run = |item: &str| {
        let (first, last) = item.split_once('-').unwrap_or((item, item));
        let (first, last) = (first.parse::<u64>().ok()?, last.parse::<u64>().ok()?);
        Some(first..=last)
    };
    text.split(',').filter_map(run).flatten().collect()
}
