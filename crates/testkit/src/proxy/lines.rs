//! The body of a watch, line by line.

use bytes::{Bytes, BytesMut};
use futures::Stream;
use http_body_util::BodyExt as _;
use hyper::body::{Frame, Incoming};
use serde_json::Value;

use super::asked::Asked;
use super::fault::{Fault, Rules};
use super::forward::{Lost, Way};

/// What the server sends, with every line going past the faults that are at work when it comes.
pub(super) fn passing(
    body: Incoming,
    asked: Asked,
    way: Way,
) -> impl Stream<Item = Result<Frame<Bytes>, Lost>> + Send + 'static {
    let feed = Feed {
        body,
        asked,
        way,
        buffer: BytesMut::new(),
    };
    futures::stream::try_unfold(feed, |mut feed| async move {
        Ok(feed.next().await?.map(|line| (Frame::data(line), feed)))
    })
}

struct Feed {
    body: Incoming,
    asked: Asked,
    way: Way,
    buffer: BytesMut,
}

impl Feed {
    /// The next line; none at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, Lost> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line = self.buffer.split_to(end + 1).freeze();
                return Ok(Some(past(&self.way.rules, &self.asked, line).await));
            }
            match self.body.frame().await {
                None => return Ok(None),
                Some(Err(_)) => return Err(Lost),
                Some(Ok(frame)) => self.buffer.extend(frame.into_data().unwrap_or_default()),
            }
        }
    }
}

/// A line or an answer after the faults that are at work.
pub(super) async fn past(rules: &Rules, asked: &Asked, content: Bytes) -> Bytes {
    while let Some(rule) = rules.for_content(asked) {
        if let Fault::Edit(change) = rule.fault() {
            return edited(&content, &**change);
        }
        rule.lifted().await;
    }
    content
}

fn edited(content: &[u8], change: &(dyn Fn(&mut Value) + Send + Sync)) -> Bytes {
    let Ok(mut value) = serde_json::from_slice(content) else {
        return Bytes::copy_from_slice(content);
    };
    change(&mut value);
    Bytes::from(format!("{value}\n"))
}
