//! Nothing that a command starts outlives it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// A watchdog over `dir`, and the pipe that keeps it waiting.
fn watchdog(dir: &Path) -> (Child, ChildStdin) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("watchdog")
        .arg(dir)
        .process_group(0)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let pipe = child.stdin.take().unwrap();
    (child, pipe)
}

/// A process in the watchdog's group.
fn guarded(watchdog: &Child) -> Child {
    let group = i32::try_from(watchdog.id()).unwrap();
    Command::new("sleep").arg("600").process_group(group).spawn().unwrap()
}

fn ends(child: &mut Child) -> Option<ExitStatus> {
    (0..200).find_map(|_| {
        sleep(Duration::from_millis(50));
        child.try_wait().unwrap()
    })
}

#[test]
fn the_group_and_its_directory_go_when_the_parent_is_gone() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("cluster");
    std::fs::create_dir(&dir).unwrap();
    let (mut watchdog, pipe) = watchdog(&dir);
    let mut sleeper = guarded(&watchdog);
    assert!(sleeper.try_wait().unwrap().is_none());
    drop(pipe);
    let status = ends(&mut sleeper).expect("the guarded process still runs");
    assert_eq!(status.signal(), Some(9));
    ends(&mut watchdog).expect("the watchdog still runs");
    assert!(!dir.exists());
}

#[test]
fn the_group_stays_when_the_parent_says_so() {
    use std::io::Write as _;

    let dir = tempfile::tempdir().unwrap();
    let (mut watchdog, mut pipe) = watchdog(dir.path());
    let mut sleeper = guarded(&watchdog);
    writeln!(pipe, "stay").unwrap();
    drop(pipe);
    let status = ends(&mut watchdog).expect("the watchdog still runs");
    assert!(status.success());
    let runs_on = sleeper.try_wait().unwrap().is_none();
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    assert!(runs_on);
    assert!(dir.path().exists());
}
