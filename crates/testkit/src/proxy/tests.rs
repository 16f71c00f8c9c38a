//! The proxy before a server that tells how often it was asked.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt as _, stream};
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use workload_core::id::Kind;

use super::*;

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Requests that reached the server, and its proxy.
struct Bench {
    proxy: Proxy,
    reached: Arc<AtomicUsize>,
    client: Client<HttpConnector, Full<Bytes>>,
    _server: JoinSet<()>,
}

/// Watches get three lines, the last in two pieces; everything else the number of requests so far.
fn answered(request: &Request<Incoming>, number: usize) -> Response<Body> {
    let watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
    let body = if watch {
        let chunks = ["{\"n\":1}\n{\"n\":2}\n", "{\"n\"", ":3}\n"].map(|chunk| Ok(Frame::data(Bytes::from(chunk))));
        StreamBody::new(stream::iter(chunks).chain(stream::pending())).boxed_unsync()
    } else {
        Full::from(number.to_string()).boxed_unsync()
    };
    Response::new(body)
}

async fn bench() -> Bench {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address: SocketAddr = listener.local_addr().unwrap();
    let reached = Arc::<AtomicUsize>::default();
    let counter = Arc::clone(&reached);
    let mut server = JoinSet::new();
    server.spawn(async move {
        let mut connections = JoinSet::new();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let counter = Arc::clone(&counter);
            let service = service_fn(move |request| {
                let number = counter.fetch_add(1, Ordering::SeqCst) + 1;
                async move { Ok::<_, Infallible>(answered(&request, number)) }
            });
            connections.spawn(async move {
                let _ = http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    });
    Bench {
        proxy: Proxy::before(Upstream::plain(address), Guests::Anybody),
        reached,
        client: Client::builder(TokioExecutor::new()).build_http(),
        _server: server,
    }
}

impl Bench {
    fn request(&self, method: &str, path: &str) -> Request<Full<Bytes>> {
        Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.proxy.address()))
            .body(Full::from("{}"))
            .unwrap()
    }

    /// Status and body of the answer; none without one.
    async fn ask(&self, method: &str, path: &str) -> Option<(u16, String)> {
        let response = self.client.request(self.request(method, path)).await.ok()?;
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.ok()?.to_bytes();
        Some((code, String::from_utf8(body.to_vec()).unwrap()))
    }

    fn reached(&self) -> usize {
        self.reached.load(Ordering::SeqCst)
    }
}

const PODS: &str = "/api/v1/namespaces/a/pods";

#[tokio::test]
async fn requests_pass_and_are_recorded() {
    let bench = bench().await;
    assert_eq!(bench.ask("POST", PODS).await, Some((200, "1".to_owned())));
    let seen = bench.proxy.seen(&Which::creates().of(Kind::POD));
    assert_eq!((seen[0].code, &seen[0].body[..]), (Some(200), &b"{}"[..]));
    assert!(seen[0].passed_on >= Some(seen[0].arrived) && seen[0].answered >= seen[0].passed_on);
}

#[tokio::test]
async fn a_lost_request_does_not_reach_the_server_while_one_with_a_lost_answer_does() {
    let bench = bench().await;
    bench.proxy.strike_times(1, Which::creates(), Fault::Lose);
    assert_eq!(bench.ask("POST", PODS).await, None);
    assert_eq!(bench.reached(), 0);
    bench.proxy.strike_times(1, Which::creates(), Fault::LoseAnswer);
    assert_eq!(bench.ask("POST", PODS).await, None);
    assert_eq!(bench.reached(), 1);
    assert_eq!(bench.ask("POST", PODS).await, Some((200, "2".to_owned())));
}

#[tokio::test]
async fn a_refusal_comes_from_the_proxy() {
    let bench = bench().await;
    bench.proxy.strike(Which::all(), Fault::Refuse(Refusal::throttled(3)));
    let response = bench.client.request(bench.request("GET", PODS)).await.unwrap();
    assert_eq!(
        (response.status().as_u16(), response.headers()["retry-after"].as_bytes()),
        (429, &b"3"[..])
    );
    assert_eq!(bench.reached(), 0);
}

#[tokio::test]
async fn what_is_held_goes_on_when_the_fault_is_lifted() {
    for (fault, reached_meanwhile) in [(Fault::Hold, 0), (Fault::HoldAnswer, 1)] {
        let bench = bench().await;
        let rule = bench.proxy.strike(Which::all(), fault);
        let mut asking = Box::pin(bench.ask("GET", PODS));
        let early = tokio::time::timeout(Duration::from_millis(200), &mut asking).await;
        assert!(early.is_err(), "held");
        assert_eq!((rule.hits(), bench.reached()), (1, reached_meanwhile));
        rule.lift();
        assert_eq!(asking.await, Some((200, "1".to_owned())));
    }
}

#[tokio::test]
async fn a_proxy_that_is_cut_off_closes_its_connections_and_refuses_new_ones() {
    let bench = bench().await;
    let watch = bench
        .client
        .request(bench.request("GET", "/api/v1/pods?watch=true"))
        .await
        .unwrap();
    let mut watch = watch.into_body();
    watch.frame().await.unwrap().unwrap();
    bench.proxy.cut_off();
    let end = async { while let Some(Ok(_)) = watch.frame().await {} };
    tokio::time::timeout(WITHIN, end).await.expect("the watch ends");
    assert_eq!(bench.ask("GET", PODS).await, None);
    bench.proxy.reconnect();
    tokio::time::timeout(WITHIN, async { while bench.ask("GET", PODS).await.is_none() {} })
        .await
        .expect("an answer");
}

#[tokio::test]
async fn lines_of_a_watch_pass_one_by_one_and_can_be_changed_or_stopped() {
    let bench = bench().await;
    let change = |line: &mut serde_json::Value| {
        if line["n"] == 3 {
            *line = json!({"changed": true});
        }
    };
    let frozen = bench.proxy.strike(Which::watches().of(Kind::POD), Fault::Freeze);
    bench.proxy.strike(Which::watches(), Fault::edit(change));
    let watch = bench
        .client
        .request(bench.request("GET", "/api/v1/pods?watch=true"))
        .await
        .unwrap();
    let mut watch = watch.into_body();
    let early = tokio::time::timeout(Duration::from_millis(200), watch.frame()).await;
    assert!(early.is_err(), "frozen");
    frozen.lift();
    let mut text = String::new();
    while text.lines().count() < 3 {
        let frame = watch.frame().await.unwrap().unwrap();
        text += std::str::from_utf8(frame.data_ref().unwrap()).unwrap();
    }
    assert_eq!(text, "{\"n\":1}\n{\"n\":2}\n{\"changed\":true}\n");
}

#[tokio::test]
#[should_panic(expected = "requests of no known shape:\nGET /api/v1/namespaces/a/pods: a list without a limit")]
async fn a_controller_that_asks_in_an_unknown_way_fails_its_test_at_the_end() {
    let mut bench = bench().await;
    bench.proxy.guests = Guests::Controllers;
    bench.ask("GET", PODS).await;
}

#[tokio::test]
async fn a_controller_that_asks_in_known_ways_does_not() {
    let mut bench = bench().await;
    bench.proxy.guests = Guests::Controllers;
    bench.ask("GET", &format!("{PODS}?limit=500")).await;
}
