//! Reading a pod's JSON into a [`Pod`].

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use serde::Deserialize;
use workload_core::condition::Status;
use workload_core::id::Kind;
use workload_core::labels::{Interner, Labels};
use workload_core::meta::{DecodeError, KeepAnnotations, Meta, Object, RawMeta};
use workload_core::pod::{Phase, Ready};
use workload_core::time::Timestamp;

use super::{Exit, Hindrance, Placement, Pod, Predecessors, RestartCounts, Start};
use crate::job::words;

impl Object for Pod {
    const KIND: Kind = Kind::POD;

    fn decode(json: &[u8], interner: &Interner) -> Result<Self, DecodeError> {
        let pod: RawPod<'_> = serde_json::from_slice(json)?;
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
        let phase = Phase::of(&status.phase);
        let sidecars = spec.sidecars();
        let has_failed = phase == Phase::Failed;
        let is_over = matches!(phase, Phase::Succeeded | Phase::Failed) || asked.is_some();
        let end = || status.ended(&sidecars).or(asked).or(meta.created);
        Ok(Self {
            placement: if spec.node_name.is_empty() {
                Placement::Unbound
            } else {
                Placement::Bound
            },
            ready: status.ready(),
            index,
            predecessors,
            restarts: status.restarts(&sidecars),
            ended: is_over.then(end).flatten(),
            exits: if has_failed {
                status.exits(interner)
            } else {
                Arc::default()
            },
            conditions: if has_failed {
                status.all_conditions(interner)
            } else {
                Arc::default()
            },
            start: status.start(phase),
            hindrance: status.hindrance(phase, interner),
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

impl RawSpec<'_> {
    fn sidecars(&self) -> HashSet<&str> {
        let restartable = |container: &&RawContainer<'_>| container.restart_policy == "Always";
        let init = self.init_containers.iter().flatten();
        init.filter(restartable).map(|container| &*container.name).collect()
    }
}

impl RawStatus<'_> {
    fn regular(&self) -> impl Iterator<Item = &RawContainerStatus<'_>> {
        self.container_statuses.iter().flatten()
    }

    fn init(&self) -> impl Iterator<Item = &RawContainerStatus<'_>> {
        self.init_container_statuses.iter().flatten()
    }

    fn condition(&self, kind: &str) -> Option<&RawCondition<'_>> {
        self.conditions
            .iter()
            .flatten()
            .find(|condition| condition.r#type == kind)
    }

    fn ready(&self) -> Option<Ready> {
        self.condition("Ready").map(|ready| Ready {
            status: Status::of(&ready.status),
            since: ready.last_transition_time,
        })
    }

    fn restarts(&self, sidecars: &HashSet<&str>) -> RestartCounts {
        let is_sidecar = |container: &&RawContainerStatus<'_>| sidecars.contains(&*container.name);
        let count = |container: &RawContainerStatus<'_>| container.restart_count;
        let all = self.regular().chain(self.init());
        RestartCounts {
            most: self.regular().map(count).max().unwrap_or_default(),
            most_of_sidecars: self.init().filter(is_sidecar).map(count).max().unwrap_or_default(),
            sum: all.map(|container| i64::from(container.restart_count)).sum(),
        }
    }

    /// When the last container ended, if all have; else since when the pod is not ready (J-110).
    fn ended(&self, sidecars: &HashSet<&str>) -> Option<Timestamp> {
        let sidecars = self.init().filter(|container| sidecars.contains(&*container.name));
        let ends: Option<Vec<Timestamp>> = self.regular().chain(sidecars).map(RawContainerStatus::ended).collect();
        let last = ends.and_then(|ends| ends.into_iter().max());
        let unready = self.condition("Ready").filter(|ready| ready.status == "False");
        last.or_else(|| unready?.last_transition_time)
    }

    fn exits(&self, interner: &Interner) -> Arc<[Exit]> {
        let all = self.regular().chain(self.init());
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

    fn all_conditions(&self, interner: &Interner) -> Arc<[(Arc<str>, Arc<str>)]> {
        let all = self.conditions.iter().flatten();
        all.map(|condition| (interner.string(&condition.r#type), interner.string(&condition.status)))
            .collect()
    }

    fn start(&self, phase: Phase) -> Start {
        let mut all = self.regular().chain(self.init());
        let ran = matches!(phase, Phase::Running | Phase::Succeeded) || all.any(RawContainerStatus::has_run);
        if ran { Start::Once } else { Start::Never }
    }

    /// A container may start once the node has the pod, those init containers that are not to stay have ended, and it has
    /// itself ended before, if it ran before.
    fn hindrance(&self, phase: Phase, interner: &Interner) -> Option<Hindrance> {
        if phase != Phase::Pending {
            return None;
        }
        let hindered = |container: &&RawContainerStatus<'_>| {
            let waiting = container.state.waiting.as_ref();
            waiting.is_some_and(|waiting| HINDRANCES.contains(&&*waiting.reason))
        };
        let container = self.init().chain(self.regular()).find(hindered)?;
        let reason = &container.state.waiting.as_ref()?.reason;
        let before = self.init().filter_map(RawContainerStatus::ended);
        let own = container
            .last_state
            .terminated
            .as_ref()
            .and_then(|ended| ended.finished_at);
        Some(Hindrance {
            reason: interner.string(reason),
            since: before.chain(own).chain(self.start_time).max()?,
        })
    }
}

impl RawContainerStatus<'_> {
    fn ended(&self) -> Option<Timestamp> {
        self.state.terminated.as_ref()?.finished_at
    }

    fn has_run(&self) -> bool {
        let [now, before] = [&self.state, &self.last_state];
        now.running.is_some() || [now, before].into_iter().any(|state| state.terminated.is_some())
    }
}

#[derive(Deserialize)]
struct RawPod<'a> {
    #[serde(borrow)]
    metadata: RawMeta<'a>,
    #[serde(borrow, default)]
    spec: RawSpec<'a>,
    #[serde(borrow, default)]
    status: RawStatus<'a>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawSpec<'a> {
    #[serde(borrow)]
    node_name: Cow<'a, str>,
    #[serde(borrow)]
    init_containers: Option<Vec<RawContainer<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawContainer<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    restart_policy: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawStatus<'a> {
    #[serde(borrow)]
    phase: Cow<'a, str>,
    start_time: Option<Timestamp>,
    #[serde(borrow)]
    conditions: Option<Vec<RawCondition<'a>>>,
    #[serde(borrow)]
    init_container_statuses: Option<Vec<RawContainerStatus<'a>>>,
    #[serde(borrow)]
    container_statuses: Option<Vec<RawContainerStatus<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawCondition<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow)]
    status: Cow<'a, str>,
    last_transition_time: Option<Timestamp>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawContainerStatus<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    restart_count: i32,
    #[serde(borrow)]
    state: RawState<'a>,
    #[serde(borrow)]
    last_state: RawState<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawState<'a> {
    #[serde(borrow)]
    waiting: Option<RawWaiting<'a>>,
    running: Option<RawRunning>,
    terminated: Option<RawTerminated>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawWaiting<'a> {
    #[serde(borrow)]
    reason: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawRunning {}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawTerminated {
    exit_code: i32,
    finished_at: Option<Timestamp>,
}
