//! The lock behind an election: a coordination/v1 Lease.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use serde_json::json;

use crate::id::ResourceVersion;
use crate::lease::elect::{Answer, Ask, Record};

/// Where the record of an election is kept.
pub trait Lock: Send + Sync + 'static {
    /// Carries out one request.
    fn ask(&self, ask: &Ask) -> impl Future<Output = Answer> + Send;

    /// The record whenever it changes, without end. Only makes a standby faster than its polls; it may miss changes.
    fn sightings(&self) -> BoxStream<'static, Answer>;
}

/// A Lease on the API server.
#[derive(Clone)]
pub struct LeaseLock {
    leases: Api<Lease>,
    name: Arc<str>,
    field_manager: String,
}

impl std::fmt::Debug for LeaseLock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LeaseLock({})", self.name)
    }
}

/// Wait before a watch that ended is opened again; doubled each time it cannot be opened.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Longest wait before a watch is opened again.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

impl LeaseLock {
    /// The Lease `name` in `namespace`. The client should serve nothing else, so that load cannot delay a renewal.
    pub fn new(client: kube::Client, namespace: &str, name: &str, field_manager: &str) -> Self {
        Self {
            leases: Api::namespaced(client, namespace),
            name: name.into(),
            field_manager: field_manager.to_owned(),
        }
    }

    async fn create(&self, record: &Record) -> Result<Lease, kube::Error> {
        let lease = Lease {
            metadata: ObjectMeta {
                name: Some(self.name.to_string()),
                ..ObjectMeta::default()
            },
            spec: Some(spec_of(record)),
        };
        let parameters = PostParams {
            field_manager: Some(self.field_manager.clone()),
            ..PostParams::default()
        };
        self.leases.create(&parameters, &lease).await
    }

    /// A merge patch with the version as precondition: fields that a later API adds stay as they are.
    async fn write(&self, record: &Record, over: &ResourceVersion) -> Result<Lease, kube::Error> {
        let patch = json!({"metadata": {"resourceVersion": over.as_str()}, "spec": spec_of(record)});
        let parameters = PatchParams {
            field_manager: Some(self.field_manager.clone()),
            ..PatchParams::default()
        };
        self.leases.patch(&self.name, &parameters, &Patch::Merge(patch)).await
    }
}

impl Lock for LeaseLock {
    async fn ask(&self, ask: &Ask) -> Answer {
        let stored = match ask {
            Ask::Read => self.leases.get(&self.name).await,
            Ask::Create(record) => self.create(record).await,
            Ask::Write { record, over, .. } => self.write(record, over).await,
        };
        stored.as_ref().map_or_else(failed, answer)
    }

    fn sightings(&self) -> BoxStream<'static, Answer> {
        let watch = Watch {
            lock: self.clone(),
            events: None,
            pause: FIRST_PAUSE,
        };
        futures::stream::unfold(watch, Watch::next).boxed()
    }
}

/// A watch that is opened again whenever it ends.
struct Watch {
    lock: LeaseLock,
    events: Option<BoxStream<'static, Result<WatchEvent<Lease>, kube::Error>>>,
    pause: Duration,
}

impl Watch {
    async fn next(mut self) -> Option<(Answer, Self)> {
        loop {
            let Some(events) = &mut self.events else {
                self.open().await;
                continue;
            };
            match events.next().await {
                Some(Ok(WatchEvent::Added(lease) | WatchEvent::Modified(lease))) => {
                    return Some((answer(&lease), self));
                }
                Some(Ok(WatchEvent::Deleted(_))) => return Some((Answer::Missing, self)),
                Some(Ok(WatchEvent::Bookmark(_))) => {}
                Some(Ok(WatchEvent::Error(_)) | Err(_)) | None => {
                    self.events = None;
                    tokio::time::sleep(FIRST_PAUSE).await;
                }
            }
        }
    }

    /// Opens the watch, or waits after a failure.
    async fn open(&mut self) {
        let this_lease = WatchParams::default().fields(&format!("metadata.name={}", self.lock.name));
        match self.lock.leases.watch(&this_lease, "0").await {
            Ok(events) => {
                self.events = Some(events.boxed());
                self.pause = FIRST_PAUSE;
            }
            Err(error) => {
                tracing::debug!(%error, "cannot watch the lease, a hand-over is seen by polling alone");
                tokio::time::sleep(self.pause).await;
                self.pause = self.pause.saturating_mul(2).min(LONGEST_PAUSE);
            }
        }
    }
}

fn answer(lease: &Lease) -> Answer {
    let version = lease.metadata.resource_version.as_deref().unwrap_or_default();
    Answer::Found(record_of(lease), ResourceVersion::new(version))
}

fn failed(error: &kube::Error) -> Answer {
    let code = if let kube::Error::Api(status) = error {
        status.code
    } else {
        0
    };
    match code {
        404 => Answer::Missing,
        409 => Answer::Conflict,
        _ => Answer::Failed(error.to_string()),
    }
}

fn spec_of(record: &Record) -> LeaseSpec {
    LeaseSpec {
        holder_identity: Some(record.holder.clone()),
        lease_duration_seconds: i32::try_from(record.duration_seconds).ok(),
        acquire_time: record.acquired.map(MicroTime),
        renew_time: record.renewed.map(MicroTime),
        lease_transitions: Some(record.transitions),
        ..LeaseSpec::default()
    }
}

fn record_of(lease: &Lease) -> Record {
    let spec = lease.spec.as_ref();
    Record {
        holder: spec.and_then(|spec| spec.holder_identity.clone()).unwrap_or_default(),
        duration_seconds: spec
            .and_then(|spec| spec.lease_duration_seconds)
            .and_then(|seconds| u32::try_from(seconds).ok())
            .unwrap_or_default(),
        acquired: spec.and_then(|spec| spec.acquire_time.as_ref()).map(|time| time.0),
        renewed: spec.and_then(|spec| spec.renew_time.as_ref()).map(|time| time.0),
        transitions: spec.and_then(|spec| spec.lease_transitions).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lease::elect::Basis;
    use http::{Request, Response};
    use http_body_util::BodyExt;
    use kube::client::Body;
    use serde_json::Value;
    use tokio::sync::mpsc;

    type Requests = mpsc::UnboundedReceiver<(String, Option<Value>)>;

    /// A lock whose server answers every request with this code and body, and the requests that it got.
    fn lock(code: u16, answer: &Value) -> (LeaseLock, Requests) {
        let (sender, requests) = mpsc::unbounded_channel();
        let answer = answer.to_string();
        let service = tower::service_fn(move |request: Request<Body>| {
            let (sender, answer) = (sender.clone(), answer.clone());
            async move {
                let line = format!("{} {}", request.method(), request.uri());
                let body = request.into_body().collect().await?.to_bytes();
                sender.send((line, serde_json::from_slice(&body).ok()))?;
                Ok::<_, tower::BoxError>(Response::builder().status(code).body(Body::from(answer.into_bytes()))?)
            }
        });
        let client = kube::Client::new(service, "default");
        (LeaseLock::new(client, "kube-system", "web", "ours"), requests)
    }

    fn record() -> Record {
        Record {
            holder: "me".to_owned(),
            duration_seconds: 15,
            acquired: Some("2026-01-02T03:04:05Z".parse().unwrap()),
            renewed: Some("2026-01-02T03:04:06.5Z".parse().unwrap()),
            transitions: 3,
        }
    }

    fn spec() -> Value {
        json!({
            "holderIdentity": "me", "leaseDurationSeconds": 15, "leaseTransitions": 3,
            "acquireTime": "2026-01-02T03:04:05.000000Z", "renewTime": "2026-01-02T03:04:06.500000Z",
        })
    }

    fn lease() -> Value {
        json!({"metadata": {"name": "web", "resourceVersion": "7"}, "spec": spec()})
    }

    fn status(code: u16) -> Value {
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "no", "code": code})
    }

    #[tokio::test]
    async fn a_lease_is_read_created_and_written_over_a_version() {
        let write = Ask::Write {
            record: record(),
            over: ResourceVersion::new("6"),
            basis: Basis::JustRead,
        };
        let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
        for (ask, line, body) in [
            (Ask::Read, format!("GET {leases}/web"), None),
            (
                Ask::Create(record()),
                format!("POST {leases}?&fieldManager=ours"),
                Some(
                    json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "web"}, "spec": spec()}),
                ),
            ),
            (
                write,
                format!("PATCH {leases}/web?&fieldManager=ours"),
                Some(json!({"metadata": {"resourceVersion": "6"}, "spec": spec()})),
            ),
        ] {
            let (lock, mut requests) = lock(200, &lease());
            assert_eq!(lock.ask(&ask).await, Answer::Found(record(), ResourceVersion::new("7")));
            assert_eq!(requests.recv().await.unwrap(), (line, body));
        }
    }

    #[tokio::test]
    async fn answers_of_the_server_are_told_apart() {
        assert_eq!(lock(404, &status(404)).0.ask(&Ask::Read).await, Answer::Missing);
        assert_eq!(lock(409, &status(409)).0.ask(&Ask::Read).await, Answer::Conflict);
        assert!(matches!(
            lock(500, &status(500)).0.ask(&Ask::Read).await,
            Answer::Failed(_)
        ));
    }

    #[tokio::test]
    async fn a_given_back_lease_has_an_empty_holder_not_none() {
        let resigned = Record {
            holder: String::new(),
            ..record()
        };
        assert_eq!(
            serde_json::to_value(spec_of(&resigned)).unwrap()["holderIdentity"],
            json!("")
        );
        let bare: Lease = serde_json::from_value(json!({"metadata": {"resourceVersion": "1"}})).unwrap();
        assert_eq!(
            (record_of(&bare).holder, record_of(&bare).duration_seconds),
            (String::new(), 0)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn the_watch_shows_each_change_and_goes_on_after_its_end() {
        let event = json!({"type": "MODIFIED", "object": lease()});
        let (lock, mut requests) = lock(200, &event);
        let seen: Vec<Answer> = lock.sightings().take(2).collect().await;
        assert_eq!(
            seen,
            [
                Answer::Found(record(), ResourceVersion::new("7")),
                Answer::Found(record(), ResourceVersion::new("7"))
            ]
        );
        for _ in 0..2 {
            let (line, _) = requests.recv().await.unwrap();
            assert!(
                line.contains("watch=true") && line.contains("fieldSelector=metadata.name%3Dweb"),
                "{line}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_is_not_allowed_is_tried_ever_more_rarely() {
        let (lock, mut requests) = lock(403, &status(403));
        let mut sightings = lock.sightings();
        let none = tokio::time::timeout(Duration::from_mins(10), sightings.next()).await;
        assert!(none.is_err());
        let tries = std::iter::from_fn(|| requests.try_recv().ok()).count();
        assert!((10..20).contains(&tries), "{tries} tries in ten minutes");
    }
}
