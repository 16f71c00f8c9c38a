//! One request to the API server: paths, content types, the in-flight limit and the write deadline.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, header};
use http_body_util::BodyExt;
use kube::client::Body;
use serde::Deserialize;
use tokio::sync::Semaphore;

use crate::act::body;
use crate::act::classify::{self, Asked};
use crate::client::{CallError, Permit, in_one_line, retry_after};
use crate::continuity::Continuity;
use crate::id::{Kind, ObjectKey, ResourceVersion, Uid};
use crate::lease::Fence;
use crate::outcome::{Failure, FailureClass};
use crate::plan::{Address, Create};
use crate::time::SharedClock;
use crate::workload::LiveRead;

/// Sends the requests of plans, each behind the fence.
#[derive(Clone, Debug)]
pub struct Live {
    client: kube_client::Client,
    field_manager: Arc<str>,
    in_flight: Arc<Semaphore>,
    fence: Fence,
    continuity: Continuity,
    clock: SharedClock,
}

/// The kube client, with the `Debug` that it lacks.
mod kube_client {
    #[derive(Clone)]
    pub(super) struct Client(pub(super) kube::Client);

    impl std::fmt::Debug for Client {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("kube::Client")
        }
    }
}

/// How often a write that names its object is sent while its connection breaks: most often one that the server had closed
/// while it was idle. A server that answers, or that does not within the time limit, is not pressed. What is in doubt then is
/// looked up before the owner's next turn.
const TRIES: usize = 3;

/// A write, ready to be sent.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) asked: Asked,
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) content_type: &'static str,
    pub(super) content: Content,
}

/// What a write sends.
#[derive(Clone, Debug)]
pub(super) enum Content {
    /// These bytes.
    Bytes(Bytes),
    /// A new object under this name. Its bytes are made when there is a place in flight for them: hundreds of pods that wait for
    /// one would need as many copies of their template.
    New(Create, Arc<str>),
}

impl Content {
    fn bytes(self) -> Result<Bytes, Failure> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::New(create, name) => body::create(&create, &name),
        }
    }
}

/// What came of a write that was sent again while its connection broke.
#[derive(Debug)]
pub(super) struct Sent {
    /// The last answer.
    pub(super) result: Result<Bytes, Failure>,
    /// Whether this or an earlier attempt may have been applied without an answer.
    pub(super) in_doubt: bool,
}

/// Why a request was not answered with success.
enum Fault {
    /// The connection broke.
    Broke(Failure),
    /// Anything else.
    Failed(Failure),
}

/// The content types of the three write forms, creates and deletes.
pub(super) const JSON: &str = "application/json";
pub(super) const MERGE: &str = "application/merge-patch+json";
pub(super) const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// What is read of a stored object: its identity, its version, its controller and whether it is being deleted.
#[derive(Debug, Deserialize)]
pub(super) struct Stored {
    pub(super) metadata: StoredMeta,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredMeta {
    uid: String,
    resource_version: String,
    #[serde(default)]
    pub(super) deletion_timestamp: Option<String>,
    #[serde(default)]
    owner_references: Vec<StoredOwner>,
}

#[derive(Debug, Deserialize)]
struct StoredOwner {
    uid: String,
    #[serde(default)]
    controller: bool,
}

impl StoredMeta {
    pub(super) fn uid(&self) -> Uid {
        Uid::new(self.uid.as_str())
    }

    pub(super) fn version(&self) -> ResourceVersion {
        ResourceVersion::new(self.resource_version.as_str())
    }

    pub(super) fn is_controlled_by(&self, owner: &Uid) -> bool {
        let mut owners = self.owner_references.iter();
        owners.any(|reference| reference.controller && reference.uid == owner.as_str())
    }
}

/// Why a write is not sent.
const WITHDRAWN: &str =
    "this process does not hold its lease, or does not know whether the server is still the one it knew";

impl Live {
    /// Sends through `client` as `field_manager`, at most `max_in_flight` writes at once, only while `fence` allows it and
    /// `continuity` is certain.
    pub fn new(
        client: kube::Client,
        field_manager: &str,
        max_in_flight: usize,
        fence: Fence,
        continuity: Continuity,
        clock: SharedClock,
    ) -> Self {
        Self {
            client: kube_client::Client(client),
            field_manager: field_manager.into(),
            in_flight: Arc::new(Semaphore::new(max_in_flight)),
            fence,
            continuity,
            clock,
        }
    }

    /// Reads an object from the server's storage, past every cache (no resourceVersion: a quorum read).
    pub async fn read(&self, address: &Address) -> Result<LiveRead, Failure> {
        let path = object_path(address.kind, &address.key);
        let request = Request::get(path)
            .header(header::ACCEPT, JSON)
            .body(Body::empty())
            .map_err(|error| malformed(&error))?;
        match self.exchange(Asked::Existing, request).await {
            Ok(body) => Ok(LiveRead::Found(body)),
            Err(Fault::Failed(failure)) if failure.class == FailureClass::Missing => Ok(LiveRead::Missing),
            Err(fault) => Err(fault.into()),
        }
    }

    /// Sends one write. Whether it may be sent is asked after the wait for a place in flight, and again by the client
    /// immediately before each attempt, after the wait for the rate limit; the answer is the attempt's deadline.
    pub(super) async fn write(&self, call: Call) -> Result<Bytes, Failure> {
        self.write_once(call).await.map_err(Into::into)
    }

    /// Sends a write that is harmless to repeat because it names its object, as [`Self::write`] does.
    pub(super) async fn write_repeatedly(&self, call: Call) -> Sent {
        let mut in_doubt = false;
        for _ in 1..TRIES {
            match self.write_once(call.clone()).await {
                Err(Fault::Broke(_)) => in_doubt = true,
                result => return Sent::new(result, in_doubt),
            }
        }
        Sent::new(self.write_once(call).await, in_doubt)
    }

    async fn write_once(&self, call: Call) -> Result<Bytes, Fault> {
        let _place = self
            .in_flight
            .acquire()
            .await
            .map_err(|_| Fault::Failed(fenced("this process is stopping")))?;
        let permit = self.permit();
        permit.ask().ok_or_else(|| Fault::Failed(fenced(WITHDRAWN)))?;
        let request = Request::builder()
            .method(call.method)
            .uri(call.path)
            .extension(permit)
            .header(header::ACCEPT, JSON)
            .header(header::CONTENT_TYPE, call.content_type)
            .body(Body::from(call.content.bytes().map_err(Fault::Failed)?))
            .map_err(|error| Fault::Failed(malformed(&error)))?;
        self.exchange(call.asked, request).await
    }

    fn permit(&self) -> Permit {
        let (fence, continuity, clock) = (self.fence.clone(), self.continuity.clone(), Arc::clone(&self.clock));
        Permit::new(move || {
            let allowed = fence.check(clock.instant()).ok()?;
            continuity.is_certain().then_some(allowed)
        })
    }

    /// Path of a write to an existing object or one of its subresources, with the field manager.
    pub(super) fn object(&self, kind: Kind, key: &ObjectKey, subresource: &str) -> String {
        format!(
            "{}{subresource}?fieldManager={}",
            object_path(kind, key),
            self.field_manager
        )
    }

    /// Path of a create, with the field manager.
    pub(super) fn collection(&self, kind: Kind, namespace: &str) -> String {
        format!(
            "{}?fieldManager={}",
            collection_path(kind, namespace),
            self.field_manager
        )
    }

    /// The client limits the time of each attempt.
    async fn exchange(&self, asked: Asked, request: Request<Body>) -> Result<Bytes, Fault> {
        let response = self.client.0.send(request).await.map_err(|error| unanswered(&error))?;
        let (code, wait) = (response.status(), retry_after(response.headers()));
        let body = response
            .into_body()
            .collect()
            .await
            .map_err(|error| unanswered(&error))?
            .to_bytes();
        if code.is_success() {
            return Ok(body);
        }
        Err(Fault::Failed(classify::failure(asked, code.as_u16(), &body, wait)))
    }
}

impl Sent {
    fn new(result: Result<Bytes, Fault>, earlier_in_doubt: bool) -> Self {
        let result = result.map_err(Failure::from);
        let in_doubt = earlier_in_doubt || is_unknown(&result);
        Self { result, in_doubt }
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Broke(failure) | Fault::Failed(failure) => failure,
        }
    }
}

/// True if nobody knows whether the write was applied.
pub(super) fn is_unknown<T>(result: &Result<T, Failure>) -> bool {
    result
        .as_ref()
        .is_err_and(|failure| failure.class == FailureClass::Unknown)
}

/// `/apis/apps/v1/namespaces/shop/deployments/web`.
pub(super) fn object_path(kind: Kind, key: &ObjectKey) -> String {
    format!("{}/{}", collection_path(kind, &key.namespace), key.name)
}

fn collection_path(kind: Kind, namespace: &str) -> String {
    let root = if kind.group.is_empty() { "/api" } else { "/apis/" };
    format!(
        "{root}{}/{}/namespaces/{namespace}/{}",
        kind.group, kind.version, kind.plural
    )
}

/// The request did not reach the server only if it was not sent at all; otherwise nobody knows.
fn unanswered(error: &(dyn std::error::Error + 'static)) -> Fault {
    let mut causes = std::iter::successors(Some(error), |error| (*error).source());
    let failure = |class| Failure::new(class, format!("no answer from the server: {}", in_one_line(error)));
    match causes.find_map(|cause| cause.downcast_ref::<CallError>()) {
        Some(CallError::Withdrawn { .. }) => Fault::Failed(fenced(WITHDRAWN)),
        Some(CallError::NotSent { .. } | CallError::Unprepared { .. }) => {
            Fault::Failed(failure(FailureClass::Transient))
        }
        Some(CallError::TimedOut { .. }) => Fault::Failed(failure(FailureClass::Unknown)),
        Some(CallError::Broken { .. }) | None => Fault::Broke(failure(FailureClass::Unknown)),
    }
}

fn malformed(error: &http::Error) -> Failure {
    Failure::new(FailureClass::Rejected, format!("failed to build the request: {error}"))
}

fn fenced(why: impl Into<String>) -> Failure {
    Failure::new(FailureClass::Fenced, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_follow_group_and_version() {
        let key = ObjectKey::new("shop", "web");
        assert_eq!(
            object_path(Kind::DEPLOYMENT, &key),
            "/apis/apps/v1/namespaces/shop/deployments/web"
        );
        assert_eq!(object_path(Kind::POD, &key), "/api/v1/namespaces/shop/pods/web");
    }

    #[test]
    fn only_a_request_that_was_not_sent_is_known_not_to_have_written() {
        let server = || "https://example.com".to_owned();
        let source = || std::io::Error::from(std::io::ErrorKind::ConnectionRefused).into();
        let class = |error: CallError| Failure::from(unanswered(&kube::Error::Service(error.into()))).class;
        let (not_sent, unprepared, broken) = (
            CallError::NotSent {
                server: server(),
                source: source(),
            },
            CallError::Unprepared {
                server: server(),
                source: source(),
            },
            CallError::Broken {
                server: server(),
                source: source(),
            },
        );
        assert_eq!(class(not_sent), FailureClass::Transient);
        assert_eq!(class(unprepared), FailureClass::Transient);
        assert_eq!(class(broken), FailureClass::Unknown);
        let timed_out = CallError::TimedOut {
            server: server(),
            after: std::time::Duration::from_secs(30),
        };
        assert_eq!(class(timed_out), FailureClass::Unknown);
        assert_eq!(class(CallError::Withdrawn { server: server() }), FailureClass::Fenced);
        let other = Failure::from(unanswered(&std::io::Error::other("?")));
        assert_eq!(other.class, FailureClass::Unknown);
    }
}
