//! The repository's text files.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use walkdir::{DirEntry, WalkDir};

/// Larger files are data.
const LARGEST: u64 = 1 << 20;

/// All text files.
#[derive(Debug, Default)]
pub(super) struct Repository {
    pub(super) files: Vec<File>,
}

/// One text file.
#[derive(Debug)]
pub(super) struct File {
    /// Path below the root, with `/`.
    pub(super) path: String,
    pub(super) text: String,
}

impl Repository {
    /// Read everything below `root` that is not a product of a build.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let mut files = Vec::new();
        for entry in WalkDir::new(root).sort_by_file_name().into_iter().filter_entry(is_ours) {
            let entry = entry?;
            if !entry.file_type().is_file() || entry.metadata()?.len() > LARGEST {
                continue;
            }
            let path = entry.path().strip_prefix(root).context("a path outside the root")?;
            let path = path.to_string_lossy().replace('\\', "/");
            if let Ok(text) = String::from_utf8(fs::read(entry.path())?) {
                files.push(File { path, text });
            }
        }
        Ok(Self { files })
    }

    /// The Rust sources.
    pub(super) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| {
            Path::new(&file.path)
                .extension()
                .is_some_and(|extension| extension == "rs")
        })
    }

    /// The file at `path`.
    pub(super) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Names of the directories directly below `dir`, each once.
    pub(super) fn directories(&self, dir: &str) -> Vec<&str> {
        let mut names: Vec<&str> = self
            .files
            .iter()
            .filter_map(|file| file.below(dir)?.split_once('/'))
            .map(|(d, _)| d)
            .collect();
        names.dedup();
        names
    }

    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let file = |(path, text): &(&str, &str)| File {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
        };
        Self {
            files: files.iter().map(file).collect(),
        }
    }
}

impl File {
    /// The rest of the path below the directory `dir`.
    pub(super) fn below(&self, dir: &str) -> Option<&str> {
        self.path.strip_prefix(dir)?.strip_prefix('/')
    }

    /// For a source of a controller: the path below its `src`.
    pub(super) fn in_controller(&self) -> Option<&str> {
        let (name, rest) = self.below("crates")?.split_once('/')?;
        name.ends_with("-controller")
            .then(|| rest.strip_prefix("src/"))
            .flatten()
    }

    /// Is any directory or the file itself called one of `names`?
    pub(super) fn is_part_of(&self, names: &[&str]) -> bool {
        self.path
            .trim_end_matches(".rs")
            .split('/')
            .any(|part| names.contains(&part))
    }
}

fn is_ours(entry: &DirEntry) -> bool {
    let name = entry.file_name().to_string_lossy();
    let product = matches!(name.as_ref(), ".git" | "target") || name.ends_with(".snap.new");
    !product || entry.depth() == 0
}
