//! When the controllers of Deployments and ReplicaSets have nothing left to do until somebody else does something.
//!
//! A script that goes on only then determines the order of everything that happens, however fast the machine is.

use serde_json::Value;

use crate::object::Stored;
use crate::scene::Scene;
use crate::state::State;

impl Scene {
    /// Waits until every status tells what there is, and no rollout can take a step before a pod changes.
    pub async fn until_at_rest(&self) {
        self.until("the controllers are at rest", at_rest).await;
    }

    /// Plays kubelet one pod at a time: ends terminating pods and gets the others ready, those of older ReplicaSets first.
    /// In between the controllers come to rest; the pods that they make meanwhile are served as well. Pods that are held
    /// stay.
    pub async fn serve_pods(&self) {
        self.end_pods().await;
        while let Some(pod) = self.look(|state| next_pod(state, |pod| pod.is_active() && !pod.is_ready())) {
            self.kubelet().ready(&pod).await;
            self.end_pods().await;
        }
    }

    /// As [`Scene::serve_pods`], but no pod gets ready.
    pub async fn end_pods(&self) {
        self.until_at_rest().await;
        let ends = |pod: &Stored| pod.is_terminating() && pod.at("/metadata/finalizers").is_null();
        while let Some(pod) = self.look(|state| next_pod(state, ends)) {
            self.kubelet().end(&pod).await;
            self.until_at_rest().await;
        }
    }
}

fn next_pod(state: &State, is_next: impl Fn(&Stored) -> bool) -> Option<String> {
    let of_set = |set: &&Stored| state.pods_of(set).into_iter().find(|pod| is_next(pod));
    let pod = state.replica_sets().iter().find_map(of_set)?;
    Some(pod.name().to_owned())
}

/// True if nothing will be written before something changes that the controllers do not change themselves. Time may be such
/// a thing: progress deadlines and minimum ready times are not waited for.
pub(crate) fn at_rest(state: &State) -> bool {
    let sets = state.replica_sets();
    let deployments = state.all(workload_core::id::Kind::DEPLOYMENT);
    sets.iter().all(|set| set_rests(state, set)) && deployments.iter().all(|owner| deployment_rests(&sets, owner))
}

fn set_rests(state: &State, set: &Stored) -> bool {
    let pods = state.pods_of(set);
    let active: Vec<_> = pods.iter().filter(|pod| pod.is_active()).collect();
    let ready = active.iter().filter(|pod| pod.is_ready()).count();
    let finished = |pod: &&&Stored| matches!(pod.text("/status/phase"), "Succeeded" | "Failed");
    let terminating = pods.iter().filter(|pod| pod.is_terminating() && !finished(pod)).count();
    let told = [
        ("replicas", active.len()),
        ("readyReplicas", ready),
        ("terminatingReplicas", terminating),
    ];
    let refused = set.says("ReplicaFailure").starts_with("True");
    set.is_observed()
        && told
            .iter()
            .all(|(field, count)| usize::try_from(set.count(field)) == Ok(*count))
        && (refused || set.count("replicas") == set.size())
}

fn deployment_rests(all: &[&Stored], owner: &Stored) -> bool {
    let sets: Vec<_> = all.iter().copied().filter(|set| set.is_controlled_by(owner)).collect();
    let sum = |field: &str| sets.iter().map(|set| set.count(field)).sum::<i64>();
    let told = ["replicas", "readyReplicas", "availableReplicas", "terminatingReplicas"];
    let is_told = owner.is_observed() && told.iter().all(|field| owner.count(field) == sum(field));
    let Some(new) = sets.iter().copied().max_by_key(|set| revision(set)) else {
        return is_told && owner.at("/spec/paused") == true;
    };
    let is_finished = owner.is_rolled_out();
    let progress = owner.says("Progressing");
    is_told && owner.at("/spec/paused") == true
        || is_told
            && revision(owner) == revision(new)
            && owner.count("updatedReplicas") == new.count("replicas")
            && (!is_finished || progress.is_empty() || progress == "True NewReplicaSetAvailable")
            && rollout_rests(owner, &sets, new)
}

fn revision(object: &Stored) -> i64 {
    object.revision().and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// True if the bounds of the rollout allow no step (deployment D-30 … D-35, D-40 … D-42).
fn rollout_rests(owner: &Stored, sets: &[&Stored], new: &Stored) -> bool {
    let size = owner.size();
    let olds = || sets.iter().filter(|set| set.uid() != new.uid());
    let old: i64 = olds().map(|set| set.size()).sum();
    if owner.text("/spec/strategy/type") == "Recreate" {
        let is_empty = sets.iter().all(|set| set.size() == 0);
        let waits = sets
            .iter()
            .any(|set| set.count("replicas") + set.count("terminatingReplicas") > 0);
        return (is_empty && waits) || (old == 0 && new.size() == size);
    }
    let (surge, unavailable) = bounds(owner);
    let total = old + new.size();
    let cannot_grow = new.size() == size || (new.size() < size && total >= size + surge);
    let budget = total - (size - unavailable) - (new.size() - new.count("availableReplicas"));
    let all_available = olds().all(|set| set.size() == 0 || set.size() == set.count("availableReplicas"));
    let surplus = sets.iter().map(|set| set.count("availableReplicas")).sum::<i64>() - (size - unavailable);
    let cannot_shrink = old == 0 || budget <= 0 || (all_available && surplus <= 0);
    cannot_grow && cannot_shrink
}

/// How many more and how many fewer pods than its size a Deployment may have.
fn bounds(owner: &Stored) -> (i64, i64) {
    let size = owner.size();
    let percent = |value: &Value| value.as_str()?.strip_suffix('%')?.parse::<i64>().ok();
    let scaled = |field: &str, extra: i64| {
        let value = &owner.at("/spec/strategy/rollingUpdate")[field];
        percent(value).map_or_else(
            || value.as_i64().unwrap_or_default(),
            |percent| (percent * size + extra) / 100,
        )
    };
    match (scaled("maxSurge", 99), scaled("maxUnavailable", 0)) {
        (0, 0) => (0, 1),
        (surge, unavailable) => (surge, unavailable.min(size)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn owner(size: i64, surge: &Value, unavailable: &Value) -> Stored {
        let bounds = json!({"maxSurge": surge, "maxUnavailable": unavailable});
        Stored::from(
            json!({"spec": {"replicas": size, "strategy": {"type": "RollingUpdate", "rollingUpdate": bounds}}}),
        )
    }

    fn set(uid: &str, size: i64, available: i64) -> Stored {
        Stored::from(json!({
            "metadata": {"uid": uid}, "spec": {"replicas": size}, "status": {"availableReplicas": available},
        }))
    }

    #[test]
    fn a_rollout_rests_where_its_bounds_allow_no_step() {
        for (size, surge, unavailable, old, new, rests) in [
            // The states that a rollout of ten whose new pods never get ready passes through; it stays in the last one.
            (10, json!(3), json!(2), (10, 10), (0, 0), false),
            (10, json!(3), json!(2), (10, 10), (3, 0), false),
            (10, json!(3), json!(2), (8, 8), (3, 0), false),
            (10, json!(3), json!(2), (8, 8), (5, 0), true),
            // One more available pod makes room.
            (10, json!(3), json!(2), (8, 8), (5, 1), false),
            // Pods that are not available go before the bound is reached.
            (10, json!(3), json!(2), (8, 6), (5, 2), false),
            (4, json!("25%"), json!("25%"), (3, 3), (2, 0), true),
            (1, json!(0), json!("1%"), (1, 1), (0, 0), false),
            (4, json!(1), json!(0), (0, 0), (4, 1), true),
        ] {
            let (old, new) = (set("old", old.0, old.1), set("new", new.0, new.1));
            let owner = owner(size, &surge, &unavailable);
            assert_eq!(rollout_rests(&owner, &[&old, &new], &new), rests, "{old} {new}");
        }
    }
}
