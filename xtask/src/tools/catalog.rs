//! Which programs there are, from which Go modules they come, and which versions will do.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use sha2::{Digest as _, Sha256};

use super::version::Version;
use crate::places::{self, Places};

/// A program that clusters and tests run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tool {
    KubeApiserver,
    KubeControllerManager,
    KubeScheduler,
    Kubectl,
    Etcd,
    Helm,
    Kwok,
}

impl Tool {
    pub(crate) const ALL: [Self; 7] = [
        Self::KubeApiserver,
        Self::KubeControllerManager,
        Self::KubeScheduler,
        Self::Kubectl,
        Self::Etcd,
        Self::Helm,
        Self::Kwok,
    ];

    /// The program's file name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::KubeApiserver => "kube-apiserver",
            Self::KubeControllerManager => "kube-controller-manager",
            Self::KubeScheduler => "kube-scheduler",
            Self::Kubectl => "kubectl",
            Self::Etcd => "etcd",
            Self::Helm => "helm",
            Self::Kwok => "kwok",
        }
    }

    pub(super) fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    pub(super) fn module(self) -> Module {
        match self {
            Self::KubeApiserver | Self::KubeControllerManager | Self::KubeScheduler | Self::Kubectl => {
                Module::Kubernetes
            }
            Self::Etcd => Module::Etcd,
            Self::Helm => Module::Helm,
            Self::Kwok => Module::Kwok,
        }
    }

    /// The Go package of its main function.
    pub(super) fn package(self) -> String {
        match self {
            Self::Etcd => "go.etcd.io/etcd/server/v3".to_owned(),
            Self::KubeApiserver
            | Self::KubeControllerManager
            | Self::KubeScheduler
            | Self::Kubectl
            | Self::Helm
            | Self::Kwok => format!("{}/cmd/{}", self.module().path(), self.name()),
        }
    }

    /// The file name that `go build -o directory/` gives it.
    pub(super) fn built_name(self) -> &'static str {
        // Go takes the last element of the package's path that is not a major version.
        if self == Self::Etcd { "server" } else { self.name() }
    }

    pub(super) fn version_args(self) -> &'static [&'static str] {
        match self {
            Self::Kubectl => &["version", "--client"],
            Self::Helm => &["version", "--short"],
            Self::KubeApiserver | Self::KubeControllerManager | Self::KubeScheduler | Self::Etcd | Self::Kwok => {
                &["--version"]
            }
        }
    }
}

/// A directory of `xtask/tools`: one Go module that pins one upstream project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Module {
    Etcd,
    Kubernetes,
    Kwok,
    Helm,
}

impl Module {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::Kubernetes => "kubernetes",
            Self::Kwok => "kwok",
            Self::Helm => "helm",
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::Etcd => "go.etcd.io/etcd/server/v3",
            Self::Kubernetes => "k8s.io/kubernetes",
            Self::Kwok => "sigs.k8s.io/kwok",
            Self::Helm => "helm.sh/helm/v4",
        }
    }

    /// Where its go.mod lies.
    pub(super) fn dir(self) -> PathBuf {
        places::repository().join("xtask/tools").join(self.name())
    }

    /// The upstream version that its go.mod pins.
    pub(super) fn pinned(self) -> Result<Version> {
        let file = self.dir().join("go.mod");
        let go_mod = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        Version::required_by(&go_mod, self.path())
            .with_context(|| format!("{} pins no {}", file.display(), self.path()))
    }

    /// Would a program of `version` do in place of the `pinned` one? Kubernetes must be of the same minor release,
    /// because its behaviour is what we compare with; the others only must not be older.
    pub(super) fn accepts(self, version: Version, pinned: Version) -> bool {
        version.major == pinned.major
            && match self {
                Self::Kubernetes => version.minor == pinned.minor,
                Self::Etcd | Self::Kwok | Self::Helm => version >= pinned,
            }
    }

    /// The linker flags. Kubernetes takes its version from them; without, the server calls itself v0.0.0.
    pub(super) fn ldflags(self, pinned: Version) -> String {
        let mut flags = "-s -w".to_owned();
        if self == Self::Kubernetes {
            let Version { major, minor, .. } = pinned;
            for (name, value) in [
                ("gitVersion", format!("v{pinned}")),
                ("gitMajor", major.to_string()),
                ("gitMinor", minor.to_string()),
                ("gitTreeState", "clean".to_owned()),
            ] {
                flags.extend([" -X k8s.io/component-base/version.", name, "=", &value]);
            }
        }
        flags
    }

    /// Where its built programs are kept: a directory of its own for every version and way of building.
    pub(super) fn cache_dir(self, places: &Places) -> Result<PathBuf> {
        let pinned = self.pinned()?;
        let mut inputs = Vec::new();
        for file in ["go.mod", "go.sum"] {
            let path = self.dir().join(file);
            inputs.push(fs::read(&path).with_context(|| path.display().to_string())?);
        }
        inputs.push(self.ldflags(pinned).into_bytes());
        Ok(places.cache()?.join("tools").join(key(self.name(), pinned, &inputs)))
    }
}

fn key(name: &str, version: Version, inputs: &[Vec<u8>]) -> String {
    let mut hasher = Sha256::new();
    for input in inputs {
        hasher.update(u64::try_from(input.len()).unwrap_or(u64::MAX).to_le_bytes());
        hasher.update(input);
    }
    let digest = hasher
        .finalize()
        .iter()
        .take(6)
        .fold(0, |sum: u64, byte| sum << 8 | u64::from(*byte));
    format!("{name}-{version}-{digest:012x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1_37_2: Version = Version {
        major: 1,
        minor: 37,
        patch: 2,
    };

    #[test]
    fn every_module_pins_its_upstream() {
        assert_eq!(Module::Kubernetes.pinned().unwrap(), V1_37_2);
        for module in [Module::Etcd, Module::Kwok, Module::Helm] {
            module.pinned().unwrap();
        }
    }

    #[test]
    fn the_cache_key_changes_with_every_input() {
        let base = key("a", V1_37_2, &[b"mod".to_vec(), b"sum".to_vec()]);
        assert!(base.starts_with("a-1.37.2-"), "{base}");
        assert_eq!(base, key("a", V1_37_2, &[b"mod".to_vec(), b"sum".to_vec()]));
        assert_ne!(base, key("a", V1_37_2, &[b"mod".to_vec(), b"sun".to_vec()]));
        assert_ne!(base, key("a", V1_37_2, &[b"mods".to_vec(), b"um".to_vec()]));
    }

    #[test]
    fn a_kubernetes_of_another_minor_release_will_not_do() {
        let accepts = |module: Module, minor| {
            let found = Version {
                major: 1,
                minor,
                patch: 0,
            };
            module.accepts(found, V1_37_2)
        };
        assert!(accepts(Module::Kubernetes, 37));
        assert!(!accepts(Module::Kubernetes, 36));
        assert!(!accepts(Module::Kubernetes, 38));
        assert!(accepts(Module::Kwok, 38));
        assert!(!accepts(Module::Kwok, 37), "an older patch release");
    }

    #[test]
    fn kubernetes_is_told_its_version_by_the_linker() {
        assert_eq!(Module::Etcd.ldflags(V1_37_2), "-s -w");
        let flags = Module::Kubernetes.ldflags(V1_37_2);
        assert!(flags.contains("version.gitVersion=v1.37.2 "), "{flags}");
        assert!(flags.ends_with("version.gitTreeState=clean"), "{flags}");
    }

    #[test]
    fn packages_are_those_that_the_modules_name() {
        assert_eq!(Tool::Kubectl.package(), "k8s.io/kubernetes/cmd/kubectl");
        assert_eq!(Tool::Kwok.package(), "sigs.k8s.io/kwok/cmd/kwok");
        for tool in Tool::ALL {
            let go_mod = fs::read_to_string(tool.module().dir().join("go.mod")).unwrap();
            assert!(go_mod.contains(&tool.package()), "{}", tool.package());
        }
    }
}
