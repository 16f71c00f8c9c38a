//! Words that must not occur.

use super::Report;
use super::code::{bare, has_word, without_tests};
use super::repository::{File, Repository};

/// Left-overs, in any text. Written in two parts, so that this file does not contain them.
const LEFT_OVERS: [&str; 6] = [
    concat!("to", "do!("),
    concat!("unimple", "mented!("),
    concat!("#[ig", "nore"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("TO", "DO"),
];

/// Directories that exist only on somebody's machine.
const PRIVATE_PATHS: [&str; 3] = [concat!("/ro", "ot/"), concat!("/wo", "rk/"), concat!("/ho", "me/")];

/// Where Cargo.lock says that crates.io's packages come from, whatever mirror served them.
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Rooms whose order of decisions must not depend on a hash seed.
const ORDERED_ROOMS: [&str; 3] = ["decide", "observe", "conclude"];

pub(super) fn check(repository: &Repository, report: &mut Report) {
    for file in &repository.files {
        // The specifications describe others' programs in their words.
        if file.below("docs/spec").is_none() {
            check_left_overs(file, report);
        }
        check_machine(file, report);
        if file.in_controller().is_some() && file.is_part_of(&ORDERED_ROOMS) {
            check_order(file, report);
        }
    }
}

fn check_left_overs(file: &File, report: &mut Report) {
    for word in LEFT_OVERS {
        if has_word(&file.text, word) {
            report.problem(&file.path, format!("contains {word}"));
        }
    }
}

fn check_machine(file: &File, report: &mut Report) {
    for path in PRIVATE_PATHS {
        if file
            .text
            .match_indices(path)
            .any(|(at, _)| begins_a_path(file.text.get(..at).unwrap_or("")))
        {
            report.problem(&file.path, format!("contains {path}, a path of one machine"));
        }
    }
    if file.path.ends_with("Cargo.lock") {
        for line in file.text.lines().filter(|line| line.starts_with("source = ")) {
            if !line.contains(CRATES_IO) {
                report.problem(&file.path, format!("{line}: not from crates.io"));
            }
        }
    }
}

/// `before` ends where a path begins, not in the middle of a longer one.
fn begins_a_path(before: &str) -> bool {
    !before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '}' | '~' | '*'))
}

fn check_order(file: &File, report: &mut Report) {
    let code = bare(without_tests(&file.text));
    for name in ["HashMap", "HashSet"] {
        if has_word(&code, name) {
            report.problem(
                &file.path,
                format!("{name}'s order differs from run to run; use the BTree one"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(path: &str, text: &str) -> usize {
        crate::tidy::problems(check, &[(path, text)]).len()
    }

    #[test]
    fn left_overs_are_found_in_any_file_but_a_specification() {
        for word in LEFT_OVERS {
            assert_eq!(
                problems("charts/a/values.yaml", &format!("# {word} later")),
                1,
                "{word}"
            );
            assert_eq!(problems("docs/spec/a.md", word), 0, "{word}");
        }
        assert_eq!(
            problems("a.sh", concat!("mktemp /tmp/XX", "XXXX")),
            0,
            "part of a longer word"
        );
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        for path in PRIVATE_PATHS {
            assert_eq!(problems("a.md", &format!("see {path}x")), 1, "{path}");
            assert_eq!(
                problems("a.md", &format!("k8s.io/api{path}x")),
                0,
                "{path} inside a longer path"
            );
        }
    }

    #[test]
    fn crates_come_from_crates_io() {
        assert_eq!(problems("Cargo.lock", &format!("source = \"{CRATES_IO}\"")), 0);
        assert_eq!(
            problems("Cargo.lock", "source = \"registry+https://mirror.example/index\""),
            1
        );
    }

    #[test]
    fn decisions_do_not_iterate_over_hash_maps() {
        let text = "use std::collections::HashMap;";
        assert_eq!(problems("crates/a-controller/src/deployment/decide/scale.rs", text), 1);
        assert_eq!(problems("crates/a-controller/src/deployment/watches.rs", text), 0);
    }
}
