//! The order of the phases, with a workload that does what its root's labels say.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;

use super::{Reconciler, ReconcilerParts, ToldMetrics};
use crate::act::ledger::Caches;
use crate::act::metrics::GateMetrics;
use crate::act::tests::{Answer, Seen, World, object, refusal, target, world};
use crate::cache::Progress;
use crate::expectations::HOLD;
use crate::id::{Kind, ObjectKey, ResourceVersion, Uid};
use crate::lease::Fence;
use crate::outcome::{Outcome, Retry};
use crate::owner::OwnerReference;
use crate::plan::{
    Address, Claim, ClaimChange, Create, NewName, NewObject, Patch, PatchForm, Plan, Stage, StatusWrite, Target, Wake,
};
use crate::queue::{Turn as _, Verdict};
use crate::time::{Clock as _, SystemClock, Timestamp};
use crate::workload::{Aids, Children, Conclusion, LiveRead, Observation, RetryLimit, Workload};

/// What the toy does in one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    Nothing,
    Adopts,
    Releases,
    Creates,
    Patches,
    AsksOnce,
    AsksAlways,
}

#[derive(Debug)]
struct Toy {
    does: Does,
    root: Mutex<Option<Target>>,
    replaced_while_observed: bool,
    log: Arc<Mutex<Vec<String>>>,
}

#[derive(Debug)]
struct Sight {
    children: Children,
    answered: bool,
}

impl Toy {
    fn tell(&self, what: &str) {
        self.log.lock().push(what.to_owned());
    }
}

fn key() -> ObjectKey {
    ObjectKey::new("shop", "web")
}

fn root() -> Target {
    target(Kind::REPLICA_SET, "web", "o1", "5")
}

fn question() -> Address {
    Address {
        kind: Kind::POD,
        key: key(),
    }
}

impl Workload for Toy {
    type Observed = Sight;
    type Intent = ();

    const KIND: Kind = Kind::REPLICA_SET;
    const QUEUE: &'static str = "toy";
    const COMPONENT: &'static str = "toy-controller";
    const RETRIES: RetryLimit = RetryLimit::Unlimited;

    fn observe(&self, _key: &ObjectKey, aids: &Aids<'_>) -> Observation<Sight> {
        self.tell("observe");
        if self.replaced_while_observed {
            *self.root.lock() = Some(target(Kind::REPLICA_SET, "web", "o2", "9"));
        }
        Observation::Ready(Sight {
            children: aids.children,
            answered: aids.live.get(&question()) == Some(&LiveRead::Missing),
        })
    }

    fn root(&self, _key: &ObjectKey) -> Option<Target> {
        self.root.lock().clone()
    }

    fn decide(&self, seen: &Sight, _now: Timestamp) -> Plan<()> {
        self.tell("decide");
        let stage = match self.does {
            Does::Nothing => None,
            Does::AsksOnce if seen.answered => None,
            Does::AsksOnce | Does::AsksAlways => Some(Stage::Read(vec![question()])),
            Does::Adopts => Some(Stage::Claim(vec![Claim {
                child: target(Kind::POD, "a", "p1", "7"),
                change: ClaimChange::Adopt(OwnerReference::controller(Kind::REPLICA_SET, "web", &Uid::new("o1"))),
                finalizer: None,
            }])),
            Does::Releases => Some(Stage::Claim(vec![Claim {
                child: target(Kind::POD, "a", "p1", "7"),
                change: ClaimChange::Release(Uid::new("o1")),
                finalizer: None,
            }])),
            Does::Creates => (seen.children == Children::Settled).then(|| {
                Stage::Create(vec![Create {
                    kind: Kind::POD,
                    namespace: "shop".into(),
                    name: NewName::Random("web-".into()),
                    object: Arc::new(NewObject::default()),
                    note: None,
                }])
            }),
            Does::Patches => Some(Stage::Patch(vec![Patch {
                target: target(Kind::POD, "a", "p1", "7"),
                form: PatchForm::Fields,
                body: json!({}),
                note: None,
            }])),
        };
        Plan {
            stages: stage.into_iter().collect(),
            ..Plan::quiet(())
        }
    }

    fn conclude(&self, _seen: &Sight, (): &(), outcome: &Outcome, _now: Timestamp) -> Conclusion {
        self.tell(if outcome.failure().is_some() {
            "conclude after a failure"
        } else {
            "conclude"
        });
        Conclusion {
            status: Some(StatusWrite {
                target: root(),
                body: json!({"status": {"replicas": 1}}),
                may_lack: &[],
                notes: Vec::new(),
            }),
            ..Conclusion::default()
        }
    }

    fn settled(&self, _seen: &Sight, (): &(), outcome: &Outcome, _now: Timestamp) {
        if matches!(self.does, Does::Patches) {
            let verbs = outcome.attempts.iter().map(|attempt| attempt.verb.as_str());
            self.tell(&format!("settled: {}", verbs.collect::<Vec<_>>().join(" ")));
        }
    }
}

#[derive(Debug)]
struct CacheAt(Mutex<&'static str>);

impl Progress for CacheAt {
    fn seen(&self) -> Option<ResourceVersion> {
        Some(ResourceVersion::new(*self.0.lock()))
    }
}

struct Scene {
    reconciler: Reconciler<Toy>,
    log: Arc<Mutex<Vec<String>>>,
    cache: Arc<CacheAt>,
}

impl Scene {
    async fn turn(&self) -> Verdict {
        self.reconciler.turn(key()).await
    }

    fn told(&self) -> Vec<String> {
        std::mem::take(&mut self.log.lock())
    }
}

fn scene(does: Does, answer: impl Fn(&Seen) -> Answer + Send + Sync + 'static) -> Scene {
    let log: Arc<Mutex<Vec<String>>> = Arc::default();
    let requests = Arc::clone(&log);
    let World { executor, ledger, .. } = world(Fence::open(), move |_, seen| {
        let verb = seen.line.split(' ').next().unwrap_or_default();
        requests
            .lock()
            .push(format!("{verb} {}", seen.line.rsplit('/').next().unwrap_or_default()));
        answer(seen)
    });
    let toy = Toy {
        does,
        root: Mutex::new(Some(root())),
        replaced_while_observed: false,
        log: Arc::clone(&log),
    };
    let cache = Arc::new(CacheAt(Mutex::new("5")));
    let reconciler = Reconciler::new(ReconcilerParts {
        workload: Arc::new(toy),
        executor,
        ledger,
        caches: Caches::of([
            (Kind::REPLICA_SET, Arc::clone(&cache) as Arc<dyn Progress>),
            (Kind::POD, Arc::clone(&cache) as Arc<dyn Progress>),
        ]),
        clock: Arc::new(SystemClock),
        metrics: GateMetrics::default(),
        told: ToldMetrics::default(),
    });
    Scene { reconciler, log, cache }
}

fn stored(version: &'static str) -> impl Fn(&Seen) -> Answer + Send + Sync {
    move |_| object("o1", version)
}

// proves: deployment/RS-3
#[tokio::test(start_paused = true)]
async fn a_turn_observes_decides_acts_concludes_and_writes_the_status_last() {
    let scene = scene(Does::Patches, stored("5"));
    assert_eq!(scene.turn().await, Verdict::Done(Wake::OnChange));
    assert_eq!(
        scene.told(),
        [
            "observe",
            "decide",
            "PATCH a",
            "conclude",
            "PATCH status",
            "settled: patch status"
        ]
    );
}

// proves: deployment/C-15, deployment/RS-3
#[tokio::test(start_paused = true)]
async fn a_failed_adoption_ends_the_turn_without_a_status_write() {
    let scene = scene(Does::Adopts, |seen| {
        if seen.line.starts_with("GET") {
            object("o1", "5")
        } else {
            refusal(500, "x")
        }
    });
    assert_eq!(scene.turn().await, Verdict::Retry(Retry::Backoff, Wake::OnChange));
    assert_eq!(scene.told(), ["observe", "decide", "GET web", "PATCH a"]);
}

// proves: deployment/C-15
#[tokio::test(start_paused = true)]
async fn a_failed_release_ends_the_turn_without_a_status_write() {
    let scene = scene(Does::Releases, |_| refusal(500, "x"));
    assert_eq!(scene.turn().await, Verdict::Retry(Retry::Backoff, Wake::OnChange));
    assert_eq!(scene.told(), ["observe", "decide", "PATCH a"]);
}

#[tokio::test(start_paused = true)]
async fn any_other_failure_is_concluded_and_then_retried() {
    let scene = scene(Does::Patches, |seen| {
        if seen.line.ends_with("status") {
            object("o1", "5")
        } else {
            refusal(500, "x")
        }
    });
    assert_eq!(scene.turn().await, Verdict::Retry(Retry::Backoff, Wake::OnChange));
    assert_eq!(
        scene.told(),
        [
            "observe",
            "decide",
            "PATCH a",
            "conclude after a failure",
            "PATCH status",
            "settled: patch status"
        ]
    );
}

// proves: deployment/C-4
#[tokio::test(start_paused = true)]
async fn what_cannot_be_made_in_a_namespace_that_is_going_is_not_tried_again() {
    let scene = scene(Does::Creates, |seen| {
        if seen.line.starts_with("POST") {
            let causes = json!([{"reason": "NamespaceTerminating"}]);
            Answer::Status(
                403,
                json!({"kind": "Status", "reason": "Forbidden", "message": "no", "details": {"causes": causes}}),
            )
        } else {
            object("o1", "5")
        }
    });
    assert_eq!(scene.turn().await, Verdict::Retry(Retry::OnChange, Wake::OnChange));
}

// proves: deployment/C-30, deployment/C-32, deployment/RS-3
#[tokio::test(start_paused = true)]
async fn no_turn_is_taken_while_a_cache_is_older_than_our_own_write() {
    let scene = scene(Does::Nothing, stored("8"));
    assert_eq!(scene.turn().await, Verdict::Done(Wake::OnChange));
    scene.told();
    assert_eq!(scene.turn().await, Verdict::Held);
    assert_eq!(scene.told(), Vec::<String>::new());
    *scene.cache.0.lock() = "8";
    assert_eq!(scene.turn().await, Verdict::Done(Wake::OnChange));
}

// proves: deployment/C-32
#[tokio::test(start_paused = true)]
async fn on_a_cache_that_never_catches_up_nothing_is_created_but_the_status_is_kept() {
    let scene = scene(Does::Creates, |seen| {
        object(if seen.line.starts_with("POST") { "p1" } else { "o1" }, "8")
    });
    assert_eq!(scene.turn().await, Verdict::Done(Wake::OnChange));
    assert_eq!(scene.turn().await, Verdict::Held);
    tokio::time::advance(HOLD + Duration::from_secs(1)).await;
    scene.told();
    assert_eq!(scene.turn().await, Verdict::Done(Wake::After(Duration::from_mins(1))));
    assert_eq!(scene.told(), ["observe", "decide", "conclude", "PATCH status"]);
}

// proves: deployment/C-25, deployment/C-26, deployment/L-14
#[tokio::test(start_paused = true)]
async fn while_a_create_may_have_happened_no_other_is_sent_but_the_status_is_kept() {
    let scene = scene(Does::Creates, |seen| {
        if seen.line.starts_with("POST") {
            Answer::Broken
        } else if seen.line.starts_with("GET") {
            let owner = json!([{"uid": "o1", "controller": true}]);
            Answer::Status(
                200,
                json!({"metadata": {"uid": "p1", "resourceVersion": "8", "ownerReferences": owner}}),
            )
        } else {
            object("o1", "5")
        }
    });
    let begin = SystemClock.instant();
    assert_eq!(scene.turn().await, Verdict::Retry(Retry::Backoff, Wake::OnChange));
    scene.told();
    let rest = HOLD.saturating_sub(SystemClock.instant() - begin);
    let look_again = Wake::After(rest + Duration::from_secs(1));
    assert_eq!(
        scene.turn().await,
        Verdict::Done(look_again),
        "nothing else may ever wake it"
    );
    let told = scene.told();
    assert!(told[0].starts_with("GET web-"), "{told:?}");
    assert_eq!(told[1..], ["observe", "decide", "conclude", "PATCH status"]);
}

// proves: deployment/C-24
#[tokio::test(start_paused = true)]
async fn a_create_that_has_not_happened_is_sent_again_at_the_next_turn() {
    let scene = scene(Does::Creates, |seen| {
        if seen.line.starts_with("POST") {
            Answer::Broken
        } else if seen.line.starts_with("GET") {
            refusal(404, "NotFound")
        } else {
            object("o1", "5")
        }
    });
    assert_eq!(scene.turn().await, Verdict::Retry(Retry::Backoff, Wake::OnChange));
    let first = scene.told();
    assert_eq!(scene.turn().await, Verdict::Retry(Retry::Backoff, Wake::OnChange));
    let creates = |told: &[String]| told.iter().filter(|line| line.starts_with("POST")).count();
    assert_eq!(creates(&scene.told()), creates(&first));
}

#[tokio::test(start_paused = true)]
async fn a_live_read_is_answered_before_the_decision_is_taken_anew() {
    let scene = scene(Does::AsksOnce, |seen| {
        if seen.line.starts_with("GET") {
            refusal(404, "NotFound")
        } else {
            object("o1", "5")
        }
    });
    assert_eq!(scene.turn().await, Verdict::Done(Wake::OnChange));
    assert_eq!(
        scene.told(),
        [
            "observe",
            "decide",
            "GET web",
            "observe",
            "decide",
            "conclude",
            "PATCH status"
        ]
    );
}

const IN_A_MINUTE: Wake = Wake::After(Duration::from_mins(1));

#[tokio::test(start_paused = true)]
async fn who_is_gone_gets_no_turn_until_its_cache_shows_it() {
    let scene = scene(Does::Patches, |seen| {
        if seen.line.ends_with("status") {
            refusal(404, "NotFound")
        } else {
            object("o1", "5")
        }
    });
    assert_eq!(scene.turn().await, Verdict::Retry(Retry::Backoff, Wake::OnChange));
    scene.told();
    assert_eq!(scene.turn().await, Verdict::Done(IN_A_MINUTE));
    assert_eq!(scene.told(), Vec::<String>::new());
    *scene.reconciler.workload.root.lock() = Some(Target {
        uid: Uid::new("o2"),
        ..root()
    });
    scene.turn().await;
    assert!(!scene.told().is_empty(), "another one has its name");
    tokio::time::advance(Duration::from_mins(6)).await;
    *scene.reconciler.workload.root.lock() = Some(root());
    scene.turn().await;
    assert!(!scene.told().is_empty(), "the cache would have shown it by now");
}

// proves: deployment/C-4
#[tokio::test(start_paused = true)]
async fn who_cannot_be_decided_about_is_looked_at_again_although_the_retries_are_used_up() {
    let in_doubt = scene(Does::Creates, |seen| {
        if seen.line.starts_with("POST") {
            Answer::Broken
        } else if seen.line.starts_with("GET") {
            refusal(503, "x")
        } else {
            object("o1", "5")
        }
    });
    assert_eq!(in_doubt.turn().await, Verdict::Retry(Retry::Backoff, Wake::OnChange));
    assert_eq!(in_doubt.turn().await, Verdict::Retry(Retry::Backoff, IN_A_MINUTE));
    let asking = scene(Does::AsksOnce, |_| refusal(503, "x"));
    assert_eq!(asking.turn().await, Verdict::Retry(Retry::Backoff, IN_A_MINUTE));
}

#[tokio::test(start_paused = true)]
async fn who_asks_without_end_is_tried_again_later() {
    let scene = scene(Does::AsksAlways, |_| refusal(404, "NotFound"));
    assert_eq!(scene.turn().await, Verdict::Retry(Retry::Backoff, IN_A_MINUTE));
    assert_eq!(scene.told().iter().filter(|what| *what == "GET web").count(), 4);
}

#[tokio::test(start_paused = true)]
async fn an_object_replaced_while_it_was_observed_is_left_to_its_own_event() {
    let mut scene = scene(Does::Patches, stored("5"));
    Arc::get_mut(&mut scene.reconciler.workload)
        .unwrap()
        .replaced_while_observed = true;
    assert_eq!(scene.turn().await, Verdict::Done(Wake::OnChange));
    assert_eq!(scene.told(), ["observe"]);
}

// proves: deployment/C-27, deployment/C-35
#[tokio::test(start_paused = true)]
async fn what_was_written_for_a_deleted_object_is_forgotten() {
    let scene = scene(Does::Nothing, stored("8"));
    scene.turn().await;
    *scene.reconciler.workload.root.lock() = None;
    assert_eq!(scene.turn().await, Verdict::Done(Wake::OnChange));
    *scene.reconciler.workload.root.lock() = Some(root());
    scene.told();
    assert_eq!(
        scene.turn().await,
        Verdict::Done(Wake::OnChange),
        "not held by what is forgotten"
    );
}
