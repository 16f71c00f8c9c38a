//! The rollback annotation of extensions/v1beta1, which the API still lets through (D-50…D-53). Follows upstream's
//! `rollback`.

use serde_json::{Map, Value, json};
use workload_core::plan::Note;

use super::draft::Draft;
use super::{Report, revisions};
use crate::deployment::observe::Observed;
use crate::deployment::words;
use crate::replicaset::spec::ReplicaSet;

/// Sets the Deployment back to the template of revision `asked` (0: the one before the last), or says why not. Either way
/// the annotation goes.
pub(super) fn step(draft: &mut Draft<'_>, asked: i64) -> Report {
    if revisions::ensure(draft).is_none() {
        return Report::Marks;
    }
    let seen = draft.seen;
    let name = &seen.deployment.meta.key.name;
    let revisions = all_revisions(draft);
    let wanted = if asked == 0 {
        last_but_one(&revisions)
    } else {
        Some(asked)
    };
    let found = wanted.and_then(|wanted| revisions.into_iter().find(|(_, number)| *number == wanted));
    let (change, note) = match found {
        Some((Some(set), number)) if !set.template.same_as(&seen.deployment.spec.template) => {
            let message = format!("Rolled back deployment {name:?} to revision {number}");
            (back_to(seen, set), Note::normal(words::ROLLBACK_DONE, message))
        }
        Some((_, number)) => {
            let message = format!("Revision {number} has the template that deployment {name:?} has already");
            let note = Note::warning(words::ROLLBACK_TEMPLATE_UNCHANGED, message);
            (Change::default(), note)
        }
        None => {
            let message = match wanted {
                Some(number) => format!("No replica set of deployment {name:?} has revision {number}"),
                None => format!("Deployment {name:?} has no revision before its last one"),
            };
            let note = Note::warning(words::ROLLBACK_REVISION_NOT_FOUND, message);
            (Change::default(), note)
        }
    };
    draft.change_deployment(change.without_request(), note);
    Report::Marks
}

/// What changes in the Deployment, as parts of a JSON merge patch.
#[derive(Default)]
struct Change {
    annotations: Map<String, Value>,
    template: Option<Value>,
}

impl Change {
    /// The patch, which also takes away the annotation that asked for it (D-53).
    fn without_request(mut self) -> Value {
        self.annotations.insert(words::ROLLBACK_TO.to_owned(), Value::Null);
        let metadata = json!({ "annotations": self.annotations });
        match self.template {
            Some(template) => json!({ "metadata": metadata, "spec": { "template": template } }),
            None => json!({ "metadata": metadata }),
        }
    }
}

/// Every ReplicaSet with its revision, oldest first and the new one last; nothing stands for one that is being created.
fn all_revisions<'a>(draft: &Draft<'a>) -> Vec<(Option<&'a ReplicaSet>, i64)> {
    let seen = draft.seen;
    let old = seen.old.iter().map(|set| (Some(&**set), revisions::revision(set)));
    let newest = draft.revision().and_then(|text| text.parse().ok());
    old.chain([(seen.found(), newest)])
        .filter_map(|(set, number)| Some((set, number?)))
        .collect()
}

/// The second-highest revision, unless it is none (D-51).
fn last_but_one(revisions: &[(Option<&ReplicaSet>, i64)]) -> Option<i64> {
    let (mut highest, mut second) = (0, 0);
    for (_, number) in revisions {
        if *number >= highest {
            (second, highest) = (highest, *number);
        } else {
            second = second.max(*number);
        }
    }
    Some(second).filter(|number| *number != 0)
}

/// Makes the Deployment's template, and the annotations that go with it, those of `set` (D-52).
fn back_to(seen: &Observed, set: &ReplicaSet) -> Change {
    let deployment = &*seen.deployment;
    let now = deployment.spec.template.json().to_value();
    let then = set.template.without_label(words::HASH_LABEL).to_value();
    let copied = |(key, value): (&str, &str)| revisions::is_copied(key).then(|| (key.to_owned(), Value::from(value)));
    let annotations_now: Map<_, _> = deployment.meta.annotations.iter().filter_map(copied).collect();
    let annotations_then: Map<_, _> = set.meta.annotations.iter().filter_map(copied).collect();
    Change {
        annotations: difference(&annotations_now, &annotations_then),
        template: Some(difference_of(&now, then)),
    }
}

/// The JSON merge patch that turns `from` into `to`.
fn difference(from: &Map<String, Value>, to: &Map<String, Value>) -> Map<String, Value> {
    let gone = from
        .keys()
        .filter(|key| !to.contains_key(*key))
        .map(|key| (key.clone(), Value::Null));
    let changed = to
        .iter()
        .filter(|(key, value)| from.get(*key) != Some(*value))
        .map(|(key, value)| {
            let before = from.get(key).unwrap_or(&Value::Null);
            (key.clone(), difference_of(before, value.clone()))
        });
    gone.chain(changed).collect()
}

fn difference_of(from: &Value, to: Value) -> Value {
    match (from, to) {
        (Value::Object(from), Value::Object(to)) => Value::Object(difference(from, &to)),
        (_, to) => to,
    }
}
