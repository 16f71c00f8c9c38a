//! Versions as programs and go.mod files print them.

use std::fmt;

/// A release number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version {
    pub(crate) major: u32,
    pub(crate) minor: u32,
    pub(crate) patch: u32,
}

impl Version {
    /// The first number of the form 1.2 or 1.2.3 in a text; what follows it (`-rc.1`, `+k3s1`) is ignored.
    pub(crate) fn first_in(text: &str) -> Option<Self> {
        text.split(|c: char| !c.is_ascii_digit() && c != '.')
            .find_map(Self::exactly)
    }

    fn exactly(word: &str) -> Option<Self> {
        let mut numbers = word.trim_matches('.').split('.').map(|number| number.parse().ok());
        let version = Self {
            major: numbers.next()??,
            minor: numbers.next()??,
            patch: numbers.next().unwrap_or(Some(0))?,
        };
        numbers.next().is_none().then_some(version)
    }

    /// The version of `module` that a go.mod file requires.
    pub(crate) fn required_by(go_mod: &str, module: &str) -> Option<Self> {
        go_mod
            .lines()
            .map(|line| line.trim_start().trim_start_matches("require ").trim_start())
            .filter(|line| !line.contains("=>"))
            .find_map(|line| Self::first_in(line.strip_prefix(module)?.strip_prefix(' ')?))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<(u32, u32, u32)>) {
        let expected = expected.map(|(major, minor, patch)| Version { major, minor, patch });
        assert_eq!(Version::first_in(text), expected, "{text}");
    }

    #[test]
    fn a_version_is_found_in_what_each_program_prints() {
        check("Kubernetes v1.37.2", Some((1, 37, 2)));
        check(
            "Client Version: v1.32.4-dispatcher\nKustomize Version: v5.5.0",
            Some((1, 32, 4)),
        );
        check(
            "etcd Version: 3.7.3\nGit SHA: Not provided\nGo Version: go1.26.8",
            Some((3, 7, 3)),
        );
        check("v4.3.1+gabc123", Some((4, 3, 1)));
        check("kwok version v0.8.0 go1.26.8 (linux/amd64)", Some((0, 8, 0)));
        check("go1.27", Some((1, 27, 0)));
        check("devel", None);
        check("10.0.0.1", None);
    }

    #[test]
    fn a_pinned_version_is_read_from_the_require_line_not_from_a_replacement() {
        let go_mod = "module x\n\nrequire k8s.io/kubernetes v1.37.2\n\nrequire (\n\tk8s.io/api v0.37.1 // indirect\n)\nreplace (\n\tk8s.io/api => k8s.io/api v0.37.2\n)\n";
        let found = |module| Version::required_by(go_mod, module).map(|version| version.to_string());
        assert_eq!(found("k8s.io/kubernetes").as_deref(), Some("1.37.2"));
        assert_eq!(found("k8s.io/api").as_deref(), Some("0.37.1"));
        assert_eq!(found("k8s.io"), None);
    }
}
