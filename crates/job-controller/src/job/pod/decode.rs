//! Reading a pod's JSON into a [`Pod`].

use std::collections::HashSet;
use std::sync::Arc;

use workload_core::id::Kind;
use workload_core::labels::{Interner, Labels, Pairs};
use workload_core::meta::{DecodeError, KeepAnnotations, Meta, Object};
use workload_core::pod::Phase;
use workload_core::pod::wire::{WireContainerStatus, WirePod, WireStatus, most_restarts};
use workload_core::time::Timestamp;

use super::{Exit, Hindrance, Placement, Pod, Predecessors, RestartCounts, Start};
use crate::job::words;

impl Object for Pod {
    const KIND: Kind = Kind::POD;

    fn decode(json: &[u8], interner: &Interner) -> Result<Self, DecodeError> {
        let pod = WirePod::read(json)?;
        let annotation = |key: &str| pod.metadata.annotation(key).and_then(number);
        let index = annotation(words::COMPLETION_INDEX);
        let predecessors = Predecessors {
            failed: annotation(words::INDEX_FAILURES).unwrap_or_default(),
            ignored: annotation(words::INDEX_IGNORED).unwrap_or_default(),
        };
        let asked = pod.metadata.deletion_began();
        let mut meta = pod.metadata.into_meta(KeepAnnotations::Only(&[]), interner)?;
        if meta
            .controller
            .as_deref()
            .is_some_and(|controller| !controller.is_of(Kind::JOB))
        {
            meta.labels = Labels::default();
            return Ok(Self::of_others(meta));
        }
        let (spec, status) = (pod.spec, pod.status);
        let phase = status.phase();
        let sidecars = spec.sidecars();
        let is_over = matches!(phase, Phase::Succeeded | Phase::Failed) || asked.is_some();
        let end = || ended(&status, &sidecars).or(asked).or(meta.created);
        Ok(Self {
            placement: if spec.node_name.is_empty() {
                Placement::Unbound
            } else {
                Placement::Bound
            },
            ready: status.ready(),
            index,
            predecessors,
            restarts: restarts(&status, &sidecars),
            ended: is_over.then(end).flatten(),
            exits: exits(&status, interner),
            conditions: conditions(&status, interner),
            start: start(&status),
            hindrance: hindrance(&status, interner),
            phase,
            meta,
        })
    }

    fn meta(&self) -> &Meta {
        &self.meta
    }
}

/// A decimal number from 0 to 2³¹−1 (J-73, J-122).
fn number(text: &str) -> Option<u32> {
    text.parse::<i32>().ok().and_then(|number| u32::try_from(number).ok())
}

/// Reasons of waiting containers that the opt-in `job.bad-image-after` is about.
const HINDRANCES: [&str; 4] = [
    "ImagePullBackOff",
    "ErrImagePull",
    "InvalidImageName",
    "CreateContainerConfigError",
];

fn restarts(status: &WireStatus<'_>, sidecars: &HashSet<&str>) -> RestartCounts {
    let all = status.regular().chain(status.init());
    RestartCounts {
        most: most_restarts(status.regular()),
        most_of_sidecars: most_restarts(status.sidecars(sidecars)),
        sum: all.map(|container| i64::from(container.restart_count)).sum(),
    }
}

/// When the last container ended, if all have; else since when the pod is not ready (J-110).
fn ended(status: &WireStatus<'_>, sidecars: &HashSet<&str>) -> Option<Timestamp> {
    let containers = status.regular().chain(status.sidecars(sidecars));
    let ends: Option<Vec<Timestamp>> = containers.map(WireContainerStatus::ended).collect();
    let last = ends.and_then(|ends| ends.into_iter().max());
    let unready = status.condition("Ready").filter(|ready| ready.status == "False");
    last.or_else(|| unready?.last_transition_time)
}

fn exits(status: &WireStatus<'_>, interner: &Interner) -> Arc<[Exit]> {
    let all = status.regular().chain(status.init());
    all.filter_map(|container| {
        let code = container.state.terminated.as_ref()?.exit_code;
        let name = || interner.string(&container.name);
        (code != 0).then(|| Exit {
            container: name(),
            code,
        })
    })
    .collect()
}

fn conditions(status: &WireStatus<'_>, interner: &Interner) -> Pairs {
    let all = status.conditions();
    interner.pairs(all.map(|condition| (&*condition.r#type, &*condition.status)))
}

fn start(status: &WireStatus<'_>) -> Start {
    let mut all = status.regular().chain(status.init());
    let ran = matches!(status.phase(), Phase::Running | Phase::Succeeded) || all.any(has_run);
    if ran { Start::Once } else { Start::Never }
}

fn has_run(container: &WireContainerStatus<'_>) -> bool {
    let [now, before] = [&container.state, &container.last_state];
    now.running.is_some() || [now, before].into_iter().any(|state| state.terminated.is_some())
}

/// A container may start once the node has the pod, those init containers that are not to stay have ended, and it has
/// itself ended before, if it ran before.
fn hindrance(status: &WireStatus<'_>, interner: &Interner) -> Option<Hindrance> {
    if status.phase() != Phase::Pending {
        return None;
    }
    let hindered = |container: &&WireContainerStatus<'_>| {
        let waiting = container.state.waiting.as_ref();
        waiting.is_some_and(|waiting| HINDRANCES.contains(&&*waiting.reason))
    };
    let container = status.init().chain(status.regular()).find(hindered)?;
    let reason = &container.state.waiting.as_ref()?.reason;
    let before = status.init().filter_map(WireContainerStatus::ended);
    let former = container.last_state.terminated.as_ref();
    let own = former.and_then(|ended| ended.finished_at);
    Some(Hindrance {
        reason: interner.string(reason),
        since: before.chain(own).chain(status.start_time).max()?,
    })
}
