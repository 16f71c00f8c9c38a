//! What would make a simulated run differ from its repetition: random numbers and choices that no seed determines.

use super::Report;
use super::code::{bare, uses, without_tests};
use super::repository::{File, Repository};

/// The one file that draws random numbers.
const CHANCE: &str = "crates/core/src/chance.rs";

pub(super) fn check(repository: &Repository, report: &mut Report) {
    for file in repository.rust().filter(|file| is_replayed(file)) {
        let code = bare(without_tests(&file.text));
        if uses(&code, "rand") && file.path != CHANCE {
            report.problem(&file.path, "draw random numbers from workload_core::chance");
        }
        if code.split("select!").skip(1).any(|rest| !is_biased(rest)) {
            report.problem(&file.path, "a select! without `biased;` chooses by chance");
        }
    }
}

fn is_replayed(file: &File) -> bool {
    let product = file.below("crates/core/src").is_some() || file.in_controller().is_some();
    product && !file.is_part_of(&["tests"])
}

/// Does what follows `select!` begin with `biased;`?
fn is_biased(rest: &str) -> bool {
    let inside = rest.trim_start().strip_prefix(['{', '(']);
    inside.is_none_or(|inside| inside.trim_start().starts_with("biased;"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(path: &str, text: &str) -> usize {
        crate::tidy::problems(check, &[(path, text)]).len()
    }

    #[test]
    fn one_file_draws_random_numbers() {
        for text in ["use rand::RngExt;", "let n: u64 = rand::random();"] {
            assert_eq!(problems("crates/core/src/act/names.rs", text), 1, "{text}");
            assert_eq!(problems("crates/a-controller/src/lib.rs", text), 1, "{text}");
            assert_eq!(problems(CHANCE, text), 0, "{text}");
            assert_eq!(problems("crates/testkit/src/scene.rs", text), 0, "{text}");
        }
        assert_eq!(
            problems("crates/core/src/act/names.rs", "// rand::random is not used"),
            0
        );
    }

    #[test]
    fn selects_choose_in_order() {
        let path = "crates/core/src/run/process.rs";
        assert_eq!(problems(path, "tokio::select! {\n    biased;\n    () = a => {}\n}"), 0);
        assert_eq!(problems(path, "tokio::select! {\n    () = a => {}\n}"), 1);
        let second = "tokio::select! { biased; () = a => {} }\ntokio::select! { () = a => {} }";
        assert_eq!(problems(path, second), 1);
        assert_eq!(
            problems("crates/core/src/run/tests/mod.rs", "tokio::select! { () = a => {} }"),
            0
        );
    }
}
