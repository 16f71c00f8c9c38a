//! A scheduler and kubelet in a test's hands: no container ever runs, but pods bind, get ready, fail and end as they are told.

mod habits;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;
use workload_core::id::Kind;
use workload_core::time::{Clock as _, SystemClock, Timestamp, to_api};

use self::habits::{Habits, Starts, serve};
use crate::api::{Api, ApiError};
use crate::object::Stored;
use crate::record::{Record, State};

/// The finalizer by which [`Kubelet::hold`] keeps pods.
const HOLD: &str = "test/hold";
/// The one kubelet of a namespace. Without being told it does nothing.
pub struct Kubelet {
    hand: Hand,
    record: Arc<Record>,
    habits: watch::Sender<Habits>,
    _task: JoinSet<()>,
}

impl Kubelet {
    pub(crate) fn start(api: Api, record: Arc<Record>, node: String) -> Self {
        let hand = Hand { api, node };
        let habits = watch::Sender::new(Habits::default());
        let mut task = JoinSet::new();
        task.spawn(serve(hand.clone(), Arc::clone(&record), habits.subscribe()));
        Self {
            hand,
            record,
            habits,
            _task: task,
        }
    }

    /// From now on every pod gets ready, and terminating pods end at once.
    pub fn auto(&self) {
        self.habits.send_replace(Habits {
            starts: Starts::All,
            ends: true,
        });
    }

    /// As [`Kubelet::auto`], but only pods with this image get ready.
    pub fn auto_for_image(&self, image: &str) {
        self.habits.send_replace(Habits {
            starts: Starts::Image(image.to_owned()),
            ends: true,
        });
    }

    /// From now on pods with this image get ready, and no others. Whether terminating pods end does not change.
    pub fn start_image_only(&self, image: &str) {
        self.habits
            .send_modify(|habits| habits.starts = Starts::Image(image.to_owned()));
    }

    /// From now on every pod runs to its end at once, with the exit code that `code` gives; where it gives none the pod gets
    /// ready and stays. Terminating pods end at once.
    pub fn auto_exit(&self, code: impl Fn(&Stored) -> Option<u8> + Send + Sync + 'static) {
        self.habits.send_replace(Habits {
            starts: Starts::Exits(Arc::new(code)),
            ends: true,
        });
    }

    /// From now on terminating pods stay until [`Kubelet::end`]. Which pods get ready does not change.
    pub fn keep_terminating(&self) {
        self.habits.send_modify(|habits| habits.ends = false);
    }

    /// From now on nothing happens by itself.
    pub fn manual(&self) {
        self.habits.send_replace(Habits::default());
    }

    /// Binds a pod to a node; other scenes have no node of that name.
    pub async fn bind(&self, pod: &str, node: &str) {
        let node = format!("{}-{node}", self.hand.node);
        done(self.hand.bind(pod, &node).await);
        self.shown("bound", |state| state.get(Kind::POD, pod).is_none_or(is_bound))
            .await;
    }

    /// Gets a pod ready, on the kubelet's own node unless it is bound.
    pub async fn ready(&self, pod: &str) {
        self.ready_since(pod, SystemClock.now(), 0).await;
    }

    /// As [`Kubelet::ready`], with a time since when it is ready and a number of container restarts.
    pub async fn ready_since(&self, pod: &str, since: Timestamp, restarts: u32) {
        self.ensure_bound(pod).await;
        self.report(pod, &running("True", since, restarts)).await;
    }

    /// Reports a running pod as not ready.
    pub async fn unready(&self, pod: &str) {
        self.report(pod, &running("False", SystemClock.now(), 0)).await;
    }

    /// Reports that the container of a pod waits, for a reason such as `ImagePullBackOff`.
    pub async fn waiting(&self, pod: &str, reason: &str) {
        self.ensure_bound(pod).await;
        self.report(pod, &hindered(reason)).await;
    }

    /// Ends a pod's containers with an exit code other than 0.
    pub async fn fail(&self, pod: &str, exit_code: u8) {
        self.report(pod, &finished("Failed", exit_code)).await;
    }

    /// Ends one container with an exit code other than 0 while another runs on.
    pub async fn fail_one_of_two(&self, pod: &str, exit_code: u8) {
        let mut status = running("False", SystemClock.now(), 0);
        let failed = finished("Failed", exit_code)["containerStatuses"][0].clone();
        if let Some(containers) = status["containerStatuses"].as_array_mut() {
            containers[0]["name"] = json!("beside");
            containers.push(failed);
        }
        self.report(pod, &status).await;
    }

    /// Ends a pod's containers with exit code 0.
    pub async fn succeed(&self, pod: &str) {
        self.report(pod, &finished("Succeeded", 0)).await;
    }

    /// Refuses a bound pod, as a kubelet does that has no room for it.
    pub async fn reject(&self, pod: &str, reason: &str) {
        let now = to_api(SystemClock.now());
        self.report(pod, &json!({"phase": "Failed", "reason": reason, "startTime": now}))
            .await;
    }

    /// Removes a terminating pod from its node.
    pub async fn end(&self, pod: &str) {
        done(self.hand.end(pod).await);
        self.shown("gone", |state| state.get(Kind::POD, pod).is_none()).await;
    }

    /// Fails a pod as one does that was evicted: with condition `DisruptionTarget`.
    pub async fn disrupt(&self, pod: &str) {
        let mut status = finished("Failed", 137);
        let since = status["conditions"][0]["lastTransitionTime"].clone();
        if let Some(conditions) = status["conditions"].as_array_mut() {
            conditions.push(json!({
                "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "lastTransitionTime": since,
            }));
        }
        self.report(pod, &status).await;
    }

    /// Keeps a pod from going away, whoever deletes it.
    pub async fn hold(&self, pod: &str) {
        self.finalizers(pod, json!({"metadata": {"finalizers": [HOLD]}})).await;
    }

    /// Lets a held pod go.
    pub async fn release(&self, pod: &str) {
        self.finalizers(
            pod,
            json!({"metadata": {"$deleteFromPrimitiveList/finalizers": [HOLD]}}),
        )
        .await;
    }

    /// Lets a held pod go, and removes it if that has not happened before.
    pub async fn end_held(&self, pod: &str) {
        self.release(pod).await;
        if let Err(error) = self.hand.end(pod).await {
            assert_eq!(error.code, 404, "{pod}: {error}");
        }
        self.shown("gone", |state| state.get(Kind::POD, pod).is_none()).await;
    }

    async fn ensure_bound(&self, pod: &str) {
        let bound = self
            .record
            .look(|state| state.get(Kind::POD, pod).is_some_and(is_bound));
        if !bound {
            self.bind(pod, "main").await;
        }
    }

    async fn shown(&self, what: &str, holds: impl Fn(&State) -> bool) {
        let shown = self
            .record
            .find(Duration::from_secs(30), |state| holds(state).then_some(()))
            .await;
        assert!(shown.is_some(), "the record does not show the pod {what}");
    }

    /// Other finalizers stay: a strategic merge patch changes single ones.
    async fn finalizers(&self, pod: &str, patch: Value) {
        done(self.hand.api.strategic(Kind::POD, pod, &patch).await);
    }

    async fn report(&self, pod: &str, status: &Value) {
        let stored = self
            .hand
            .report(pod, status)
            .await
            .unwrap_or_else(|error| panic!("{pod}: {error}"));
        self.record.reach(&Stored::from(stored)).await;
    }
}

/// The requests that scheduler and kubelet send.
#[derive(Clone)]
struct Hand {
    api: Api,
    node: String,
}

impl Hand {
    async fn bind(&self, pod: &str, node: &str) -> Result<Value, ApiError> {
        let body = json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        });
        self.api.create_at(Kind::POD, &format!("{pod}/binding"), &body).await
    }

    async fn report(&self, pod: &str, status: &Value) -> Result<Value, ApiError> {
        self.api
            .merge(Kind::POD, &format!("{pod}/status"), &json!({ "status": status }))
            .await
    }

    async fn end(&self, pod: &str) -> Result<Value, ApiError> {
        self.api.delete(Kind::POD, pod, &json!({"gracePeriodSeconds": 0})).await
    }
}

fn is_bound(pod: &Stored) -> bool {
    !pod.text("/spec/nodeName").is_empty()
}

fn running(ready: &str, since: Timestamp, restarts: u32) -> Value {
    let since = to_api(since);
    json!({
        "phase": "Running",
        "startTime": since,
        "conditions": [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": since},
            {"type": "Ready", "status": ready, "lastTransitionTime": since},
        ],
        "containerStatuses": [{
            "name": "main", "image": "", "imageID": "", "ready": ready == "True", "restartCount": restarts,
            "state": {"running": {"startedAt": since}},
        }],
    })
}

fn hindered(reason: &str) -> Value {
    let now = to_api(SystemClock.now());
    json!({
        "phase": "Pending",
        "startTime": now,
        "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": now}],
        "containerStatuses": [{
            "name": "main", "image": "", "imageID": "", "ready": false, "restartCount": 0,
            "state": {"waiting": {"reason": reason}},
        }],
    })
}

fn finished(phase: &str, exit_code: u8) -> Value {
    let now = to_api(SystemClock.now());
    json!({
        "phase": phase,
        "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": now}],
        "containerStatuses": [{
            "name": "main", "image": "", "imageID": "", "ready": false, "restartCount": 0,
            "state": {"terminated": {"exitCode": exit_code, "finishedAt": now}},
        }],
    })
}

fn done(answer: Result<Value, ApiError>) {
    if let Err(error) = answer {
        panic!("{error}");
    }
}
