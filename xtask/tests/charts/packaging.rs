//! A packaged chart is whole: the library travels in it.

use std::fs;

use crate::chart::{Chart, render};
use crate::helm::Helm;

#[test]
fn a_package_renders_what_the_folder_renders() {
    let Some(helm) = Helm::find() else { return };
    for chart in Chart::all() {
        let target = tempfile::tempdir().unwrap();
        let folder = chart.folder.to_str().unwrap();
        helm.run(["package", folder, "--destination", target.path().to_str().unwrap()])
            .unwrap();
        let package = fs::read_dir(target.path()).unwrap().next().unwrap().unwrap().path();
        assert_eq!(
            render(&helm, &package, &[]),
            chart.render(&helm, &[]),
            "{}",
            chart.name()
        );
    }
}

#[test]
fn chart_and_workspace_have_one_version() {
    for chart in Chart::all() {
        let meta = chart.parse("Chart.yaml");
        for version in [
            &meta["version"],
            &meta["appVersion"],
            &meta["dependencies"][0]["version"],
        ] {
            assert_eq!(version, env!("CARGO_PKG_VERSION"), "{}", chart.name());
        }
    }
}
