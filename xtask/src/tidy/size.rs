//! File sizes and module names.

use super::Report;
use super::code::without_tests;
use super::repository::Repository;

/// Lines, without the trailing tests, that are worth a note.
const LONG: usize = 300;
/// Lines that no file may exceed.
const TOO_LONG: usize = 500;

/// Names that say nothing about a module.
const EMPTY_NAMES: [&str; 6] = ["util", "utils", "helper", "helpers", "manager", "common"];

pub(super) fn check(repository: &Repository, report: &mut Report) {
    for file in repository.rust() {
        let lines = without_tests(&file.text).lines().count();
        if lines > TOO_LONG {
            report.problem(
                &file.path,
                format!("{lines} lines without tests, at most {TOO_LONG} are allowed"),
            );
        } else if lines > LONG {
            report
                .notes
                .push(format!("{}: {lines} lines without tests, more than {LONG}", file.path));
        }
        if file.is_part_of(&EMPTY_NAMES) {
            report.problem(&file.path, "a module is named after what it does");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_lines(lines: usize, problems: usize, notes: usize) {
        let text = format!(
            "{}#[cfg(test)]\nmod tests {{}}\n{}",
            "x\n".repeat(lines),
            "y\n".repeat(600)
        );
        let mut report = Report::default();
        check(&Repository::of(&[("crates/core/src/id.rs", &text)]), &mut report);
        assert_eq!(
            (report.problems.len(), report.notes.len()),
            (problems, notes),
            "{lines}"
        );
    }

    #[test]
    fn long_files_are_noted_and_longer_ones_refused() {
        check_lines(300, 0, 0);
        check_lines(301, 0, 1);
        check_lines(500, 0, 1);
        check_lines(501, 1, 0);
    }

    #[test]
    fn modules_with_empty_names_are_refused() {
        for (path, problems) in [
            ("a/src/utils.rs", 1),
            ("a/helper/mod.rs", 1),
            ("a/src/utilisation.rs", 0),
        ] {
            let mut report = Report::default();
            check(&Repository::of(&[(path, "")]), &mut report);
            assert_eq!(report.problems.len(), problems, "{path}");
        }
    }
}
