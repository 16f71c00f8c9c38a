//! What opt-ins promise, at every moment.

use std::time::Duration;

use testkit::Kind;
use testkit::object::Stored;
use testkit::proxy::Verb;
use testkit::record::State;
use testkit::simulation::oracle::{Asking, Oracle};
use testkit::simulation::schedule::{Fault, Schedule};
use workload_core::time::Timestamp;

/// Laws for a schedule.
type Laws = Vec<Box<dyn Oracle>>;

pub(crate) const HOLD_AT: &str = "opt-in.workload-controllers/deployment.hold-at";

/// A law that is asked whenever an object has changed.
struct Always<F>(F);

impl<F: FnMut(&State) -> Result<(), String> + Send> Oracle for Always<F> {
    fn changed(&mut self, state: &State) -> Result<(), String> {
        (self.0)(state)
    }
}

/// A law about writes.
struct Writes<F>(F);

impl<F: FnMut(&Asking<'_>) -> Result<(), String> + Send> Oracle for Writes<F> {
    fn asked(&mut self, asking: &Asking<'_>) -> Result<(), String> {
        (self.0)(asking)
    }
}

/// No more pods of image `b` are wanted than the Deployment lets go. The hold is never lowered in a story, so whoever sees an old
/// one wants fewer.
pub(crate) fn hold(_: &Schedule) -> Laws {
    vec![Box::new(Always(|state: &State| {
        let held = state.deployment("web").and_then(|web| web.annotation(HOLD_AT));
        let Some(most) = held.and_then(|held| held.parse::<i64>().ok()) else {
            return Ok(());
        };
        let sets = state.replica_sets();
        match sets.iter().find(|set| set.image() == "b" && set.size() > most) {
            Some(set) => Err(format!("{} has size {}, held at {most}", set.name(), set.size())),
            None => Ok(()),
        }
    }))]
}

/// Never more pods that have not ended than this, those that are about to end among them. A create that the server gave up and
/// carried out late may make one more.
pub(crate) fn places(most: usize) -> impl Fn(&Schedule) -> Laws + Send + Sync {
    move |schedule| {
        let late = schedule
            .0
            .iter()
            .filter(|planned| matches!(planned.fault, Fault::Late(_)));
        let most = most + late.count();
        vec![Box::new(Always(move |state: &State| {
            let there = state.pods().iter().filter(|pod| !pod.has_ended()).count();
            if there > most {
                return Err(format!("{there} pods are there, {most} have a place"));
            }
            Ok(())
        }))]
    }
}

/// Nothing old is deleted: whoever takes it away has to ask for its eviction.
pub(crate) fn respect(_: &Schedule) -> Laws {
    vec![Box::new(Writes(|asking: &Asking<'_>| {
        let (asked, state) = (asking.asked, asking.state);
        if asked.verb != Verb::Delete || asked.plural != "pods" {
            return Ok(());
        }
        let pod = state.get(Kind::POD, &asked.name).filter(|pod| pod.is_active());
        match pod.filter(|pod| pod.image() == "a") {
            Some(pod) => Err(format!("{} is deleted, not evicted", pod.name())),
            None => Ok(()),
        }
    }))]
}

/// No ReplicaSet of this image is ever larger than this.
pub(crate) fn never_grow(image: &'static str, most: i64) -> impl Fn(&Schedule) -> Laws + Send + Sync {
    move |_| {
        vec![Box::new(Always(move |state: &State| {
            let sets = state.replica_sets();
            match sets.iter().find(|set| set.image() == image && set.size() > most) {
                Some(set) => Err(format!("{} has grown to {}", set.name(), set.size())),
                None => Ok(()),
            }
        }))]
    }
}

/// While pods fail and none is ready, none is made sooner than `base` after a failure that its maker has seen.
pub(crate) fn backoff(base: Duration) -> impl Fn(&Schedule) -> Laws + Send + Sync {
    move |schedule| {
        if !schedule.0.iter().all(|planned| is_punctual(planned.fault)) {
            return Vec::new();
        }
        vec![Box::new(Writes(move |asking: &Asking<'_>| too_soon(asking, base)))]
    }
}

/// Whether writes still arrive when they are decided on, by clocks that are right.
fn is_punctual(fault: Fault) -> bool {
    matches!(
        fault,
        Fault::Crash(_)
            | Fault::Kill(_)
            | Fault::Stop(_)
            | Fault::Close(..)
            | Fault::Break(..)
            | Fault::Steal
            | Fault::Hang(_)
            | Fault::Reject
    )
}

fn too_soon(asking: &Asking<'_>, base: Duration) -> Result<(), String> {
    let asked = asking.asked;
    if asked.verb != Verb::Create || asked.plural != "pods" || !asked.subresource.is_empty() {
        return Ok(());
    }
    let pods = asking.state.pods();
    let seen = (asking.seen)(Kind::POD);
    let failed = pods.iter().filter(|pod| pod.has_ended() && pod.version() <= seen);
    let last = failed.filter_map(|pod| time(pod, "/status/startTime")).max();
    let Some(last) = last.filter(|_| !pods.iter().any(|pod| pod.is_ready())) else {
        return Ok(());
    };
    // Times of the API are cut off to whole seconds.
    let waited = asking.now.duration_since(last);
    if waited.as_millis() < i128::try_from(base.as_millis()).unwrap_or(i128::MAX) {
        return Err(format!("a pod is made {:.1} s after one failed", waited.as_secs_f64()));
    }
    Ok(())
}

fn time(pod: &Stored, pointer: &str) -> Option<Timestamp> {
    pod.text(pointer).parse().ok()
}
