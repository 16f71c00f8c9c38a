//! The rules of deletions.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use workload_core::id::Kind;
use workload_core::plan::Address;
use workload_core::time::{Timestamp, plus, to_api};

use super::ApiServer;
use super::body::{DeleteOptions, Propagation};
use super::create::is_empty;
use super::kinds::Resource;
use super::status::Status;
use super::store::{Entry, Key};

/// Finalizers by which the garbage collector is asked to do something first.
pub(super) const ORPHAN: &str = "orphan";
pub(super) const FOREGROUND: &str = "foregroundDeletion";

/// How a deletion is answered.
#[derive(Debug)]
pub(super) enum Deleted {
    /// With the object.
    Shown(Arc<Entry>),
    /// With its name and uid.
    Told(Arc<Entry>),
}

/// What a pod's grace period comes to.
enum Grace {
    /// It ends by then.
    Until { deletion: Value, seconds: i64 },
    /// It is about to end anyway, no later.
    Pending,
}

impl ApiServer {
    pub(super) fn delete_object(
        &mut self,
        address: &Address,
        options: &DeleteOptions,
        now: Timestamp,
    ) -> Result<Deleted, Status> {
        let resource = self.kinds.of(address.kind);
        let before = Arc::clone(self.stored(address)?);
        preconditions(&resource, &before, options)?;
        self.admitted(&resource, &address.key.name)?;
        let mut object = before.object.json().clone();
        let seconds = if resource.kind == Kind::POD {
            match grace(&object, options, now) {
                Grace::Pending => return Ok(Deleted::Shown(before)),
                Grace::Until { deletion, seconds } => {
                    mark(&mut object, deletion, seconds);
                    seconds
                }
            }
        } else {
            0
        };
        set_finalizers(resource.kind, &mut object, options);
        let waits = !is_empty(&object["metadata"]["finalizers"]);
        if waits && resource.kind != Kind::POD {
            let since = object["metadata"]["deletionTimestamp"].clone();
            let deletion = if since.is_null() { to_api(now).into() } else { since };
            mark(&mut object, deletion, 0);
        }
        let key = Key::of(&address.key);
        if object != *before.object.json() {
            let stored = self.store.put(resource.kind, &key, object, now);
            if waits || seconds > 0 {
                return Ok(Deleted::Shown(stored));
            }
        } else if waits {
            return Ok(Deleted::Shown(before));
        }
        let last = self.store.remove(resource.kind, &key, now).unwrap_or(before);
        Ok(if resource.kind == Kind::POD {
            Deleted::Shown(last)
        } else {
            Deleted::Told(last)
        })
    }
}

/// Checks what must still hold.
pub(super) fn preconditions(resource: &Resource, entry: &Entry, options: &DeleteOptions) -> Result<(), Status> {
    let object = &entry.object;
    let conflict = |why: &str| Err(Status::conflict(resource, resource.kind.kind, object.name(), why));
    if let Some(uid) = options.uid.as_deref().filter(|uid| *uid != object.uid()) {
        return conflict(&format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been deleted \
             and then recreated",
            object.uid()
        ));
    }
    let stored = object.text("/metadata/resourceVersion");
    if let Some(version) = options.version.as_deref().filter(|version| *version != stored) {
        return conflict(&format!(
            "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({stored}). \
             The object might have been modified"
        ));
    }
    Ok(())
}

/// The first deletion counts as a change of what is wanted.
fn mark(object: &mut Value, deletion: Value, seconds: i64) {
    let metadata = &mut object["metadata"];
    if let (true, Some(generation)) = (metadata["deletionTimestamp"].is_null(), metadata["generation"].as_i64()) {
        metadata["generation"] = (generation + 1).into();
    }
    metadata["deletionTimestamp"] = deletion;
    metadata["deletionGracePeriodSeconds"] = seconds.into();
}

/// A bound pod gets time to end; one that is already ending can only be given less.
fn grace(pod: &Value, options: &DeleteOptions, now: Timestamp) -> Grace {
    let metadata = &pod["metadata"];
    let wanted = options.grace.map(|seconds| if seconds < 0 { 1 } else { seconds });
    if let Some(until) = metadata["deletionTimestamp"].as_str() {
        let given = metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or_default();
        return match wanted {
            _ if given == 0 => Grace::Until {
                deletion: until.into(),
                seconds: 0,
            },
            Some(seconds) if seconds < given => shortened(until, given, seconds, now),
            Some(_) | None => Grace::Pending,
        };
    }
    let ended = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    let bound = pod["spec"]["nodeName"].as_str().is_some_and(|node| !node.is_empty());
    let seconds = if ended || !bound {
        0
    } else {
        let own = pod["spec"]["terminationGracePeriodSeconds"].as_i64();
        wanted.or(own).unwrap_or_default()
    };
    let deletion = to_api(plus(now, time(seconds))).into();
    Grace::Until { deletion, seconds }
}

/// Less time from the first deletion on. What has passed already leaves the kubelet one second, unless it is to have none.
fn shortened(until: &str, given: i64, seconds: i64, now: Timestamp) -> Grace {
    let until: Timestamp = until.parse().expect("a time");
    let since = until.checked_sub(time(given)).unwrap_or(until);
    let end = plus(since, time(seconds));
    if end < now {
        return Grace::Until {
            deletion: to_api(now).into(),
            seconds: seconds.min(1),
        };
    }
    let deletion = to_api(end).into();
    Grace::Until { deletion, seconds }
}

fn time(seconds: i64) -> Duration {
    Duration::from_secs(seconds.unsigned_abs())
}

/// Finalizers that say what is to become of dependents: as asked for, else as they are. Those of a Job stay unless somebody says
/// otherwise (job J-170).
fn set_finalizers(kind: Kind, object: &mut Value, options: &DeleteOptions) {
    let stored = object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    let has = |name: &str| stored.iter().any(|finalizer| finalizer == name);
    let (orphan, foreground) = match options.propagation {
        Some(policy) => (policy == Propagation::Orphan, policy == Propagation::Foreground),
        None => (has(ORPHAN) || (kind == Kind::JOB && !has(FOREGROUND)), has(FOREGROUND)),
    };
    let wanted = [(orphan, ORPHAN), (foreground, FOREGROUND)];
    if wanted.iter().all(|(wanted, name)| *wanted == has(name)) {
        return;
    }
    let mut finalizers = stored.clone();
    finalizers.retain(|finalizer| finalizer != ORPHAN && finalizer != FOREGROUND);
    finalizers.extend(wanted.iter().filter(|(wanted, _)| *wanted).map(|(_, name)| json!(name)));
    if finalizers.is_empty() {
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("finalizers");
        }
    } else {
        object["metadata"]["finalizers"] = finalizers.into();
    }
}
