//! The requests that a controller sends: all of them, each in the exact form in which it is sent.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, header};
use serde_json::Value;
use workload_core::id::Kind;
use workload_core::plan::Address;

use super::address::{Query, Target};
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
    /// Kubernetes' own, which merges owner references by their uids, and finalizers one by one.
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
                let options = body::delete_options(target.kind, &json(request)?)?;
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
