//! Whole processes over a small server, on paused time: what happens in which order.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use clap::{Args as _, Command, FromArgMatches as _};
use futures::{Stream, StreamExt, stream};
use http::{Method, Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::time;

use super::signals::Stops;
use super::spawn::{Task, spawn};
use super::{Ended, Parts, Process, Program, RunArgs, Site};
use crate::cache::{Delta, Store};
use crate::id::{Kind, ObjectKey};
use crate::meta::Object;
use crate::metrics::Metrics;
use crate::outcome::Outcome;
use crate::plan::{Note, Patch, PatchForm, Plan, Stage, Target};
use crate::pod::PodView;
use crate::run::admin::Health;
use crate::time::{Clock, SystemClock, Timestamp};
use crate::workload::{Aids, Conclusion, Observation, RetryLimit, Workload};

type Reply = Response<BoxBody<Bytes, tower::BoxError>>;

/// A server with one pod and one lease. Everything that it is asked stands in its log, with the name of who asked.
#[derive(Clone)]
struct Server(Arc<Inner>);

struct Inner {
    log: watch::Sender<Vec<(String, Instant)>>,
    lease: watch::Sender<Option<(Value, u64)>>,
    faults: Mutex<Faults>,
}

#[derive(Clone, Copy, Default)]
struct Faults {
    /// How long an answer to a write of a pod takes.
    slow_writes: Duration,
    /// The lease cannot be reached.
    no_election: bool,
    /// Watches stay empty.
    no_lists: bool,
}

impl Server {
    fn new() -> Self {
        Self(Arc::new(Inner {
            log: watch::Sender::default(),
            lease: watch::Sender::default(),
            faults: Mutex::default(),
        }))
    }

    fn break_by(&self, change: impl FnOnce(&mut Faults)) {
        change(&mut self.0.faults.lock());
    }

    fn log(&self) -> Vec<String> {
        self.0.log.borrow().iter().map(|(line, _)| line.clone()).collect()
    }

    /// When this line came (again, after `skip` earlier ones).
    async fn seen(&self, wanted: &str, skip: usize) -> Instant {
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

    fn client(&self, who: &str) -> kube::Client {
        let (server, who) = (self.clone(), who.to_owned());
        let service = tower::service_fn(move |request: Request<Body>| {
            let (server, who) = (server.clone(), who.clone());
            async move {
                let (parts, body) = request.into_parts();
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
            return reply(201, &json!({"metadata": {}, "involvedObject": {}}));
        }
        if *method == Method::GET {
            let initial = uri.contains("sendInitialEvents");
            if initial {
                write("lists");
            }
            return pods(initial && !faults.no_lists);
        }
        write("writes");
        time::sleep(faults.slow_writes).await;
        reply(200, &pod())
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

fn pod() -> Value {
    json!({"metadata": {"name": "a", "namespace": "shop", "uid": "p1", "resourceVersion": "7"}, "spec": {}, "status": {}})
}

fn pods(initial: bool) -> Reply {
    let end = json!({"resourceVersion": "7", "annotations": {"k8s.io/initial-events-end": "true"}});
    let events = [
        json!({"type": "ADDED", "object": pod()}),
        json!({"type": "BOOKMARK", "object": {"kind": "Pod", "metadata": end}}),
    ];
    endless(if initial { events.to_vec() } else { Vec::new() })
}

/// These lines, and then nothing more for ever.
fn endless(events: Vec<Value>) -> Reply {
    lines(stream::iter(events).chain(stream::pending()))
}

fn lines(lines: impl Stream<Item = Value> + Send + Sync + 'static) -> Reply {
    let frames = lines.map(|line| Ok(Frame::data(Bytes::from(format!("{line}\n")))));
    Response::new(BodyExt::boxed(StreamBody::new(frames)))
}

/// Patches its pod and says so, in every turn.
struct Toy {
    pods: Arc<Store<PodView>>,
}

impl Workload for Toy {
    type Observed = Target;
    type Intent = ();

    const KIND: Kind = Kind::POD;
    const QUEUE: &'static str = "toy";
    const COMPONENT: &'static str = "toy-controller";
    const RETRIES: RetryLimit = RetryLimit::Unlimited;

    fn observe(&self, key: &ObjectKey, _aids: &Aids<'_>) -> Observation<Target> {
        self.root(key).map_or(Observation::Absent, Observation::Ready)
    }

    fn root(&self, key: &ObjectKey) -> Option<Target> {
        let pod = self.pods.get(key)?;
        let meta = pod.meta();
        Some(Target {
            kind: Kind::POD,
            key: meta.key.clone(),
            uid: meta.uid.clone(),
            version: meta.version.clone(),
        })
    }

    fn decide(&self, seen: &Target, _now: Timestamp) -> Plan<()> {
        let patch = Patch {
            target: seen.clone(),
            form: PatchForm::Fields,
            body: json!({}),
            note: Some(Note::normal("Patched", "again")),
        };
        Plan {
            stages: vec![Stage::Patch(vec![patch])],
            ..Plan::quiet(())
        }
    }

    fn conclude(&self, _seen: &Target, (): &(), _outcome: &Outcome, _now: Timestamp) -> Conclusion {
        Conclusion::default()
    }
}

fn install(site: &mut Site) {
    let mut pods = site.cache::<PodView>();
    let workload = Toy { pods: pods.store() };
    let wakes = site.reconcile(workload, &pods, []);
    pods.subscribe(wakes.on(|delta: &Delta<PodView>| match delta {
        Delta::Applied { new, .. } => vec![new.meta().key.clone()],
        Delta::Removed { .. } => Vec::new(),
    }));
    site.keep(pods);
}

impl Stops for mpsc::Receiver<()> {
    async fn next(&mut self) {
        self.recv().await.unwrap();
    }
}

struct Running {
    stop: mpsc::Sender<()>,
    health: Arc<dyn Health>,
    task: Task<Result<(), Ended>>,
}

fn start(server: &Server, who: &str, flags: &[&str]) -> Running {
    let words = ["toy-controller"].iter().chain(flags);
    let matches = RunArgs::augment_args(Command::new("toy-controller")).get_matches_from(words);
    let parts = Parts {
        program: Program {
            name: "toy-controller",
            version: "1",
        },
        args: RunArgs::from_arg_matches(&matches).unwrap(),
        work: server.client(who),
        election: server.client(who),
        clock: Arc::new(SystemClock),
        metrics: Metrics::default(),
    };
    let process = Process::assemble(parts, install);
    let (stop, mut stops) = mpsc::channel(2);
    Running {
        stop,
        health: process.health(),
        task: spawn("process", async move { process.run(&mut stops).await }),
    }
}

impl Running {
    fn ask_to_stop(&self) {
        self.stop.try_send(()).unwrap();
    }

    async fn end(self) -> Result<(), Ended> {
        time::timeout(Duration::from_mins(10), self.task)
            .await
            .expect("it never ended")
            .unwrap()
    }
}

async fn seconds_until<T>(event: impl Future<Output = T>) -> (f64, T) {
    let start = SystemClock.instant();
    let output = event.await;
    ((SystemClock.instant() - start).as_secs_f64(), output)
}

// proves: deployment/C-1, deployment/I-3
#[tokio::test(start_paused = true)]
async fn a_process_fills_its_caches_leads_looks_again_and_only_then_acts() {
    let server = Server::new();
    let process = start(&server, "a", &[]);
    assert_eq!(process.health.missing(), ["cache of Pod is not synced"]);
    server.seen("a says", 0).await;
    assert_eq!(server.log(), ["a lists", "a leads", "a lists", "a writes", "a says"]);
    assert!(process.health.missing().is_empty());
}

// proves: deployment/C-1
#[tokio::test(start_paused = true)]
async fn nothing_is_done_while_a_cache_is_empty() {
    let server = Server::new();
    server.break_by(|faults| faults.no_lists = true);
    let process = start(&server, "a", &["--leader-elect=false"]);
    time::sleep(Duration::from_hours(1)).await;
    assert!(server.log().iter().all(|line| line == "a lists"), "{:?}", server.log());
    assert_eq!(process.health.missing(), ["cache of Pod is not synced"]);
    server.break_by(|faults| faults.no_lists = false);
    server.seen("a writes", 0).await;
}

#[tokio::test(start_paused = true)]
async fn a_stop_lets_turns_end_writes_events_and_gives_the_lease_back_last() {
    let server = Server::new();
    server.break_by(|faults| faults.slow_writes = Duration::from_secs(5));
    let process = start(&server, "a", &[]);
    server.seen("a writes", 0).await;
    process.ask_to_stop();
    let (seconds, ended) = seconds_until(process.end()).await;
    assert_eq!(ended, Ok(()));
    assert!((4.9..5.5).contains(&seconds), "after {seconds} s");
    assert_eq!(server.log()[3..], ["a writes", "a says", "a resigns"]);
}

// proves: deployment/I-4
#[tokio::test(start_paused = true)]
async fn a_lease_is_not_given_back_while_a_write_may_still_be_on_its_way() {
    let server = Server::new();
    server.break_by(|faults| faults.slow_writes = Duration::from_mins(5));
    let process = start(&server, "a", &[]);
    server.seen("a writes", 0).await;
    process.ask_to_stop();
    let (seconds, ended) = seconds_until(process.end()).await;
    assert_eq!(ended, Ok(()));
    assert!(seconds < 20.0, "after {seconds} s");
    assert!(!server.log().contains(&"a resigns".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_second_request_to_stop_ends_it_at_once() {
    let server = Server::new();
    server.break_by(|faults| faults.slow_writes = Duration::from_mins(5));
    let process = start(&server, "a", &[]);
    server.seen("a writes", 0).await;
    process.ask_to_stop();
    process.ask_to_stop();
    assert_eq!(seconds_until(process.end()).await, (0.0, Err(Ended::Hurried)));
}

// proves: deployment/I-4
#[tokio::test(start_paused = true)]
async fn a_process_that_loses_its_lease_ends() {
    for caches_are_filled in [true, false] {
        let server = Server::new();
        let process = start(&server, "a", &[]);
        if caches_are_filled {
            server.seen("a writes", 0).await;
        } else {
            server.seen("a lists", 0).await;
            server.break_by(|faults| faults.no_lists = true);
            server.seen("a leads", 0).await;
        }
        server.break_by(|faults| faults.no_election = true);
        let (seconds, ended) = seconds_until(process.end()).await;
        assert!(
            matches!(&ended, Err(Ended::LeaseLost(why)) if why.contains("renewed")),
            "{ended:?}"
        );
        assert!(seconds <= 10.0, "after {seconds} s");
    }
}

// proves: deployment/I-4
#[tokio::test(start_paused = true)]
async fn a_standby_is_ready_and_takes_over_from_whoever_stops_or_is_killed() {
    for (killed, within) in [(false, 3.0), (true, 20.0)] {
        let server = Server::new();
        let first = start(&server, "a", &[]);
        server.seen("a writes", 0).await;
        let second = start(&server, "b", &[]);
        time::sleep(Duration::from_mins(2)).await;
        assert!(second.health.missing().is_empty(), "a standby's caches are warm");
        assert!(!server.log().contains(&"b writes".to_owned()));
        if killed {
            drop(first);
        } else {
            first.ask_to_stop();
            assert_eq!(first.end().await, Ok(()));
        }
        let (seconds, _) = seconds_until(server.seen("b writes", 0)).await;
        assert!(seconds <= within, "after {seconds} s, killed: {killed}");
        let log = server.log();
        let taken_over = log.iter().position(|line| line == "b leads").unwrap();
        assert!(log[taken_over..].iter().all(|line| line.starts_with('b')), "{log:?}");
    }
}

// proves: deployment/C-6
#[tokio::test(start_paused = true)]
async fn every_object_has_a_turn_between_twelve_and_twenty_four_hours_after_the_last_resync() {
    let server = Server::new();
    let _process = start(&server, "a", &["--leader-elect=false"]);
    let first = server.seen("a writes", 0).await;
    let (second, third) = (server.seen("a writes", 1).await, server.seen("a writes", 2).await);
    for gap in [second - first, third - second] {
        let hours = gap.as_secs_f64() / 3600.0;
        assert!((12.0..=24.01).contains(&hours), "after {hours} h");
    }
}
