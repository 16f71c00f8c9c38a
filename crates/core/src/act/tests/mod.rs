//! The executor against a scripted server: which requests a plan becomes, and what their answers do to it.

mod claims;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use http_body_util::BodyExt;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::executor::{Executor, ExecutorParts};
use super::{Ledger, Live};
use crate::act::metrics::ActMetrics;
use crate::cache::Delta;
use crate::chance::Chance;
use crate::continuity::Continuity;
use crate::events::recorder::{EventMetrics, Feed, recorder};
use crate::expectations::Settlement;
use crate::id::{Kind, ObjectKey, ResourceVersion, Uid};
use crate::labels::Interner;
use crate::lease::Fence;
use crate::meta::{DecodeError, KeepAnnotations, Meta, Object, RawMeta};
use crate::outcome::{FailureClass, Outcome, Verb};
use crate::plan::{
    Create, Delete, DeleteGuard, NewName, NewObject, Note, Patch, PatchForm, Stage, StatusWrite, Target,
};
use crate::time::{Clock, SharedClock, SystemClock};

/// One request as the server saw it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) line: String,
    query: String,
    body: Value,
}

type Log = Arc<Mutex<Vec<Seen>>>;

/// An answer, at once or after a while, or a connection that breaks after the server has read the request.
pub(crate) enum Answer {
    Status(u16, Value),
    Late(Duration, Value),
    Broken,
}

/// An executor whose server answers from a script.
pub(crate) struct World {
    pub(crate) executor: Executor,
    pub(crate) ledger: Arc<Ledger>,
    said: Mutex<Feed>,
    log: Log,
}

pub(crate) fn world(fence: Fence, script: impl Fn(usize, &Seen) -> Answer + Send + Sync + 'static) -> World {
    uncertain_world(fence, Continuity::default(), script)
}

fn uncertain_world(
    fence: Fence,
    continuity: Continuity,
    script: impl Fn(usize, &Seen) -> Answer + Send + Sync + 'static,
) -> World {
    let log = Log::default();
    let (seen, script) = (Arc::clone(&log), Arc::new(script));
    let service = tower::service_fn(move |request: Request<Body>| {
        let (seen, script) = (Arc::clone(&seen), Arc::clone(&script));
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let request = Seen {
                line: format!("{} {}", parts.method, parts.uri.path()),
                query: parts.uri.query().unwrap_or_default().to_owned(),
                body: serde_json::from_slice(&body).unwrap_or_default(),
            };
            let number = {
                let mut log = seen.lock();
                log.push(request.clone());
                log.len()
            };
            let (code, body) = match script(number, &request) {
                Answer::Status(code, body) => (code, body),
                Answer::Late(wait, body) => {
                    tokio::time::sleep(wait).await;
                    (200, body)
                }
                Answer::Broken => return Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset)),
            };
            let body = Body::from(body.to_string().into_bytes());
            Ok(Response::builder().status(code).body(body).unwrap())
        }
    });
    let clock: SharedClock = Arc::new(SystemClock);
    let client = kube::Client::new(service, "default");
    let ledger = Arc::new(Ledger::new(Kind::REPLICA_SET));
    let (recorder, feed) = recorder(Arc::clone(&clock), &EventMetrics::default());
    let executor = Executor::new(ExecutorParts {
        live: Live::new(client, "tests", 10, fence, continuity, Arc::clone(&clock)),
        ledger: Arc::clone(&ledger),
        recorder,
        metrics: ActMetrics::default(),
        clock,
        chance: Chance::system(),
    });
    World {
        executor,
        ledger,
        said: Mutex::new(feed),
        log,
    }
}

impl World {
    pub(crate) async fn run(&self, stages: Vec<Stage>) -> Outcome {
        let mut turn = self.executor.turn(owner());
        turn.run(stages).await;
        turn.outcome().clone()
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.log.lock().iter().map(|seen| seen.line.clone()).collect()
    }

    /// Reasons of the notes so far.
    fn said(&self) -> Vec<String> {
        let mut feed = self.said.lock();
        std::iter::from_fn(|| feed.try_next())
            .map(|said| said.note.reason.to_string())
            .collect()
    }

    fn query(&self, at: usize) -> String {
        self.log.lock()[at].query.clone()
    }

    pub(crate) fn body(&self, at: usize) -> Value {
        self.log.lock()[at].body.clone()
    }
}

pub(crate) fn target(kind: Kind, name: &str, uid: &str, version: &str) -> Target {
    Target {
        kind,
        key: ObjectKey::new("shop", name),
        uid: Uid::new(uid),
        version: ResourceVersion::new(version),
    }
}

pub(crate) fn owner() -> Target {
    target(Kind::REPLICA_SET, "web", "o1", "5")
}

pub(crate) fn object(uid: &str, version: &str) -> Answer {
    Answer::Status(200, json!({"metadata": {"uid": uid, "resourceVersion": version}}))
}

pub(crate) fn refusal(code: u16, reason: &str) -> Answer {
    Answer::Status(code, json!({"kind": "Status", "message": "no", "reason": reason}))
}

pub(crate) fn pods(count: usize) -> Vec<Create> {
    let create = Create {
        kind: Kind::POD,
        namespace: "shop".into(),
        name: NewName::Random("web-".into()),
        object: Arc::new(NewObject::default()),
        note: Some(Note::normal("SuccessfulCreate", "Created pod: {name}")),
    };
    vec![create; count]
}

pub(crate) fn classes(outcome: &Outcome) -> Vec<FailureClass> {
    outcome.failures().map(|failure| failure.class).collect()
}

pub(crate) fn settlement(world: &World) -> Settlement {
    world.ledger.expectations(&owner().key, SystemClock.instant())
}

// proves: deployment/C-40, deployment/C-24, deployment/T-17
#[tokio::test(start_paused = true)]
async fn a_quota_with_room_for_ten_pods_costs_fifteen_calls() {
    let world = world(Fence::open(), |number, _| {
        if number > 10 {
            refusal(403, "Forbidden")
        } else {
            object("p", "9")
        }
    });
    let outcome = world.run(vec![Stage::Create(pods(100))]).await;
    assert_eq!(world.lines().len(), 15);
    assert_eq!(classes(&outcome), [FailureClass::Rejected; 5]);
    assert_eq!(
        settlement(&world),
        Settlement::Settled,
        "neither refused nor skipped creates are awaited"
    );
}

// proves: deployment/C-40
#[tokio::test(start_paused = true)]
async fn when_every_create_fails_only_one_is_tried() {
    let world = world(Fence::open(), |_, _| refusal(403, "Forbidden"));
    world.run(vec![Stage::Create(pods(500)), Stage::Delete(vec![])]).await;
    assert_eq!(world.lines(), ["POST /api/v1/namespaces/shop/pods"]);
}

#[tokio::test(start_paused = true)]
async fn a_create_whose_answer_was_lost_is_repeated_under_the_same_name() {
    let world = world(Fence::open(), |number, seen| match number {
        1 => Answer::Broken,
        2 => refusal(409, "AlreadyExists"),
        _ => {
            assert!(seen.line.starts_with("GET /api/v1/namespaces/shop/pods/web-"));
            let owner = json!([{"uid": "o1", "controller": true}]);
            Answer::Status(
                200,
                json!({"metadata": {"uid": "p1", "resourceVersion": "9", "ownerReferences": owner}}),
            )
        }
    });
    let outcome = world.run(vec![Stage::Create(pods(1))]).await;
    assert_eq!(classes(&outcome), []);
    assert_eq!(world.body(0)["metadata"]["name"], world.body(1)["metadata"]["name"]);
    assert_eq!(world.lines().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_taken_name_is_replaced_by_another_one() {
    let world = world(Fence::open(), |number, _| {
        if number == 1 {
            refusal(409, "AlreadyExists")
        } else {
            object("p1", "9")
        }
    });
    let outcome = world.run(vec![Stage::Create(pods(1))]).await;
    assert_eq!(classes(&outcome), []);
    assert_ne!(world.body(0)["metadata"]["name"], world.body(1)["metadata"]["name"]);
}

// proves: deployment/C-21, deployment/C-25
#[tokio::test(start_paused = true)]
async fn a_create_whose_fate_stays_unknown_is_awaited() {
    let world = world(Fence::open(), |_, _| Answer::Broken);
    let outcome = world.run(vec![Stage::Create(pods(1))]).await;
    assert_eq!(classes(&outcome), [FailureClass::Unknown]);
    assert_eq!(world.lines().len(), 3);
    assert!(matches!(settlement(&world), Settlement::Unsettled { awaited: 1, .. }));
}

/// A root object as a cache holds it.
#[derive(Debug)]
struct Root(Meta);

impl Object for Root {
    const KIND: Kind = Kind::REPLICA_SET;

    fn decode(json: &[u8], interner: &Interner) -> Result<Self, DecodeError> {
        let raw: RawMeta<'_> = serde_json::from_slice(json)?;
        raw.into_meta(KeepAnnotations::All, interner).map(Self)
    }

    fn meta(&self) -> &Meta {
        &self.0
    }
}

// proves: deployment/C-27
#[tokio::test(start_paused = true)]
async fn a_successor_of_the_same_name_inherits_nothing() {
    let world = world(Fence::open(), |_, _| Answer::Broken);
    world.run(vec![Stage::Create(pods(1))]).await;
    assert!(matches!(settlement(&world), Settlement::Unsettled { .. }));
    let json = br#"{"namespace": "shop", "name": "web", "uid": "o1", "resourceVersion": "5"}"#;
    let last = Arc::new(Root::decode(json, &Interner::default()).unwrap());
    world.ledger.observe(&Delta::Removed { last });
    assert_eq!(settlement(&world), Settlement::Settled);
}

// proves: deployment/C-24
#[tokio::test(start_paused = true)]
async fn a_refusal_after_a_lost_answer_does_not_prove_that_nothing_was_created() {
    for second in [503, 403, 500] {
        let world = world(Fence::open(), move |number, _| {
            if number == 1 {
                Answer::Broken
            } else {
                refusal(second, "x")
            }
        });
        let outcome = world.run(vec![Stage::Create(pods(1))]).await;
        assert_eq!(classes(&outcome), [FailureClass::Unknown], "{second}");
        assert!(matches!(settlement(&world), Settlement::Unsettled { awaited: 1, .. }));
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_of_ours_that_cannot_be_read_after_a_lost_answer_is_not_created_again() {
    let world = world(Fence::open(), |number, seen| match number {
        1 => Answer::Broken,
        _ if seen.line.starts_with("POST") => refusal(409, "AlreadyExists"),
        _ => refusal(503, "x"),
    });
    let outcome = world.run(vec![Stage::Create(pods(1))]).await;
    assert_eq!(classes(&outcome), [FailureClass::Unknown]);
    let log = world.log.lock();
    let creates = log.iter().filter(|seen| seen.line.starts_with("POST"));
    let names: HashSet<String> = creates.map(|seen| seen.body["metadata"]["name"].to_string()).collect();
    assert_eq!(names.len(), 1);
}

fn scale(replicas: i32) -> Patch {
    Patch {
        target: owner(),
        form: PatchForm::Fields,
        body: json!({"spec": {"replicas": replicas}}),
        note: None,
    }
}

fn status(body: Value) -> StatusWrite {
    StatusWrite {
        target: owner(),
        body,
        may_lack: &["terminatingReplicas"],
        notes: Vec::new(),
    }
}

// proves: deployment/D-65, deployment/W-4, deployment/W-11
#[tokio::test(start_paused = true)]
async fn later_writes_of_a_turn_carry_the_version_that_earlier_ones_returned() {
    let world = world(Fence::open(), |number, _| {
        object("o1", if number == 1 { "6" } else { "7" })
    });
    let outcome = world
        .run(vec![
            Stage::Patch(vec![scale(3)]),
            Stage::Status(status(json!({"status": {"replicas": 3}}))),
        ])
        .await;
    assert_eq!(classes(&outcome), []);
    assert_eq!(world.body(0)["metadata"], json!({"uid": "o1", "resourceVersion": "5"}));
    assert_eq!(world.body(1)["metadata"], json!({"uid": "o1", "resourceVersion": "6"}));
    assert_eq!(
        world.lines()[1],
        "PATCH /apis/apps/v1/namespaces/shop/replicasets/web/status"
    );
}

#[tokio::test(start_paused = true)]
async fn a_field_that_the_server_does_not_store_is_written_once() {
    let world = world(Fence::open(), |_, _| object("o1", "6"));
    let write = || vec![Stage::Status(status(json!({"status": {"terminatingReplicas": 0}})))];
    world.run(write()).await;
    world.run(write()).await;
    assert_eq!(world.lines().len(), 1);
}

// proves: job/J-153
#[tokio::test(start_paused = true)]
async fn what_a_status_says_is_told_once_it_is_stored() {
    let write = || {
        vec![Stage::Status(StatusWrite {
            notes: vec![Note::normal("Completed", "done")],
            ..status(json!({"status": {"replicas": 3}}))
        })]
    };
    let world = world(Fence::open(), |number, _| {
        if number == 1 {
            refusal(409, "Conflict")
        } else {
            object("o1", "6")
        }
    });
    world.run(write()).await;
    assert_eq!(world.said(), [""; 0]);
    world.run(write()).await;
    assert_eq!(world.said(), ["Completed"]);
}

#[tokio::test(start_paused = true)]
async fn a_failed_patch_ends_the_plan() {
    let world = world(Fence::open(), |_, _| refusal(409, "Conflict"));
    let outcome = world
        .run(vec![Stage::Patch(vec![scale(3), scale(4)]), Stage::Create(pods(1))])
        .await;
    assert_eq!(classes(&outcome), [FailureClass::Conflict]);
    assert_eq!(world.lines().len(), 1);
}

pub(crate) fn delete(name: &str, uid: &str) -> Delete {
    Delete {
        target: target(Kind::POD, name, uid, "7"),
        guard: DeleteGuard::Uid,
        note: None,
    }
}

// proves: deployment/C-21, deployment/C-24, deployment/C-41
#[tokio::test(start_paused = true)]
async fn deletes_go_out_together_and_are_awaited_unless_they_failed() {
    let world = world(Fence::open(), |_, seen| match seen.line.rsplit('/').next() {
        Some("gone") => refusal(404, "NotFound"),
        Some("denied") => refusal(403, "Forbidden"),
        _ => object("p", "9"),
    });
    let outcome = world
        .run(vec![Stage::Delete(vec![
            delete("gone", "1"),
            delete("denied", "2"),
            delete("live", "3"),
        ])])
        .await;
    assert_eq!(classes(&outcome), [FailureClass::Rejected]);
    assert_eq!(world.lines().len(), 3);
    assert!(outcome.applied(Verb::Delete, Kind::POD, &ObjectKey::new("shop", "live")));
    assert!(matches!(settlement(&world), Settlement::Unsettled { awaited: 1, .. }));
}

// proves: deployment/I-3
#[tokio::test(start_paused = true)]
async fn nothing_is_sent_while_a_cache_may_show_another_history() {
    let continuity = Continuity::default();
    continuity.doubt(Kind::POD);
    let world = uncertain_world(Fence::open(), continuity.clone(), |_, _| object("p", "9"));
    let outcome = world.run(vec![Stage::Create(pods(3))]).await;
    assert_eq!(classes(&outcome), [FailureClass::Fenced]);
    assert!(world.lines().is_empty());
    continuity.trust(Kind::POD);
    world.run(vec![Stage::Create(pods(3))]).await;
    assert_eq!(world.lines().len(), 3);
}

// proves: deployment/I-4
#[tokio::test(start_paused = true)]
async fn nothing_is_sent_without_the_lease() {
    let world = world(Fence::closed(), |_, _| object("p", "9"));
    let outcome = world.run(vec![Stage::Create(pods(3))]).await;
    assert_eq!(classes(&outcome), [FailureClass::Fenced]);
    assert_eq!(world.lines(), Vec::<String>::new());
}
