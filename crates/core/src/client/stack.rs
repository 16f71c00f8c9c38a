//! The layers between kube's client and the connection: time limit, rate limit, repetition, metrics, user agent.
//!
//! A watch passes through: it has no time limit and takes no part in the rate limit, and whoever follows it decides when to
//! ask again.

use std::error::Error as StdError;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{HeaderValue, Request, Response, Uri, header, request};
use http_body_util::{BodyExt, Either, Full};
use kube::client::Body;
use parking_lot::Mutex;
use tower::{BoxError, Service, ServiceExt};

use super::metrics::ClientMetrics;
use super::retry::{Attempt, History, retry_after};
use super::{CallError, ConnectionError, Permit};
use crate::queue::bucket::TokenBucket;
use crate::time::SharedClock;

/// The layers around a connection `S`. Clones share limits and metrics.
#[derive(Clone)]
pub(super) struct Stack<S> {
    pub(super) connection: S,
    pub(super) shared: Arc<Shared>,
}

/// What all calls of a client share.
pub(super) struct Shared {
    /// The server's address, for people.
    pub(super) server: String,
    /// The server's host and port, for metrics.
    pub(super) host: String,
    pub(super) user_agent: HeaderValue,
    pub(super) timeout: Duration,
    pub(super) bucket: Option<Mutex<TokenBucket>>,
    pub(super) metrics: ClientMetrics,
    pub(super) clock: SharedClock,
}

/// A whole answer, or that of a watch as it comes.
type Answer<B> = Response<Either<Full<Bytes>, B>>;

impl<S, B> Service<Request<Body>> for Stack<S>
where
    S: Service<Request<Body>, Response = Response<B>, Error = BoxError> + Clone + Send + Sync + 'static,
    S::Future: Send,
    B: hyper::body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Answer<B>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let stack = self.clone();
        Box::pin(async move {
            let (mut parts, body) = request.into_parts();
            parts
                .headers
                .insert(header::USER_AGENT, stack.shared.user_agent.clone());
            let body = body.collect().await?.to_bytes();
            if is_watch(&parts.uri) {
                return Ok(stack.send(parts, body, None).await?.map(Either::Right));
            }
            Ok(stack
                .persist(parts, body)
                .await?
                .map(|body| Either::Left(Full::new(body))))
        })
    }
}

impl<S, B> Stack<S>
where
    S: Service<Request<Body>, Response = Response<B>, Error = BoxError> + Clone + Send + Sync + 'static,
    S::Future: Send,
    B: hyper::body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    /// Repeats a call as long as that is safe and may help. Whether it is still permitted is asked last before each attempt:
    /// a wait for the rate limit may be long.
    async fn persist(&self, parts: request::Parts, body: Bytes) -> Result<Response<Bytes>, CallError> {
        let shared = &self.shared;
        let permit = parts.extensions.get::<Permit>().cloned();
        let mut history = History::default();
        let mut last = Err(CallError::Withdrawn {
            server: shared.server.clone(),
        });
        loop {
            shared.take_turn().await;
            let allowed = permit.as_ref().map_or(Some(shared.timeout), Permit::ask);
            let Some(allowed) = allowed else {
                return last;
            };
            let limit = allowed.min(shared.timeout);
            last = self.whole(parts.clone(), body.clone(), limit).await;
            let Some(wait) = history.next(&parts.method, parts.uri.path(), attempt(&last)) else {
                return last;
            };
            tokio::time::sleep(wait).await;
        }
    }

    /// One attempt with its whole answer, within the time limit.
    async fn whole(&self, parts: request::Parts, body: Bytes, limit: Duration) -> Result<Response<Bytes>, CallError> {
        let shared = &self.shared;
        let begin = shared.clock.instant();
        let (head, body) = self.send(parts, body, Some(limit)).await?.into_parts();
        let elapsed = shared.clock.instant().saturating_duration_since(begin);
        let rest = limit.saturating_sub(elapsed);
        let body = tokio::time::timeout(rest, body.collect())
            .await
            .map_err(|_| shared.timed_out(limit))?;
        let body = body.map_err(|error| CallError::Broken {
            server: shared.server.clone(),
            source: error.into(),
        })?;
        Ok(Response::from_parts(head, body.to_bytes()))
    }

    /// One attempt, until the answer begins.
    async fn send(
        &self,
        parts: request::Parts,
        body: Bytes,
        limit: Option<Duration>,
    ) -> Result<Response<B>, CallError> {
        let shared = &self.shared;
        let (method, begin) = (parts.method.clone(), shared.clock.instant());
        let sent = self
            .connection
            .clone()
            .oneshot(Request::from_parts(parts, Body::from(body)));
        let result = match limit {
            Some(limit) => tokio::time::timeout(limit, sent)
                .await
                .map_err(|_| shared.timed_out(limit)),
            None => Ok(sent.await),
        };
        let result = result.and_then(|answer| answer.map_err(|error| classified(&shared.server, error)));
        let code = result.as_ref().ok().map(|answer| answer.status().as_u16());
        let took = shared.clock.instant().saturating_duration_since(begin);
        shared.metrics.attempt(&method, &shared.host, code, took);
        result
    }
}

impl Shared {
    fn timed_out(&self, after: Duration) -> CallError {
        CallError::TimedOut {
            server: self.server.clone(),
            after,
        }
    }

    async fn take_turn(&self) {
        if let Some(bucket) = &self.bucket {
            let wait = bucket.lock().reserve(self.clock.instant());
            tokio::time::sleep(wait).await;
        }
    }
}

fn is_watch(uri: &Uri) -> bool {
    let pairs = uri.query().unwrap_or_default().split('&');
    pairs.into_iter().any(|pair| matches!(pair, "watch=true" | "watch=1"))
}

fn attempt(result: &Result<Response<Bytes>, CallError>) -> Attempt {
    match result {
        Ok(answer) => Attempt::Answered {
            code: answer.status().as_u16(),
            retry_after: retry_after(answer.headers()),
        },
        Err(CallError::NotSent { .. }) => Attempt::NotSent,
        Err(CallError::Broken { .. }) => Attempt::Broken,
        Err(CallError::TimedOut { .. } | CallError::Withdrawn { .. } | CallError::Unprepared { .. }) => {
            Attempt::Hopeless
        }
    }
}

/// Whether the server can have seen the request.
fn classified(server: &str, source: BoxError) -> CallError {
    let server = server.to_owned();
    let first: &(dyn StdError + 'static) = &*source;
    let connection = std::iter::successors(Some(first), |error| (*error).source())
        .find_map(|error| error.downcast_ref::<ConnectionError>());
    match connection {
        Some(ConnectionError::NotMade(_)) => CallError::NotSent { server, source },
        Some(ConnectionError::Broke(_)) => CallError::Broken { server, source },
        // Made by a layer in front of the connection: a token that cannot be read, a login program that failed.
        None => CallError::Unprepared { server, source },
    }
}
