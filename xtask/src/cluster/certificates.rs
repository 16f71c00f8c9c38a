//! Keys, certificates and kubeconfigs of one cluster. They live as long as the cluster.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use serde_json::json;

/// A user whom the API server knows by certificate.
pub(super) struct Identity {
    /// The name of the user's files.
    pub(super) file: &'static str,
    user: &'static str,
    group: Option<&'static str>,
}

/// May do everything.
pub(super) const ADMIN: Identity = Identity {
    file: "admin",
    user: "admin",
    group: Some("system:masters"),
};
/// The user that the server's own roles for kube-controller-manager are bound to.
pub(super) const CONTROLLER_MANAGER: Identity = Identity {
    file: "kube-controller-manager",
    user: "system:kube-controller-manager",
    group: None,
};
/// The user that the server's own roles for kube-scheduler are bound to.
pub(super) const SCHEDULER: Identity = Identity {
    file: "kube-scheduler",
    user: "system:kube-scheduler",
    group: None,
};

/// The files of a cluster's trust, all in one directory.
pub(super) struct Certificates {
    dir: PathBuf,
    authority: CertifiedIssuer<'static, KeyPair>,
}

impl Certificates {
    /// Make an authority, the API server's certificate, and the key pair that signs service accounts' tokens.
    pub(super) fn create(dir: &Path) -> Result<Self> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        params.distinguished_name.push(DnType::CommonName, "local cluster");
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        let created = Self {
            dir: dir.to_owned(),
            authority,
        };
        created.write("ca.crt", &created.authority.pem())?;

        let names = ["127.0.0.1", "localhost", "kubernetes.default.svc"].map(str::to_owned);
        let mut server = CertificateParams::new(names)?;
        server.distinguished_name.push(DnType::CommonName, "kube-apiserver");
        created.issue("kube-apiserver", server, ExtendedKeyUsagePurpose::ServerAuth)?;

        let accounts = KeyPair::generate()?;
        created.write("service-accounts.key", &accounts.serialize_pem())?;
        created.write("service-accounts.pub", &accounts.public_key_pem())?;
        Ok(created)
    }

    /// Give `identity` a certificate and a kubeconfig for the server at `server`; return the kubeconfig's path.
    pub(super) fn kubeconfig(&self, identity: &Identity, server: &str) -> Result<PathBuf> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, identity.user);
        if let Some(group) = identity.group {
            params.distinguished_name.push(DnType::OrganizationName, group);
        }
        self.issue(identity.file, params, ExtendedKeyUsagePurpose::ClientAuth)?;
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "local", "cluster": {
                "server": server,
                "certificate-authority": self.path("ca.crt"),
            }}],
            "users": [{"name": identity.file, "user": {
                "client-certificate": self.path(&format!("{}.crt", identity.file)),
                "client-key": self.path(&format!("{}.key", identity.file)),
            }}],
            "contexts": [{"name": "local", "context": {"cluster": "local", "user": identity.file}}],
            "current-context": "local",
        });
        let name = format!("{}.kubeconfig", identity.file);
        self.write(&name, &format!("{config:#}\n"))?;
        Ok(self.path(&name))
    }

    /// The path of one of the files.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    fn issue(&self, name: &str, mut params: CertificateParams, usage: ExtendedKeyUsagePurpose) -> Result<()> {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![usage];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.authority)?;
        self.write(&format!("{name}.crt"), &certificate.pem())?;
        self.write(&format!("{name}.key"), &key.serialize_pem())
    }

    fn write(&self, name: &str, content: &str) -> Result<()> {
        let path = self.path(name);
        fs::write(&path, content).with_context(|| path.display().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubeconfig_names_files_that_exist() {
        let dir = tempfile::tempdir().unwrap();
        let certificates = Certificates::create(dir.path()).unwrap();
        let path = certificates.kubeconfig(&ADMIN, "https://127.0.0.1:1").unwrap();
        let config: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        assert_eq!(config["clusters"][0]["cluster"]["server"], "https://127.0.0.1:1");
        for pointer in [
            "/clusters/0/cluster/certificate-authority",
            "/users/0/user/client-certificate",
            "/users/0/user/client-key",
        ] {
            let file = config.pointer(pointer).unwrap().as_str().unwrap();
            assert!(Path::new(file).is_file(), "{file}");
        }
    }
}
