//! Pages that list something must list all of it: metrics and the causes in their labels, labels and annotations, opt-ins. A
//! test that a page names must exist.

use super::Report;
use super::code::without_tests;
use super::repository::{File, Repository};

const METRICS: &str = "docs/metrics.md";
const LABELS: &str = "docs/labels.md";
const OPT_INS: &str = "docs/opt-ins.md";
const FAILURE_MODES: &str = "docs/failure-modes.md";

/// How metrics are given their names.
const NAMING: [&str; 3] = [".register(", ".register_with_unit(", ".encode_descriptor("];

pub(super) fn check(repository: &Repository, report: &mut Report) {
    let sources = || {
        let ours = |file: &&File| file.below("crates/core/src").is_some() || file.in_controller().is_some();
        repository
            .rust()
            .filter(ours)
            .filter(|file| !file.is_part_of(&["tests"]))
    };
    for file in sources() {
        let code = without_tests(&file.text);
        for name in metrics(code) {
            demand(repository, METRICS, name, &file.path, report);
        }
        for cause in causes(repository, file, code) {
            demand(repository, METRICS, &format!("`{cause}`"), &file.path, report);
        }
        for word in constants(code) {
            if file.path.ends_with("opt_ins.rs") {
                demand(repository, OPT_INS, word, &file.path, report);
            } else if is_key(word) {
                demand(repository, LABELS, word, &file.path, report);
            }
        }
    }
    if let Some(page) = repository.file(FAILURE_MODES) {
        for test in tests(&page.text).filter(|test| !has_function(repository, test)) {
            report.problem(&page.path, format!("names a test {test}, which does not exist"));
        }
    }
}

/// Names of tests in a page: sentences with underscores.
fn tests(page: &str) -> impl Iterator<Item = &str> {
    let is_sentence = |word: &&str| {
        let fits = word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        fits && word.matches('_').count() >= 5 && !word.ends_with("_total")
    };
    page.split('`').skip(1).step_by(2).filter(is_sentence)
}

fn has_function(repository: &Repository, name: &str) -> bool {
    let head = format!("fn {name}(");
    repository.rust().any(|file| file.text.contains(&head))
}

fn demand(repository: &Repository, page: &str, word: &str, source: &str, report: &mut Report) {
    let listed = repository.file(page).is_some_and(|page| page.text.contains(word));
    if !listed {
        report.problem(page, format!("does not list {word}, which {source} has"));
    }
}

/// Names of the metrics that `code` registers, without a prefix that is a value.
fn metrics(code: &str) -> impl Iterator<Item = &str> {
    let after = move |mark: &'static str| {
        code.match_indices(mark)
            .filter_map(move |(at, _)| code.get(at + mark.len()..))
    };
    NAMING.into_iter().flat_map(after).filter_map(|rest| {
        let rest = rest.trim_start();
        let rest = rest.strip_prefix("format!(").unwrap_or(rest);
        let (name, _) = rest.strip_prefix('"')?.split_once('"')?;
        Some(name.trim_start_matches("{prefix}"))
    })
}

/// Values of the label `cause`: the words of what explains why an object does not get on, and constants that are given as
/// a cause elsewhere.
fn causes<'a>(repository: &'a Repository, file: &'a File, code: &'a str) -> Vec<&'a str> {
    let is_word = |text: &&str| {
        text.starts_with(|c: char| c.is_ascii_uppercase()) && text.bytes().all(|byte| byte.is_ascii_alphabetic())
    };
    if file.path.ends_with("/explain.rs") {
        return code.split('"').skip(1).step_by(2).filter(is_word).collect();
    }
    let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let words = repository.file(&format!("{folder}/words.rs"));
    let constant = |name: &str| {
        let (_, rest) = words?.text.split_once(&format!("const {name}: &str = \""))?;
        rest.split_once('"').map(|(text, _)| text)
    };
    let names = code.split("cause: words::").skip(1);
    names
        .filter_map(|rest| constant(rest.split(|c: char| !c.is_ascii_uppercase() && c != '_').next()?))
        .collect()
}

/// The texts of all constants.
fn constants(code: &str) -> impl Iterator<Item = &str> {
    code.split(": &str = \"")
        .skip(1)
        .filter_map(|rest| rest.split_once('"').map(|(text, _)| text))
}

/// Is `text` a key of labels or annotations: `domain/name`?
fn is_key(text: &str) -> bool {
    let fits = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
    };
    text.split_once('/')
        .is_some_and(|(domain, name)| domain.contains('.') && fits(domain) && fits(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(files: &[(&str, &str)]) -> Vec<String> {
        crate::tidy::problems(check, files)
    }

    #[test]
    fn a_metric_must_be_on_its_page() {
        let code = "registry.register(\n    \"some_turns\", \"Help\", x);\nregistry.register(\n  format!(\"{prefix}_skips\"), y);";
        let source = ("crates/core/src/act/metrics.rs", code);
        assert_eq!(problems(&[source]).len(), 2);
        assert_eq!(
            problems(&[source, (METRICS, "`some_turns_total`, `a_skips_total`")]).len(),
            0
        );
        let test = "#[cfg(test)]\nmod tests { registry.register(\"toy\", \"\", x); }";
        assert_eq!(problems(&[("crates/core/src/act/metrics.rs", test)]).len(), 0);
    }

    #[test]
    fn a_cause_must_be_on_the_page_of_metrics() {
        let explain = (
            "crates/a-controller/src/deployment/explain.rs",
            "stuck(\"PodEnded\", \"no pod: \"); // \"exceeded quota\"",
        );
        let words = (
            "crates/a-controller/src/deployment/words.rs",
            "pub const HOLD_AT: &str = \"HoldAt\";",
        );
        let conclude = (
            "crates/a-controller/src/deployment/conclude.rs",
            "Explanation { cause: words::HOLD_AT, note }",
        );
        assert_eq!(problems(&[explain, words, conclude]).len(), 2);
        let page = (METRICS, "| `PodEnded` | text |\n| `HoldAt` | text |");
        assert_eq!(problems(&[explain, words, conclude, page]).len(), 0);
    }

    #[test]
    fn a_key_must_be_on_its_page() {
        let code = "pub const A: &str = \"example.com/revision\";\npub const B: &str = \"Progressing\";\nconst C: &str = \"application/json\";";
        let source = ("crates/a-controller/src/deployment/words.rs", code);
        assert_eq!(problems(&[source]).len(), 1);
        assert_eq!(problems(&[source, (LABELS, "`example.com/revision`")]).len(), 0);
    }

    #[test]
    fn a_test_that_a_page_names_must_exist() {
        let page = (FAILURE_MODES, "| `a_b_c_d_e_f` | `some_metric_total` |");
        assert_eq!(problems(&[page]).len(), 1);
        let test = ("crates/a-controller/tests/server/main.rs", "fn a_b_c_d_e_f() {}");
        assert_eq!(problems(&[page, test]).len(), 0);
    }

    #[test]
    fn an_opt_in_must_be_on_its_page() {
        let source = (
            "crates/a-controller/src/deployment/opt_ins.rs",
            "pub const HOLD_AT: &str = \"deployment.hold-at\";",
        );
        assert_eq!(problems(&[source]).len(), 1);
        assert_eq!(problems(&[source, (OPT_INS, "`deployment.hold-at`")]).len(), 0);
    }
}
