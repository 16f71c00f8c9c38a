//! The ends of connections: what a controller's client is built over instead of sockets.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::Frame;
use kube::client::Body;
use tokio::sync::{mpsc, oneshot};
use tower::{BoxError, Service};

use super::network::broken;
use super::world::Shared;
use crate::proxy::Asked;

/// Which life of which replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Life {
    pub(super) replica: usize,
    pub(super) number: u64,
}

impl fmt::Display for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.replica, self.number)
    }
}

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    Work,
    Election,
}

/// A connection of a replica.
#[derive(Clone)]
pub(super) struct Connection {
    pub(super) world: Shared,
    pub(super) life: Life,
    pub(super) channel: Line,
}

/// Who waits for an answer.
pub(super) type Waiting = oneshot::Sender<Answer>;
/// What comes of a request.
pub(super) type Answer = Result<Response<Frames>, BoxError>;

/// A request on its way.
pub(super) struct Call {
    pub(super) life: Life,
    pub(super) channel: Line,
    pub(super) asked: Asked,
    pub(super) request: Request<Bytes>,
    pub(super) answer: Waiting,
    pub(super) delay: Delay,
}

/// What has held a request up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delay {
    None,
    /// It ends with its sender's patience.
    Slow,
    /// It does not.
    Late,
}

impl Service<Request<Body>> for Connection {
    type Response = Response<Frames>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Answer>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let Self { world, life, channel } = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            let (answer, received) = oneshot::channel();
            let call = Call {
                life,
                channel,
                asked: Asked::of(&parts.method, &parts.uri),
                request: Request::from_parts(parts, body),
                answer,
                delay: Delay::None,
            };
            super::world::lock(&world).send(call);
            match received.await {
                Ok(answer) => answer,
                Err(_) => Err(broken()),
            }
        })
    }
}

/// The body of an answer: whole, or the frames of a watch as they come.
pub(super) enum Frames {
    Whole(Option<Bytes>),
    Stream(mpsc::UnboundedReceiver<Result<Bytes, BoxError>>),
}

impl hyper::body::Body for Frames {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Stream(frames) => frames
                .poll_recv(cx)
                .map(|next| next.map(|frame| frame.map(Frame::data))),
        }
    }
}

/// Clones are connections of the same process.
impl Connection {
    pub(super) fn new(world: &Shared, life: Life, channel: Line) -> Self {
        let world = Arc::clone(world);
        Self { world, life, channel }
    }
}
