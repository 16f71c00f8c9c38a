//! Refusals by what guards a cluster: quotas, webhooks, the end of a namespace.

use bytes::Bytes;
use http::Request;
use serde_json::json;
use workload_core::id::Kind;

use super::ApiServer;
use super::kinds::Resource;
use super::status::Status;
use crate::object::Stored;
use crate::proxy::{Asked, Which};

/// A refusal that a scenario asks for.
#[derive(Clone, Debug)]
pub enum Refusal {
    /// An admission webhook is against it.
    Webhook {
        /// Name of the webhook.
        name: String,
        /// What it says.
        words: String,
    },
    /// A quota is used up, whatever there is.
    Quota(Quota),
    /// Any other answer.
    Status(Status),
}

/// A limit to the number of objects of a kind in a namespace. Pods that have ended do not count.
#[derive(Clone, Debug)]
pub struct Quota {
    /// Name of the ResourceQuota.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Objects of this kind.
    pub kind: Kind,
    /// The most that there may be.
    pub hard: usize,
}

/// What a scenario has asked for.
#[derive(Debug, Default)]
pub(super) struct Script {
    rules: Vec<(Which, usize, Refusal)>,
    quotas: Vec<Quota>,
    /// The refusal that strikes the request at hand.
    due: Option<Refusal>,
}

impl Script {
    /// A request of a controller begins.
    pub(super) fn expect(&mut self, request: &Request<Bytes>) {
        if self.rules.is_empty() {
            return;
        }
        let asked = Asked::of(request.method(), request.uri());
        let mut due = self
            .rules
            .iter_mut()
            .filter(|(which, left, _)| *left > 0 && which.fits(&asked));
        self.due = due.next().map(|(_, left, refusal)| {
            *left -= 1;
            refusal.clone()
        });
    }

    /// It is over.
    pub(super) fn done(&mut self) {
        self.due = None;
    }
}

impl ApiServer {
    /// From now on so many of these writes of controllers are refused like that. The direct hand is never refused.
    pub fn refuse(&mut self, which: Which, times: usize, refusal: Refusal) {
        self.script.rules.push((which, times, refusal));
    }

    /// Takes back all that was asked for by [`ApiServer::refuse`].
    pub fn refuse_no_more(&mut self) {
        self.script.rules.clear();
    }

    /// Sets a quota, in place of one of the same name and namespace.
    pub fn set_quota(&mut self, quota: Quota) {
        self.remove_quota(&quota.namespace, &quota.name);
        self.script.quotas.push(quota);
    }

    /// Removes a quota.
    pub fn remove_quota(&mut self, namespace: &str, name: &str) {
        let is_it = |quota: &Quota| quota.namespace == namespace && quota.name == name;
        self.script.quotas.retain(|quota| !is_it(quota));
    }

    /// A namespace that is being deleted takes nothing new.
    pub(super) fn namespace_allows(&self, resource: &Resource, namespace: &str, name: &str) -> Result<(), Status> {
        if !self.ending.contains(namespace) {
            return Ok(());
        }
        let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
        let cause = json!({
            "reason": "NamespaceTerminating", "field": "metadata.namespace",
            "message": format!("namespace {namespace} is being terminated"),
        });
        Err(Status::forbidden(resource, name, &why).caused_by(vec![cause]))
    }

    /// What a scenario refuses is refused where an admission webhook would do so.
    pub(super) fn admitted(&self, resource: &Resource, name: &str) -> Result<(), Status> {
        match &self.script.due {
            None => Ok(()),
            Some(Refusal::Status(status)) => Err(status.clone()),
            Some(Refusal::Webhook { name, words }) => {
                let message = format!("admission webhook {name:?} denied the request: {words}");
                Err(Status::new(403, "Forbidden", message))
            }
            Some(Refusal::Quota(quota)) => Err(exceeded(resource, name, quota, quota.hard)),
        }
    }

    /// Quotas leave room for one more.
    pub(super) fn quotas_allow(&self, resource: &Resource, namespace: &str, name: &str) -> Result<(), Status> {
        let about = |quota: &&Quota| quota.kind == resource.kind && quota.namespace == namespace;
        for quota in self.script.quotas.iter().filter(about) {
            let counts = |object: &Stored| !matches!(object.text("/status/phase"), "Succeeded" | "Failed");
            let mine = self
                .store
                .all(resource.kind)
                .filter(|(key, _)| key.namespace() == namespace);
            let used = mine.filter(|(_, entry)| counts(&entry.object)).count();
            if used >= quota.hard {
                return Err(exceeded(resource, name, quota, used));
            }
        }
        Ok(())
    }
}

fn exceeded(resource: &Resource, name: &str, quota: &Quota, used: usize) -> Status {
    let what = if resource.kind == Kind::POD {
        "pods".to_owned()
    } else {
        format!("count/{}", resource.plural())
    };
    let why = format!(
        "exceeded quota: {}, requested: {what}=1, used: {what}={used}, limited: {what}={}",
        quota.name, quota.hard
    );
    Status::forbidden(resource, name, &why)
}
