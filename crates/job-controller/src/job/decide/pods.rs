//! What a new pod contains (J-65, J-71, J-72, J-122). Follows upstream's `manageJob` and `addCompletionIndexEnvVariables`.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use workload_core::id::Kind;
use workload_core::labels::{Interner, Labels};
use workload_core::meta::DecodeError;
use workload_core::owner::OwnerReference;
use workload_core::plan::{Create, NewName, NewObject, Note};
use workload_core::template::Json;

use crate::job::pod::Predecessors;
use crate::job::spec::Job;
use crate::job::words;

/// Longest base of a name; the server cuts a longer one here too.
const LONGEST_BASE: usize = 58;

/// Makes the pods of one Job: its template, read once.
#[derive(Debug)]
pub(super) struct Mould<'a> {
    job: &'a Job,
    labels: Labels,
    annotations: Labels,
    finalizers: Vec<Arc<str>>,
    spec: Value,
}

/// What a pod of indexed work says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seat {
    /// Its index.
    pub(super) index: u32,
    /// How often the index has failed before; nothing where indexes have no limits of their own.
    pub(super) predecessors: Option<Predecessors>,
}

/// Why no pod can be made.
#[derive(Debug)]
pub(super) enum Unfit {
    /// The server would not find it again.
    NoLabels,
    /// It cannot be read.
    Template(DecodeError),
}

impl<'a> Mould<'a> {
    pub(super) fn of(job: &'a Job) -> Result<Self, Unfit> {
        let text = job.spec.template.as_deref().unwrap_or_default();
        let mut json: Value = serde_json::from_str(text).map_err(|error| Unfit::Template(error.into()))?;
        let spec = json.get_mut("spec").map_or_else(|| json!({}), Value::take);
        let template = workload_core::template::Template::of(&json, &Interner::default()).map_err(Unfit::Template)?;
        if template.labels().is_empty() {
            return Err(Unfit::NoLabels);
        }
        let mut finalizers = template.finalizers().to_vec();
        if !finalizers.iter().any(|finalizer| **finalizer == *words::TRACKING) {
            finalizers.push(words::TRACKING.into());
        }
        let mut mould = Self {
            job,
            labels: template.labels().clone(),
            annotations: template.annotations().clone(),
            finalizers,
            spec,
        };
        if job.spec.indexed().is_some() {
            mould.tell_containers_their_index();
        }
        Ok(mould)
    }

    /// A pod of work without indexes, as many times as wanted.
    pub(super) fn plain(&self, count: usize) -> Vec<Create> {
        let pod = Arc::new(self.pod(self.labels.clone(), self.annotations.clone(), &self.spec));
        vec![self.create(&format!("{}-", self.job.meta.key.name), pod); count]
    }

    /// A pod of indexed work.
    pub(super) fn seated(&self, seat: Seat) -> Create {
        let index = seat.index.to_string();
        let mut annotations = self.annotations.with(words::COMPLETION_INDEX, &index);
        if let Some(Predecessors { failed, ignored }) = seat.predecessors {
            annotations = annotations.with(words::INDEX_FAILURES, &failed.to_string());
            if ignored > 0 {
                annotations = annotations.with(words::INDEX_IGNORED, &ignored.to_string());
            }
        }
        let labels = self.labels.with(words::COMPLETION_INDEX, &index);
        let name = &self.job.meta.key.name;
        let mut spec = self.spec.clone();
        if let Some(fields) = spec.as_object_mut() {
            fields.insert("hostname".to_owned(), format!("{name}-{index}").into());
        }
        self.create(&base(name, &index), Arc::new(self.pod(labels, annotations, &spec)))
    }

    fn create(&self, base: &str, object: Arc<NewObject>) -> Create {
        Create {
            kind: Kind::POD,
            namespace: Arc::clone(&self.job.meta.key.namespace),
            name: NewName::Random(base.into()),
            object,
            note: Some(Note::normal(words::SUCCESSFUL_CREATE, "Created pod: {name}")),
        }
    }

    fn pod(&self, labels: Labels, annotations: Labels, spec: &Value) -> NewObject {
        let Self { job, finalizers, .. } = self;
        NewObject {
            labels,
            annotations,
            finalizers: finalizers.clone(),
            owner: Some(OwnerReference::controller(Kind::JOB, &job.meta.key.name, &job.meta.uid)),
            fields: vec![("spec", Json::of(spec))],
        }
    }

    fn tell_containers_their_index(&mut self) {
        for field in ["initContainers", "containers"] {
            let containers = self.spec.get_mut(field).and_then(Value::as_array_mut);
            for container in containers.into_iter().flatten().filter_map(Value::as_object_mut) {
                tell_index(container);
            }
        }
    }
}

/// A variable that the user has set stays.
fn tell_index(container: &mut Map<String, Value>) {
    let variables = container.entry("env").or_insert(Value::Null);
    if !variables.is_array() {
        *variables = json!([]);
    }
    let Some(variables) = variables.as_array_mut() else {
        return;
    };
    if variables
        .iter()
        .any(|variable| variable.get("name").is_some_and(|name| *name == *words::INDEX_VARIABLE))
    {
        return;
    }
    let path = format!("metadata.labels['{}']", words::COMPLETION_INDEX);
    variables.push(json!({"name": words::INDEX_VARIABLE, "valueFrom": {"fieldRef": {"fieldPath": path}}}));
}

/// The Job's name, cut so that the index stays whole (J-71).
fn base(name: &str, index: &str) -> String {
    let room = LONGEST_BASE.saturating_sub(index.len() + 2);
    let kept: String = name.chars().take(room).collect();
    format!("{kept}-{index}-")
}
