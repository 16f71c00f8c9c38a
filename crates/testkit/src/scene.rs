//! The stage of one test.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rand::RngExt as _;
use serde_json::{Value, json};
use tempfile::TempDir;
use workload_core::id::Kind;
use workload_core::time::{Clock as _, SystemClock};

use crate::account::Account;
use crate::api::{Api, ApiError, EVENT, NAMESPACE};
use crate::controller::{Controller, last_lines};
use crate::identity::Access;
use crate::kubectl;
use crate::kubelet::Kubelet;
use crate::object::Stored;
use crate::program::{Program, Subject};
use crate::proxy::Proxy;
use crate::record::{KINDS, Record, State};
use crate::server::Server;

/// The longest that anything may take that should happen at once, on a busy machine.
const WITHIN: Duration = Duration::from_mins(2);

/// How often something is looked at that the record does not show.
const POLL: Duration = Duration::from_millis(100);

/// A namespace of its own, who reconciles in it, a kubelet, and a record of all that is stored.
pub struct Scene {
    server: &'static Server,
    subject: Subject,
    name: String,
    api: Api,
    record: Arc<Record>,
    kubelet: Kubelet,
    controller: Option<Controller>,
    dir: TempDir,
}

impl Scene {
    pub(crate) async fn set(server: &'static Server, subject: Subject) -> Self {
        let name = format!("test-{:08x}", rand::rng().random::<u32>());
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let made = server
            .api()
            .create(NAMESPACE, &namespace)
            .await
            .unwrap_or_else(|error| panic!("{error}"));
        let version = made["metadata"]["resourceVersion"].as_str().expect("a version");
        let api = server.api().namespace(&name);
        let record = Arc::new(Record::start(&api, version, server.outages));
        let kubelet = Kubelet::start(api.clone(), Arc::clone(&record), format!("{name}-node"));
        let dir = tempfile::tempdir().expect("a directory");
        Self {
            server,
            subject,
            name,
            api,
            record,
            kubelet,
            controller: None,
            dir,
        }
    }

    /// Ends what runs and removes what is stored. What is already gone or cannot be removed is left to the server's end.
    pub(crate) async fn strike(&mut self) {
        self.controller = None;
        let _ = self.server.api().delete(NAMESPACE, &self.name, &Value::Null).await;
        let held = self.look(|state| {
            names(
                state
                    .pods()
                    .into_iter()
                    .filter(|pod| !pod.at("/metadata/finalizers").is_null()),
            )
        });
        for pod in held {
            let _ = self
                .api
                .merge(Kind::POD, &pod, &json!({"metadata": {"finalizers": null}}))
                .await;
        }
        let _ = self.api.delete_all_now(Kind::POD).await;
    }

    /// Starts another instance of `program` with the rights that it ships with. It reconciles this namespace only.
    pub async fn start(&self, program: &Program, flags: &[&str]) -> Controller {
        let namespace = format!("--namespace={}", self.name);
        program
            .start(self.server, &[&[&*namespace], flags].concat(), self.dir.path())
            .await
    }

    /// As [`Scene::start`], on another way to the server.
    pub async fn start_by(&self, access: &Access, program: &Program, flags: &[&str]) -> Controller {
        let mut started = self.launch(access, program, flags).await;
        started.until_ready().await;
        started
    }

    /// As [`Scene::start_by`], for a program that may never get ready.
    pub async fn launch(&self, access: &Access, program: &Program, flags: &[&str]) -> Controller {
        let namespace = format!("--namespace={}", self.name);
        program
            .launch(self.server, access, &[&[&*namespace], flags].concat(), self.dir.path())
            .await
    }

    /// A proxy in front of the scene's server.
    pub async fn proxy(&self) -> Proxy {
        Proxy::start(self.server).await
    }

    /// A service account of this scene's own with the rights that `program` ships with.
    pub async fn account(&self, program: &Program) -> Account {
        Account::open(self, program).await
    }

    /// The program under test; none where upstream or nobody reconciles.
    pub fn controller(&self) -> Option<&Controller> {
        self.controller.as_ref()
    }

    /// Takes the program under test out of the scene, to end it.
    pub fn take_controller(&mut self) -> Option<Controller> {
        self.controller.take()
    }

    /// Puts an instance into the scene as the program under test.
    pub fn put_controller(&mut self, controller: Controller) {
        self.controller = Some(controller);
    }

    /// Who reconciles.
    pub fn subject(&self) -> Subject {
        self.subject
    }

    /// The scene's namespace.
    pub fn namespace(&self) -> &str {
        &self.name
    }

    /// Requests to the scene's namespace; their effects may not yet be in the record.
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// The server with full rights.
    pub fn server(&self) -> &'static Server {
        self.server
    }

    /// Its scheduler and kubelet.
    pub fn kubelet(&self) -> &Kubelet {
        &self.kubelet
    }

    /// Runs kubectl in the scene's namespace.
    pub async fn kubectl(&self, args: &[&str]) -> kubectl::Output {
        let args = [&["--namespace", &self.name], args].concat();
        kubectl::run(self.server.kubeconfig(), self.dir.path(), &args).await
    }

    /// Creates an object and returns it as stored.
    pub async fn create(&self, object: impl Into<Value>) -> Stored {
        let object = object.into();
        let kind = kind_of(&object);
        self.recorded(self.api.create(kind, &object).await).await
    }

    /// Changes an object by a JSON merge patch. `name` may carry a subresource: `web/status`.
    pub async fn merge(&self, kind: Kind, name: &str, patch: Value) -> Stored {
        self.recorded(self.api.merge(kind, name, &patch).await).await
    }

    /// Deletes an object by a plain DELETE. Afterwards the record shows it gone or terminating.
    pub async fn delete(&self, kind: Kind, name: &str) {
        self.delete_with(kind, name, &Value::Null).await;
    }

    /// Deletes an object with options such as `{"propagationPolicy": "Orphan"}`.
    pub async fn delete_with(&self, kind: Kind, name: &str, options: &Value) {
        self.api
            .delete(kind, name, options)
            .await
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        self.record.catch_up(&self.api).await;
    }

    /// Evicts a pod by the eviction API, which marks it (`DisruptionTarget`) and deletes it.
    pub async fn evict(&self, pod: &str) {
        let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}});
        let at = format!("{pod}/eviction");
        let answer = self.api.create_at(Kind::POD, &at, &eviction).await;
        answer.unwrap_or_else(|error| panic!("{pod}: {error}"));
        self.record.catch_up(&self.api).await;
    }

    /// Looks at the namespace as it is recorded.
    pub fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        self.record.look(look)
    }

    /// Waits until `find` finds something. Fails, with all that is known, if it takes too long. Afterwards the record shows
    /// of every kind what the server stored at that moment.
    pub async fn find<T>(&self, what: &str, find: impl FnMut(&State) -> Option<T>) -> T {
        self.find_within(WITHIN, what, find).await
    }

    /// As [`Scene::find`], with a time of its own.
    pub async fn find_within<T>(&self, within: Duration, what: &str, find: impl FnMut(&State) -> Option<T>) -> T {
        let found = self.record.find(within, find).await;
        let found = found.unwrap_or_else(|| panic!("not within {within:?}: {what}"));
        self.record.catch_up(&self.api).await;
        found
    }

    /// Waits until `holds` is true.
    pub async fn until(&self, what: &str, mut holds: impl FnMut(&State) -> bool) {
        self.find(what, |state| holds(state).then_some(())).await;
    }

    /// Asks again and again until the answer is yes: for what the record does not show.
    pub async fn eventually(&self, what: &str, mut holds: impl AsyncFnMut() -> bool) {
        let asking = async {
            while !holds().await {
                tokio::time::sleep(POLL).await;
            }
        };
        let end = tokio::time::timeout(WITHIN, asking).await;
        assert!(end.is_ok(), "not within {WITHIN:?}: {what}");
    }

    /// Watches for that long that `holds` stays true. A test that wakes up late does not count what came afterwards.
    pub async fn holds_for(&self, time: Duration, what: &str, mut holds: impl FnMut(&State) -> bool) {
        let end = SystemClock.instant() + time;
        let broken = |state: &State| (SystemClock.instant() < end && !holds(state)).then_some(());
        let broken = self.record.find(time, broken).await;
        assert!(broken.is_none(), "does not hold: {what}");
    }

    /// Watches for that long that nobody writes a workload object or pod.
    pub async fn quiet_for(&self, time: Duration) {
        let workloads = |state: &State| state.count_writes(|write| write.object.kind() != EVENT.kind);
        let before = self.look(workloads);
        self.holds_for(time, "nothing is written", |state| workloads(state) == before)
            .await;
    }

    /// Waits until nobody has written a workload object or pod for that long.
    pub async fn until_quiet_for(&self, time: Duration) {
        let workloads = |state: &State| state.count_writes(|write| write.object.kind() != EVENT.kind);
        let quiet = async {
            let mut before = self.look(workloads);
            while let Some(now) = self
                .record
                .find(time, |state| Some(workloads(state)).filter(|now| *now != before))
                .await
            {
                before = now;
            }
        };
        let end = tokio::time::timeout(WITHIN, quiet).await;
        assert!(end.is_ok(), "somebody goes on writing");
    }

    async fn recorded(&self, answer: Result<Value, ApiError>) -> Stored {
        let stored = Stored::from(answer.unwrap_or_else(|error| panic!("{error}")));
        if KINDS.iter().any(|kind| kind.kind == stored.kind()) {
            self.record.reach(&stored).await;
        }
        stored
    }

    /// Prints what people need to find out why the test failed.
    #[allow(clippy::print_stderr, reason = "libtest shows it with the failed test")]
    pub(crate) fn report(&self) {
        eprintln!("--- namespace {} ({:?}) at the end", self.name, self.subject);
        self.look(|state| {
            for kind in KINDS {
                for object in state.all(kind) {
                    eprintln!("{object}");
                }
            }
            eprintln!("--- its last writes");
            let writes: Vec<_> = state.in_order().into_iter().rev().take(LAST_WRITES).collect();
            writes.into_iter().rev().for_each(|write| eprintln!("{write}"));
        });
        for (place, log) in logs(self.dir.path()) {
            eprintln!("--- {}\n{log}", place.display());
        }
    }
}

/// How many writes a failed test shows.
const LAST_WRITES: usize = 30;

/// Names of these objects.
pub fn names<'a>(objects: impl IntoIterator<Item = &'a Stored>) -> Vec<String> {
    objects.into_iter().map(|object| object.name().to_owned()).collect()
}

/// The logs of all programs that were started in this directory.
fn logs(dir: &Path) -> Vec<(PathBuf, String)> {
    let inside = |dir: &Path| {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let files = inside(dir).into_iter().flat_map(|place| inside(&place));
    files
        .filter(|file| file.extension().is_some_and(|extension| extension == "log"))
        .map(|file| (file.clone(), last_lines(&file)))
        .collect()
}

fn kind_of(object: &Value) -> Kind {
    let kind = object["kind"].as_str().unwrap_or_default();
    let known = [
        Kind::DEPLOYMENT,
        Kind::REPLICA_SET,
        Kind::JOB,
        Kind::POD,
        crate::api::RESOURCE_QUOTA,
    ];
    known
        .into_iter()
        .find(|known| known.kind == kind)
        .unwrap_or_else(|| panic!("an object of kind {kind:?}"))
}
