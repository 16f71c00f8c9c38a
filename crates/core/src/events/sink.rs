//! Where events go: core/v1 Events on the API server.

use std::error::Error as _;
use std::future::Future;
use std::iter;
use std::sync::Arc;

use http::Request;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::Resource;
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::Request as Requests;
use serde_json::{Value, json};

use crate::client::{CallError, Permit};
use crate::events::series::Entry;
use crate::lease::{Fence, Fenced};
use crate::time::{self, SharedClock};

/// What stores events.
pub trait Sink: Send + Sync + 'static {
    /// Stores a new event.
    fn create(&self, entry: &Entry) -> impl Future<Output = Result<(), Refusal>> + Send;

    /// Raises the count of an event and renews its message.
    fn repeat(&self, entry: &Entry) -> impl Future<Output = Result<(), Refusal>> + Send;
}

/// Why an event was not stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no such event (any more).
    #[error("the event does not exist")]
    Missing,
    /// There is an event of this name already.
    #[error("the event exists already")]
    Exists,
    /// Its namespace is being deleted.
    #[error("the namespace is being deleted")]
    NamespaceEnding,
    /// The server will not take it, now or later.
    #[error("{0}")]
    Rejected(String),
    /// No answer; it may go through later.
    #[error("{0}")]
    Unreachable(String),
}

/// Writes Events as upstream's controllers do: `source.component` and `reportingComponent` are the controller's name, the
/// instance is empty.
#[derive(Clone)]
pub struct ApiSink {
    client: kube::Client,
    component: &'static str,
    field_manager: String,
    fence: Fence,
    clock: SharedClock,
}

impl std::fmt::Debug for ApiSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ApiSink({})", self.component)
    }
}

impl ApiSink {
    /// Events of `component`, such as `deployment-controller` (deployment C-73, C-74), written only while `fence` allows it.
    pub fn new(
        client: kube::Client,
        component: &'static str,
        field_manager: &str,
        fence: Fence,
        clock: SharedClock,
    ) -> Self {
        Self {
            client,
            component,
            field_manager: field_manager.to_owned(),
            fence,
            clock,
        }
    }

    /// An event that waited while the lease was lost must not arrive after a successor's first write: the fence is asked here,
    /// and again by the client immediately before each attempt.
    async fn send(&self, mut request: Request<Vec<u8>>) -> Result<(), Refusal> {
        self.fence.check(self.clock.instant()).map_err(lost)?;
        let (fence, clock) = (self.fence.clone(), Arc::clone(&self.clock));
        let permit = Permit::new(move || fence.check(clock.instant()).ok());
        request.extensions_mut().insert(permit);
        let sent = self.client.request_text(request).await;
        sent.map(drop).map_err(|error| refusal(&error))
    }
}

impl Sink for ApiSink {
    async fn create(&self, entry: &Entry) -> Result<(), Refusal> {
        let parameters = PostParams {
            field_manager: Some(self.field_manager.clone()),
            ..PostParams::default()
        };
        let body = serde_json::to_vec(&event(entry, self.component)).map_err(|error| malformed(&error))?;
        let request = requests(entry).create(&parameters, body);
        self.send(request.map_err(|error| malformed(&error))?).await
    }

    async fn repeat(&self, entry: &Entry) -> Result<(), Refusal> {
        let parameters = PatchParams {
            field_manager: Some(self.field_manager.clone()),
            ..PatchParams::default()
        };
        let request = requests(entry).patch(&entry.name, &parameters, &Patch::Merge(repetition(entry)));
        self.send(request.map_err(|error| malformed(&error))?).await
    }
}

/// The requests about events in the namespace of the event's object.
fn requests(entry: &Entry) -> Requests {
    Requests::new(Event::url_path(&(), Some(&entry.about.key.namespace)))
}

fn event(entry: &Entry, component: &str) -> Event {
    let Entry { about, .. } = entry;
    Event {
        metadata: ObjectMeta {
            name: Some(entry.name.to_string()),
            namespace: Some(about.key.namespace.to_string()),
            ..ObjectMeta::default()
        },
        involved_object: ObjectReference {
            api_version: Some(about.kind.api_version()),
            kind: Some(about.kind.kind.to_owned()),
            namespace: Some(about.key.namespace.to_string()),
            name: Some(about.key.name.to_string()),
            uid: Some(about.uid.to_string()),
            resource_version: Some(about.version.to_string()),
            field_path: None,
        },
        type_: Some(entry.severity.as_str().to_owned()),
        reason: Some(entry.reason.to_string()),
        message: Some(entry.message.clone()),
        source: Some(EventSource {
            component: Some(component.to_owned()),
            host: None,
        }),
        reporting_component: Some(component.to_owned()),
        reporting_instance: Some(String::new()),
        first_timestamp: Some(Time(entry.first)),
        last_timestamp: Some(Time(entry.last)),
        count: Some(entry.count),
        ..Event::default()
    }
}

fn repetition(entry: &Entry) -> Value {
    json!({
        "count": entry.count,
        "lastTimestamp": time::to_api(entry.last),
        "message": entry.message,
    })
}

fn refusal(error: &kube::Error) -> Refusal {
    let kube::Error::Api(status) = error else {
        let mut causes = iter::successors(error.source(), |error| (*error).source());
        return match causes.find_map(|cause| cause.downcast_ref()) {
            Some(CallError::Withdrawn { .. }) => lost(Fenced),
            Some(_) | None => Refusal::Unreachable(error.to_string()),
        };
    };
    let causes = status.details.iter().flat_map(|details| &details.causes);
    if status.code == 404 {
        Refusal::Missing
    } else if status.code == 409 && status.reason == "AlreadyExists" {
        Refusal::Exists
    } else if causes.into_iter().any(|cause| cause.reason == "NamespaceTerminating") {
        Refusal::NamespaceEnding
    } else {
        Refusal::Rejected(status.to_string())
    }
}

fn lost(fenced: Fenced) -> Refusal {
    Refusal::Rejected(fenced.to_string())
}

fn malformed(error: &dyn std::error::Error) -> Refusal {
    Refusal::Rejected(format!("failed to build the request: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{Kind, ObjectKey, ResourceVersion, Uid};
    use crate::plan::{Severity, Target};
    use http::Response;
    use http_body_util::BodyExt;
    use kube::client::Body;
    use tokio::sync::mpsc;

    #[test]
    fn a_namespace_that_goes_is_told_apart_from_other_refusals() {
        let of = |cause: &str| {
            let status = json!({"code": 403, "reason": "Forbidden", "details": {"causes": [{"reason": cause}]}});
            refusal(&kube::Error::Api(serde_json::from_value(status).unwrap()))
        };
        assert_eq!(of("NamespaceTerminating"), Refusal::NamespaceEnding);
        assert!(matches!(of("x"), Refusal::Rejected(_)));
        let exists = json!({"code": 409, "reason": "AlreadyExists"});
        let exists = refusal(&kube::Error::Api(serde_json::from_value(exists).unwrap()));
        assert_eq!(exists, Refusal::Exists);
    }

    #[test]
    fn an_event_that_was_no_longer_permitted_is_not_tried_again() {
        let server = "https://example.com".to_owned();
        let of = |error: CallError| refusal(&kube::Error::Service(error.into()));
        let after = std::time::Duration::from_secs(30);
        assert!(matches!(
            of(CallError::Withdrawn { server: server.clone() }),
            Refusal::Rejected(_)
        ));
        assert!(matches!(
            of(CallError::TimedOut { server, after }),
            Refusal::Unreachable(_)
        ));
    }

    fn entry(count: i32) -> Entry {
        let at = |text: &str| text.parse().unwrap();
        Entry {
            name: "web.18a".into(),
            about: Target {
                kind: Kind::DEPLOYMENT,
                key: ObjectKey::new("shop", "web"),
                uid: Uid::new("u1"),
                version: ResourceVersion::new("7"),
            },
            severity: Severity::Normal,
            reason: "ScalingReplicaSet".into(),
            message: "Scaled up replica set web-1 from 0 to 1".to_owned(),
            first: at("2026-01-02T03:04:05.25Z"),
            last: at("2026-01-02T03:05:06.75Z"),
            count,
        }
    }

    /// A sink whose server answers every request with `code`, and the requests that it got: method, path, body.
    fn sink(code: u16) -> (ApiSink, mpsc::UnboundedReceiver<(String, Value)>) {
        sink_behind(Fence::open(), code)
    }

    fn sink_behind(fence: Fence, code: u16) -> (ApiSink, mpsc::UnboundedReceiver<(String, Value)>) {
        let (sender, requests) = mpsc::unbounded_channel();
        let service = tower::service_fn(move |request: Request<Body>| {
            let sender = sender.clone();
            async move {
                let permit = request.extensions().get::<Permit>();
                assert_eq!(
                    format!("{permit:?}"),
                    "Some(Permit(Some(30s)))",
                    "the fence is asked before each attempt"
                );
                let line = format!("{} {}", request.method(), request.uri());
                let body = request.into_body().collect().await?.to_bytes();
                let body: Value = serde_json::from_slice(&body)?;
                let status =
                    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code});
                let answer = if code < 300 {
                    json!({"metadata": {}, "involvedObject": {}})
                } else {
                    status
                };
                sender.send((line, body))?;
                Ok::<_, tower::BoxError>(
                    Response::builder()
                        .status(code)
                        .body(Body::from(answer.to_string().into_bytes()))?,
                )
            }
        });
        let client = kube::Client::new(service, "default");
        let clock = std::sync::Arc::new(time::SystemClock);
        let sink = ApiSink::new(client, "deployment-controller", "ours", fence, clock);
        (sink, requests)
    }

    // proves: deployment/I-4
    #[tokio::test]
    async fn no_event_is_written_by_a_process_that_does_not_hold_its_lease() {
        let (sink, mut requests) = sink_behind(Fence::closed(), 201);
        assert!(matches!(sink.create(&entry(1)).await, Err(Refusal::Rejected(_))));
        assert!(matches!(sink.repeat(&entry(2)).await, Err(Refusal::Rejected(_))));
        assert!(requests.try_recv().is_err());
    }

    // proves: deployment/C-74, deployment/C-75, deployment/W-12
    #[tokio::test]
    async fn an_event_is_posted_as_upstream_does() {
        let (sink, mut requests) = sink(201);
        assert_eq!(sink.create(&entry(1)).await, Ok(()));
        let (line, body) = requests.recv().await.unwrap();
        assert_eq!(line, "POST /api/v1/namespaces/shop/events?&fieldManager=ours");
        assert_eq!(
            body,
            json!({
                "apiVersion": "v1", "kind": "Event",
                "metadata": {"name": "web.18a", "namespace": "shop"},
                "involvedObject": {
                    "apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web", "uid": "u1",
                    "resourceVersion": "7",
                },
                "type": "Normal", "reason": "ScalingReplicaSet", "message": "Scaled up replica set web-1 from 0 to 1",
                "source": {"component": "deployment-controller"},
                "reportingComponent": "deployment-controller", "reportingInstance": "",
                "firstTimestamp": "2026-01-02T03:04:05Z", "lastTimestamp": "2026-01-02T03:05:06Z", "count": 1,
            })
        );
    }

    // proves: deployment/C-75, deployment/W-12
    #[tokio::test]
    async fn a_repetition_is_patched() {
        let (sink, mut requests) = sink(200);
        assert_eq!(sink.repeat(&entry(4)).await, Ok(()));
        let (line, body) = requests.recv().await.unwrap();
        assert_eq!(line, "PATCH /api/v1/namespaces/shop/events/web.18a?&fieldManager=ours");
        let message = "Scaled up replica set web-1 from 0 to 1";
        assert_eq!(
            body,
            json!({"count": 4, "lastTimestamp": "2026-01-02T03:05:06Z", "message": message})
        );
    }

    #[tokio::test]
    async fn a_missing_event_is_told_from_a_refused_one() {
        assert_eq!(sink(404).0.repeat(&entry(4)).await, Err(Refusal::Missing));
        assert!(matches!(sink(403).0.create(&entry(1)).await, Err(Refusal::Rejected(_))));
    }
}
