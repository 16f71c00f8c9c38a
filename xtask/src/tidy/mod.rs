//! `cargo xtask tidy`: what the compiler does not check about this repository.

mod code;
mod coverage;
mod layers;
mod licences;
mod mistakes;
mod pages;
mod replay;
mod repository;
mod rooms;
mod size;
mod words;

use std::path::Path;

use anyhow::{Result, bail};

use self::repository::Repository;
use crate::places;
use crate::workspace::Workspace;

/// What the checks found.
#[derive(Debug, Default)]
struct Report {
    /// What has to be changed.
    problems: Vec<String>,
    /// What is worth knowing.
    notes: Vec<String>,
}

impl Report {
    fn problem(&mut self, path: &str, what: impl std::fmt::Display) {
        self.problems.push(format!("{path}: {what}"));
    }
}

/// Run the command.
pub(crate) fn run() -> Result<()> {
    let report = check(places::repository())?;
    for note in &report.notes {
        println!("{note}");
    }
    for problem in &report.problems {
        eprintln!("problem: {problem}");
    }
    match report.problems.len() {
        0 => Ok(()),
        count => bail!("{count} problems"),
    }
}

fn check(root: &Path) -> Result<Report> {
    let repository = Repository::read(root)?;
    let mut report = Report::default();
    layers::check(&repository, &mut report);
    size::check(&repository, &mut report);
    words::check(&repository, &mut report);
    rooms::check(&repository, &mut report);
    replay::check(&repository, &mut report);
    coverage::check(&repository, &mut report);
    pages::check(&repository, &mut report);
    let workspace = Workspace::load()?;
    mistakes::check(&workspace, &mut report);
    licences::check(&workspace, &mut report)?;
    Ok(report)
}

/// What `check` finds in a repository of these files.
#[cfg(test)]
fn problems(check: impl FnOnce(&Repository, &mut Report), files: &[(&str, &str)]) -> Vec<String> {
    let mut report = Report::default();
    check(&Repository::of(files), &mut report);
    report.problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_repository_is_tidy() {
        let report = check(places::repository()).unwrap();
        assert!(report.problems.is_empty(), "{}", report.problems.join("\n"));
    }
}
