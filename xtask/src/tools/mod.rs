//! `cargo xtask tools`: the programs of Kubernetes that clusters and tests need.
//!
//! Each is looked for in this order: named by the user (`--tool`, `--tools-dir`, `KUBEBUILDER_ASSETS`), in PATH at a
//! fitting version, built before, else built from its pinned Go module.

mod build;
mod catalog;
mod version;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use self::catalog::Module;
pub(crate) use self::catalog::Tool;
use self::version::Version;
use crate::places::Places;

/// Flags of `cargo xtask tools`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Say where each program comes from; build nothing.
    #[arg(long)]
    list: bool,
    /// Print the paths of these only [default: all].
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

/// Run the command.
pub(crate) fn run(places: &Places, args: &Args) -> Result<()> {
    let wanted = wanted(&args.names)?;
    if args.list {
        return list(places, &wanted);
    }
    let tools = Tools::resolve(places, &wanted)?;
    for tool in wanted {
        println!("{}", tools.path(tool)?.display());
    }
    Ok(())
}

fn wanted(names: &[String]) -> Result<Vec<Tool>> {
    if names.is_empty() {
        return Ok(Tool::ALL.to_vec());
    }
    names
        .iter()
        .map(|name| Tool::by_name(name).with_context(|| format!("{name} is none of this command's tools")))
        .collect()
}

fn list(places: &Places, wanted: &[Tool]) -> Result<()> {
    let mut table = comfy_table::Table::new();
    table
        .load_style(comfy_table::presets::NOTHING)
        .set_header(["TOOL", "PINNED", "FROM", "PATH"]);
    for tool in wanted {
        let pinned = tool.module().pinned()?;
        let (from, path) = match find(places, *tool)? {
            Found::Ready { from, path } => (from, path.display().to_string()),
            Found::Missing(_) => ("not built yet", String::new()),
        };
        table.add_row([tool.name(), &pinned.to_string(), from, &path]);
    }
    println!("{table}");
    Ok(())
}

/// Programs that are ready to be run.
pub(crate) struct Tools {
    paths: BTreeMap<Tool, PathBuf>,
}

impl Tools {
    /// Find `wanted`, and build those that are nowhere.
    pub(crate) fn resolve(places: &Places, wanted: &[Tool]) -> Result<Self> {
        let mut paths = BTreeMap::new();
        let mut missing: BTreeMap<Module, Vec<(Tool, PathBuf)>> = BTreeMap::new();
        for tool in wanted {
            match find(places, *tool)? {
                Found::Ready { path, .. } => drop(paths.insert(*tool, path)),
                Found::Missing(path) => missing.entry(tool.module()).or_default().push((*tool, path)),
            }
        }
        for (module, tools) in missing {
            build::build(places, module, &tools)?;
            paths.extend(tools);
        }
        Ok(Self { paths })
    }

    /// Where `tool` lies. An error: it was not among the resolved ones.
    pub(crate) fn path(&self, tool: Tool) -> Result<&Path> {
        self.paths
            .get(&tool)
            .map(PathBuf::as_path)
            .with_context(|| format!("{} was not resolved", tool.name()))
    }
}

enum Found {
    Ready {
        from: &'static str,
        path: PathBuf,
    },
    /// Nowhere yet; this is where a build has to put it.
    Missing(PathBuf),
}

fn find(places: &Places, tool: Tool) -> Result<Found> {
    let pinned = tool.module().pinned()?;
    if let Some(path) = places.named(tool.name())? {
        if let Some(version) = version_of(tool, &path).filter(|version| !tool.module().accepts(*version, pinned)) {
            eprintln!(
                "warning: {} is {version}; {pinned} is what we test with",
                path.display()
            );
        }
        return Ok(Found::Ready {
            from: "named by you",
            path,
        });
    }
    if let Some(path) = places.in_path(tool.name())
        && let Some(version) = version_of(tool, &path)
        && tool.module().accepts(version, pinned)
    {
        return Ok(Found::Ready { from: "PATH", path });
    }
    let path = tool.module().cache_dir(places)?.join(tool.name());
    if path.is_file() {
        Ok(Found::Ready {
            from: "built before",
            path,
        })
    } else {
        Ok(Found::Missing(path))
    }
}

/// The version that a program says it has. None: it does not say.
fn version_of(tool: Tool, path: &Path) -> Option<Version> {
    let output = Command::new(path).args(tool.version_args()).output().ok()?;
    Version::first_in(&String::from_utf8_lossy(&output.stdout))
}

/// Refuse a missing or too old Go with one line.
fn require_go(places: &Places) -> Result<PathBuf> {
    const NEEDED: Version = Version {
        major: 1,
        minor: 26,
        patch: 0,
    };
    let Some(go) = places.in_path("go") else {
        bail!("Go {NEEDED} or newer is needed to build Kubernetes' programs: install it from https://go.dev/dl/");
    };
    // Outside any module, so that Go neither switches to nor downloads another toolchain before it answers.
    let output = Command::new(&go)
        .args(["env", "GOVERSION"])
        .current_dir("/")
        .output()
        .context("running go")?;
    match Version::first_in(&String::from_utf8_lossy(&output.stdout)) {
        Some(version) if version >= NEEDED => Ok(go),
        Some(version) => {
            bail!("Go {version} is too old, {NEEDED} or newer is needed: install it from https://go.dev/dl/")
        }
        None => bail!("`go env GOVERSION` does not answer; install Go {NEEDED} or newer from https://go.dev/dl/"),
    }
}
