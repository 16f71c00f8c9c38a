//! A pod as the server writes it: the fields that decide anything, borrowed from the JSON. Views pick from them.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::Deserialize;

use super::{Phase, Ready};
use crate::condition::Status;
use crate::meta::{DecodeError, RawMeta};
use crate::time::Timestamp;

/// A pod.
#[derive(Debug, Deserialize)]
pub struct WirePod<'a> {
    /// `metadata`.
    #[serde(borrow)]
    pub metadata: RawMeta<'a>,
    /// `spec`.
    #[serde(borrow, default)]
    pub spec: WireSpec<'a>,
    /// `status`.
    #[serde(borrow, default)]
    pub status: WireStatus<'a>,
}

/// `spec` of a pod.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WireSpec<'a> {
    /// `nodeName`; empty for a pod that is bound to none.
    #[serde(borrow)]
    pub node_name: Cow<'a, str>,
    #[serde(borrow)]
    init_containers: Option<Vec<WireContainer<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireContainer<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    restart_policy: Cow<'a, str>,
}

/// `status` of a pod.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WireStatus<'a> {
    #[serde(borrow)]
    phase: Cow<'a, str>,
    /// `startTime`: when its node first saw it.
    pub start_time: Option<Timestamp>,
    #[serde(borrow)]
    conditions: Option<Vec<WireCondition<'a>>>,
    #[serde(borrow)]
    init_container_statuses: Option<Vec<WireContainerStatus<'a>>>,
    #[serde(borrow)]
    container_statuses: Option<Vec<WireContainerStatus<'a>>>,
}

/// A condition of a pod.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WireCondition<'a> {
    /// `type`.
    #[serde(borrow)]
    pub r#type: Cow<'a, str>,
    /// `status`.
    #[serde(borrow)]
    pub status: Cow<'a, str>,
    /// `reason`.
    #[serde(borrow)]
    pub reason: Cow<'a, str>,
    /// `lastTransitionTime`.
    pub last_transition_time: Option<Timestamp>,
}

/// What a node says of a container.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WireContainerStatus<'a> {
    /// `name`.
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    /// `restartCount`.
    pub restart_count: i32,
    /// `state`.
    #[serde(borrow)]
    pub state: WireState<'a>,
    /// `lastState`: that of its former run.
    #[serde(borrow)]
    pub last_state: WireState<'a>,
}

/// What a container is at; nothing is set if its node does not say.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct WireState<'a> {
    /// It waits to be started.
    #[serde(borrow)]
    pub waiting: Option<WireWaiting<'a>>,
    /// It runs.
    pub running: Option<WireRunning>,
    /// It has ended.
    pub terminated: Option<WireTerminated>,
}

/// A container that waits.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct WireWaiting<'a> {
    /// Why.
    #[serde(borrow)]
    pub reason: Cow<'a, str>,
}

/// A container that runs.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct WireRunning {}

/// A container that has ended.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WireTerminated {
    /// Its exit code.
    pub exit_code: i32,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
}

impl<'a> WirePod<'a> {
    /// Reads a pod.
    pub fn read(json: &'a [u8]) -> Result<Self, DecodeError> {
        Ok(serde_json::from_slice(json)?)
    }
}

impl WireSpec<'_> {
    /// Names of its sidecars: init containers that stay.
    pub fn sidecars(&self) -> HashSet<&str> {
        let restartable = |container: &&WireContainer<'_>| container.restart_policy == "Always";
        let init = self.init_containers.iter().flatten();
        init.filter(restartable).map(|container| &*container.name).collect()
    }
}

impl WireStatus<'_> {
    /// How far the pod has come.
    pub fn phase(&self) -> Phase {
        Phase::of(&self.phase)
    }

    /// Its conditions.
    pub fn conditions(&self) -> impl Iterator<Item = &WireCondition<'_>> {
        self.conditions.iter().flatten()
    }

    /// Its condition of that type.
    pub fn condition(&self, kind: &str) -> Option<&WireCondition<'_>> {
        self.conditions().find(|condition| condition.r#type == kind)
    }

    /// Its `Ready` condition.
    pub fn ready(&self) -> Option<Ready> {
        self.condition("Ready").map(|ready| Ready {
            status: Status::of(&ready.status),
            since: ready.last_transition_time,
        })
    }

    /// Its regular containers.
    pub fn regular(&self) -> impl Iterator<Item = &WireContainerStatus<'_>> {
        self.container_statuses.iter().flatten()
    }

    /// Its init containers, sidecars among them.
    pub fn init(&self) -> impl Iterator<Item = &WireContainerStatus<'_>> {
        self.init_container_statuses.iter().flatten()
    }

    /// Its init containers that are among `sidecars`.
    pub fn sidecars<'s>(&'s self, sidecars: &'s HashSet<&str>) -> impl Iterator<Item = &'s WireContainerStatus<'s>> {
        self.init().filter(|container| sidecars.contains(&*container.name))
    }
}

impl WireContainerStatus<'_> {
    /// When it ended, if it is not running now and says when.
    pub fn ended(&self) -> Option<Timestamp> {
        self.state.terminated.as_ref()?.finished_at
    }
}

/// The largest restart count among `containers`; 0 without any.
pub fn most_restarts<'a>(containers: impl Iterator<Item = &'a WireContainerStatus<'a>>) -> i32 {
    let counts = containers.map(|container| container.restart_count);
    counts.max().unwrap_or_default()
}
