//! What the server sends, taken apart: lines of a watch, pages of a list, error answers.
//!
//! Every object is decoded alone. One that its kind cannot decode is still known by name, uid and version, so it neither
//! stops the stream nor hides how far the stream has come.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::cache::Identity;
use crate::client::asked_for;
use crate::id::{ObjectKey, ResourceVersion, Uid};
use crate::labels::Interner;
use crate::meta::{DecodeError, Object};

/// Annotation of the bookmark that ends the initial events of a stream.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// One line of a watch.
#[derive(Debug)]
pub(super) enum Frame<T> {
    /// An object was added or modified, or is part of the initial state.
    Present(Item<T>),
    /// An object was deleted.
    Absent(Identity),
    /// Everything up to this version was sent.
    Bookmark(ResourceVersion),
    /// The same, and with it the whole initial state.
    InitialEnd(ResourceVersion),
}

/// One page of a list.
#[derive(Debug)]
pub(super) struct Page<T> {
    /// Its objects.
    pub(super) items: Vec<Item<T>>,
    /// Version of the whole list, the same on every page.
    pub(super) version: ResourceVersion,
    /// Token of the next page, if there is one.
    pub(super) next: Option<String>,
}

/// An object of a list or a watch.
#[derive(Debug)]
pub(super) enum Item<T> {
    /// Decoded.
    Readable(T),
    /// Known only by its identity.
    Unreadable(Identity, DecodeError),
}

/// How an attempt ended.
#[derive(Debug, thiserror::Error)]
pub(super) enum Ending {
    /// The server closed the stream.
    #[error("the server closed the stream")]
    Closed,
    /// The server said no.
    #[error("{0}")]
    Refused(ServerError),
    /// The server ended the stream with an error.
    #[error("{0}")]
    Cut(ServerError),
    /// The connection failed, or what came was not intelligible.
    #[error("{0}")]
    Broken(String),
}

/// An answer of the server that is not what was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code} {reason}: {message}")]
pub(super) struct ServerError {
    /// HTTP status.
    pub(super) code: u16,
    /// Machine-readable reason, may be empty.
    pub(super) reason: String,
    /// Text for people.
    pub(super) message: String,
    /// How long the server wants to be left alone.
    pub(super) retry_after: Option<Duration>,
    /// The server does not know the version asked for yet, or no longer will.
    pub(super) version_too_large: bool,
}

impl<T: Object> Frame<T> {
    /// Takes one line apart. It ends the stream if the server says so or if it is no event at all: nothing after it could
    /// be trusted.
    pub(super) fn decode(line: &[u8], interner: &Interner) -> Result<Self, Ending> {
        let event: RawEvent<'_> = serde_json::from_slice(line).map_err(DecodeError::from)?;
        let object = event.object.get().as_bytes();
        match &*event.verb {
            "ADDED" | "MODIFIED" => Ok(Self::Present(Item::decode(object, interner)?)),
            "DELETED" => Ok(Self::Absent(identity(object, interner)?)),
            "BOOKMARK" => Ok(Self::bookmark(object)?),
            "ERROR" => Err(Ending::Cut(
                ServerError::decode(object).unwrap_or_else(|_| ServerError::bare(500)),
            )),
            _ => Err(DecodeError::Field("type").into()),
        }
    }

    fn bookmark(object: &[u8]) -> Result<Self, DecodeError> {
        let metadata = serde_json::from_slice::<RawIdentified<'_>>(object)?.metadata;
        let version = ResourceVersion::new(&*metadata.version.ok_or(DecodeError::Field("metadata.resourceVersion"))?);
        let ends =
            |annotations: BTreeMap<_, _>| annotations.get(INITIAL_EVENTS_END).is_some_and(|value| value == "true");
        Ok(if metadata.annotations.is_some_and(ends) {
            Self::InitialEnd(version)
        } else {
            Self::Bookmark(version)
        })
    }
}

impl<T: Object> Page<T> {
    /// Takes a list apart.
    pub(super) fn decode(body: &[u8], interner: &Interner) -> Result<Self, DecodeError> {
        let list: RawList<'_> = serde_json::from_slice(body)?;
        let items = list
            .items
            .unwrap_or_default()
            .into_iter()
            .map(|raw| Item::decode(raw.get().as_bytes(), interner))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            items,
            version: ResourceVersion::new(list.metadata.version),
            next: list.metadata.next.filter(|token| !token.is_empty()),
        })
    }
}

/// The version of a list, without its objects.
pub(super) fn version_of_list(body: &[u8]) -> Result<ResourceVersion, DecodeError> {
    let list: RawList<'_> = serde_json::from_slice(body)?;
    Ok(ResourceVersion::new(list.metadata.version))
}

impl<T: Object> Item<T> {
    fn decode(object: &[u8], interner: &Interner) -> Result<Self, DecodeError> {
        match T::decode(object, interner) {
            Ok(object) => Ok(Self::Readable(object)),
            Err(error) => Ok(Self::Unreadable(identity(object, interner)?, error)),
        }
    }

    /// Which object it is.
    pub(super) fn key(&self) -> &ObjectKey {
        match self {
            Self::Readable(object) => &object.meta().key,
            Self::Unreadable(identity, _) => &identity.key,
        }
    }

    /// In which version.
    pub(super) fn version(&self) -> &ResourceVersion {
        match self {
            Self::Readable(object) => &object.meta().version,
            Self::Unreadable(identity, _) => &identity.version,
        }
    }
}

fn identity(object: &[u8], interner: &Interner) -> Result<Identity, DecodeError> {
    let metadata = serde_json::from_slice::<RawIdentified<'_>>(object)?.metadata;
    let namespace = interner.string(metadata.namespace.as_deref().unwrap_or_default());
    let name = metadata.name.ok_or(DecodeError::Field("metadata.name"))?;
    let uid = metadata.uid.ok_or(DecodeError::Field("metadata.uid"))?;
    let version = metadata.version.ok_or(DecodeError::Field("metadata.resourceVersion"))?;
    Ok(Identity {
        key: ObjectKey::new(namespace, &*name),
        uid: Uid::new(&*uid),
        version: ResourceVersion::new(&*version),
        controller: metadata.owners.and_then(controller),
    })
}

/// The uid of the controller among owner references, as far as they can be read.
fn controller(owners: &RawValue) -> Option<Uid> {
    let owners: Vec<RawOwner<'_>> = serde_json::from_str(owners.get()).ok()?;
    let controller = owners.into_iter().find(|owner| owner.controller == Some(true))?;
    Some(Uid::new(&*controller.uid))
}

impl Ending {
    /// True if the server does not know streams that begin with the whole state. It says so in its answer (400, 422) or,
    /// where its storage lacks what they need, by an internal error in place of the first event.
    pub(super) fn refuses_streams(&self, silent: bool) -> bool {
        match self {
            Self::Refused(error) => matches!(error.code, 400 | 422),
            Self::Cut(error) => silent && error.code == 500,
            Self::Closed | Self::Broken(_) => false,
        }
    }

    /// True if the server cannot go on from the version asked for: it forgot it, or is not there yet.
    pub(super) fn forgets_version(&self) -> bool {
        self.error()
            .is_some_and(|error| error.code == 410 || error.version_too_large)
    }

    /// True if the same request may well succeed later.
    pub(super) fn is_transient(&self) -> bool {
        self.error().is_none_or(|error| matches!(error.code, 429 | 503 | 504))
    }

    /// How long the server wants to be left alone.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        self.error().and_then(|error| error.retry_after)
    }

    /// The server's status code.
    pub(super) fn code(&self) -> Option<u16> {
        self.error().map(|error| error.code)
    }

    fn error(&self) -> Option<&ServerError> {
        match self {
            Self::Refused(error) | Self::Cut(error) => Some(error),
            Self::Closed | Self::Broken(_) => None,
        }
    }
}

impl From<DecodeError> for Ending {
    fn from(error: DecodeError) -> Self {
        Self::Broken(error.to_string())
    }
}

impl ServerError {
    /// Reads a `Status` object.
    pub(super) fn decode(status: &[u8]) -> Result<Self, DecodeError> {
        let raw: RawStatus = serde_json::from_slice(status)?;
        let details = raw.details.unwrap_or_default();
        Ok(Self {
            code: raw.code,
            reason: raw.reason,
            message: raw.message,
            retry_after: details.retry_after_seconds.map(asked_for),
            version_too_large: details
                .causes
                .iter()
                .any(|cause| cause.reason == "ResourceVersionTooLarge"),
        })
    }

    /// An answer whose body says nothing.
    pub(super) fn bare(code: u16) -> Self {
        Self {
            code,
            reason: String::new(),
            message: "the server gave no reason".to_owned(),
            retry_after: None,
            version_too_large: false,
        }
    }
}

#[derive(Deserialize)]
struct RawEvent<'a> {
    #[serde(rename = "type", borrow)]
    verb: Cow<'a, str>,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize)]
struct RawList<'a> {
    metadata: RawListMeta,
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct RawListMeta {
    #[serde(rename = "resourceVersion")]
    version: String,
    #[serde(rename = "continue")]
    next: Option<String>,
}

#[derive(Deserialize)]
struct RawIdentified<'a> {
    #[serde(borrow)]
    metadata: RawIdentity<'a>,
}

#[derive(Deserialize)]
struct RawIdentity<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    namespace: Option<Cow<'a, str>>,
    #[serde(borrow)]
    uid: Option<Cow<'a, str>>,
    #[serde(rename = "resourceVersion", borrow)]
    version: Option<Cow<'a, str>>,
    #[serde(borrow)]
    annotations: Option<BTreeMap<Cow<'a, str>, Cow<'a, str>>>,
    #[serde(rename = "ownerReferences", borrow)]
    owners: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct RawOwner<'a> {
    #[serde(borrow)]
    uid: Cow<'a, str>,
    controller: Option<bool>,
}

#[derive(Deserialize)]
struct RawStatus {
    #[serde(default)]
    code: u16,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    message: String,
    details: Option<RawDetails>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawDetails {
    retry_after_seconds: Option<u64>,
    #[serde(default)]
    causes: Vec<RawCause>,
}

#[derive(Deserialize)]
struct RawCause {
    #[serde(default)]
    reason: String,
}
