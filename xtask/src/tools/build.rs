//! Building programs from their pinned Go modules.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use super::catalog::{Module, Tool};
use crate::places::Places;
use crate::progress::Progress;

/// Lines of the compiler's output that a failure shows.
const SHOWN_LINES: usize = 30;

/// Build `tools`, all of `module`, in one call of Go, and put each where it belongs. Nobody ever sees half a file.
pub(super) fn build(places: &Places, module: Module, tools: &[(Tool, PathBuf)]) -> Result<()> {
    let go = super::require_go(places)?;
    let target = module.cache_dir(places)?;
    fs::create_dir_all(&target).with_context(|| target.display().to_string())?;
    let _lock = lock(&target)?;
    let missing: Vec<_> = tools.iter().filter(|(_, path)| !path.is_file()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let staging = tempfile::tempdir_in(&target).context("a directory to build into")?;
    let names: Vec<_> = missing.iter().map(|(tool, _)| tool.name()).collect();
    let progress = Progress::start(format!("building {} {}", names.join(", "), module.pinned()?));
    let mut command = Command::new(go);
    command
        .current_dir(module.dir())
        .args(["build", "-v", "-ldflags", &module.ldflags(module.pinned()?), "-o"]);
    command.arg(format!("{}/", staging.path().display()));
    command.args(missing.iter().map(|(tool, _)| tool.package()));
    watch(command, progress)?;
    for (tool, path) in missing {
        let built = staging.path().join(tool.built_name());
        fs::rename(&built, path).with_context(|| format!("{} to {}", built.display(), path.display()))?;
    }
    Ok(())
}

/// Keep a second build of the same module out until the returned file is closed.
fn lock(dir: &Path) -> Result<File> {
    let path = dir.join(".lock");
    let file = File::create(&path).with_context(|| path.display().to_string())?;
    if file.try_lock().is_err() {
        let progress = Progress::start("waiting for another build of the same programs");
        file.lock().context("waiting for the lock")?;
        progress.finish();
    }
    Ok(file)
}

fn watch(mut command: Command, mut progress: Progress) -> Result<()> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let lines = lines_of(&mut child);
    let mut last = VecDeque::new();
    let mut packages = 0_usize;
    loop {
        match lines.recv_timeout(Duration::from_secs(1)) {
            Ok(line) => {
                packages += usize::from(!line.contains(' '));
                if last.len() == SHOWN_LINES {
                    last.pop_front();
                }
                last.push_back(line);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        progress.tell(&format!(
            "{packages} packages, {}",
            last.back().map_or("", String::as_str)
        ));
    }
    if !child.wait()?.success() {
        bail!("go build failed:\n{}", Vec::from(last).join("\n"));
    }
    progress.finish();
    Ok(())
}

fn lines_of(child: &mut Child) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    if let Some(stderr) = child.stderr.take() {
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
    }
    receiver
}
