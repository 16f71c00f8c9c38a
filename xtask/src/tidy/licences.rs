//! What we link: only permissive licences, and one version of what must not exist twice.

use anyhow::{Result, bail};

use super::Report;
use crate::workspace::Workspace;

/// Licences that ask for nothing but their text to be kept.
const PERMISSIVE: [&str; 13] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Crates whose types meet at our interfaces.
const ONCE: [&str; 4] = ["kube", "kube-client", "kube-core", "k8s-openapi"];

pub(super) fn check(workspace: &Workspace, report: &mut Report) -> Result<()> {
    let mut seen = 0;
    for package in workspace.packages() {
        seen += 1;
        let licence = package.license.as_deref().unwrap_or("none");
        if !is_permissive(licence) {
            report.problem(
                "Cargo.lock",
                format!("{} {} has licence {licence}", package.name, package.version),
            );
        }
    }
    for name in ONCE {
        let versions: Vec<_> = workspace
            .packages()
            .iter()
            .filter(|package| package.name == name)
            .map(|package| package.version.as_str())
            .collect();
        if versions.len() > 1 {
            report.problem(
                "Cargo.lock",
                format!("{name} is there {} times: {}", versions.len(), versions.join(", ")),
            );
        }
    }
    if seen == 0 {
        bail!("cargo metadata names no package");
    }
    Ok(())
}

/// May we choose permissive terms? Understands what occurs in practice: alternatives of conjunctions, either of them in
/// parentheses.
fn is_permissive(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ");
    split(&expression, " OR ")
        .iter()
        .any(|choice| split(choice, " AND ").iter().all(|part| is_permissive_part(part)))
}

fn is_permissive_part(part: &str) -> bool {
    match part.strip_prefix('(').and_then(|part| part.strip_suffix(')')) {
        Some(inner) => is_permissive(inner),
        None => PERMISSIVE.contains(&part),
    }
}

/// The parts of an expression between `separator`s that are not inside parentheses.
fn split<'a>(expression: &'a str, separator: &str) -> Vec<&'a str> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, _) in expression.match_indices(separator) {
        let part = expression.get(start..at).unwrap_or("");
        if part.matches('(').count() == part.matches(')').count() {
            parts.push(part.trim());
            start = at + separator.len();
        }
    }
    parts.push(expression.get(start..).unwrap_or("").trim());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_licence_is_permissive_if_one_choice_is() {
        for fine in [
            "MIT",
            "MIT OR GPL-3.0",
            "MIT/Apache-2.0",
            "Apache-2.0 AND ISC",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR GPL-2.0",
            "(Apache-2.0 OR MIT) AND (BSD-3-Clause OR GPL-2.0)",
        ] {
            assert!(is_permissive(fine), "{fine}");
        }
        for bad in [
            "GPL-3.0",
            "none",
            "MIT AND GPL-3.0",
            "(MIT OR Apache-2.0) AND MPL-2.0",
            "GPL-2.0 OR MPL-2.0",
        ] {
            assert!(!is_permissive(bad), "{bad}");
        }
    }
}
