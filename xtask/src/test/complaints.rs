//! What failed tests say, told once more at the end: above it may stand thousands of lines.

/// The most lines of one test: its message comes first, states and logs of servers may follow.
const LINES: usize = 30;

/// What the failed tests of a run have said.
#[derive(Debug, Default)]
pub(super) struct Complaints {
    told: Vec<String>,
    /// How many lines the message under way may still have.
    left: usize,
}

impl Complaints {
    /// Takes note of the next line that the test runner prints.
    pub(super) fn read(&mut self, line: &str) {
        if is_title(line) {
            self.left = LINES;
        } else if self.left == 0 || is_end(line) {
            self.left = 0;
            return;
        }
        if !line.trim().is_empty() {
            self.told.push(line.to_owned());
            self.left -= 1;
        }
    }

    /// All of it, line by line.
    pub(super) fn lines(&self) -> &[String] {
        &self.told
    }
}

/// `---- a::b stdout ----`, above what a failed test has printed.
fn is_title(line: &str) -> bool {
    line.starts_with("---- ") && line.ends_with(" ----")
}

fn is_end(line: &str) -> bool {
    line == "stack backtrace:" || line == "failures:" || line.starts_with("note: run with")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_of_each_failed_test_is_kept_without_its_backtrace() {
        let output = "test a::b ... FAILED\n\nfailures:\n\n---- a::b stdout ----\n\nthread 'a::b' panicked at a.rs:1:2:\nno pod\n\
            stack backtrace:\n   0: begin\n\n---- a::c stdout ----\nError: late\n\nfailures:\n    a::b\n    a::c\n";
        let mut complaints = Complaints::default();
        output.lines().for_each(|line| complaints.read(line));
        assert_eq!(
            complaints.lines(),
            [
                "---- a::b stdout ----",
                "thread 'a::b' panicked at a.rs:1:2:",
                "no pod",
                "---- a::c stdout ----",
                "Error: late",
            ]
        );
    }

    #[test]
    fn a_long_message_is_cut() {
        let mut complaints = Complaints::default();
        complaints.read("---- a stdout ----");
        (0..100).for_each(|line| complaints.read(&line.to_string()));
        assert_eq!(complaints.lines().len(), LINES);
    }
}
