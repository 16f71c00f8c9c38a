//! The requests that a controller sends: all of them, each in the exact form in which it is sent.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, header};
use serde_json::Value;
use workload_core::id::{Kind, ObjectKey};
use workload_core::plan::Address;

use super::body::{self, DeleteOptions};
use super::kinds::{BUILT_IN, Resource};
use super::selection::Selection;

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// One request, understood.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// The version of the server.
    Version,
    /// One object.
    Get(Address),
    /// A page of a list.
    List {
        /// Of what.
        scope: Scope,
        /// The most objects that are wanted.
        limit: usize,
        /// The token of the page; none for the first.
        token: Option<String>,
    },
    /// A watch.
    Watch {
        /// Of what.
        scope: Scope,
        /// From where on.
        from: Since,
        /// When the server is to end it.
        lifetime: Duration,
    },
    /// A new object.
    Create {
        /// Its kind.
        kind: Kind,
        /// Its namespace.
        namespace: Arc<str>,
        /// The object.
        object: Value,
    },
    /// A change.
    Patch {
        /// Of what.
        address: Address,
        /// Of which part.
        part: Part,
        /// In which form.
        form: Form,
        /// The patch.
        body: Value,
    },
    /// A deletion.
    Delete {
        /// Of what.
        address: Address,
        /// Under which conditions.
        options: DeleteOptions,
    },
    /// The deletion of a pod, unless a disruption budget is against it.
    Evict {
        /// Of which pod.
        address: Address,
        /// Under which conditions.
        options: DeleteOptions,
    },
}

/// What a list or a watch is about.
#[derive(Clone, Debug, PartialEq)]
pub struct Scope {
    /// Objects of this kind,
    pub kind: Kind,
    /// in this namespace, or in all,
    pub namespace: Option<Arc<str>>,
    /// that meet selectors.
    pub selection: Selection,
}

/// Where a watch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// With all that there is; a bookmark says where that ends.
    Everything,
    /// With all that there is (`resourceVersion=0`).
    Any,
    /// Behind this version.
    After(u64),
}

/// What of an object is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All but the status.
    Main,
    /// The status.
    Status,
}

/// The form of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// RFC 7396.
    Merge,
    /// Kubernetes' own, which merges owner references by their uids.
    Strategic,
}

/// What a shape may be made of.
type Found = Result<Shape, &'static str>;

impl Shape {
    /// Understands a request about one of these kinds, or says why it is not one that a controller sends.
    pub fn of(request: &Request<Bytes>, kinds: &[Resource]) -> Result<Self, &'static str> {
        if request.uri().path() == "/version" && request.method() == Method::GET {
            return Ok(Self::Version);
        }
        accepted(request.headers())?;
        let target = Target::of(request.uri().path(), kinds)?;
        let query = Query::of(request.uri().query().unwrap_or_default())?;
        let parts = (target.name.clone(), target.part.as_str());
        match (request.method().clone(), parts) {
            (Method::GET, (None, "")) if query.get("watch").is_some() => watch(target, &query),
            (Method::GET, (None, "")) => list(target, &query),
            (Method::GET, (Some(name), "")) => {
                query.only(&[])?;
                target.address(name).map(Self::Get)
            }
            (Method::POST, (None, "")) => create(target, &query, request),
            (Method::PATCH, (Some(name), part)) => patch(&target, name, part, &query, request),
            (Method::DELETE, (Some(name), "")) => {
                query.only(&[])?;
                content_type(request, JSON)?;
                let options = body::delete_options(&json(request)?)?;
                let address = target.address(name)?;
                Ok(Self::Delete { address, options })
            }
            (Method::POST, (Some(name), "eviction")) if target.kind == Kind::POD => {
                query.only(&[])?;
                content_type(request, JSON)?;
                let options = body::eviction(&name, &json(request)?)?;
                let address = target.address(name)?;
                Ok(Self::Evict { address, options })
            }
            _ => Err("no controller does this to such an address"),
        }
    }

    /// As [`Self::of`], for the kinds that are built in.
    pub fn of_built_in(request: &Request<Bytes>) -> Result<Self, &'static str> {
        Self::of(request, &BUILT_IN)
    }
}

fn list(target: Target, query: &Query) -> Found {
    query.only(&["limit", "continue", "labelSelector", "fieldSelector"])?;
    let limit = query.get("limit").ok_or("a list without a limit")?;
    Ok(Shape::List {
        scope: target.scope(query)?,
        limit: limit.parse().map_err(|_| "the limit is no number")?,
        token: query.get("continue").map(str::to_owned),
    })
}

fn watch(target: Target, query: &Query) -> Found {
    let common = [
        "watch",
        "allowWatchBookmarks",
        "timeoutSeconds",
        "labelSelector",
        "fieldSelector",
    ];
    if query.get("watch") != Some("true") || query.get("allowWatchBookmarks") != Some("true") {
        return Err("a watch without bookmarks");
    }
    let from = match query.get("resourceVersion") {
        None => {
            query.only(&[&common[..], &["sendInitialEvents", "resourceVersionMatch"]].concat())?;
            let asked = (query.get("sendInitialEvents"), query.get("resourceVersionMatch"));
            if asked != (Some("true"), Some("NotOlderThan")) {
                return Err("a watch that begins anywhere");
            }
            Since::Everything
        }
        Some(version) => {
            query.only(&[&common[..], &["resourceVersion"]].concat())?;
            match version.parse().map_err(|_| "the version is no number")? {
                0 => Since::Any,
                version => Since::After(version),
            }
        }
    };
    let seconds = query.get("timeoutSeconds").ok_or("a watch without an end")?;
    let seconds = seconds.parse().map_err(|_| "the end of the watch is no number")?;
    Ok(Shape::Watch {
        scope: target.scope(query)?,
        from,
        lifetime: Duration::from_secs(seconds),
    })
}

fn create(target: Target, query: &Query, request: &Request<Bytes>) -> Found {
    managed(query)?;
    content_type(request, JSON)?;
    let namespace = target.namespace.ok_or("a create outside of namespaces")?;
    let object = json(request)?;
    body::new_object(target.kind, &namespace, &object)?;
    Ok(Shape::Create {
        kind: target.kind,
        namespace,
        object,
    })
}

fn patch(target: &Target, name: Arc<str>, part: &str, query: &Query, request: &Request<Bytes>) -> Found {
    managed(query)?;
    let part = match part {
        "" => Part::Main,
        "status" => Part::Status,
        _ => return Err("a patch of another subresource"),
    };
    let form = match text(request.headers(), &header::CONTENT_TYPE) {
        MERGE => Form::Merge,
        STRATEGIC => Form::Strategic,
        _ => return Err("another form of patch"),
    };
    let body = json(request)?;
    body::patch(target.kind, part, form, &body)?;
    Ok(Shape::Patch {
        address: target.address(name)?,
        part,
        form,
        body,
    })
}

/// Every write but a removal says who writes.
fn managed(query: &Query) -> Result<(), &'static str> {
    query.only(&["fieldManager"])?;
    query.get("fieldManager").map(drop).ok_or("a write by nobody")
}

fn accepted(headers: &HeaderMap) -> Result<(), &'static str> {
    match text(headers, &header::ACCEPT) {
        "" | JSON => Ok(()),
        _ => Err("an answer in another form is wanted"),
    }
}

fn content_type(request: &Request<Bytes>, wanted: &str) -> Result<(), &'static str> {
    let fits = text(request.headers(), &header::CONTENT_TYPE) == wanted;
    fits.then_some(()).ok_or("the content is of another type")
}

fn text<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> &'a str {
    headers.get(name).map_or("", |value| value.to_str().unwrap_or("?"))
}

fn json(request: &Request<Bytes>) -> Result<Value, &'static str> {
    serde_json::from_slice(request.body()).map_err(|_| "the body is no JSON")
}

/// The object or collection of an address.
struct Target {
    kind: Kind,
    namespace: Option<Arc<str>>,
    name: Option<Arc<str>>,
    part: String,
}

impl Target {
    fn of(path: &str, kinds: &[Resource]) -> Result<Self, &'static str> {
        let mut parts = path.strip_prefix('/').unwrap_or(path).split('/');
        let mut next = || parts.next().unwrap_or_default();
        let group = match next() {
            "api" => "",
            "apis" => next(),
            _ => return Err("no address of an object"),
        };
        let version = next();
        let (mut namespace, mut plural) = (None, next());
        if plural == "namespaces" {
            namespace = Some(Arc::from(next()));
            plural = next();
        }
        let (name, part) = (next(), next());
        let known = |kind: &Kind| (kind.group, kind.version, kind.plural) == (group, version, plural);
        let kind = kinds.iter().map(|resource| resource.kind).find(known);
        Ok(Self {
            kind: kind.ok_or("of no known kind")?,
            namespace,
            name: (!name.is_empty()).then(|| Arc::from(name)),
            part: part.to_owned(),
        })
    }

    fn address(&self, name: Arc<str>) -> Result<Address, &'static str> {
        let namespace = self.namespace.clone().ok_or("an object outside of namespaces")?;
        let key = ObjectKey::new(namespace, name);
        Ok(Address { kind: self.kind, key })
    }

    fn scope(self, query: &Query) -> Result<Scope, &'static str> {
        let selector = |name| query.get(name).unwrap_or_default();
        let selection = Selection::parse(selector("labelSelector"), selector("fieldSelector"));
        Ok(Scope {
            kind: self.kind,
            namespace: self.namespace,
            selection: selection.ok_or("another form of selector")?,
        })
    }
}

struct Query(Vec<(String, String)>);

impl Query {
    fn of(query: &str) -> Result<Self, &'static str> {
        let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decoded(name)?, decoded(value)?))
        });
        let pairs: Option<Vec<_>> = pairs.collect();
        pairs.map(Self).ok_or("the query is not encoded")
    }

    fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    fn only(&self, names: &[&str]) -> Result<(), &'static str> {
        let known = self.0.iter().all(|(name, _)| names.contains(&name.as_str()));
        known.then_some(()).ok_or("an unknown parameter")
    }
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [bytes.next()?, bytes.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            plain => plain,
        });
    }
    String::from_utf8(decoded).ok()
}
