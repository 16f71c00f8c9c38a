//! The switches for deliberate mistakes (`workload_core::mistake`) are for tests: nothing that is released may have them.

use super::Report;
use crate::workspace::{Package, Workspace};

/// The feature of core that brings them.
const FEATURE: &str = "mistakes";

pub(super) fn check(workspace: &Workspace, report: &mut Report) {
    for package in workspace.members() {
        check_package(package, report);
    }
}

fn check_package(package: &Package, report: &mut Report) {
    let manifest = format!("{}/Cargo.toml", package.name);
    for dependency in package
        .dependencies
        .iter()
        .filter(|dependency| !dependency.is_for_tests())
    {
        if dependency.features.iter().any(|feature| feature == FEATURE) {
            let name = &dependency.name;
            report.problem(
                &manifest,
                format!("feature {FEATURE} of {name} outside [dev-dependencies]"),
            );
        }
    }
    for (feature, enabled) in &package.features {
        let brings = |other: &String| other == FEATURE || other.ends_with("/mistakes");
        if enabled.iter().any(brings) {
            report.problem(&manifest, format!("feature {feature} enables {FEATURE}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(dependency: &str, features: &str) -> usize {
        let package = format!(
            r#"{{"name": "a", "version": "1", "id": "a", "license": null, "targets": [],
                 "dependencies": [{dependency}], "features": {features}}}"#
        );
        let mut report = Report::default();
        check_package(&serde_json::from_str(&package).unwrap(), &mut report);
        report.problems.len()
    }

    #[test]
    fn only_tests_can_make_mistakes() {
        let core = |kind: &str| format!(r#"{{"name": "workload-core", "kind": {kind}, "features": ["mistakes"]}}"#);
        assert_eq!(problems(&core(r#""dev""#), r#"{"mistakes": []}"#), 0);
        assert_eq!(problems(&core("null"), "{}"), 1);
        assert_eq!(problems(&core(r#""build""#), "{}"), 1);
        assert_eq!(
            problems(&core(r#""dev""#), r#"{"default": ["workload-core/mistakes"]}"#),
            1
        );
        assert_eq!(
            problems(&core(r#""dev""#), r#"{"default": ["mistakes"], "mistakes": []}"#),
            1
        );
    }
}
