//! What the disruption controller of kube-controller-manager keeps in the status of a budget.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use workload_core::id::Kind;
use workload_core::plan::Address;
use workload_core::time::{Timestamp, to_api};

use super::ApiServer;
use super::evict::is_about;
use super::shape::Part;
use crate::api::POD_DISRUPTION_BUDGET;
use crate::object::Stored;

impl ApiServer {
    /// Counts the pods of all budgets anew and writes what has changed; returns how many statuses that were. A pod that an
    /// eviction has asked for is not healthy any more.
    pub fn count_budgets(&mut self, now: Timestamp) -> usize {
        let resource = self.kinds.of(POD_DISRUPTION_BUDGET);
        let budgets: Vec<_> = self
            .store
            .all(POD_DISRUPTION_BUDGET)
            .map(|(_, entry)| entry.object.clone())
            .collect();
        let before = self.store.version();
        for budget in budgets {
            let address = self.store.place_of(budget.uid()).cloned().expect("a stored budget");
            let mut object = budget.json().clone();
            self.count(&budget, &address, &mut object["status"], now);
            let written = self.update(&resource, &address, Part::Status, object, now);
            written.expect("the status of a budget is valid");
        }
        usize::try_from(self.store.version() - before).unwrap_or(usize::MAX)
    }

    fn count(&self, budget: &Stored, address: &Address, status: &mut Value, now: Timestamp) {
        let inside = |namespace: &str| namespace == &*address.key.namespace;
        let pods: Vec<&Stored> = self
            .store
            .all(Kind::POD)
            .filter(|(key, entry)| inside(key.namespace()) && is_about(budget, &entry.object))
            .map(|(_, entry)| &entry.object)
            .collect();
        let disrupted = status["disruptedPods"].as_object().cloned().unwrap_or_default();
        let still: serde_json::Map<_, _> = disrupted
            .into_iter()
            .filter(|(name, _)| pods.iter().any(|pod| pod.name() == name && !pod.is_terminating()))
            .collect();
        let is_healthy = |pod: &&&Stored| pod.is_ready() && !pod.is_terminating() && !still.contains_key(pod.name());
        let healthy = amount(pods.iter().filter(is_healthy).count());
        let (expected, wanted) = match self.wanted(budget, &pods) {
            Ok(counts) => counts,
            Err(why) => {
                status["disruptionsAllowed"] = 0.into();
                return set_condition(status, ("False", "SyncFailed", &why), now);
            }
        };
        let allowed = if expected == 0 { 0 } else { (healthy - wanted).max(0) };
        let counts = [
            ("currentHealthy", healthy),
            ("desiredHealthy", wanted),
            ("expectedPods", expected),
            ("disruptionsAllowed", allowed),
            ("observedGeneration", budget.generation()),
        ];
        for (field, count) in counts {
            status[field] = count.into();
        }
        if still.is_empty() {
            if let Some(fields) = status.as_object_mut() {
                fields.remove("disruptedPods");
            }
        } else {
            status["disruptedPods"] = still.into();
        }
        set_allowed(status, allowed > 0, now);
    }

    /// How many pods are expected, and how many of them have to be healthy.
    fn wanted(&self, budget: &Stored, pods: &[&Stored]) -> Result<(i64, i64), String> {
        let (least, most) = (budget.at("/spec/minAvailable"), budget.at("/spec/maxUnavailable"));
        if !most.is_null() {
            let expected = self.expected(pods)?;
            return Ok((expected, (expected - scaled(most, expected)).max(0)));
        }
        if least.is_string() {
            let expected = self.expected(pods)?;
            return Ok((expected, scaled(least, expected)));
        }
        Ok((amount(pods.len()), least.as_i64().unwrap_or_default()))
    }

    /// The sizes of the workloads that these pods belong to. Pods that belong to none do not count.
    fn expected(&self, pods: &[&Stored]) -> Result<i64, String> {
        let mut sizes = BTreeMap::new();
        for pod in pods.iter().filter(|pod| pod.controller().is_some()) {
            let workload = self.workload_of(pod);
            let workload = workload.ok_or_else(|| format!("found no controllers for pod {:?}", pod.name()))?;
            sizes.insert(workload.uid().to_owned(), workload.size());
        }
        Ok(sizes.values().sum())
    }

    /// What controls a pod; where that is controlled by a Deployment, the Deployment.
    fn workload_of(&self, pod: &Stored) -> Option<&Stored> {
        let owner = self.controller_of(pod)?;
        let has_deployment = owner
            .controller()
            .is_some_and(|above| above["kind"] == Kind::DEPLOYMENT.kind);
        if has_deployment {
            self.controller_of(owner)
        } else {
            Some(owner)
        }
    }

    fn controller_of(&self, object: &Stored) -> Option<&Stored> {
        let uid = object.controller()?["uid"].as_str()?;
        Some(&self.store.get(self.store.place_of(uid)?)?.object)
    }
}

/// The condition that says whether a budget allows a disruption.
pub(super) fn set_allowed(status: &mut Value, allowed: bool, now: Timestamp) {
    let said = if allowed {
        ("True", "SufficientPods", "")
    } else {
        ("False", "InsufficientPods", "")
    };
    set_condition(status, said, now);
}

fn set_condition(status: &mut Value, (word, reason, message): (&str, &str, &str), now: Timestamp) {
    let stored = &status["conditions"][0];
    let since = if stored["status"] == word {
        stored["lastTransitionTime"].clone()
    } else {
        to_api(now).into()
    };
    let mut condition = json!({
        "type": "DisruptionAllowed", "status": word, "reason": reason, "message": message, "lastTransitionTime": since,
    });
    if let Some(generation) = status["observedGeneration"].as_i64() {
        condition["observedGeneration"] = generation.into();
    }
    status["conditions"] = json!([condition]);
}

fn scaled(value: &Value, total: i64) -> i64 {
    let percent = value
        .as_str()
        .and_then(|text| text.strip_suffix('%')?.parse::<i64>().ok());
    percent.map_or_else(
        || value.as_i64().unwrap_or_default(),
        |percent| (percent * total + 99) / 100,
    )
}

fn amount(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
