//! The task over HTTP, against scripted answers and on paused time.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use http::{Request, Response};
use http_body_util::StreamBody;
use hyper::body::Frame;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::Value;

use super::{bookmark, event, initial_end, page, status};
use crate::cache::sample::{Thing, key, spoiled, thing};
use crate::cache::{Cache, CacheAids, CacheMetrics, Delta, Feed, Notice, Progress, Scope};
use crate::chance::Chance;
use crate::metrics::Metrics;
use crate::run::spawn::{Task, spawn};
use crate::time::{Clock, SystemClock};

/// One scripted answer.
pub(super) enum Answer {
    /// A stream of these lines that then stays open without a word.
    Open(Vec<String>),
    /// A stream of these lines that then ends.
    Closed(Vec<String>),
    /// A whole body.
    Body(u16, String),
}

/// The body of an answer.
type Chunks = StreamBody<BoxStream<'static, Result<Frame<Bytes>, Infallible>>>;

/// A server that answers in the order of its script and remembers what it was asked.
#[derive(Clone, Default)]
pub(super) struct Script(Arc<Mutex<(VecDeque<Answer>, Vec<String>)>>);

impl Script {
    pub(super) fn of(answers: impl IntoIterator<Item = Answer>) -> Self {
        let script = Self::default();
        script.0.lock().0 = answers.into_iter().collect();
        script
    }

    fn client(&self) -> kube::Client {
        let script = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let answer = script.answer(&request);
            async move { Ok::<_, Infallible>(answer) }
        });
        kube::Client::new(service, "default")
    }

    fn answer(&self, request: &Request<Body>) -> Response<Chunks> {
        let mut state = self.0.lock();
        assert_eq!(request.headers()["accept-encoding"], "identity");
        state.1.push(request.uri().to_string());
        let open = |lines: Vec<String>| stream::iter(lines).map(|line| Ok(Frame::data(Bytes::from(line + "\n"))));
        let (code, body) = match state.0.pop_front().unwrap_or(Answer::Open(Vec::new())) {
            Answer::Open(lines) => (200, open(lines).chain(stream::pending()).boxed()),
            Answer::Closed(lines) => (200, open(lines).boxed()),
            Answer::Body(code, body) => (code, open(vec![body]).boxed()),
        };
        Response::builder().status(code).body(StreamBody::new(body)).unwrap()
    }

    /// The requests so far, without the random lifetime of watches.
    pub(super) fn requests(&self) -> Vec<String> {
        let requests = self.0.lock().1.clone();
        let cut = |uri: String| uri.split("&timeoutSeconds").next().unwrap_or_default().to_owned();
        requests.into_iter().map(cut).collect()
    }
}

pub(super) fn cache(script: &Script, scope: Scope) -> (Cache<Thing>, Metrics) {
    let metrics = Metrics::default();
    let aids = CacheAids {
        clock: Arc::new(SystemClock),
        chance: Chance::system(),
        interner: Arc::default(),
        metrics: metrics.register(CacheMetrics::register),
    };
    (Cache::new(Feed::new(script.client(), scope), aids), metrics)
}

pub(super) fn start(cache: Cache<Thing>) -> (Arc<Cache<Thing>>, Task<Infallible>) {
    let cache = Arc::new(cache);
    let task = spawn("cache", Arc::clone(&cache).run());
    (cache, task)
}

/// Waits (paused time passes at once) until `done`, at most a day.
pub(super) async fn until(done: impl Fn() -> bool) {
    let waited = async {
        while !done() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let day = Duration::from_hours(24);
    assert!(
        tokio::time::timeout(day, waited).await.is_ok(),
        "the condition never came true"
    );
}

pub(super) fn listed(objects: &[Value], version: u64) -> Vec<String> {
    let mut lines: Vec<String> = objects.iter().map(|object| event("ADDED", object)).collect();
    lines.push(initial_end(version));
    lines
}

const INITIAL: &str = "/apis/example.com/v1/things?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&watch=true&allowWatchBookmarks=true";

// proves: deployment/I-3
#[tokio::test(start_paused = true)]
async fn the_first_stream_is_a_consistent_read_and_the_next_resumes() {
    let script = Script::of([
        Answer::Closed([listed(&[thing("a", "u1", 5)], 10), vec![bookmark(12)]].concat()),
        Answer::Open(vec![event("DELETED", &thing("a", "u1", 13))]),
    ]);
    let (cache, _task) = start(cache(&script, Scope::All).0);
    cache.synced().await;
    let store = cache.store();
    until(|| store.is_empty()).await;
    assert_eq!(store.seen().unwrap().as_str(), "13");
    let resumed = "/apis/example.com/v1/things?resourceVersion=12&watch=true&allowWatchBookmarks=true";
    assert_eq!(script.requests(), [INITIAL, resumed]);
}

// proves: deployment/I-3, field/FR-DP-15
#[tokio::test(start_paused = true)]
async fn a_refresh_lists_anew_and_a_list_that_was_under_way_does_not_count() {
    let first = listed(&[thing("a", "u1", 5)], 10);
    let script = Script::of([Answer::Open(first), Answer::Open(listed(&[thing("b", "u2", 11)], 12))]);
    let (cache, _task) = start(cache(&script, Scope::All).0);
    let store = cache.store();
    until(|| !store.is_empty()).await;
    cache.refresh();
    cache.synced().await;
    assert_eq!(script.requests(), [INITIAL, INITIAL]);
    let names: Vec<String> = store.keys().iter().map(|key| key.name.to_string()).collect();
    assert_eq!(names, ["b"], "the list that was begun after the call");
    assert!(cache.is_synced());
    cache.refresh();
    assert!(!cache.is_synced(), "not before the next list is in");
}

#[tokio::test(start_paused = true)]
async fn pages_of_one_namespace_are_asked_for_where_streams_are_refused() {
    let script = Script::of([
        Answer::Body(422, status(422, "Invalid").to_string()),
        Answer::Body(200, page(20, "a+b", &[thing("a", "u1", 5)])),
        Answer::Body(200, page(20, "", &[thing("b", "u2", 6)])),
    ]);
    let (mut cache, metrics) = cache(&script, Scope::Namespace("shop".to_owned()));
    cache.feed.label_selector = "app=web,tier!=back".to_owned();
    let (cache, _task) = start(cache);
    cache.synced().await;
    assert_eq!(cache.store().len(), 2);
    until(|| script.requests().len() == 4).await;
    let requests = script.requests();
    let selector = "labelSelector=app%3Dweb%2Ctier%21%3Dback";
    let list = format!("/apis/example.com/v1/namespaces/shop/things?limit=500&{selector}");
    assert_eq!(requests[1], list);
    assert_eq!(requests[2], list.replace("500", "500&continue=a%2Bb"));
    assert!(requests[3].contains("resourceVersion=20&watch=true"), "{requests:?}");
    assert!(
        metrics
            .text()
            .unwrap()
            .contains(r#"cache_lists_total{kind="Thing",method="pages"} 1"#)
    );
}

#[tokio::test(start_paused = true)]
async fn subscribers_are_called_in_order_and_find_the_event_in_the_store() {
    let script = Script::of([Answer::Open(
        [
            listed(&[thing("a", "u1", 5)], 10),
            vec![
                event("MODIFIED", &thing("a", "u1", 11)),
                event("DELETED", &thing("a", "u1", 12)),
            ],
        ]
        .concat(),
    )]);
    let (mut cache, _) = cache(&script, Scope::All);
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let (log, store) = (Arc::clone(&seen), cache.store());
    cache.subscribe(Box::new(move |delta| {
        let text = match delta {
            Delta::Applied { new, .. } => {
                assert_eq!(store.get(&key("a")).unwrap().text(), new.text());
                new.text()
            }
            Delta::Removed { last } => {
                assert!(store.is_empty());
                format!("gone {}", last.text())
            }
        };
        let version = store
            .seen()
            .map_or_else(|| "-".to_owned(), |version| version.to_string());
        log.lock().push(format!("{text} at {version}"));
    }));
    let (_cache, _task) = start(cache);
    until(|| seen.lock().len() == 3).await;
    assert_eq!(*seen.lock(), ["a/u1@5 at -", "a/u1@11 at 11", "gone a/u1@11 at 12"]);
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_may_not_be_watched_waits_alone_and_becomes_stale() {
    let refusal = || Answer::Body(403, status(403, "Forbidden").to_string());
    let script = Script::of((0..200).map(|_| refusal()));
    let (forbidden, metrics) = cache(&script, Scope::All);
    let (forbidden, _task) = start(forbidden);
    let healthy = Script::of([Answer::Open(listed(&[], 10))]);
    let (healthy, _other) = start(cache(&healthy, Scope::All).0);
    healthy.synced().await;

    let begin = SystemClock.instant();
    assert!(!forbidden.is_stale(begin));
    until(|| forbidden.is_stale(SystemClock.instant())).await;
    assert!(SystemClock.instant() - begin <= Duration::from_secs(61));
    assert!(!forbidden.is_synced());
    tokio::time::sleep(Duration::from_mins(2)).await;
    assert!(!healthy.is_stale(SystemClock.instant()), "a quiet watch is not stale");
    tokio::time::sleep(Duration::from_mins(57)).await;
    let asked = script.requests().len();
    assert!(
        (80..130).contains(&asked),
        "about every half minute, not {asked} times in an hour"
    );
    assert!(
        metrics
            .text()
            .unwrap()
            .contains(r#"cache_watch_failures_total{kind="Thing",code="403"}"#)
    );
}

#[tokio::test(start_paused = true)]
async fn an_undecodable_object_is_counted_and_what_follows_is_seen() {
    let lines = listed(&[spoiled("bad", "u9", 4), thing("a", "u1", 5)], 10);
    let script = Script::of([Answer::Open(
        [lines, vec![event("MODIFIED", &spoiled("bad", "u9", 11))]].concat(),
    )]);
    let (cache, metrics) = cache(&script, Scope::All);
    let (cache, _task) = start(cache);
    until(|| cache.store().seen().is_some_and(|version| version.as_str() == "11")).await;
    assert_eq!(cache.store().keys(), [key("a")]);
    let text = metrics.text().unwrap();
    assert!(
        text.contains(r#"cache_undecodable_objects_total{kind="Thing"} 2"#),
        "{text}"
    );
    assert!(text.contains(r#"cache_objects{kind="Thing"} 1"#), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_dead_connection_is_given_up_after_the_watch_should_have_ended() {
    let script = Script::of([Answer::Open(listed(&[], 10)), Answer::Body(200, page(11, "", &[]))]);
    let (cache, _task) = start(cache(&script, Scope::All).0);
    cache.synced().await;
    let begin = SystemClock.instant();
    until(|| script.requests().len() == 3).await;
    let silence = SystemClock.instant() - begin;
    assert!((255..=346).contains(&silence.as_secs()), "{silence:?}");
    assert!(script.requests()[2].contains("resourceVersion=10&"));
}

#[tokio::test(start_paused = true)]
async fn a_restored_server_is_listed_anew_and_announced() {
    let script = Script::of([
        Answer::Closed(listed(&[thing("a", "u1", 5), thing("b", "u2", 9)], 10)),
        Answer::Closed(Vec::new()),
        Answer::Body(200, page(6, "", &[])),
        Answer::Open(listed(&[thing("a", "u1", 5)], 6)),
    ]);
    let (mut cache, _) = cache(&script, Scope::All);
    let told: Arc<Mutex<usize>> = Arc::default();
    let (count, store) = (Arc::clone(&told), cache.store());
    cache.on_notice(Box::new(move |notice| {
        if notice != Notice::OtherHistory {
            return;
        }
        assert_eq!(store.keys().len(), 2, "the store still shows the old state");
        *count.lock() += 1;
    }));
    let (cache, _task) = start(cache);
    until(|| script.requests().len() == 4 && cache.store().keys() == [key("a")]).await;
    assert_eq!(*told.lock(), 1, "it is told once");
    assert_eq!(cache.store().seen().unwrap().as_str(), "6");
    assert_eq!(script.requests()[2], "/apis/example.com/v1/things?limit=1");
}

#[tokio::test(start_paused = true)]
async fn a_failed_watch_is_doubted_until_the_server_is_known_to_be_the_one_of_before() {
    let script = Script::of([
        Answer::Closed(listed(&[thing("a", "u1", 5)], 10)),
        Answer::Body(500, String::new()),
        Answer::Body(503, String::new()),
        Answer::Body(200, page(12, "", &[])),
        Answer::Closed(vec![event("MODIFIED", &thing("a", "u1", 13))]),
        Answer::Body(500, String::new()),
        Answer::Body(200, page(6, "", &[])),
        Answer::Open(listed(&[thing("a", "u1", 5)], 6)),
    ]);
    let (mut cache, _) = cache(&script, Scope::All);
    let told: Arc<Mutex<Vec<Notice>>> = Arc::default();
    let listener = Arc::clone(&told);
    cache.on_notice(Box::new(move |notice| listener.lock().push(notice)));
    let (cache, _task) = start(cache);
    until(|| script.requests().len() == 8 && cache.store().seen().unwrap().as_str() == "6").await;
    let same = [Notice::Doubted, Notice::SameHistory];
    let other = [Notice::Doubted, Notice::OtherHistory, Notice::SameHistory];
    assert_eq!(*told.lock(), [&same[..], &other[..]].concat());
}

/// What is logged on this thread while `body` runs.
async fn logged(body: impl Future<Output = ()>) -> String {
    let lines = Arc::<Mutex<Vec<u8>>>::default();
    let kept = Arc::clone(&lines);
    let subscriber = tracing_subscriber::fmt()
        .with_writer(move || Tee(Arc::clone(&kept)))
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    body.await;
    let lines = lines.lock().clone();
    String::from_utf8(lines).unwrap()
}

struct Tee(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Tee {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn an_open_watch_on_which_nothing_comes_for_long_is_told_once() {
    let silent = Script::of([Answer::Open(listed(&[], 5))]);
    let log = logged(async {
        let (_cache, _task) = start(cache(&silent, Scope::All).0);
        tokio::time::sleep(Duration::from_secs(170)).await;
        tracing::info!("not yet");
        tokio::time::sleep(Duration::from_secs(70)).await;
    })
    .await;
    let told: Vec<_> = log
        .split("not yet")
        .map(|part| part.matches("nothing has come").count())
        .collect();
    assert_eq!(told, [0, 1], "{log}");
}
