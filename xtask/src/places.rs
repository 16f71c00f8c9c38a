//! Where things lie: the repository, the user's cache directory, programs that the user names.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

/// Flags and environment variables that every command understands.
#[derive(clap::Args)]
pub(crate) struct Places {
    /// Directory with programs to use instead of building them.
    #[arg(long, env = "KUBEBUILDER_ASSETS", global = true, value_name = "DIR")]
    pub(crate) tools_dir: Option<PathBuf>,
    /// One program to use instead of building it, as NAME=PATH; may be repeated.
    #[arg(
        long = "tool",
        env = "WORKLOAD_TOOLS",
        value_delimiter = ',',
        global = true,
        value_name = "NAME=PATH"
    )]
    pub(crate) named_tools: Vec<String>,
    /// Directory for built programs and for clusters' data [default: the user's cache directory].
    #[arg(long, env = "WORKLOAD_CACHE_DIR", global = true, value_name = "DIR")]
    cache_dir: Option<PathBuf>,
    #[arg(long, env = "XDG_CACHE_HOME", global = true, hide = true)]
    xdg_cache_home: Option<PathBuf>,
    #[arg(long, env = "PATH", global = true, hide = true)]
    search_path: Option<OsString>,
}

impl Places {
    /// The directory for what is kept between runs. It survives `cargo clean`.
    pub(crate) fn cache(&self) -> Result<PathBuf> {
        if let Some(dir) = &self.cache_dir {
            return std::path::absolute(dir).context("--cache-dir");
        }
        let base = match &self.xdg_cache_home {
            Some(dir) if dir.is_absolute() => dir.clone(),
            _ => std::env::home_dir()
                .context("no home directory; set WORKLOAD_CACHE_DIR")?
                .join(".cache"),
        };
        Ok(base.join("workload-controllers"))
    }

    /// The first executable called `name` in PATH.
    pub(crate) fn in_path(&self, name: &str) -> Option<PathBuf> {
        let search_path = self.search_path.as_ref()?;
        std::env::split_paths(search_path)
            .map(|dir| dir.join(name))
            .find(|candidate| candidate.is_file())
    }

    /// The program that the user named for `tool`, by `--tool` or `--tools-dir`.
    pub(crate) fn named(&self, tool: &str) -> Result<Option<PathBuf>> {
        for entry in &self.named_tools {
            let Some((name, path)) = entry.split_once('=') else {
                bail!("--tool takes NAME=PATH, not {entry:?}");
            };
            if name == tool {
                let path = PathBuf::from(path);
                if !path.is_file() {
                    bail!("--tool {entry}: there is no such file");
                }
                return Ok(Some(path));
            }
        }
        Ok(self
            .tools_dir
            .as_ref()
            .map(|dir| dir.join(tool))
            .filter(|path| path.is_file()))
    }
}

/// The repository's root.
pub(crate) fn repository() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}
