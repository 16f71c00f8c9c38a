//! An object as the server stored it, and the questions tests ask of it.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

/// One version of one object. Cloning shares it.
#[derive(Clone, PartialEq)]
pub struct Stored(Arc<Value>);

impl From<Value> for Stored {
    fn from(value: Value) -> Self {
        Self(Arc::new(value))
    }
}

impl Stored {
    /// The whole object.
    pub fn json(&self) -> &Value {
        &self.0
    }

    /// The value at a JSON pointer; null where there is none.
    pub fn at(&self, pointer: &str) -> &Value {
        static NOTHING: Value = Value::Null;
        if pointer.contains('~') {
            return self.0.pointer(pointer).unwrap_or(&NOTHING);
        }
        // As `Value::pointer`, which copies every token for the sake of those that are escaped.
        let mut tokens = pointer.split('/').skip(1);
        let found = tokens.try_fold(&*self.0, |value, token| match value {
            Value::Array(items) => items.get(token.parse::<usize>().ok()?),
            Value::Object(fields) => fields.get(token),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        });
        found.unwrap_or(&NOTHING)
    }

    /// The text at a JSON pointer; empty where there is none.
    pub fn text(&self, pointer: &str) -> &str {
        self.at(pointer).as_str().unwrap_or_default()
    }

    /// The number at a JSON pointer; 0 where there is none, as the API's omitted counts mean.
    pub fn number(&self, pointer: &str) -> i64 {
        self.at(pointer).as_i64().unwrap_or_default()
    }

    /// `kind`.
    pub fn kind(&self) -> &str {
        self.text("/kind")
    }

    /// `metadata.name`.
    pub fn name(&self) -> &str {
        self.text("/metadata/name")
    }

    /// `metadata.uid`.
    pub fn uid(&self) -> &str {
        self.text("/metadata/uid")
    }

    /// `metadata.resourceVersion` as a number, in which all objects of one server are ordered.
    pub fn version(&self) -> u64 {
        self.text("/metadata/resourceVersion")
            .parse()
            .expect("a numeric resource version")
    }

    /// `metadata.generation`.
    pub fn generation(&self) -> i64 {
        self.number("/metadata/generation")
    }

    /// True if the status was computed from this generation of the spec.
    pub fn is_observed(&self) -> bool {
        self.number("/status/observedGeneration") >= self.generation()
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.at("/metadata/labels").get(key)?.as_str()
    }

    /// The value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.at("/metadata/annotations").get(key)?.as_str()
    }

    /// `deployment.kubernetes.io/revision`.
    pub fn revision(&self) -> Option<&str> {
        self.annotation("deployment.kubernetes.io/revision")
    }

    /// True if a deletion was asked for.
    pub fn is_terminating(&self) -> bool {
        !self.at("/metadata/deletionTimestamp").is_null()
    }

    /// The owner reference with `controller: true`.
    pub fn controller(&self) -> Option<&Value> {
        self.at("/metadata/ownerReferences")
            .as_array()?
            .iter()
            .find(|owner| owner["controller"] == true)
    }

    /// True if `owner` controls this object.
    pub fn is_controlled_by(&self, owner: &Self) -> bool {
        self.controller()
            .is_some_and(|controller| controller["uid"] == owner.uid())
    }

    /// `spec.replicas`.
    pub fn size(&self) -> i64 {
        self.number("/spec/replicas")
    }

    /// A count in `status`, such as `availableReplicas`.
    pub fn count(&self, field: &str) -> i64 {
        self.at("/status")[field].as_i64().unwrap_or_default()
    }

    /// Image of the first container, of a pod or of a pod template.
    pub fn image(&self) -> &str {
        let of_pod = self.text("/spec/containers/0/image");
        if of_pod.is_empty() {
            self.text("/spec/template/spec/containers/0/image")
        } else {
            of_pod
        }
    }

    /// A whole condition of the status.
    pub fn condition(&self, kind: &str) -> Option<&Value> {
        self.at("/status/conditions")
            .as_array()?
            .iter()
            .find(|condition| condition["type"] == kind)
    }

    /// A condition's status and reason in short: `True MinimumReplicasAvailable`; empty without the condition.
    pub fn says(&self, condition: &str) -> String {
        self.condition(condition).map_or_else(String::new, |found| {
            let (status, reason) = (found["status"].as_str(), found["reason"].as_str());
            format!("{} {}", status.unwrap_or_default(), reason.unwrap_or_default())
                .trim_end()
                .to_owned()
        })
    }

    /// True for a pod whose containers have ended for good.
    pub fn has_ended(&self) -> bool {
        matches!(self.text("/status/phase"), "Succeeded" | "Failed")
    }

    /// True for a pod that is neither finished nor about to be deleted.
    pub fn is_active(&self) -> bool {
        !self.is_terminating() && !self.has_ended()
    }

    /// Type and reason of the true conditions of the status, in order: `Complete CompletionsReached`.
    pub fn true_conditions(&self) -> Vec<String> {
        let conditions = self.at("/status/conditions").as_array().into_iter().flatten();
        let word = |condition: &Value, field: &str| condition[field].as_str().unwrap_or_default().to_owned();
        conditions
            .filter(|condition| condition["status"] == "True")
            .map(|condition| format!("{} {}", word(condition, "type"), word(condition, "reason")))
            .collect()
    }

    /// True if it has this finalizer.
    pub fn has_finalizer(&self, name: &str) -> bool {
        let finalizers = self.at("/metadata/finalizers").as_array();
        finalizers.is_some_and(|all| all.iter().any(|finalizer| finalizer == name))
    }

    /// True for a pod that reports itself ready.
    pub fn is_ready(&self) -> bool {
        self.condition("Ready").is_some_and(|ready| ready["status"] == "True")
    }

    /// True for a Deployment whose rollout is over by the rules of `kubectl rollout status` (deployment K-1).
    pub fn is_rolled_out(&self) -> bool {
        let size = self.size();
        self.is_observed()
            && ["replicas", "updatedReplicas", "availableReplicas"]
                .iter()
                .all(|field| self.count(field) == size)
    }
}

impl fmt::Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind(), self.name())
    }
}

impl fmt::Display for Stored {
    /// One line for people who look for the reason of a failure.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind(), self.name())?;
        if self.is_terminating() {
            write!(f, " terminating")?;
        }
        match self.kind() {
            "Pod" => {
                let ready = if self.is_ready() { "ready" } else { "not ready" };
                write!(
                    f,
                    " {} {ready} on {:?}",
                    self.text("/status/phase"),
                    self.text("/spec/nodeName")
                )
            }
            "Event" => write!(
                f,
                " {} {} x{} on {}: {}",
                self.text("/type"),
                self.text("/reason"),
                self.number("/count"),
                self.text("/involvedObject/name"),
                self.text("/message")
            ),
            _ => {
                write!(
                    f,
                    " generation {} size {} revision {:?}",
                    self.generation(),
                    self.size(),
                    self.revision()
                )?;
                write!(f, " status {}", self.at("/status"))
            }
        }
    }
}
