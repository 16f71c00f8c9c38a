//! Who reconciles a cluster that a test has for itself: upstream's controllers or ours, one after the other.

use std::time::Duration;

use futures::{StreamExt as _, stream};
use serde_json::{Value, json};
use workload_core::id::Kind;

use crate::api::CONFIG_MAP;
use crate::cluster::{Cluster, Part};
use crate::controller::Controller;
use crate::program::{Program, on};
use crate::record::State;
use crate::scene::Scene;

/// Whoever reconciles, until it ends.
pub enum Reign {
    /// kube-controller-manager.
    Upstream,
    /// The program under test.
    Ours(Controller),
}

impl Reign {
    /// kube-controller-manager begins, without these controllers. Ours must have ended.
    pub async fn of_upstream(cluster: &Cluster, without: &[&str]) -> Self {
        cluster.upstream_without(without).await;
        Self::Upstream
    }

    /// The program begins, with these flags, in the place of the controllers that it replaces.
    pub async fn of_ours(cluster: &Cluster, program: &Program, flags: &[&str]) -> Self {
        cluster.upstream_without(program.replaces).await;
        Self::Ours(cluster.start_program(program, flags).await)
    }

    /// Waits until whoever reconciles has taken note of this object, which is made for that in a namespace of its own.
    pub async fn is_at_work(&self, cluster: &Cluster, probe: impl Into<Value>, has_noted: impl Fn(&State) -> bool) {
        on(cluster.server(), async |scene| {
            scene.create(probe).await;
            scene.until("the new one is at work", has_noted).await;
        })
        .await;
    }

    /// Ends it as a crash does.
    pub async fn crash(self, cluster: &Cluster) {
        match self {
            Self::Upstream => cluster.stop(Part::ControllerManager).await,
            Self::Ours(controller) => controller.kill(),
        }
    }
}

impl Cluster {
    /// Has the program reconcile the scene, with these flags, and nobody else.
    pub async fn give_to(&self, scene: &mut Scene, program: &Program, flags: &[&str]) {
        self.upstream_without(program.replaces).await;
        let controller = scene.start(program, flags).await;
        scene.put_controller(controller);
    }
}

impl Scene {
    /// Requests that the scene's controller has sent so far.
    pub async fn requests(&self) -> u64 {
        let metrics = self.controller().expect("a controller").metrics().await;
        metrics.count("rest_client_requests_total", &[])
    }

    /// Waits until the scene's controller sends hardly any requests any more. The events of many pods take their time, one
    /// after the other.
    pub async fn until_requests_rest(&self) {
        self.eventually("requests come to rest", async || {
            let before = self.requests().await;
            self.until_quiet_for(Duration::from_secs(1)).await;
            self.requests().await - before < 5
        })
        .await;
    }

    /// Takes a component away from the scene's controller for some seconds, throughout which `lacks` must hold: what the
    /// controller is about must not have been done before. It must be patient, and not send as fast as its rate allows:
    /// [`PATIENT`] is for one with [`PATIENT_FLAGS`].
    pub async fn without(&self, cluster: &Cluster, part: Part, lacks: impl FnMut(&State) -> bool) {
        cluster.stop(part).await;
        let before = self.requests().await;
        self.holds_for(SILENCE, "it cannot be done yet", lacks).await;
        let sent = self.requests().await - before;
        assert!(sent < PATIENT, "{sent} requests to a server that does not answer");
        cluster.start(part).await;
    }

    /// Lets the server's versions grow, so that they are clearly behind after a restore of an earlier copy.
    pub async fn outgrow(&self) {
        let map = |at: u64| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("map-{at}")}});
        let make = |at| async move { self.api().create(CONFIG_MAP, &map(at)).await };
        let mut answers = stream::iter((0..OUTGROWN).map(make)).buffer_unordered(16);
        while let Some(answer) = answers.next().await {
            answer.unwrap_or_else(|error| panic!("{error}"));
        }
    }

    /// Lets `go_on` happen and undoes it by a restore, which the scene's controller has to notice with each of its `kinds`. From
    /// then on nothing is written. Nobody else works meanwhile: what others write on the restored server would bring it up to
    /// what the caches have seen, which could not notice anything.
    pub async fn undo(
        &self,
        cluster: &Cluster,
        kinds: usize,
        go_on: impl AsyncFnOnce(),
        is_as_before: impl FnMut(&State) -> bool,
    ) {
        cluster.stop(Part::ControllerManager).await;
        cluster.snapshot().await;
        go_on().await;
        let before = self.version().await;
        cluster.restore().await;
        let after = self.version().await;
        assert!(
            after + OUTGROWN / 2 < before,
            "the restored server, at version {after}, is not clearly behind what was seen at {before}"
        );
        self.until("all is as it was", is_as_before).await;
        self.eventually("it is noticed", async || self.noticed_restores() >= kinds)
            .await;
        self.until_requests_rest().await;
        let before = self.requests().await;
        self.quiet_for(Duration::from_secs(4)).await;
        let late = self.requests().await - before;
        assert!(late < 20, "{late} requests, more than some late lists and events");
    }

    /// The version of the server.
    async fn version(&self) -> u64 {
        let listed = self.api().list_metadata(Kind::POD).await;
        listed.unwrap_or_else(|error| panic!("{error}")).0
    }

    /// How many caches of the scene's controller have noticed that the server was restored.
    pub fn noticed_restores(&self) -> usize {
        let controller = self.controller().expect("a controller");
        let told = controller.log_about("as after a restore from a backup");
        told.lines().count()
    }
}

/// By how many versions a server grows that is to be clearly ahead.
const OUTGROWN: u64 = 300;

/// Flags of a controller that is hit while it works: at that rate the work takes some seconds.
pub const PATIENT_FLAGS: [&str; 3] = ["--leader-elect=false", "--qps=150", "--burst=20"];
/// How long nobody answers.
const SILENCE: Duration = Duration::from_secs(6);
/// More requests than that in the silence are a hot loop, which would send as many as its rate allows: 900. At most 50 writes
/// are under way when the silence begins; each is repeated some times, and beside them only lists and events are tried.
const PATIENT: u64 = 650;
