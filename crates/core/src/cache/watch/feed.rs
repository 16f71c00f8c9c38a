//! The requests of a watch. The only part of the cache that talks to a server.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::BodyExt;
use kube::client::Body;

use super::frame::{Ending, ServerError};
use super::lines::Lines;
use super::step::Ask;
use crate::client::{in_one_line, retry_after};
use crate::id::Kind;

/// Objects per page, as client-go asks for.
const PAGE: u32 = 500;
/// How long an answer may take to begin, and a page to arrive.
const PATIENCE: Duration = Duration::from_mins(1);

/// Where the objects come from and which of them are wanted.
#[derive(Clone)]
pub struct Feed {
    /// The client that sends the requests. It must not put a time limit on watches.
    pub client: kube::Client,
    /// Which namespaces.
    pub scope: Scope,
    /// Server-side label selector; empty for all.
    pub label_selector: String,
    /// Server-side field selector; empty for all.
    pub field_selector: String,
}

/// Which namespaces a cache covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Every one.
    All,
    /// Only this one.
    Namespace(String),
}

impl Feed {
    /// All objects in `scope`.
    pub fn new(client: kube::Client, scope: Scope) -> Self {
        Self {
            client,
            scope,
            label_selector: String::new(),
            field_selector: String::new(),
        }
    }

    /// Opens the stream that `ask` wants. The server closes it after `lifetime`.
    pub(super) async fn open(&self, kind: Kind, ask: &Ask, lifetime: Duration) -> Result<Stream, Ending> {
        let response = self.send(self.uri(kind, ask, lifetime)).await?;
        Ok(Stream {
            body: response.into_body(),
            lines: Lines::default(),
        })
    }

    /// Fetches the page that `ask` wants.
    pub(super) async fn fetch(&self, kind: Kind, ask: &Ask) -> Result<Bytes, Ending> {
        let response = self.send(self.uri(kind, ask, PATIENCE)).await?;
        collect(response).await
    }

    async fn send(&self, uri: String) -> Result<Response<Body>, Ending> {
        // Servers from 1.37 on compress watches event by event, which no decoder here understands.
        let request = Request::get(uri)
            .header(header::ACCEPT, "application/json")
            .header(header::ACCEPT_ENCODING, "identity")
            .body(Body::empty())
            .map_err(broken)?;
        let sent = tokio::time::timeout(PATIENCE, self.client.send(request)).await;
        let response = sent.map_err(|_| silent())?.map_err(broken)?;
        if response.status().is_success() {
            return Ok(response);
        }
        Err(refused(response).await)
    }

    fn uri(&self, kind: Kind, ask: &Ask, lifetime: Duration) -> String {
        let seconds = lifetime.as_secs().to_string();
        let limit = PAGE.to_string();
        let mut query: Vec<(&str, &str)> = match ask {
            Ask::Initial => vec![("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan")],
            Ask::Resume(version) => vec![("resourceVersion", version.as_str())],
            Ask::Page(None) => vec![("limit", &limit)],
            Ask::Page(Some(token)) => vec![("limit", &limit), ("continue", token)],
            Ask::Version => vec![("limit", "1")],
        };
        if matches!(ask, Ask::Initial | Ask::Resume(_)) {
            query.extend([
                ("watch", "true"),
                ("allowWatchBookmarks", "true"),
                ("timeoutSeconds", &*seconds),
            ]);
        }
        for (name, selector) in [
            ("labelSelector", &self.label_selector),
            ("fieldSelector", &self.field_selector),
        ] {
            if !selector.is_empty() {
                query.push((name, selector));
            }
        }
        let pairs: Vec<String> = query
            .iter()
            .map(|(name, value)| format!("{name}={}", escaped(value)))
            .collect();
        format!("{}?{}", self.path(kind), pairs.join("&"))
    }

    fn path(&self, kind: Kind) -> String {
        let root = if kind.group.is_empty() { "api" } else { "apis" };
        let namespace = match &self.scope {
            Scope::All => String::new(),
            Scope::Namespace(name) => format!("/namespaces/{name}"),
        };
        format!("/{root}/{}{namespace}/{}", kind.api_version(), kind.plural)
    }
}

impl fmt::Debug for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed")
            .field("scope", &self.scope)
            .field("label_selector", &self.label_selector)
            .field("field_selector", &self.field_selector)
            .finish_non_exhaustive()
    }
}

/// An open watch.
pub(super) struct Stream {
    body: Body,
    lines: Lines,
}

impl Stream {
    /// The next line. Waits at most `silence` for the server to say anything.
    pub(super) async fn line(&mut self, silence: Duration) -> Result<Bytes, Ending> {
        loop {
            if let Some(line) = self.lines.next() {
                return Ok(line);
            }
            let frame = tokio::time::timeout(silence, self.body.frame())
                .await
                .map_err(|_| silent())?;
            match frame {
                None => return Err(Ending::Closed),
                Some(Err(error)) => return Err(broken(error)),
                Some(Ok(frame)) => {
                    if let Some(chunk) = frame.data_ref() {
                        self.lines.push(chunk).map_err(broken)?;
                    }
                }
            }
        }
    }
}

async fn collect(response: Response<Body>) -> Result<Bytes, Ending> {
    let body = tokio::time::timeout(PATIENCE, response.into_body().collect()).await;
    Ok(body.map_err(|_| silent())?.map_err(broken)?.to_bytes())
}

async fn refused(response: Response<Body>) -> Ending {
    let code = response.status().as_u16();
    let wait = retry_after(response.headers());
    let error = match collect(response).await {
        Ok(body) => ServerError::decode(&body).unwrap_or_else(|_| ServerError::bare(code)),
        Err(_) => ServerError::bare(code),
    };
    Ending::Refused(ServerError {
        code,
        retry_after: error.retry_after.or(wait),
        ..error
    })
}

fn silent() -> Ending {
    Ending::Broken("the server did not answer in time".to_owned())
}

fn broken(error: impl std::error::Error + 'static) -> Ending {
    Ending::Broken(in_one_line(&error))
}

/// `value` as it may stand in a query.
fn escaped(value: &str) -> String {
    let byte = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    value.bytes().map(byte).collect()
}
