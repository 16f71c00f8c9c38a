//! A cluster whose components a test stops and starts: takeovers, outages, restores.
//!
//! `cargo xtask test` starts it and names it in the environment; its components are driven by `xtask cluster`, the program
//! that has started them.

use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;
use tokio::sync::Mutex;

use crate::api::LEASE;
use crate::controller::Controller;
use crate::program::Program;
use crate::server::{Server, block_on, environment, skipped};

/// The cluster's name, as `xtask cluster` knows it.
const NAME: &str = "WORKLOAD_TEST_TAKEOVER_CLUSTER";
/// The path of xtask.
const XTASK: &str = "WORKLOAD_XTASK";
/// A controller that never runs here: it removes pods from nodes that do not exist, and tests never make nodes.
const POD_GARBAGE: &str = "pod-garbage-collector";
/// The Lease of kube-controller-manager, and the namespace of it.
const UPSTREAM_LEASE: (&str, &str) = ("kube-system", "kube-controller-manager");
/// The longest that a component may take to come up on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);
/// A server that is not ready for so long may have lost a component, for instance because its port was not free yet.
const SUSPICIOUS: Duration = Duration::from_secs(20);
/// How often a component that comes up is looked at.
const POLL: Duration = Duration::from_millis(50);

/// A component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Where the server stores everything.
    Etcd,
    /// The API server.
    ApiServer,
    /// Upstream's controllers.
    ControllerManager,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
        }
    }
}

/// The cluster, for one test at a time.
pub struct Cluster {
    server: &'static Server,
    xtask: String,
    name: String,
    dir: TempDir,
}

/// Runs a test that has a whole cluster for itself; at its beginning everything runs, and kube-controller-manager runs all
/// its controllers. Without such a cluster the test is skipped, and says so.
pub fn alone(body: impl AsyncFnOnce(&Cluster)) {
    static TURN: Mutex<()> = Mutex::const_new(());
    block_on(async {
        let Some(cluster) = Cluster::find().await else {
            skipped("the cluster of `cargo xtask test --only takeover`");
            return;
        };
        let _turn = TURN.lock().await;
        cluster.mend().await;
        body(&cluster).await;
    });
}

impl Cluster {
    async fn find() -> Option<Self> {
        Some(Self {
            server: Server::takeover().await?,
            xtask: environment(XTASK)?,
            name: environment(NAME)?,
            dir: tempfile::tempdir().expect("a directory"),
        })
    }

    /// Its API server.
    pub fn server(&self) -> &'static Server {
        self.server
    }

    /// Starts an instance of `program` with the rights that it ships with, for all namespaces.
    pub async fn start_program(&self, program: &Program, flags: &[&str]) -> Controller {
        program.start(self.server, flags, self.dir.path()).await
    }

    /// Ends a component at once, as a crash does. One that has ended is left as it is.
    pub async fn stop(&self, part: Part) {
        self.run(&["stop", "--part", part.name()]).await;
    }

    /// Starts a stopped component and waits until the API server is ready.
    pub async fn start(&self, part: Part) {
        self.run(&["start", "--part", part.name()]).await;
        self.ready().await;
    }

    /// Ends kube-controller-manager and starts it without these controllers. The Lease that the old one has left is removed:
    /// waiting for its end would take a quarter of a minute and prove nothing.
    pub async fn upstream_without(&self, controllers: &[&str]) {
        self.stop(Part::ControllerManager).await;
        let (namespace, lease) = UPSTREAM_LEASE;
        let deleted = self
            .server
            .api()
            .namespace(namespace)
            .delete(LEASE, lease, &Value::Null)
            .await;
        if let Err(error) = deleted {
            assert_eq!(error.code, 404, "{error}");
        }
        let without = [controllers, &[POD_GARBAGE]].concat().join(",");
        let part = Part::ControllerManager.name();
        self.run(&["start", "--part", part, "--kcm-without", &without]).await;
    }

    /// Keeps a copy of all that is stored.
    pub async fn snapshot(&self) {
        self.run(&["snapshot"]).await;
    }

    /// Puts everything back to the copy and waits until the API server is ready.
    pub async fn restore(&self) {
        self.run(&["restore"]).await;
        self.ready().await;
    }

    /// Waits until the API server calls itself ready.
    pub async fn ready(&self) {
        let ready = tokio::time::timeout(PATIENCE, async {
            while tokio::time::timeout(SUSPICIOUS, self.answers()).await.is_err() {
                self.start_what_has_ended().await;
            }
        });
        assert!(ready.await.is_ok(), "the API server does not get ready");
    }

    async fn answers(&self) {
        let api = self.server.api();
        while !api.is_ready().await {
            tokio::time::sleep(POLL).await;
        }
    }

    /// Etcd and API server, where they do not run.
    async fn start_what_has_ended(&self) {
        for part in [Part::Etcd, Part::ApiServer] {
            self.output(&["start", "--part", part.name()]).await;
        }
    }

    /// Puts right what an earlier test has left.
    async fn mend(&self) {
        self.start_what_has_ended().await;
        self.ready().await;
        self.upstream_without(&[]).await;
    }

    async fn run(&self, args: &[&str]) {
        let (succeeded, complaint) = self.output(args).await;
        assert!(succeeded, "xtask cluster {}: {complaint}", args.join(" "));
    }

    /// Whether a subcommand of `xtask cluster` succeeded, and what it complained about.
    async fn output(&self, args: &[&str]) -> (bool, String) {
        let output = Command::new(&self.xtask)
            .arg("cluster")
            .args(args)
            .args(["--name", &self.name])
            .stdin(Stdio::null())
            .output()
            .await
            .expect("xtask");
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.success(), complaint)
    }
}
