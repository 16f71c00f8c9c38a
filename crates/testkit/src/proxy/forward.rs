//! One request on its way to the server, and the answer on its way back.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Incoming;

use super::asked::{Asked, Verb};
use super::fault::{Fault, Refusal, Rules};
use super::lines;
use super::log::Log;
use super::upstream::Upstream;

/// The body of an answer.
pub(super) type Answered = UnsyncBoxBody<Bytes, Lost>;

/// The connection to the controller is to be closed without an answer, or in the middle of one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lost;

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("closed without an answer")
    }
}

impl std::error::Error for Lost {}

/// What every request of a proxy passes.
#[derive(Clone)]
pub(super) struct Way {
    pub(super) upstream: Upstream,
    pub(super) rules: Arc<Rules>,
    pub(super) log: Arc<Log>,
}

impl Way {
    /// Answers a request, with the fault that strikes it.
    pub(super) async fn answer(self, request: Request<Incoming>) -> Result<Response<Answered>, Lost> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.map_err(|_| Lost)?.to_bytes();
        let asked = Asked::of(&parts.method, &parts.uri);
        let content_type = parts
            .headers
            .get(header::CONTENT_TYPE)
            .and_then(|value| value.to_str().ok());
        let number = self.log.arrived(&asked, content_type.unwrap_or_default(), body.clone());
        self.log.look_at(&parts, &body);
        let request = Request::from_parts(parts, Full::new(body));
        let rule = self.rules.for_request(&asked);
        match rule.as_ref().map(|rule| (rule.fault(), rule)) {
            Some((Fault::Lose, _)) => return Err(Lost),
            Some((Fault::Refuse(refusal), _)) => {
                self.log.answered(number, refusal.code);
                return Ok(refused(*refusal));
            }
            Some((Fault::Hold, rule)) => rule.lifted().await,
            Some((Fault::Delay(time), _)) => tokio::time::sleep(*time).await,
            Some(_) | None => {}
        }
        self.log.passed_on(number);
        let response = self.upstream.send(request).await?;
        if asked.verb == Verb::Watch && response.status().is_success() {
            self.log.answered(number, response.status().as_u16());
            return Ok(response.map(|body| StreamBody::new(lines::passing(body, asked, self)).boxed_unsync()));
        }
        let (mut parts, body) = response.into_parts();
        let body = body.collect().await.map_err(|_| Lost)?.to_bytes();
        match rule.as_ref().map(|rule| (rule.fault(), rule)) {
            Some((Fault::LoseAnswer, _)) => return Err(Lost),
            Some((Fault::HoldAnswer, rule)) => rule.lifted().await,
            Some(_) | None => {}
        }
        let body = lines::past(&self.rules, &asked, body).await;
        self.log.answered(number, parts.status.as_u16());
        parts.headers.remove(header::CONTENT_LENGTH);
        parts.headers.remove(header::TRANSFER_ENCODING);
        Ok(Response::from_parts(parts, whole(body)))
    }
}

fn refused(refusal: Refusal) -> Response<Answered> {
    let mut response = Response::builder()
        .status(refusal.code)
        .header(header::CONTENT_TYPE, "application/json");
    if let Some(seconds) = refusal.retry_after {
        response = response.header(header::RETRY_AFTER, seconds);
    }
    let body = Bytes::from(refusal.status().to_string());
    response.body(whole(body)).expect("a valid answer")
}

fn whole(body: Bytes) -> Answered {
    Full::new(body).map_err(|never| match never {}).boxed_unsync()
}
