//! Addresses of requests, taken apart.

use std::sync::Arc;

use workload_core::id::{Kind, ObjectKey};
use workload_core::plan::Address;

use super::kinds::Resource;
use super::selection::Selection;
use super::shape::Scope;

/// The object or collection of an address.
pub(super) struct Target {
    pub(super) kind: Kind,
    pub(super) namespace: Option<Arc<str>>,
    pub(super) name: Option<Arc<str>>,
    pub(super) part: String,
}

impl Target {
    pub(super) fn of(path: &str, kinds: &[Resource]) -> Result<Self, &'static str> {
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

    pub(super) fn address(&self, name: Arc<str>) -> Result<Address, &'static str> {
        let namespace = self.namespace.clone().ok_or("an object outside of namespaces")?;
        let key = ObjectKey::new(namespace, name);
        Ok(Address { kind: self.kind, key })
    }

    pub(super) fn scope(self, query: &Query) -> Result<Scope, &'static str> {
        let selector = |name| query.get(name).unwrap_or_default();
        let selection = Selection::parse(selector("labelSelector"), selector("fieldSelector"));
        Ok(Scope {
            kind: self.kind,
            namespace: self.namespace,
            selection: selection.ok_or("another form of selector")?,
        })
    }
}

/// The parameters of a request.
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    pub(super) fn of(query: &str) -> Result<Self, &'static str> {
        let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decoded(name)?, decoded(value)?))
        });
        let pairs: Option<Vec<_>> = pairs.collect();
        pairs.map(Self).ok_or("the query is not encoded")
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(super) fn only(&self, names: &[&str]) -> Result<(), &'static str> {
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
