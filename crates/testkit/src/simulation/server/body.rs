//! What stands in the bodies of a controller's requests, and nothing else.

use serde_json::{Map, Value, json};
use workload_core::id::Kind;

use super::shape::{Form, Part};
use crate::api::{EVENT, LEASE};

/// Under which conditions something is deleted, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// Only if this is its uid.
    pub uid: Option<String>,
    /// Only in this version.
    pub version: Option<String>,
    /// Seconds that a pod may take to end.
    pub grace: Option<i64>,
    /// What becomes of dependents; none for the default of the kind.
    pub propagation: Option<Propagation>,
}

/// What becomes of the dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// They go after it.
    Background,
    /// They go before it.
    Foreground,
    /// They stay.
    Orphan,
}

impl Propagation {
    fn named(name: &str) -> Option<Self> {
        [Self::Background, Self::Foreground, Self::Orphan]
            .into_iter()
            .find(|policy| policy.as_str() == name)
    }

    /// As options say it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Background => "Background",
            Self::Foreground => "Foreground",
            Self::Orphan => "Orphan",
        }
    }
}

impl DeleteOptions {
    /// Without conditions, at once.
    pub fn now() -> Self {
        Self {
            grace: Some(0),
            ..Self::default()
        }
    }

    /// Without conditions, with this policy.
    pub fn with(propagation: Propagation) -> Self {
        Self {
            propagation: Some(propagation),
            ..Self::default()
        }
    }

    /// The body of a request.
    pub fn json(&self) -> Value {
        let mut options = json!({"apiVersion": "v1", "kind": "DeleteOptions"});
        for (field, value) in [("uid", &self.uid), ("resourceVersion", &self.version)] {
            if let Some(value) = value {
                options["preconditions"][field] = value.as_str().into();
            }
        }
        if let Some(grace) = self.grace {
            options["gracePeriodSeconds"] = grace.into();
        }
        if let Some(propagation) = self.propagation {
            options["propagationPolicy"] = propagation.as_str().into();
        }
        options
    }

    /// Options as a request has them; `None` if there is more in them than a scenario uses.
    pub fn parse(options: &Value) -> Option<Self> {
        if options.is_null() {
            return Some(Self::default());
        }
        let known = [
            "apiVersion",
            "kind",
            "preconditions",
            "gracePeriodSeconds",
            "propagationPolicy",
        ];
        has_only(options, &known).ok()?;
        let demand = |field: &str| Some(options["preconditions"][field].as_str()?.to_owned());
        let propagation = match options["propagationPolicy"].as_str() {
            Some(name) => Some(Propagation::named(name)?),
            None => None,
        };
        Some(Self {
            uid: demand("uid"),
            version: demand("resourceVersion"),
            grace: options["gracePeriodSeconds"].as_i64(),
            propagation,
        })
    }
}

type Fits = Result<(), &'static str>;

fn fields(object: &Value) -> Result<&Map<String, Value>, &'static str> {
    object.as_object().ok_or("the body is no object")
}

fn has_only(object: &Value, names: &[&str]) -> Fits {
    let known = fields(object)?.keys().all(|name| names.contains(&name.as_str()));
    known.then_some(()).ok_or("an unknown field")
}

fn is(object: &Value, api_version: &str, kind: &str) -> Fits {
    let fits = object["apiVersion"] == api_version && object["kind"] == kind;
    fits.then_some(()).ok_or("the body is of another kind")
}

/// A new object: its kind, metadata as a writer gives them, no status.
pub(super) fn new_object(kind: Kind, namespace: &str, object: &Value) -> Fits {
    is(object, &kind.api_version(), kind.kind)?;
    let metadata = &object["metadata"];
    let written = [
        "name",
        "generateName",
        "namespace",
        "labels",
        "annotations",
        "finalizers",
        "ownerReferences",
    ];
    has_only(metadata, &written)?;
    if metadata["name"].as_str().is_none_or(str::is_empty) {
        return Err("a create without a name cannot be repeated");
    }
    if metadata.get("namespace").is_some_and(|given| given != namespace) {
        return Err("a create in another namespace");
    }
    if fields(object)?.contains_key("status") {
        return Err("a create with a status");
    }
    Ok(())
}

/// A patch: each form is used for one purpose, and writes that decide something say what they have seen.
pub(super) fn patch(kind: Kind, part: Part, form: Form, body: &Value) -> Fits {
    if kind == EVENT {
        let repeats = part == Part::Main && form == Form::Merge;
        repeats.then_some(()).ok_or("another patch of an event")?;
        return has_only(body, &["count", "lastTimestamp", "message"]);
    }
    let metadata = &body["metadata"];
    let guarded = |by: &str| metadata[by].is_string();
    match (part, form) {
        (Part::Main, Form::Strategic) => {
            has_only(body, &["metadata"])?;
            claim(kind, metadata)?;
            guarded("uid").then_some(()).ok_or("a claim on anybody")
        }
        (Part::Main, Form::Merge) if kind == LEASE => {
            has_only(body, &["metadata", "spec"])?;
            has_only(metadata, &["resourceVersion"])?;
            guarded("resourceVersion")
                .then_some(())
                .ok_or("a lease is taken blindly")
        }
        (Part::Main, Form::Merge) => {
            has_only(body, &["metadata", "spec"])?;
            both(metadata)
        }
        (Part::Status, Form::Merge) => {
            has_only(body, &["metadata", "status"])?;
            both(metadata)
        }
        (Part::Status, Form::Strategic) => Err("a status is written by merge patches"),
    }
}

/// One owner comes or goes, one finalizer of a pod does, or both (job J-21, J-22, J-43).
fn claim(kind: Kind, metadata: &Value) -> Fits {
    let finalizers = ["finalizers", "$deleteFromPrimitiveList/finalizers"];
    let known = [
        "uid",
        "resourceVersion",
        "ownerReferences",
        finalizers[0],
        finalizers[1],
    ];
    has_only(metadata, &known)?;
    let lists = ["ownerReferences", finalizers[0], finalizers[1]];
    let given: Vec<&Value> = lists.iter().filter_map(|list| metadata.get(list)).collect();
    let of_one = given
        .iter()
        .all(|list| list.as_array().is_some_and(|items| items.len() == 1));
    let of_pods = kind == Kind::POD || finalizers.iter().all(|list| metadata.get(list).is_none());
    let says_something = metadata.get("ownerReferences").is_some() || metadata.get(finalizers[1]).is_some();
    (of_one && of_pods && says_something)
        .then_some(())
        .ok_or("another claim")
}

/// uid and version are given, and beside them nothing but labels and annotations is changed.
fn both(metadata: &Value) -> Fits {
    has_only(
        metadata,
        &["uid", "resourceVersion", "labels", "annotations", "finalizers"],
    )?;
    let guarded = metadata["uid"].is_string() && metadata["resourceVersion"].is_string();
    guarded.then_some(()).ok_or("a write without preconditions")
}

/// Options of a delete: nothing but what must still hold, the uid among it; of a Job also that its pods go first (job TTL-5).
pub(super) fn delete_options(kind: Kind, options: &Value) -> Result<DeleteOptions, &'static str> {
    is(options, "v1", "DeleteOptions")?;
    let known = ["apiVersion", "kind", "preconditions", "propagationPolicy"];
    has_only(options, if kind == Kind::JOB { &known } else { &known[..3] })?;
    if kind == Kind::JOB && options["propagationPolicy"] != "Foreground" {
        return Err("the deletion of a Job before its pods");
    }
    has_only(&options["preconditions"], &["uid", "resourceVersion"])?;
    let options = DeleteOptions::parse(options).ok_or("other options")?;
    options.uid.is_some().then_some(options).ok_or("a delete by name alone")
}

/// An eviction of the pod `name`.
pub(super) fn eviction(name: &str, eviction: &Value) -> Result<DeleteOptions, &'static str> {
    is(eviction, "policy/v1", "Eviction")?;
    has_only(eviction, &["apiVersion", "kind", "metadata", "deleteOptions"])?;
    has_only(&eviction["metadata"], &["name"])?;
    if eviction["metadata"]["name"] != name {
        return Err("an eviction of another pod");
    }
    delete_options(Kind::POD, &eviction["deleteOptions"])
}
