//! What a failed pod means (J-140…J-144, J-243). Follows upstream's `matchPodFailurePolicy`.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use crate::job::opt_ins::RuleNames;
use crate::job::pod::Pod;
use crate::job::words;

/// One rule of a pod failure policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// What follows if it matches.
    pub action: Action,
    /// Its name, where the server knows such (J-245).
    pub name: Option<String>,
    /// What it looks at; nothing if nobody knows.
    test: Option<Test>,
}

/// What a pod that has failed means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// The Job has failed.
    FailJob,
    /// Its index has failed.
    FailIndex,
    /// Nothing: it is replaced and does not count.
    Ignore,
    /// It counts, as without a policy.
    Count,
}

impl Action {
    /// The word of the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FailJob => "FailJob",
            Self::FailIndex => "FailIndex",
            Self::Ignore => "Ignore",
            Self::Count => "Count",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    Exit {
        container: Option<String>,
        operator: Operator,
        values: Vec<i32>,
    },
    Condition(Vec<Pattern>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    In,
    NotIn,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Pattern {
    kind: String,
    status: String,
}

/// The rule that decided, and what of the pod it met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// Number of the rule, from 0 on.
    pub rule: usize,
    /// Its action.
    pub action: Action,
    /// What it met, as the message of a condition tells it (J-144).
    pub message: String,
}

/// The rules of `podFailurePolicy`. Those with an action that nobody here knows are kept in their places and never match.
pub fn rules(policy: &Value) -> Arc<[Rule]> {
    let rules = policy.get("rules").and_then(Value::as_array);
    rules.into_iter().flatten().map(Rule::read).collect()
}

/// The first rule that the failed pod meets, whatever its action (J-141).
pub fn first_match(rules: &[Rule], pod: &Pod) -> Option<Match> {
    rules.iter().enumerate().find_map(|(number, rule)| {
        let met = rule.test.as_ref()?.meets(pod)?;
        Some(Match {
            rule: number,
            action: rule.action,
            message: format!("{met} matching {} rule at index {number}", rule.action.as_str()),
        })
    })
}

/// True if some failures may not count.
pub fn ignores_any(rules: &[Rule]) -> bool {
    rules.iter().any(|rule| rule.action == Action::Ignore)
}

/// What the failure of this pod means: counted unless a rule says otherwise.
pub fn action(rules: &[Rule], pod: &Pod) -> Action {
    first_match(rules, pod).map_or(Action::Count, |matched| matched.action)
}

/// The reason that a FailJob rule gives to its Job (J-242, J-243, J-245).
pub fn reason(rules: &[Rule], names: Option<&RuleNames>, rule: usize) -> String {
    let plain = words::POD_FAILURE_POLICY;
    let of_field = |number: usize| rules.get(number).and_then(|rule| rule.name.as_deref());
    let by_field = rules.iter().any(|rule| rule.name.is_some());
    match (by_field, names) {
        (true, _) => format!(
            "{plain}_{}",
            of_field(rule).map_or_else(|| rule.to_string(), str::to_owned)
        ),
        (false, Some(names)) => format!(
            "{plain}_{}",
            names.get(rule).map_or_else(|| rule.to_string(), str::to_owned)
        ),
        (false, None) => plain.to_owned(),
    }
}

impl Test {
    /// What of the pod meets it, in words.
    fn meets(&self, pod: &Pod) -> Option<String> {
        let key = &pod.meta.key;
        match self {
            Self::Exit {
                container,
                operator,
                values,
            } => {
                let named = |name: &str| container.as_deref().is_none_or(|wanted| wanted == name);
                let listed = |code: i32| match operator {
                    Operator::In => values.contains(&code),
                    Operator::NotIn => !values.contains(&code),
                };
                let exit = pod
                    .exits
                    .iter()
                    .find(|exit| named(&exit.container) && listed(exit.code))?;
                Some(format!(
                    "Container {} for pod {key} failed with exit code {}",
                    exit.container, exit.code
                ))
            }
            Self::Condition(patterns) => {
                let (kind, _) = pod.conditions.iter().find(|(kind, status)| {
                    let mut patterns = patterns.iter();
                    patterns.any(|pattern| *pattern.kind == **kind && *pattern.status == **status)
                })?;
                Some(format!("Pod {key} has condition {kind}"))
            }
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawRule {
    action: String,
    name: Option<String>,
    on_exit_codes: Option<RawExitCodes>,
    on_pod_conditions: Option<Vec<RawPattern>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawExitCodes {
    container_name: Option<String>,
    operator: String,
    values: Option<Vec<i32>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawPattern {
    r#type: String,
    status: Option<String>,
}

impl Rule {
    fn read(json: &Value) -> Self {
        let raw = RawRule::deserialize(json).unwrap_or_default();
        let action = [Action::FailJob, Action::FailIndex, Action::Ignore, Action::Count]
            .into_iter()
            .find(|action| action.as_str() == raw.action);
        let test = action.and_then(|_| raw.test());
        Self {
            action: action.unwrap_or(Action::Count),
            name: raw.name,
            test,
        }
    }
}

impl RawRule {
    fn test(&self) -> Option<Test> {
        if let Some(codes) = &self.on_exit_codes {
            let operator = match codes.operator.as_str() {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                _ => return None,
            };
            return Some(Test::Exit {
                container: codes.container_name.clone(),
                operator,
                values: codes.values.clone().unwrap_or_default(),
            });
        }
        let patterns = self.on_pod_conditions.as_ref()?.iter().map(|pattern| Pattern {
            kind: pattern.r#type.clone(),
            status: pattern.status.clone().unwrap_or_else(|| "True".to_owned()),
        });
        Some(Test::Condition(patterns.collect()))
    }
}
