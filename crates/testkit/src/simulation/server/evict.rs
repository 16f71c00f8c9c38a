//! Evictions: deletions of pods that disruption budgets can refuse.

use serde_json::{Value, json};
use workload_core::plan::Address;
use workload_core::selector::{LabelSelector, Selector};
use workload_core::time::{Timestamp, to_api};

use super::ApiServer;
use super::body::DeleteOptions;
use super::delete::preconditions;
use super::selection::labels;
use super::shape::Part;
use super::status::Status;
use crate::api::POD_DISRUPTION_BUDGET;
use crate::object::Stored;

/// What a budget says to an eviction.
enum Verdict {
    /// Go on; the budget is not used.
    Spared,
    /// Go on; the budget has one disruption less to give.
    Used,
}

impl ApiServer {
    pub(super) fn evict_pod(
        &mut self,
        address: &Address,
        options: &DeleteOptions,
        now: Timestamp,
    ) -> Result<(), Status> {
        let resource = self.kinds.of(address.kind);
        let entry = self.stored(address)?.clone();
        let pod = &entry.object;
        let ends = matches!(pod.text("/status/phase"), "Succeeded" | "Failed" | "Pending") || pod.is_terminating();
        let budgets = if ends {
            Vec::new()
        } else {
            self.budgets_of(pod, &address.key.namespace)
        };
        match budgets.as_slice() {
            [] => {}
            [budget] => {
                if let Verdict::Used = verdict(budget, pod)? {
                    self.use_up(budget, pod.name(), now)?;
                }
            }
            _ => {
                let words =
                    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
                return Err(Status::new(500, "", words));
            }
        }
        preconditions(&resource, &entry, options)?;
        let stored = self.tell_pod(address, pod, now)?;
        let version = options
            .version
            .as_ref()
            .map(|_| stored.text("/metadata/resourceVersion").to_owned());
        let options = DeleteOptions {
            version,
            ..options.clone()
        };
        self.delete_object(address, &options, now).map(drop)
    }

    /// The budgets that are about a pod.
    fn budgets_of(&self, pod: &Stored, namespace: &str) -> Vec<Stored> {
        let mine = self.store.all(POD_DISRUPTION_BUDGET);
        mine.filter(|(key, entry)| key.namespace() == namespace && is_about(&entry.object, pod))
            .map(|(_, entry)| entry.object.clone())
            .collect()
    }

    fn use_up(&mut self, budget: &Stored, pod: &str, now: Timestamp) -> Result<(), Status> {
        let resource = self.kinds.of(POD_DISRUPTION_BUDGET);
        let mut object = budget.json().clone();
        let left = budget.count("disruptionsAllowed") - 1;
        object["status"]["disruptionsAllowed"] = left.into();
        object["status"]["disruptedPods"][pod] = to_api(now).into();
        if left == 0 {
            super::budget::set_allowed(&mut object["status"], false, now);
        }
        let address = self.store.place_of(budget.uid()).cloned().expect("a stored budget");
        self.update(&resource, &address, Part::Status, object, now).map(drop)
    }

    /// The pod is told why it is about to go.
    fn tell_pod(&mut self, address: &Address, pod: &Stored, now: Timestamp) -> Result<Stored, Status> {
        let resource = self.kinds.of(address.kind);
        let mut object = pod.json().clone();
        let told = json!({
            "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting", "lastProbeTime": null, "lastTransitionTime": to_api(now),
        });
        tell(&mut object, told);
        let entry = self.update(&resource, address, Part::Status, object, now)?;
        Ok(entry.object.clone())
    }
}

/// Gives a pod a condition, in place of one of that type; while its status stays, so does the time of its transition.
pub(super) fn tell(pod: &mut Value, mut condition: Value) {
    let conditions = &mut pod["status"]["conditions"];
    let Value::Array(known) = conditions else {
        *conditions = json!([condition]);
        return;
    };
    match known.iter_mut().find(|known| known["type"] == condition["type"]) {
        Some(known) => {
            if known["status"] == condition["status"] {
                condition["lastTransitionTime"] = known["lastTransitionTime"].clone();
            }
            *known = condition;
        }
        None => known.push(condition),
    }
}

/// True if `budget` is about `pod`.
pub(super) fn is_about(budget: &Stored, pod: &Stored) -> bool {
    let selector = budget.at("/spec/selector");
    let parsed = serde_json::from_value::<LabelSelector>(selector.clone()).ok();
    let parsed = parsed.filter(|_| !selector.is_null());
    let labels = labels(pod);
    !labels.is_empty() && Selector::new(parsed.as_ref()).is_ok_and(|selector| selector.matches(&labels))
}

fn verdict(budget: &Stored, pod: &Stored) -> Result<Verdict, Status> {
    if !pod.is_ready() {
        let (healthy, wanted) = (budget.count("currentHealthy"), budget.count("desiredHealthy"));
        let always = budget.text("/spec/unhealthyPodEvictionPolicy") == "AlwaysAllow";
        if always || (healthy >= wanted && wanted > 0) {
            return Ok(Verdict::Spared);
        }
    }
    let name = budget.name();
    if !budget.is_observed() {
        let words = format!("The disruption budget {name} is still being processed by the server.");
        return Err(protected(&words, 10));
    }
    let allowed = budget.count("disruptionsAllowed");
    if allowed > 0 {
        return Ok(Verdict::Used);
    }
    let condition = budget.condition("DisruptionAllowed");
    if let Some(failed) = condition.filter(|condition| condition["reason"] == "SyncFailed") {
        let why = failed["message"].as_str().unwrap_or_default();
        let words = format!(
            "The disruption budget {name} does not allow evicting pods currently because it failed sync: {why}"
        );
        return Err(protected(&words, 0));
    }
    let words = format!(
        "The disruption budget {name} needs {} healthy pods and has {} currently",
        budget.count("desiredHealthy"),
        budget.count("currentHealthy")
    );
    Err(protected(&words, 0))
}

fn protected(words: &str, seconds: u32) -> Status {
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    let cause = json!({"reason": "DisruptionBudget", "message": words});
    Status::new(429, "TooManyRequests", message)
        .after(seconds)
        .caused_by(vec![cause])
}
