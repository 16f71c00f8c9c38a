//! The record of what went through a proxy.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use http::{Request, request};
use serde_json::Value;
use workload_core::time::{Clock as _, SystemClock};

use super::asked::{Asked, Which};
use crate::simulation::server::Shape;

/// One request and what came of it.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// What was asked.
    pub asked: Asked,
    /// The request's `Content-Type`, which tells the form of a patch; empty without one.
    pub content_type: String,
    /// The request's body.
    pub body: Bytes,
    /// When the proxy had it.
    pub arrived: Instant,
    /// When it was passed on to the server; none if it was not.
    pub passed_on: Option<Instant>,
    /// HTTP status of the answer; none without one.
    pub code: Option<u16>,
    /// When the controller got the answer, or its beginning.
    pub answered: Option<Instant>,
}

impl Exchange {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// True if it may have changed something on the server.
    pub fn wrote(&self) -> bool {
        self.asked.verb.writes() && self.passed_on.is_some()
    }
}

impl fmt::Display for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Asked { verb, address, .. } = &self.asked;
        let passed_on = if self.passed_on.is_some() { "" } else { " not passed on" };
        write!(f, "{verb:?} {address}{passed_on} {:?}", self.code)
    }
}

/// All requests, in the order in which they arrived.
#[derive(Debug, Default)]
pub(super) struct Log {
    exchanges: Mutex<Vec<Exchange>>,
    strange: Mutex<Vec<String>>,
}

impl Log {
    /// Adds a request and returns its number.
    pub(super) fn arrived(&self, asked: &Asked, content_type: &str, body: Bytes) -> usize {
        let mut all = self.lock();
        all.push(Exchange {
            asked: asked.clone(),
            content_type: content_type.to_owned(),
            body,
            arrived: SystemClock.instant(),
            passed_on: None,
            code: None,
            answered: None,
        });
        all.len() - 1
    }

    /// Keeps a request that is of no shape in which controllers ask (see [`Shape`]).
    pub(super) fn look_at(&self, parts: &request::Parts, body: &Bytes) {
        let request = Request::from_parts(parts.clone(), body.clone());
        if let Err(why) = Shape::of_built_in(&request) {
            let asked = format!("{} {}: {why}", parts.method, parts.uri);
            self.strange.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
        }
    }

    /// The requests of no known shape.
    pub(super) fn strange(&self) -> Vec<String> {
        self.strange.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn passed_on(&self, number: usize) {
        self.lock()[number].passed_on = Some(SystemClock.instant());
    }

    pub(super) fn answered(&self, number: usize, code: u16) {
        let exchange = &mut self.lock()[number];
        exchange.code = Some(code);
        exchange.answered = Some(SystemClock.instant());
    }

    pub(super) fn of(&self, which: &Which) -> Vec<Exchange> {
        let all = self.lock();
        all.iter()
            .filter(|exchange| which.fits(&exchange.asked))
            .cloned()
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Exchange>> {
        self.exchanges.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
