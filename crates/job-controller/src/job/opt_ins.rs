//! What the user of a Job asks for beyond upstream's behaviour; the list is that of the opt-ins specification.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use workload_core::labels::Labels;
use workload_core::opt_in::{PREFIX, Reader, Rejected, Switch, Wait};

use super::spec::JobSpec;

/// Name of the opt-in for [`RuleNames`].
pub const RULE_NAMES: &str = "job.rule-names";
/// Name of the opt-in for [`OptIns::ignored_failures_no_backoff`].
pub const IGNORED_FAILURES_NO_BACKOFF: &str = "job.ignored-failures-no-backoff";
/// Name of the opt-in for [`OptIns::bad_image_after`].
pub const BAD_IMAGE_AFTER: &str = "job.bad-image-after";
/// Name of the opt-in for [`OptIns::start_deadline`].
pub const START_DEADLINE: &str = "job.start-deadline";
/// Name of the opt-in for [`OptIns::ttl_failed`].
pub const TTL_FAILED: &str = "job.ttl-failed";
/// Name of the opt-in for [`OptIns::ttl_complete`].
pub const TTL_COMPLETE: &str = "job.ttl-complete";
/// Name of the opt-in for [`OnPodFailure`].
pub const ON_POD_FAILURE: &str = "job.on-pod-failure";

/// The opt-ins of one Job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OptIns {
    /// Names of the rules of the pod failure policy (J-241).
    pub rule_names: Option<RuleNames>,
    /// Whether pods that an Ignore rule matches lengthen no back-off (field FR-JB-09).
    pub ignored_failures_no_backoff: Switch,
    /// For how long a pod may wait for an image or for its configuration before it counts as failed (L-2).
    pub bad_image_after: Option<Wait>,
    /// How long after the Job's start its first pod must run.
    pub start_deadline: Option<Wait>,
    /// How many seconds after it has failed the Job is deleted (L-8).
    pub ttl_failed: Option<Seconds>,
    /// How many seconds after it is complete the Job is deleted (L-8).
    pub ttl_complete: Option<Seconds>,
    /// What a pod that fails does to the others (L-10).
    pub on_pod_failure: OnPodFailure,
    /// Those that have no effect.
    pub rejected: Vec<Rejected>,
}

/// What a pod that fails does to the others (L-10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnPodFailure {
    /// Nothing.
    #[default]
    ReplaceIt,
    /// They go too, and all come again.
    RestartAll,
}

/// Seconds, from 0 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seconds(pub i64);

/// Names of rules of a pod failure policy, by the rule's number (J-241, J-244).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleNames(BTreeMap<usize, String>);

impl RuleNames {
    /// The name of this rule.
    pub fn get(&self, rule: usize) -> Option<&str> {
        self.0.get(&rule).map(String::as_str)
    }
}

impl OptIns {
    /// Reads the annotations of a Job.
    pub fn read(annotations: &Labels) -> Self {
        let mut reader = Reader::new(annotations, "job.");
        Self {
            rule_names: reader.read(RULE_NAMES),
            ignored_failures_no_backoff: reader.read(IGNORED_FAILURES_NO_BACKOFF).unwrap_or_default(),
            bad_image_after: reader.read(BAD_IMAGE_AFTER),
            start_deadline: reader.read(START_DEADLINE),
            ttl_failed: reader.read(TTL_FAILED),
            ttl_complete: reader.read(TTL_COMPLETE),
            on_pod_failure: reader.read(ON_POD_FAILURE).unwrap_or_default(),
            rejected: reader.finish(),
        }
    }

    /// Gives up those that mean nothing to a Job like this. `annotations` are those they were read from.
    pub(super) fn fit(&mut self, spec: &JobSpec, annotations: &Labels) {
        let mut reject = |name: &'static str, why: &str| {
            let value = annotations.get(&format!("{PREFIX}{name}")).unwrap_or_default();
            self.rejected.push(Rejected::new(name, value, why));
        };
        let rules = spec.failure_rules.len();
        if self
            .rule_names
            .as_ref()
            .is_some_and(|names| names.0.keys().any(|rule| *rule >= rules))
        {
            reject(RULE_NAMES, "it names a rule that does not exist");
            self.rule_names = None;
        }
        if self.on_pod_failure == OnPodFailure::RestartAll {
            let unfit = match spec.indexed().map(|work| work.per_index) {
                Some(None) => None,
                None => Some("only pods of completion mode Indexed belong together"),
                Some(Some(_)) => Some("indexes that may fail one by one do not restart together"),
            };
            if let Some(why) = unfit {
                reject(ON_POD_FAILURE, why);
                self.on_pod_failure = OnPodFailure::ReplaceIt;
            }
        }
    }
}

impl FromStr for OnPodFailure {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "RestartAll" => Ok(Self::RestartAll),
            _ => Err("not RestartAll"),
        }
    }
}

impl FromStr for Seconds {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse::<i32>().ok().filter(|_| digits);
        number
            .map(|number| Self(number.into()))
            .ok_or("not a number of seconds")
    }
}

/// Longest name, so that the reason made of it has at most 128 characters.
const LONGEST_NAME: usize = 111;

impl FromStr for RuleNames {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read: BTreeMap<String, String> =
            serde_json::from_str(text).map_err(|_| "not a JSON object from rule numbers to names".to_owned())?;
        let mut names = BTreeMap::new();
        let mut known = BTreeSet::new();
        for (key, name) in read {
            let rule: usize = key
                .parse()
                .map_err(|_| format!("{key:?} is not the number of a rule"))?;
            if rule.to_string() != key {
                return Err(format!("{key:?} is not the number of a rule"));
            }
            check_name(rule, &name)?;
            if !known.insert(name.clone()) {
                return Err(format!("two rules are called {name:?}"));
            }
            names.insert(rule, name);
        }
        Ok(Self(names))
    }
}

fn check_name(rule: usize, name: &str) -> Result<(), String> {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b',' | b':');
    let fits = name.bytes().all(inner)
        && name
            .bytes()
            .last()
            .is_some_and(|last| last.is_ascii_alphanumeric() || last == b'_')
        && name.len() <= LONGEST_NAME;
    if !fits {
        return Err(format!("{name:?} cannot be part of a reason"));
    }
    if name.bytes().all(|byte| byte.is_ascii_digit()) && name != rule.to_string() {
        return Err(format!("{name:?} is the number of another rule"));
    }
    Ok(())
}
