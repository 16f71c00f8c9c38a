//! A service account of one scene's own, whose rights a test may change while the program runs.

use std::time::Duration;

use serde_json::{Value, json};
use workload_core::id::Kind;

use crate::api::{ACCESS_REVIEW, Api, ROLE, ROLE_BINDING, SERVICE_ACCOUNT};
use crate::identity::{self, Access};
use crate::program::Program;
use crate::proxy::Proxy;
use crate::scene::Scene;

/// The longest that a changed right may take to be known, and how often it is asked for meanwhile.
const WITHIN: Duration = Duration::from_mins(1);
const POLL: Duration = Duration::from_millis(20);

/// A service account with the rights of a program's chart in one namespace, that of a Lease there included.
pub struct Account {
    api: Api,
    namespace: String,
    name: &'static str,
    rules: Vec<Value>,
    token: String,
}

impl Account {
    pub(crate) async fn open(scene: &Scene, program: &Program) -> Self {
        let (api, name) = (scene.api().clone(), program.name);
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}});
        made(&api, SERVICE_ACCOUNT, &account).await;
        let rules = identity::rules(scene.server(), program).await;
        let group = "rbac.authorization.k8s.io";
        let role = json!({
            "apiVersion": format!("{group}/v1"), "kind": "Role", "metadata": {"name": name}, "rules": rules,
        });
        made(&api, ROLE, &role).await;
        let binding = json!({
            "apiVersion": format!("{group}/v1"), "kind": "RoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": group, "kind": "Role", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": scene.namespace()}],
        });
        made(&api, ROLE_BINDING, &binding).await;
        let token = identity::token(&api, name).await;
        Self {
            api,
            namespace: scene.namespace().to_owned(),
            name,
            rules,
            token,
        }
    }

    /// How a program acts as this account through `proxy`.
    pub fn through(&self, proxy: &Proxy) -> Access {
        Access {
            token: Some(self.token.clone()),
            ..Access::through(proxy)
        }
    }

    /// Its token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Takes one verb on one resource, such as `pods` or `replicasets/status`, away.
    pub async fn forbid(&self, verb: &str, resource: &str) {
        let lists = |rule: &Value, field: &str, wanted: &str| {
            let mut values = rule[field].as_array().into_iter().flatten();
            values.any(|value| value == wanted)
        };
        let mut rules = self.rules.clone();
        let (mut concerned, mut group) = (0, Value::Null);
        for rule in &mut rules {
            if lists(rule, "resources", resource) && lists(rule, "verbs", verb) {
                concerned += 1;
                group = rule["apiGroups"][0].clone();
                let verbs = rule["verbs"].as_array_mut().expect("verbs");
                verbs.retain(|known| known != verb);
            }
        }
        assert_eq!(concerned, 1, "one rule allows to {verb} {resource}");
        rules.retain(|rule| rule["verbs"].as_array().is_some_and(|verbs| !verbs.is_empty()));
        self.set(rules).await;
        self.until_forbidden(verb, resource, &group).await;
    }

    /// The server hears of a changed Role a moment later than of everything else.
    async fn until_forbidden(&self, verb: &str, resource: &str, group: &Value) {
        let namespace = &self.namespace;
        let (resource, part) = resource.split_once('/').unwrap_or((resource, ""));
        let attributes = json!({
            "namespace": namespace, "verb": verb, "group": group, "resource": resource, "subresource": part,
        });
        let user = format!("system:serviceaccount:{namespace}:{}", self.name);
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "LocalSubjectAccessReview",
            "metadata": {"namespace": namespace}, "spec": {"user": user, "resourceAttributes": attributes},
        });
        let forbidden = async {
            while made(&self.api, ACCESS_REVIEW, &review).await["status"]["allowed"] == true {
                tokio::time::sleep(POLL).await;
            }
        };
        let forbidden = tokio::time::timeout(WITHIN, forbidden).await;
        assert!(forbidden.is_ok(), "{user} may still {verb} {resource}");
    }

    /// Gives everything back.
    pub async fn restore(&self) {
        self.set(self.rules.clone()).await;
    }

    async fn set(&self, rules: Vec<Value>) {
        self.api
            .merge(ROLE, self.name, &json!({ "rules": rules }))
            .await
            .unwrap_or_else(|error| panic!("{error}"));
    }
}

async fn made(api: &Api, kind: Kind, object: &Value) -> Value {
    api.create(kind, object)
        .await
        .unwrap_or_else(|error| panic!("{kind}: {error}"))
}
