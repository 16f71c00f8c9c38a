//! A small server with one pod and one lease.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use http::{Method, Request, Response, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time;

use crate::time::{Clock, SystemClock};

type Reply = Response<BoxBody<Bytes, tower::BoxError>>;

/// A server with one pod and one lease. Everything that it is asked stands in its log, with the name of who asked.
#[derive(Clone)]
pub(super) struct Server(Arc<Inner>);

struct Inner {
    log: watch::Sender<Vec<(String, Instant)>>,
    lease: watch::Sender<Option<(Value, u64)>>,
    faults: Mutex<Faults>,
    /// The version of all pods.
    version: watch::Sender<u64>,
    writes: Mutex<Vec<WriteForm>>,
}

/// How something was written.
#[derive(Clone, Debug)]
pub(super) struct WriteForm {
    pub(super) uri: String,
    pub(super) content_type: String,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Faults {
    /// How long an answer to a write of a pod takes.
    pub(super) slow_writes: Duration,
    /// How long an answer to an event takes.
    pub(super) slow_events: Duration,
    /// The lease cannot be reached.
    pub(super) no_election: bool,
    /// Watches stay empty.
    pub(super) no_lists: bool,
    /// The version of its state is not told.
    pub(super) no_versions: bool,
}

impl Server {
    pub(super) fn new() -> Self {
        Self(Arc::new(Inner {
            log: watch::Sender::default(),
            lease: watch::Sender::default(),
            faults: Mutex::default(),
            version: watch::Sender::new(7),
            writes: Mutex::default(),
        }))
    }

    pub(super) fn break_by(&self, change: impl FnOnce(&mut Faults)) {
        change(&mut self.0.faults.lock());
    }

    /// A backup of this version is put back; connections break.
    pub(super) fn restore(&self, version: u64) {
        self.0.version.send_replace(version);
    }

    /// The same, but nobody notices by a broken connection.
    pub(super) fn restore_unseen(&self, version: u64) {
        self.0.version.send_if_modified(|of_now| {
            *of_now = version;
            false
        });
    }

    pub(super) fn log(&self) -> Vec<String> {
        self.0.log.borrow().iter().map(|(line, _)| line.clone()).collect()
    }

    /// How everything was written so far.
    pub(super) fn writes(&self) -> Vec<WriteForm> {
        self.0.writes.lock().clone()
    }

    /// When this line came (again, after `skip` earlier ones).
    pub(super) async fn seen(&self, wanted: &str, skip: usize) -> Instant {
        let mut log = self.0.log.subscribe();
        let find = |log: &Vec<(String, Instant)>| {
            let mut found = log.iter().filter(|(line, _)| line == wanted);
            found.nth(skip).map(|(_, at)| *at)
        };
        let found_it = time::timeout(Duration::from_hours(48), log.wait_for(|log| find(log).is_some())).await;
        let log = found_it
            .unwrap_or_else(|_| panic!("no {wanted} in {:?}", self.log()))
            .unwrap();
        find(&log).unwrap()
    }

    pub(super) fn client(&self, who: &str) -> kube::Client {
        let (server, who) = (self.clone(), who.to_owned());
        let service = tower::service_fn(move |request: Request<Body>| {
            let (server, who) = (server.clone(), who.clone());
            async move {
                let (parts, body) = request.into_parts();
                if parts.method != Method::GET {
                    let content_type = parts.headers[header::CONTENT_TYPE].to_str()?.to_owned();
                    let form = WriteForm {
                        uri: parts.uri.to_string(),
                        content_type,
                    };
                    server.0.writes.lock().push(form);
                }
                let body = body.collect().await?.to_bytes();
                let body = serde_json::from_slice(&body).unwrap_or_default();
                Ok::<_, tower::BoxError>(server.answer(&who, &parts.method, &parts.uri.to_string(), &body).await)
            }
        });
        kube::Client::new(service, "default")
    }

    async fn answer(&self, who: &str, method: &Method, uri: &str, body: &Value) -> Reply {
        let faults = *self.0.faults.lock();
        let write = |what: &str| self.write_down(format!("{who} {what}"));
        if uri.contains("/leases") {
            if faults.no_election {
                return std::future::pending().await;
            }
            return self.lease(who, method, uri, body);
        }
        if uri.contains("/events") {
            write("says");
            time::sleep(faults.slow_events).await;
            return reply(201, &json!({"metadata": {}, "involvedObject": {}}));
        }
        if *method == Method::GET {
            let version = *self.0.version.borrow();
            if !uri.contains("watch=true") {
                if faults.no_versions {
                    return status(500);
                }
                return reply(
                    200,
                    &json!({"metadata": {"resourceVersion": version.to_string()}, "items": []}),
                );
            }
            let initial = uri.contains("sendInitialEvents");
            if initial {
                write("lists");
            }
            let events = if initial && !faults.no_lists {
                pods(version)
            } else {
                Vec::new()
            };
            return self.until_restored(events);
        }
        write("writes");
        time::sleep(faults.slow_writes).await;
        reply(200, &pod(*self.0.version.borrow()))
    }

    fn lease(&self, who: &str, method: &Method, uri: &str, body: &Value) -> Reply {
        if uri.contains("watch=true") {
            return self.watch_lease();
        }
        let lease = self.0.lease.borrow().clone();
        let version = lease.as_ref().map(|(_, version)| *version);
        let stale = body.pointer("/metadata/resourceVersion").and_then(Value::as_str)
            != version.map(|v| v.to_string()).as_deref();
        match (method, version) {
            (&Method::GET, None) => return status(404),
            (&Method::POST, Some(_)) => return status(409),
            (&Method::PATCH, _) if stale => return status(409),
            (&Method::POST | &Method::PATCH, _) => {
                let spec = body["spec"].clone();
                let fresh = lease
                    .as_ref()
                    .is_none_or(|(old, _)| old["holderIdentity"] != spec["holderIdentity"]);
                match (fresh, spec["holderIdentity"] == "") {
                    (true, true) => self.write_down(format!("{who} resigns")),
                    (true, false) => self.write_down(format!("{who} leads")),
                    (false, _) => {}
                }
                self.0.lease.send_replace(Some((spec, version.unwrap_or_default() + 1)));
            }
            _ => {}
        }
        reply(200, &lease_object(self.0.lease.borrow().as_ref().unwrap()))
    }

    /// A stream of these events that breaks when a backup is put back.
    fn until_restored(&self, events: Vec<Value>) -> Reply {
        let mut version = self.0.version.subscribe();
        let broken = stream::once(async move {
            version.changed().await?;
            Err(tower::BoxError::from("connection reset"))
        });
        let events = stream::iter(events).map(|line| Ok(frame(&line)));
        Response::new(BodyExt::boxed(StreamBody::new(events.chain(broken))))
    }

    fn watch_lease(&self) -> Reply {
        let changes = self.0.lease.subscribe();
        let next = |mut changes: watch::Receiver<Option<(Value, u64)>>| async move {
            changes.changed().await.ok()?;
            let lease = lease_object(changes.borrow_and_update().as_ref()?);
            Some((json!({"type": "MODIFIED", "object": lease}), changes))
        };
        lines(stream::unfold(changes, next))
    }

    fn write_down(&self, line: String) {
        self.0.log.send_modify(|log| log.push((line, SystemClock.instant())));
    }
}

fn lease_object((spec, version): &(Value, u64)) -> Value {
    json!({"metadata": {"resourceVersion": version.to_string()}, "spec": spec})
}

fn reply(code: u16, body: &Value) -> Reply {
    let mut response = lines(stream::iter([body.clone()]));
    *response.status_mut() = http::StatusCode::from_u16(code).unwrap();
    response
}

fn status(code: u16) -> Reply {
    reply(
        code,
        &json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code}),
    )
}

fn pod(version: u64) -> Value {
    let version = version.to_string();
    json!({"metadata": {"name": "a", "namespace": "shop", "uid": "p1", "resourceVersion": version}, "spec": {}, "status": {}})
}

/// All pods at the beginning of a stream.
fn pods(version: u64) -> Vec<Value> {
    let end = json!({"resourceVersion": version.to_string(), "annotations": {"k8s.io/initial-events-end": "true"}});
    let end = json!({"type": "BOOKMARK", "object": {"kind": "Pod", "metadata": end}});
    vec![json!({"type": "ADDED", "object": pod(version)}), end]
}

fn frame(line: &Value) -> Frame<Bytes> {
    Frame::data(Bytes::from(format!("{line}\n")))
}

fn lines(lines: impl Stream<Item = Value> + Send + Sync + 'static) -> Reply {
    let frames = lines.map(|line| Ok(frame(&line)));
    Response::new(BodyExt::boxed(StreamBody::new(frames)))
}
