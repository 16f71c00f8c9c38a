//! What must hold at every moment, whatever goes wrong.

use testkit::Kind;
use testkit::object::Stored;
use testkit::proxy::Verb;
use testkit::record::State;
use testkit::simulation::oracle::{Asking, Oracle};
use testkit::simulation::schedule::{Fault, Planned, Schedule};

/// The laws of a rolling update with these bounds, in absolute numbers.
pub(crate) fn rolling(most: i64, least: i64) -> impl Fn(&Schedule) -> Vec<Box<dyn Oracle>> + Send + Sync {
    move |schedule| {
        let mut laws = surplus(schedule);
        laws.push(Box::new(Bounds {
            most,
            least: if schedule.harms_pods() { 0 } else { least },
            reached: false,
        }));
        laws
    }
}

/// As [`rolling`], where old ReplicaSets are cleaned up: a request that creates one may arrive when that has come and gone. Then
/// it is there once more with this many pods, and no controller could prevent it.
pub(crate) fn rolling_and_cleaning(
    most: i64,
    least: i64,
    again: i64,
) -> impl Fn(&Schedule) -> Vec<Box<dyn Oracle>> + Send + Sync {
    move |schedule| {
        let is_late = |planned: &Planned| matches!(planned.fault, Fault::Late(_));
        let most = if schedule.0.iter().any(is_late) {
            most + again
        } else {
            most
        };
        rolling(most, least)(schedule)
    }
}

/// The laws of every story.
pub(crate) fn surplus(schedule: &Schedule) -> Vec<Box<dyn Oracle>> {
    vec![Box::new(Surplus {
        exact: !schedule.harms_pods(),
    })]
}

/// Never more pods wanted than the surge allows, never fewer available than may be missing.
struct Bounds {
    most: i64,
    least: i64,
    reached: bool,
}

impl Oracle for Bounds {
    fn changed(&mut self, state: &State) -> Result<(), String> {
        let wanted: i64 = state.replica_sets().iter().map(|set| set.size()).sum();
        if wanted > self.most {
            return Err(format!("{wanted} pods are wanted, {} are allowed", self.most));
        }
        let available = state.active_pods().iter().filter(|pod| pod.is_ready()).count();
        let available = i64::try_from(available).unwrap_or(i64::MAX);
        self.reached |= available >= self.least;
        if self.reached && available < self.least {
            return Err(format!("{available} pods are available, {} are needed", self.least));
        }
        Ok(())
    }
}

/// Only what is surplus is deleted, as far as its deleter can know.
struct Surplus {
    exact: bool,
}

impl Oracle for Surplus {
    fn asked(&mut self, asking: &Asking<'_>) -> Result<(), String> {
        let asked = asking.asked;
        if asked.verb != Verb::Delete {
            return Ok(());
        }
        match &*asked.plural {
            "pods" => self.pod(asking),
            "replicasets" => empty_set(asking),
            other => Err(format!("a {other} is deleted, which no controller does")),
        }
    }
}

impl Surplus {
    fn pod(&self, asking: &Asking<'_>) -> Result<(), String> {
        let (state, name) = (asking.state, &asking.asked.name);
        let Some(pod) = state.get(Kind::POD, name).filter(|pod| pod.is_active()) else {
            return Ok(());
        };
        let sets = state.replica_sets();
        let Some(set) = sets.iter().find(|set| pod.is_controlled_by(set)) else {
            return Err(format!("{name} is deleted, which no ReplicaSet controls"));
        };
        let active = state.pods_of(set).into_iter().filter(|pod| pod.is_active()).count();
        let wanted = smallest_size(state, set, (asking.seen)(Kind::REPLICA_SET));
        let is_surplus = i64::try_from(active).unwrap_or(i64::MAX) > wanted;
        if self.exact && !is_surplus {
            return Err(format!(
                "{name} is deleted, {active} pods of {} are active, {wanted} wanted",
                set.name()
            ));
        }
        Ok(())
    }
}

/// The smallest size of a ReplicaSet that its controller may take for the present one.
fn smallest_size(state: &State, set: &Stored, seen: u64) -> i64 {
    let of_it = |object: &&Stored| object.uid() == set.uid();
    let versions = state.writes(Kind::REPLICA_SET).map(|write| &write.object).filter(of_it);
    let mut smallest = set.size();
    let mut known = None;
    for version in versions {
        if version.version() <= seen {
            known = Some(version.size());
        } else {
            smallest = smallest.min(version.size());
        }
    }
    known.map_or(smallest, |known| known.min(smallest))
}

fn empty_set(asking: &Asking<'_>) -> Result<(), String> {
    let found = asking.state.get(Kind::REPLICA_SET, &asking.asked.name);
    let Some(set) = found.filter(|set| !set.is_terminating()) else {
        return Ok(());
    };
    let pods = asking
        .state
        .pods_of(set)
        .into_iter()
        .filter(|pod| pod.is_active())
        .count();
    if set.size() > 0 || pods > 0 {
        return Err(format!(
            "{} is deleted with size {} and {pods} pods",
            set.name(),
            set.size()
        ));
    }
    Ok(())
}
