//! The flags of every component.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::json;

use super::certificates::{ADMIN, CONTROLLER_MANAGER, Certificates, SCHEDULER};
use super::spec::{self, ClusterSpec};
use crate::tools::Tool;

/// How simulated nodes and pods live.
const SIMULATION: &str = include_str!("simulation.yaml");

/// A program and its flags.
pub(super) struct Component {
    pub(super) tool: Tool,
    pub(super) args: Vec<String>,
}

/// Addresses and files that the components of one cluster share.
pub(super) struct Plan<'a> {
    pub(super) dir: &'a Path,
    pub(super) certificates: &'a Certificates,
    /// etcd for clients, etcd for peers, API server, controller manager, scheduler.
    pub(super) ports: [u16; 5],
}

impl Plan<'_> {
    pub(super) fn server(&self) -> String {
        let [_, _, server, ..] = self.ports;
        format!("https://127.0.0.1:{server}")
    }

    pub(super) fn etcd(&self) -> Component {
        let [clients, peers, ..] = self.ports;
        let clients = format!("http://127.0.0.1:{clients}");
        let peers = format!("http://127.0.0.1:{peers}");
        let args = vec![
            flag("data-dir", self.dir.join(ETCD_DATA).display()),
            flag("listen-client-urls", &clients),
            flag("advertise-client-urls", &clients),
            flag("listen-peer-urls", &peers),
            flag("initial-advertise-peer-urls", &peers),
            flag("initial-cluster", format!("default={peers}")),
            // The data need not survive a crash of the machine.
            "--unsafe-no-fsync".to_owned(),
            flag("log-level", "warn"),
        ];
        Component { tool: Tool::Etcd, args }
    }

    pub(super) fn kube_apiserver(&self) -> Component {
        let [etcd, _, server, ..] = self.ports;
        let args = vec![
            flag("etcd-servers", format!("http://127.0.0.1:{etcd}")),
            flag("bind-address", "127.0.0.1"),
            flag("advertise-address", "127.0.0.1"),
            flag("secure-port", server),
            // The address of a loopback server would be refused as an endpoint of the `kubernetes` service.
            flag("endpoint-reconciler-type", "none"),
            self.file("tls-cert-file", "kube-apiserver.crt"),
            self.file("tls-private-key-file", "kube-apiserver.key"),
            self.file("client-ca-file", "ca.crt"),
            // Nobody has this name. Without these two flags the others look for such an authority again and again.
            self.file("requestheader-client-ca-file", "ca.crt"),
            flag("requestheader-allowed-names", "front-proxy"),
            flag("service-account-issuer", "https://kubernetes.default.svc"),
            self.file("service-account-key-file", "service-accounts.pub"),
            self.file("service-account-signing-key-file", "service-accounts.key"),
            flag("service-cluster-ip-range", "10.96.0.0/16"),
            flag("authorization-mode", "RBAC"),
            flag("enable-admission-plugins", "OwnerReferencesPermissionEnforcement"),
            flag("allow-privileged", true),
            flag("max-requests-inflight", 3000),
            flag("max-mutating-requests-inflight", 1500),
        ];
        Component {
            tool: Tool::KubeApiserver,
            args,
        }
    }

    pub(super) fn kube_controller_manager(&self, spec: &ClusterSpec) -> Result<Component> {
        let [_, _, _, port, _] = self.ports;
        let mut args = self.served(port);
        args.extend(credentials(
            &self.certificates.kubeconfig(&CONTROLLER_MANAGER, &self.server())?,
        ));
        args.extend([
            flag(CONTROLLERS, spec::all_but(&spec.kcm_without)),
            flag("use-service-account-credentials", true),
            self.file("service-account-private-key-file", "service-accounts.key"),
            self.file("root-ca-file", "ca.crt"),
            flag("kube-api-qps", spec.kcm_qps),
            flag("kube-api-burst", spec.kcm_qps),
        ]);
        Ok(Component {
            tool: Tool::KubeControllerManager,
            args,
        })
    }

    pub(super) fn kube_scheduler(&self) -> Result<Component> {
        let [.., port] = self.ports;
        let kubeconfig = self.certificates.kubeconfig(&SCHEDULER, &self.server())?;
        let config = json!({
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": false},
            "clientConnection": {"kubeconfig": kubeconfig, "qps": 1000, "burst": 1000},
        });
        let file = self.dir.join("kube-scheduler.json");
        fs::write(&file, config.to_string()).with_context(|| file.display().to_string())?;
        let mut args = self.served(port);
        args.extend(credentials(&kubeconfig).into_iter().skip(1));
        args.push(flag("config", file.display()));
        Ok(Component {
            tool: Tool::KubeScheduler,
            args,
        })
    }

    pub(super) fn kwok(&self) -> Result<Component> {
        let file = self.dir.join("simulation.yaml");
        fs::write(&file, SIMULATION).with_context(|| file.display().to_string())?;
        let args = vec![
            flag(
                "kubeconfig",
                self.dir.join(format!("{}.kubeconfig", ADMIN.file)).display(),
            ),
            flag("config", file.display()),
            flag("manage-all-nodes", true),
            // kube-controller-manager gives a node up that has not renewed its lease for this long.
            flag("node-lease-duration-seconds", 40),
            flag("node-ip", "127.0.0.1"),
            flag("cidr", "10.244.0.0/16"),
        ];
        Ok(Component { tool: Tool::Kwok, args })
    }

    /// Flags of components that serve metrics.
    fn served(&self, port: u16) -> Vec<String> {
        vec![
            flag("bind-address", "127.0.0.1"),
            flag("secure-port", port),
            self.file("tls-cert-file", "kube-apiserver.crt"),
            self.file("tls-private-key-file", "kube-apiserver.key"),
        ]
    }

    fn file(&self, name: &str, file: &str) -> String {
        flag(name, self.certificates.path(file).display())
    }
}

/// The flag that says which controllers kube-controller-manager runs.
pub(super) const CONTROLLERS: &str = "controllers";

/// The directory of etcd's data, below the cluster's.
pub(super) const ETCD_DATA: &str = "etcd";

pub(super) fn flag(name: &str, value: impl std::fmt::Display) -> String {
    format!("--{name}={value}")
}

/// Flags by which a component talks to the API server, and asks it who calls its own address.
fn credentials(kubeconfig: &Path) -> [String; 3] {
    ["kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"].map(|name| flag(name, kubeconfig.display()))
}
