//! `cargo xtask gen`: files of the repository that follow from other files.
//!
//! - `crates/<controller>/rbac.json` is the one table of what a controller may do. From it come the rules of the chart
//!   (`charts/<controller>/files/rules.yaml`) and a table in the crate's README.
//! - The comments of `charts/<controller>/values.yaml` that begin with `# --` become a table in the chart's README.

mod readme;
mod rights;
mod values;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::places;

/// Flags of `cargo xtask gen`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail if a file is not what it should be.
    #[arg(long)]
    check: bool,
}

/// Run the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    if args.check {
        return check();
    }
    for output in stale()? {
        if let Some(dir) = output.path.parent() {
            fs::create_dir_all(dir)?;
        }
        fs::write(&output.path, output.content).with_context(|| output.path.display().to_string())?;
        println!("wrote {}", output.path.display());
    }
    Ok(())
}

/// Fail if a generated file is not what it should be.
pub(crate) fn check() -> Result<()> {
    let names: Vec<_> = stale()?
        .iter()
        .map(|output| output.path.display().to_string())
        .collect();
    if names.is_empty() {
        return Ok(());
    }
    bail!(
        "run `cargo xtask gen`, these files are out of date:\n{}",
        names.join("\n")
    )
}

fn stale() -> Result<Vec<Output>> {
    Ok(outputs(places::repository())?
        .into_iter()
        .filter(Output::is_stale)
        .collect())
}

/// A file and what it should contain.
struct Output {
    path: PathBuf,
    content: String,
}

impl Output {
    fn is_stale(&self) -> bool {
        fs::read_to_string(&self.path).ok().as_ref() != Some(&self.content)
    }
}

fn outputs(root: &Path) -> Result<Vec<Output>> {
    let mut outputs = Vec::new();
    for controller in controllers(root)? {
        let crate_dir = root.join("crates").join(&controller);
        let chart_dir = root.join("charts").join(&controller);
        let input = crate_dir.join("rbac.json");
        let rules = rights::parse(&read(&input)?).with_context(|| input.display().to_string())?;
        if chart_dir.is_dir() {
            let path = chart_dir.join("files/rules.yaml");
            outputs.push(Output {
                path,
                content: rights::as_yaml(&controller, &rules),
            });
            outputs.extend(section(
                &chart_dir,
                "values",
                &values::table(&read(&chart_dir.join("values.yaml"))?),
            )?);
        }
        outputs.extend(section(&crate_dir, "rbac", &rights::table(&rules))?);
    }
    Ok(outputs)
}

/// The README of `dir` with a new text in section `name`. None: there is no README yet.
fn section(dir: &Path, name: &str, text: &str) -> Result<Option<Output>> {
    let path = dir.join("README.md");
    if !path.exists() {
        return Ok(None);
    }
    let content = readme::replace(&read(&path)?, name, text).with_context(|| path.display().to_string())?;
    Ok(Some(Output { path, content }))
}

/// Names of the crates that declare rights, in order.
fn controllers(root: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in root.join("crates").read_dir()? {
        let entry = entry?;
        if entry.path().join("rbac.json").is_file() {
            names.extend(entry.file_name().into_string().ok());
        }
    }
    names.sort();
    Ok(names)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, content: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    #[test]
    fn outputs_appear_where_a_crate_declares_rights_and_a_chart_exists() {
        let root = tempfile::tempdir().unwrap();
        let rule = r#"[{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"], "why": "Count."}]"#;
        write(&root.path().join("crates/a-controller/rbac.json"), rule);
        write(
            &root.path().join("crates/a-controller/README.md"),
            "# A\n<!-- gen:rbac -->\nold\n<!-- /gen:rbac -->\n",
        );
        write(&root.path().join("crates/core/README.md"), "# no rights\n");
        write(
            &root.path().join("charts/a-controller/values.yaml"),
            "# -- How many.\nreplicas: 2\n",
        );
        let outputs = outputs(root.path()).unwrap();
        let paths: Vec<_> = outputs
            .iter()
            .map(|output| output.path.strip_prefix(root.path()).unwrap())
            .collect();
        assert_eq!(
            paths,
            [
                Path::new("charts/a-controller/files/rules.yaml"),
                Path::new("crates/a-controller/README.md")
            ]
        );
        assert!(outputs.iter().all(Output::is_stale));
        for output in &outputs {
            write(&output.path, &output.content);
        }
        assert!(!outputs.iter().any(Output::is_stale));
    }
}
