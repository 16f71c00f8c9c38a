//! Ends a child process when the test process is gone, however that ended.

use std::io::Write as _;
use std::process::{Child, ChildStdin, Command, Stdio};

/// A shell that waits for the end of our process, which closes the pipe, and then kills the child.
pub(crate) struct Leash {
    shell: Child,
    pipe: Option<ChildStdin>,
}

impl Leash {
    /// Puts the process `pid` on a leash.
    pub(crate) fn on(pid: u32) -> Self {
        let mut shell = Command::new("sh")
            .args(["-c", "read -r word || kill -9 \"$0\"", &pid.to_string()])
            .stdin(Stdio::piped())
            .spawn()
            .expect("a shell");
        let pipe = shell.stdin.take();
        Self { shell, pipe }
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        if let Some(mut pipe) = self.pipe.take() {
            // Without a reader there is no shell left that could kill.
            let _ = pipe.write_all(b"released\n");
        }
        let _ = self.shell.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt as _;

    fn child() -> Child {
        Command::new("sleep").arg("600").spawn().unwrap()
    }

    #[test]
    fn a_child_dies_when_nobody_holds_its_leash_any_more() {
        let mut child = child();
        let mut leash = Leash::on(child.id());
        // What the end of the process does.
        leash.pipe = None;
        assert_eq!(child.wait().unwrap().signal(), Some(9));
    }

    #[test]
    fn a_child_survives_its_release() {
        let mut child = child();
        drop(Leash::on(child.id()));
        assert!(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
