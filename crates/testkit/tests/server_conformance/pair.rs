//! Both servers, and the deeds that are done to both.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::api::{Api, NAMESPACE, POD_DISRUPTION_BUDGET, SERVICE_ACCOUNT};
use testkit::server::Server;
use testkit::simulation::server::ApiServer;
use workload_core::id::Kind;
use workload_core::time::{Clock as _, SystemClock};

use super::deed::{Deed, KINDS, Others, lease};
use super::difference::differences;
use super::mask::Uids;
use super::perform::perform;
use super::side::{Answer, Memory, Real, Side, request, state, takes_part};

/// How long the controllers of kube-controller-manager may take.
const WITHIN: Duration = Duration::from_mins(2);
/// How often they are looked at.
const POLL: Duration = Duration::from_millis(10);

/// The two servers.
pub(crate) struct Pair {
    memory: Memory,
    real: Real,
    since: [String; 2],
}

impl Pair {
    /// A namespace of this name on both.
    pub(crate) async fn open(server: &'static Server, namespace: String) -> Self {
        let manifest = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        server.api().create(NAMESPACE, &manifest).await.unwrap();
        let api = server.api().namespace(&namespace);
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
        let made = api.create(SERVICE_ACCOUNT, &account).await;
        assert!(
            made.is_ok() || made.as_ref().is_err_and(|error| error.code == 409),
            "{made:?}"
        );
        let (version, _) = api.list_metadata(Kind::POD).await.unwrap();
        let mut memory = Memory {
            server: ApiServer::new(1, &[]),
            namespace: namespace.clone(),
            now: SystemClock.now(),
            uids: Uids::default(),
        };
        // A watch from version 0 would be another thing.
        let first = json!({"metadata": {"name": "first"}, "spec": {}});
        memory
            .server
            .create(lease().kind, "elsewhere", first, memory.now)
            .unwrap();
        let since = [memory.server.version().to_string(), version.to_string()];
        let uids = Uids::default();
        Self {
            memory,
            real: Real { api, namespace, uids },
            since,
        }
    }

    /// The namespace on both.
    pub(crate) fn namespace(&self) -> &str {
        self.memory.namespace()
    }

    /// The namespace on the real one, for what the in-memory server has another form of.
    pub(crate) fn api(&self) -> Api {
        self.real.api.clone()
    }

    /// The in-memory server.
    pub(crate) fn server(&mut self) -> &mut ApiServer {
        &mut self.memory.server
    }

    /// Does something to the in-memory server alone.
    pub(crate) async fn by_hand(&mut self, deed: &Deed) {
        self.memory.tick();
        perform(&mut self.memory, deed).await;
    }

    /// Removes what is on the real one.
    pub(crate) async fn close(self, server: &'static Server) {
        let _ = server.api().delete(NAMESPACE, &self.real.namespace, &Value::Null).await;
        for kind in [Kind::DEPLOYMENT, Kind::REPLICA_SET, Kind::JOB, Kind::POD] {
            for object in self.memory.server.list(kind) {
                let free = json!({"metadata": {"finalizers": null}});
                let _ = self.real.api.merge(kind, object.name(), &free).await;
            }
        }
        let _ = self.real.api.delete_all_now(Kind::POD).await;
    }

    /// Does the same to both; the answers, and what is stored then, must be equal.
    pub(crate) async fn play(&mut self, deed: &Deed) -> Result<(), String> {
        self.memory.tick();
        let ours = perform(&mut self.memory, deed).await;
        let theirs = perform(&mut self.real, deed).await;
        self.memory.uids.learn(&ours.1);
        self.real.uids.learn(&theirs.1);
        let before = [state(&mut self.memory).await, state(&mut self.real).await];
        let masked = [
            (ours.0, self.memory.uids.mask(&ours.1)),
            (theirs.0, self.real.uids.mask(&theirs.1)),
        ];
        if !answers_agree(deed, &masked) {
            return Err(format!(
                "answers differ: {}",
                differences(&masked[0].1, &masked[1].1, masked.clone().map(|answer| answer.0))
            ));
        }
        if self.memory.settle() || before[0] != before[1] {
            self.settled().await?;
        }
        Ok(())
    }

    /// Waits until both store the same.
    async fn settled(&mut self) -> Result<(), String> {
        let ours = state(&mut self.memory).await;
        let wait = async {
            while state(&mut self.real).await != ours {
                tokio::time::sleep(POLL).await;
            }
        };
        if tokio::time::timeout(WITHIN, wait).await.is_ok() {
            return Ok(());
        }
        let theirs = state(&mut self.real).await;
        Err(format!(
            "states differ: {}",
            differences(&ours.into(), &theirs.into(), [0, 0])
        ))
    }

    /// What has happened to each object must be equal. How often kube-controller-manager counts a budget is its own affair.
    pub(crate) async fn compare_histories(&mut self) -> Result<(), String> {
        let kinds = || KINDS.into_iter().filter(|kind| *kind != POD_DISRUPTION_BUDGET);
        let asked = |side: &str, since: &str| {
            let query = format!("watch=true&allowWatchBookmarks=true&timeoutSeconds=1&resourceVersion={since}");
            request("GET", &format!("{side}?{query}"), "", &Value::Null)
        };
        let theirs = kinds().map(|kind| {
            let request = asked(&self.real.collection(kind), &self.since[1]);
            self.real.api.exchange(request)
        });
        let theirs = futures::future::join_all(theirs).await;
        for (kind, (code, body)) in kinds().zip(theirs) {
            assert_eq!(code, 200);
            let request = asked(&self.memory.collection(kind), &self.since[0]);
            let (_, ours) = self.memory.exchange(request).await;
            let (ours, theirs) = (
                history(&mut self.memory.uids, &ours),
                history(&mut self.real.uids, &body),
            );
            if ours != theirs {
                return Err(format!(
                    "histories of {kind} differ: {}",
                    differences(&ours, &theirs, [0, 0])
                ));
            }
        }
        Ok(())
    }

    /// Streams that begin with the whole state must say the same, and mark its end alike.
    pub(crate) async fn compare_streams(&mut self) -> Result<(), String> {
        let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&watch=true&allowWatchBookmarks=true&timeoutSeconds=1";
        for kind in [Kind::POD, Kind::DEPLOYMENT] {
            let uri = format!("{}?{query}", self.memory.collection(kind));
            let (_, ours) = self.memory.exchange(request("GET", &uri, "", &Value::Null)).await;
            let (_, theirs) = self.real.exchange(request("GET", &uri, "", &Value::Null)).await;
            let (ours, theirs) = (begin(&self.memory.uids, &ours), begin(&self.real.uids, &theirs));
            if ours != theirs {
                return Err(format!(
                    "streams of {kind} differ: {}",
                    differences(&ours, &theirs, [0, 0])
                ));
            }
        }
        Ok(())
    }
}

/// The frames of a stream up to the end of the state; of bookmarks what a reader looks at.
fn begin(uids: &Uids, body: &[u8]) -> Value {
    let mut frames = Vec::new();
    for line in body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let frame: Value = serde_json::from_slice(line).unwrap();
        if frame["type"] == "BOOKMARK" {
            let metadata = &frame["object"]["metadata"];
            assert!(metadata["resourceVersion"].is_string());
            frames.push(
                json!({"type": "BOOKMARK", "kind": frame["object"]["kind"], "annotations": metadata["annotations"]}),
            );
            break;
        }
        frames.push(uids.mask(&frame));
    }
    frames.into()
}

/// Waits until something holds on the real server.
pub(crate) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let wait = async {
        while !holds().await {
            tokio::time::sleep(POLL).await;
        }
    };
    let held = tokio::time::timeout(WITHIN, wait).await;
    assert!(held.is_ok(), "not within {WITHIN:?}: {what}");
}

/// The frames of a watch, by object.
fn history(uids: &mut Uids, body: &[u8]) -> Value {
    let mut history = json!({});
    for line in body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let frame: Value = serde_json::from_slice(line).unwrap();
        if frame["type"] == "BOOKMARK" || !takes_part(&frame["object"]) {
            continue;
        }
        uids.learn(&frame["object"]);
        let masked = uids.mask(&frame);
        let name = masked["object"]["metadata"]["name"].as_str().unwrap().to_owned();
        match history[&name].as_array_mut() {
            Some(frames) => frames.push(masked),
            None => history[&name] = json!([masked]),
        }
    }
    history
}

/// Whether two answers say the same. The direct hand answers a write with the object, whatever the real server answers.
fn answers_agree(deed: &Deed, [ours, theirs]: &[Answer; 2]) -> bool {
    let by_hand = matches!(deed, Deed::Others(Others::Bind(_) | Others::Delete(..)));
    let succeeded = |answer: &Answer| answer.0 < 300;
    if by_hand && succeeded(ours) && succeeded(theirs) {
        return true;
    }
    ours == theirs
}
