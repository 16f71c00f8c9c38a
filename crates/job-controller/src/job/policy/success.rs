//! When indexed work is done before all of it is (J-148). Follows upstream's `matchSuccessPolicy`.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use crate::job::indexes::Indexes;
use crate::job::spec::Indexed;

/// One rule of a success policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SuccessRule {
    /// Which indexes it is about, as text; all if it does not say.
    succeeded_indexes: Option<String>,
    /// How many of them must have succeeded; all if it does not say.
    succeeded_count: Option<u32>,
}

/// The rules of `successPolicy`.
pub fn rules(policy: &Value) -> Arc<[SuccessRule]> {
    let rules = policy.get("rules").and_then(Value::as_array);
    let read = |rule| SuccessRule::deserialize(rule).unwrap_or_default();
    rules.into_iter().flatten().map(read).collect()
}

/// Number of the first rule that is met by these completed indexes.
pub fn first_met(work: &Indexed, completed: &Indexes) -> Option<usize> {
    if completed.is_empty() {
        return None;
    }
    work.success_rules.iter().position(|rule| rule.is_met(work, completed))
}

impl SuccessRule {
    fn is_met(&self, work: &Indexed, completed: &Indexes) -> bool {
        let enough = |count: usize| {
            let wanted = self.succeeded_count.map(usize::try_from);
            wanted.is_some_and(|wanted| wanted.is_ok_and(|wanted| count >= wanted))
        };
        let Some(text) = &self.succeeded_indexes else {
            return enough(completed.len());
        };
        let listed = Indexes::parse(text, work.completions);
        let done = listed.shared_with(completed);
        !listed.is_empty() && (done == listed.len() || enough(done))
    }
}
