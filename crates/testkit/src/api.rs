//! Requests to an API server in JSON: what a test writes down is what the server gets.

use std::fmt;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::BodyExt as _;
use kube::api::WatchEvent;
use kube::client::Body;
use serde_json::{Value, json};
use workload_core::id::Kind;

/// core/v1 Event.
pub const EVENT: Kind = core("Event", "events");
/// core/v1 Namespace; not in a namespace itself.
pub const NAMESPACE: Kind = core("Namespace", "namespaces");
/// core/v1 ServiceAccount.
pub const SERVICE_ACCOUNT: Kind = core("ServiceAccount", "serviceaccounts");
/// core/v1 Node; not in a namespace.
pub const NODE: Kind = core("Node", "nodes");
/// core/v1 ConfigMap.
pub const CONFIG_MAP: Kind = core("ConfigMap", "configmaps");
/// core/v1 Service.
pub const SERVICE: Kind = core("Service", "services");
/// core/v1 ResourceQuota.
pub const RESOURCE_QUOTA: Kind = core("ResourceQuota", "resourcequotas");
/// coordination.k8s.io/v1 Lease.
pub const LEASE: Kind = Kind {
    group: "coordination.k8s.io",
    version: "v1",
    kind: "Lease",
    plural: "leases",
};
/// rbac.authorization.k8s.io/v1 Role.
pub const ROLE: Kind = rbac("Role", "roles");
/// rbac.authorization.k8s.io/v1 RoleBinding.
pub const ROLE_BINDING: Kind = rbac("RoleBinding", "rolebindings");
/// rbac.authorization.k8s.io/v1 ClusterRole; not in a namespace.
pub const CLUSTER_ROLE: Kind = rbac("ClusterRole", "clusterroles");
/// authorization.k8s.io/v1 LocalSubjectAccessReview; is answered and not stored.
pub const ACCESS_REVIEW: Kind = Kind {
    group: "authorization.k8s.io",
    version: "v1",
    kind: "LocalSubjectAccessReview",
    plural: "localsubjectaccessreviews",
};
/// node.k8s.io/v1 RuntimeClass; not in a namespace.
pub const RUNTIME_CLASS: Kind = Kind {
    group: "node.k8s.io",
    version: "v1",
    kind: "RuntimeClass",
    plural: "runtimeclasses",
};
/// policy/v1 PodDisruptionBudget.
pub const POD_DISRUPTION_BUDGET: Kind = Kind {
    group: "policy",
    version: "v1",
    kind: "PodDisruptionBudget",
    plural: "poddisruptionbudgets",
};
const fn rbac(kind: &'static str, plural: &'static str) -> Kind {
    Kind {
        group: "rbac.authorization.k8s.io",
        version: "v1",
        kind,
        plural,
    }
}

const fn core(kind: &'static str, plural: &'static str) -> Kind {
    Kind {
        group: "",
        version: "v1",
        kind,
        plural,
    }
}

/// Who a test is in `metadata.managedFields`.
const FIELD_MANAGER: &str = "test";

/// The server's refusal of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    /// HTTP status; 0 if there was no answer.
    pub code: u16,
    /// Machine-readable reason such as `AlreadyExists`.
    pub reason: String,
    /// Text for people.
    pub message: String,
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.code, self.reason, self.message)
    }
}

impl From<kube::Error> for ApiError {
    fn from(error: kube::Error) -> Self {
        if let kube::Error::Api(status) = error {
            return Self {
                code: status.code,
                reason: status.reason.clone(),
                message: status.message.clone(),
            };
        }
        Self {
            code: 0,
            reason: String::new(),
            message: format!("{error:?}"),
        }
    }
}

/// The answer to a request.
pub type Answer = Result<Value, ApiError>;

/// The two patch formats that tests send.
#[derive(Clone, Copy, Debug)]
pub enum PatchType {
    /// RFC 7396.
    Merge,
    /// Kubernetes' own, which merges lists by their keys.
    Strategic,
}

/// Access to one namespace of a server, or to what lies in none.
///
/// A `name` may carry a subresource: `web/status`, `web/scale`.
#[derive(Clone)]
pub struct Api {
    client: kube::Client,
    namespace: Option<String>,
}

impl Api {
    /// Access to objects that lie in no namespace.
    pub fn cluster(client: kube::Client) -> Self {
        Self {
            client,
            namespace: None,
        }
    }

    /// Access to one namespace of the same server.
    #[must_use]
    pub fn namespace(&self, name: &str) -> Self {
        Self {
            client: self.client.clone(),
            namespace: Some(name.to_owned()),
        }
    }

    /// The object as it is stored now.
    pub async fn get(&self, kind: Kind, name: &str) -> Answer {
        self.send(Method::GET, &self.path(kind, name), None, &Value::Null).await
    }

    /// The metadata of all objects of a kind, and the version at which they were listed.
    pub async fn list_metadata(&self, kind: Kind) -> Result<(u64, Vec<Value>), ApiError> {
        self.list_as(kind, "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
            .await
    }

    /// All objects of a kind, and the version at which they were listed.
    pub(crate) async fn list(&self, kind: Kind) -> Result<(u64, Vec<Value>), ApiError> {
        self.list_as(kind, "application/json").await
    }

    async fn list_as(&self, kind: Kind, form: &str) -> Result<(u64, Vec<Value>), ApiError> {
        let request = Request::get(self.path(kind, "")).header("accept", form);
        let request = request.body(Vec::new()).expect("a valid request");
        let mut list: Value = self.client.request(request).await?;
        let version = list["metadata"]["resourceVersion"]
            .as_str()
            .and_then(|text| text.parse().ok());
        let items = list["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
        Ok((version.expect("a numeric resource version"), items))
    }

    /// Creates an object.
    pub async fn create(&self, kind: Kind, object: &Value) -> Answer {
        self.create_at(kind, "", object).await
    }

    /// Posts to a subresource such as `web-1/binding`.
    pub async fn create_at(&self, kind: Kind, name: &str, body: &Value) -> Answer {
        self.send(Method::POST, &self.writing(kind, name), None, body).await
    }

    /// Replaces an object by PUT.
    pub async fn replace(&self, kind: Kind, name: &str, object: &Value) -> Answer {
        self.send(Method::PUT, &self.writing(kind, name), None, object).await
    }

    /// Changes an object by PATCH.
    pub async fn patch(&self, kind: Kind, name: &str, form: PatchType, body: &Value) -> Answer {
        self.send(Method::PATCH, &self.writing(kind, name), Some(form), body)
            .await
    }

    /// Changes an object by a JSON merge patch.
    pub async fn merge(&self, kind: Kind, name: &str, body: &Value) -> Answer {
        self.patch(kind, name, PatchType::Merge, body).await
    }

    /// Changes an object by a strategic merge patch.
    pub async fn strategic(&self, kind: Kind, name: &str, body: &Value) -> Answer {
        self.patch(kind, name, PatchType::Strategic, body).await
    }

    /// Deletes an object; `options` is the body, such as `{"propagationPolicy": "Orphan"}`.
    pub async fn delete(&self, kind: Kind, name: &str, options: &Value) -> Answer {
        self.send(Method::DELETE, &self.path(kind, name), None, options).await
    }

    /// Deletes all pods at once, without waiting for any kubelet.
    pub async fn delete_all_now(&self, kind: Kind) -> Answer {
        self.send(
            Method::DELETE,
            &self.path(kind, ""),
            None,
            &json!({"gracePeriodSeconds": 0}),
        )
        .await
    }

    /// Sends a request as it is; returns code and body of the answer. A watch is read until the server ends it.
    pub async fn exchange(&self, request: Request<Bytes>) -> (u16, Bytes) {
        let sent = self.client.send(request.map(|body| Body::from(body.to_vec()))).await;
        let answer = sent.unwrap_or_else(|error| panic!("no answer: {error}"));
        let code = answer.status().as_u16();
        let body = answer.into_body().collect().await;
        (code, body.expect("a whole answer").to_bytes())
    }

    /// True if the server calls itself ready.
    pub(crate) async fn is_ready(&self) -> bool {
        let request = Request::get("/readyz").body(Vec::new()).expect("a valid request");
        self.client.request_text(request).await.is_ok()
    }

    /// A watch on a kind from `version` on.
    pub(crate) async fn watch(
        &self,
        kind: Kind,
        version: &str,
    ) -> Result<impl futures::Stream<Item = Result<WatchEvent<Value>, kube::Error>> + use<>, kube::Error> {
        let path = format!(
            "{}?watch=1&resourceVersion={version}&allowWatchBookmarks=true&timeoutSeconds=3600",
            self.path(kind, "")
        );
        let request = Request::get(path).body(Vec::new()).expect("a valid request");
        self.client.request_events(request).await
    }

    async fn send(&self, method: Method, path: &str, form: Option<PatchType>, body: &Value) -> Answer {
        let content_type = match form {
            Some(PatchType::Merge) => "application/merge-patch+json",
            Some(PatchType::Strategic) => "application/strategic-merge-patch+json",
            None => "application/json",
        };
        let body = if body.is_null() {
            Vec::new()
        } else {
            serde_json::to_vec(body).expect("JSON")
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content_type);
        let request = request.body(body).expect("a valid request");
        Ok(self.client.request(request).await?)
    }

    fn writing(&self, kind: Kind, name: &str) -> String {
        format!("{}?fieldManager={FIELD_MANAGER}", self.path(kind, name))
    }

    fn path(&self, kind: Kind, name: &str) -> String {
        let root = if kind.group.is_empty() { "/api" } else { "/apis" };
        let version = kind.api_version();
        let namespace = self
            .namespace
            .as_ref()
            .map(|name| format!("/namespaces/{name}"))
            .unwrap_or_default();
        let slash = if name.is_empty() { "" } else { "/" };
        format!("{root}/{version}{namespace}/{}{slash}{name}", kind.plural)
    }
}
