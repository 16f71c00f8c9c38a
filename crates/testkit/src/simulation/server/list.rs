//! Lists, page by page.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::json;

use super::ApiServer;
use super::shape::Scope;
use super::status::Status;
use super::store::{Entry, Key};

/// What a token says: the version of the list, and the last object of the page before.
const SEPARATOR: char = ':';

impl Scope {
    /// True for what it is about.
    pub(super) fn covers(&self, key: &Key, entry: &Entry) -> bool {
        let inside = self
            .namespace
            .as_deref()
            .is_none_or(|namespace| namespace == key.namespace());
        inside && self.selection.matches(&entry.object)
    }
}

impl ApiServer {
    /// One page of a list. All pages of one list show the same version.
    pub(super) fn page(&self, scope: &Scope, limit: usize, token: Option<&str>) -> Result<Bytes, Status> {
        let (version, after) = match token {
            None => (self.store.version(), None),
            Some(token) => {
                let (version, last) = self.continued(token)?;
                (version, Some(last))
            }
        };
        let all = self.snapshot(scope, version);
        let fits = |(key, _): &(&Key, &Arc<Entry>)| after.as_ref().is_none_or(|last| key.as_str() > last.as_str());
        let mut rest = all.iter().filter(fits);
        let limit = if limit == 0 { usize::MAX } else { limit };
        let page: Vec<_> = rest.by_ref().take(limit).collect();
        let left = rest.count();
        let mut metadata = json!({"resourceVersion": version.to_string()});
        if let (true, Some((last, _))) = (left > 0, page.last()) {
            metadata["continue"] = format!("{version}{SEPARATOR}{}", last.as_str()).into();
            if scope.selection.is_everything() {
                metadata["remainingItemCount"] = left.into();
            }
        }
        Ok(self.written(scope, &metadata.to_string(), page.into_iter().map(|(_, entry)| entry)))
    }

    fn continued(&self, token: &str) -> Result<(u64, String), Status> {
        let parsed = token.split_once(SEPARATOR);
        let parsed = parsed.and_then(|(version, last)| Some((version.parse().ok()?, last.to_owned())));
        let (version, last): (u64, String) = parsed.ok_or_else(|| Status::bad_request("continue key is not valid"))?;
        if version < self.store.forgotten() {
            return Err(Status::expired(
                "The provided continue parameter is too old to display a consistent list result. You can start a new list \
                 without the continue parameter, or use the continue token in this response to retrieve the remainder of the \
                 results. Continuing with the provided token results in an inconsistent list - objects that were created, \
                 modified, or deleted between the time the first chunk was returned and now may show up in the list.",
            ));
        }
        Ok((version, last))
    }

    /// All that `scope` covered at `version`.
    pub(super) fn snapshot(&self, scope: &Scope, version: u64) -> BTreeMap<Key, Arc<Entry>> {
        if version >= self.store.version() {
            let present = self.store.all(scope.kind);
            let covered = present.filter(|(key, entry)| scope.covers(key, entry));
            return covered.map(|(key, entry)| (key.clone(), Arc::clone(entry))).collect();
        }
        let mut all = self.store.all_at(scope.kind, version);
        all.retain(|key, entry| scope.covers(key, entry));
        all
    }

    fn written<'a>(&self, scope: &Scope, metadata: &str, entries: impl Iterator<Item = &'a Arc<Entry>>) -> Bytes {
        let resource = self.kinds.of(scope.kind);
        let (kind, api_version) = (scope.kind.kind, scope.kind.api_version());
        let mut json = format!(r#"{{"kind":"{kind}List","apiVersion":"{api_version}","metadata":{metadata},"items":["#)
            .into_bytes();
        for (number, entry) in entries.enumerate() {
            if number > 0 {
                json.push(b',');
            }
            entry.write_item(&resource, &mut json);
        }
        json.extend(b"]}\n");
        json.into()
    }
}
