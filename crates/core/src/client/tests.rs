use std::collections::VecDeque;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::{BodyExt, Full};
use kube::client::Body;
use parking_lot::Mutex;
use tower::BoxError;

use super::{
    CallError, CallOptions, ClientError, ClientMetrics, ClientOptions, ConnectionError, Permit, Rate, build, over,
    probe,
};
use crate::metrics::Metrics;
use crate::time::{Clock, SystemClock};

/// One scripted answer: a status and the seconds of `Retry-After`, or none at all.
#[derive(Clone, Copy)]
enum Answer {
    Status(u16, Option<u64>),
    Never,
    NotMade,
    Broke,
}

/// A connection that answers in the order of its script and remembers what it was sent.
#[derive(Clone)]
struct Script {
    answers: Arc<Mutex<VecDeque<Answer>>>,
    sent: Arc<Mutex<Vec<String>>>,
    metrics: Metrics,
}

impl Script {
    fn of(answers: &[Answer]) -> Self {
        Self {
            answers: Arc::new(Mutex::new(answers.iter().copied().collect())),
            sent: Arc::default(),
            metrics: Metrics::default(),
        }
    }

    async fn answer(self, request: Request<Body>) -> Result<Response<Full<Bytes>>, BoxError> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let agent = parts.headers["user-agent"].to_str()?.to_owned();
        let line = format!(
            "{} {} {} {agent}",
            parts.method,
            parts.uri,
            String::from_utf8(body.to_vec())?
        );
        self.sent.lock().push(line);
        let next = self.answers.lock().pop_front();
        match next.unwrap_or(Answer::Status(200, None)) {
            Answer::Never => std::future::pending().await,
            Answer::NotMade => Err(ConnectionError::NotMade("refused".into()).into()),
            Answer::Broke => Err(ConnectionError::Broke("reset".into()).into()),
            Answer::Status(code, wait) => {
                let response = Response::builder().status(code);
                let response = wait
                    .into_iter()
                    .fold(response, |response, wait| response.header("retry-after", wait));
                Ok(response.body(Full::default())?)
            }
        }
    }

    fn client(&self, rate: Option<Rate>) -> kube::Client {
        let script = self.clone();
        let options = calls(rate, 30);
        let metrics = self.metrics.register(ClientMetrics::register);
        let connection = tower::service_fn(move |request| script.clone().answer(request));
        let server = Uri::from_static("https://example.com");
        over(connection, &server, &options, &metrics, Arc::new(SystemClock)).unwrap()
    }

    fn sent(&self) -> usize {
        self.sent.lock().len()
    }
}

fn calls(rate: Option<Rate>, timeout_seconds: u64) -> CallOptions {
    CallOptions {
        user_agent: "test/1".to_owned(),
        rate,
        timeout: Duration::from_secs(timeout_seconds),
    }
}

fn request(method: &str, path: &str) -> Request<Body> {
    let body = Body::from(Bytes::from_static(b"{}"));
    Request::builder().method(method).uri(path).body(body).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_throttled_create_is_sent_again_with_its_body() {
    let script = Script::of(&[Answer::Status(429, Some(2)), Answer::Status(201, None)]);
    let begin = SystemClock.instant();
    let answer = script
        .client(None)
        .send(request("POST", "/api/v1/namespaces/a/pods"))
        .await
        .unwrap();
    assert_eq!(answer.status(), 201);
    assert_eq!((SystemClock.instant() - begin).as_secs(), 2);
    assert_eq!(*script.sent.lock(), ["POST /api/v1/namespaces/a/pods {} test/1"; 2]);
    let text = script.metrics.text().unwrap();
    for code in [429, 201] {
        let line = format!(r#"rest_client_requests_total{{code="{code}",host="example.com",method="POST"}} 1"#);
        assert!(text.contains(&line), "{text}");
    }
    let line = r#"rest_client_request_duration_seconds_count{host="example.com",verb="POST"} 2"#;
    assert!(text.contains(line), "{text}");
}

/// A create that is permitted for a second from now on.
fn permitted_for_a_second() -> Request<Body> {
    let end = SystemClock.instant() + Duration::from_secs(1);
    let allowed = move || {
        end.checked_duration_since(SystemClock.instant())
            .filter(|left| !left.is_zero())
    };
    let mut request = request("POST", "/api/v1/namespaces/a/pods");
    request.extensions_mut().insert(Permit::new(allowed));
    request
}

#[track_caller]
fn call_error(answer: Result<Response<Body>, kube::Error>) -> CallError {
    match answer {
        Err(kube::Error::Service(error)) => *error.downcast().unwrap(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_no_longer_permitted_is_not_repeated() {
    let script = Script::of(&[Answer::Status(429, Some(1))]);
    let answer = script.client(None).send(permitted_for_a_second()).await;
    assert_eq!(answer.unwrap().status(), 429);
    assert_eq!(script.sent(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_request_whose_permit_ran_out_while_it_waited_for_its_turn_is_never_sent() {
    let script = Script::of(&[]);
    let client = script.client(Some(Rate {
        per_second: 0.5,
        burst: 1,
    }));
    client.send(request("GET", "/api/v1/pods")).await.unwrap();
    let answer = client.send(permitted_for_a_second()).await;
    assert!(matches!(call_error(answer), CallError::Withdrawn { .. }));
    assert_eq!(script.sent(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_takes_no_longer_than_it_is_permitted_to_however_long_it_waited_before() {
    let script = Script::of(&[Answer::Status(200, None), Answer::Never]);
    let client = script.client(Some(Rate {
        per_second: 0.02,
        burst: 1,
    }));
    client.send(request("GET", "/api/v1/pods")).await.unwrap();
    let begin = SystemClock.instant();
    let mut request = request("POST", "/api/v1/namespaces/a/pods");
    let permit = Permit::new(|| Some(Duration::from_secs(7)));
    request.extensions_mut().insert(permit);
    let error = call_error(client.send(request).await);
    assert!(
        matches!(error, CallError::TimedOut { after, .. } if after.as_secs() == 7),
        "{error}"
    );
    assert_eq!(
        (SystemClock.instant() - begin).as_secs(),
        57,
        "50 s for its turn, 7 s for the answer"
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_without_an_answer_ends_after_its_time_limit() {
    let script = Script::of(&[Answer::Never]);
    let error = script
        .client(None)
        .send(request("GET", "/api/v1/pods"))
        .await
        .unwrap_err();
    let kube::Error::Service(error) = error else {
        panic!("{error}");
    };
    assert_eq!(error.to_string(), "no answer from https://example.com within 30 s");
    assert!(matches!(error.downcast_ref(), Some(CallError::TimedOut { .. })));
    let line = r#"rest_client_requests_total{code="<error>",host="example.com",method="GET"} 1"#;
    assert!(script.metrics.text().unwrap().contains(line));
}

#[tokio::test(start_paused = true)]
async fn a_create_is_repeated_if_no_connection_was_made_and_not_if_one_broke() {
    let script = Script::of(&[Answer::NotMade, Answer::NotMade, Answer::Broke]);
    let answer = script
        .client(None)
        .send(request("POST", "/api/v1/namespaces/a/pods"))
        .await;
    assert!(matches!(call_error(answer), CallError::Broken { .. }));
    assert_eq!(script.sent(), 3);
    let script = Script::of(&[Answer::NotMade; 9]);
    let answer = script
        .client(None)
        .send(request("POST", "/api/v1/namespaces/a/pods"))
        .await;
    let error = call_error(answer);
    assert!(matches!(error, CallError::NotSent { .. }));
    assert_eq!(
        super::in_one_line(&error),
        "no connection to https://example.com: refused"
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_has_no_time_limit_no_rate_limit_and_no_repetition() {
    let script = Script::of(&[Answer::Status(503, Some(1)), Answer::Status(200, None), Answer::Never]);
    let client = script.client(Some(Rate {
        per_second: 0.001,
        burst: 1,
    }));
    let watch = || client.send(request("GET", "/api/v1/pods?limit=1&watch=true"));
    let begin = SystemClock.instant();
    assert_eq!(watch().await.unwrap().status(), 503);
    assert_eq!(watch().await.unwrap().status(), 200);
    assert_eq!(SystemClock.instant(), begin);
    let hour = Duration::from_hours(1);
    assert!(
        tokio::time::timeout(hour, watch()).await.is_err(),
        "it is still waiting"
    );
}

#[tokio::test(start_paused = true)]
async fn the_rate_limit_spaces_calls_out_after_a_burst() {
    let script = Script::of(&[]);
    let client = script.client(Some(Rate {
        per_second: 10.0,
        burst: 2,
    }));
    let begin = SystemClock.instant();
    for _ in 0..5 {
        client.send(request("GET", "/api/v1/pods")).await.unwrap();
    }
    assert_eq!((SystemClock.instant() - begin).as_millis(), 300);
}

fn options(kubeconfig: &std::path::Path) -> ClientOptions {
    ClientOptions {
        kubeconfig: Some(kubeconfig.to_owned()),
        context: None,
        calls: calls(None, 5),
    }
}

async fn built(options: &ClientOptions) -> Result<kube::Client, ClientError> {
    let metrics = Metrics::default().register(ClientMetrics::register);
    build(options, &metrics, Arc::new(SystemClock)).await
}

fn kubeconfig(server: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let text = format!(
        "{{apiVersion: v1, kind: Config, current-context: c, users: [{{name: u, user: {{}}}}], \
          contexts: [{{name: c, context: {{cluster: s, user: u}}}}], clusters: [{{name: s, cluster: {{server: '{server}'}}}}]}}"
    );
    file.write_all(text.as_bytes()).unwrap();
    file
}

#[tokio::test]
async fn what_is_wrong_with_the_configuration_is_said_in_one_line() {
    let missing = options(std::path::Path::new("/nonexistent/kubeconfig"));
    let error = built(&missing).await.err().unwrap().to_string();
    assert!(
        error.starts_with("unusable kubeconfig: /nonexistent/kubeconfig: "),
        "{error}"
    );
    assert!(!error.contains('\n'), "{error}");

    let file = kubeconfig("http://127.0.0.1:1");
    let other = ClientOptions {
        context: Some("other".to_owned()),
        ..options(file.path())
    };
    let error = built(&other).await.err().unwrap().to_string();
    assert!(error.contains("other"), "{error}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let file = kubeconfig(&format!("http://127.0.0.1:{port}"));
    let client = built(&options(file.path())).await.unwrap();
    let error = probe(&client).await.unwrap_err();
    assert!(matches!(error, ClientError::Unreachable(_)), "{error}");
    let text = error.to_string();
    let expected = format!("cannot reach the API server: no connection to http://127.0.0.1:{port}: ");
    assert!(
        text.starts_with(&expected) && text.contains("refused") && !text.contains('\n'),
        "{text}"
    );
}
