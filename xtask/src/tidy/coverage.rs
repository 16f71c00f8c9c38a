//! Which rules of the specifications have a test.
//!
//! `docs/spec/<spec>.md` introduces every rule by its id at the beginning of a line, of a list item or of a table's row.
//! A test names the rules that it proves in a comment directly above it: `proves: <spec>/<id>, ...`. Field reports are
//! cited as `field/<id>`. A rule that no test of ours can prove is listed with a reason in docs/parity.md, in the section
//! about rules without a test: `| <spec>/<id> | reason |`.
//!
//! Of a controller that is built, every rule must be proved or exempt, and none both. Of the others it is only told how far
//! they have come.

use std::collections::{BTreeMap, BTreeSet};

use super::Report;
use super::repository::{File, Repository};

const SPECS: &str = "docs/spec";
const PARITY: &str = "docs/parity.md";
/// The heading above the rules that no test can prove.
const EXEMPT: &str = "## Rules without a test\n";
/// The one specification that is not cited by its file's name.
const FIELD_REPORTS: (&str, &str) = ("field-reports", "field");
/// Field reports about one controller's kinds, by how their ids begin.
const ABOUT: [(&str, &str); 7] = [
    ("FR-CJ-", "cronjob"),
    ("FR-DP-", "deployment"),
    ("FR-DS-", "daemonset"),
    ("FR-JB-", "job"),
    ("FR-JS-", "jobset"),
    ("FR-LW-", "lws"),
    ("FR-ST-", "statefulset"),
];
/// Field reports about what all controllers share.
const ABOUT_ALL: [&str; 2] = ["FR-RS-", "FR-XC-"];

pub(super) fn check(repository: &Repository, report: &mut Report) {
    let specs: BTreeMap<&str, BTreeSet<&str>> = repository.files.iter().filter_map(spec).collect();
    if specs.is_empty() {
        report
            .notes
            .push(format!("rules: there is no specification in {SPECS}"));
        return;
    }
    let mut proved = BTreeSet::new();
    for file in repository.rust() {
        for citation in citations(&file.text) {
            resolve(&specs, &file.path, citation, &mut proved, report);
        }
    }
    let mut exempt = BTreeSet::new();
    for citation in repository
        .file(PARITY)
        .map(|file| exemptions(&file.text))
        .unwrap_or_default()
    {
        resolve(&specs, PARITY, citation, &mut exempt, report);
    }
    for (spec, rules) in &specs {
        let count = |set: &BTreeSet<(&str, &str)>| rules.iter().filter(|rule| set.contains(&(spec, rule))).count();
        let mut open: Vec<&str> = rules.iter().copied().collect();
        open.retain(|rule| !proved.contains(&(*spec, *rule)) && !exempt.contains(&(*spec, *rule)));
        open.sort_by_key(|rule| place(rule));
        for rule in open.iter().filter(|rule| is_built(repository, spec, rule)) {
            report.problem(
                PARITY,
                format!("{spec}/{rule} has neither a test nor a reason to have none"),
            );
        }
        report
            .notes
            .push(line(spec, rules.len(), count(&proved), count(&exempt), &open));
    }
    for (spec, rule) in proved.intersection(&exempt) {
        report.problem(
            PARITY,
            format!("{spec}/{rule} is said to have no test, but one cites it"),
        );
    }
}

/// True if the rule is about a controller that exists.
fn is_built(repository: &Repository, spec: &str, rule: &str) -> bool {
    let exists = |controller: &str| {
        let root = format!("crates/{controller}-controller/src");
        repository.files.iter().any(|file| file.below(&root).is_some())
    };
    if spec != FIELD_REPORTS.1 {
        return exists(spec);
    }
    let about = ABOUT.iter().find(|(prefix, _)| rule.starts_with(prefix));
    about.is_some_and(|(_, controller)| exists(controller)) || ABOUT_ALL.iter().any(|prefix| rule.starts_with(prefix))
}

/// Where an id stands in a list: by its letters, then by its number.
fn place(id: &str) -> (&str, u32, &str) {
    let number = id.trim_start_matches(|c: char| !c.is_ascii_digit());
    let letters = id.strip_suffix(number).unwrap_or(id);
    let digits = number.trim_end_matches(|c: char| !c.is_ascii_digit());
    (letters, digits.parse().unwrap_or(0), number)
}

fn line(spec: &str, defined: usize, proved: usize, exempt: usize, open: &[&str]) -> String {
    let percent = proved * 100 / defined.max(1);
    let mut line = format!("rules of {spec}: {defined} defined, {proved} proved ({percent} %), {exempt} exempt");
    if proved > 0 && !open.is_empty() {
        line.push_str("; open: ");
        line.push_str(&open.join(" "));
    }
    line
}

/// A specification's name in citations, and its rules. None: the file is none, or defines no rule.
fn spec(file: &File) -> Option<(&str, BTreeSet<&str>)> {
    let stem = file.below(SPECS)?.strip_suffix(".md")?;
    let name = if stem == FIELD_REPORTS.0 { FIELD_REPORTS.1 } else { stem };
    let rules: BTreeSet<&str> = file.text.lines().flat_map(definitions).collect();
    (!rules.is_empty()).then_some((name, rules))
}

/// The ids that a line introduces: one at its beginning, behind a list's or a table's mark; more of them in bold.
fn definitions(line: &str) -> impl Iterator<Item = &str> {
    let start = ["- ", "| "]
        .iter()
        .find_map(|mark| line.strip_prefix(mark))
        .unwrap_or(line);
    let bold = line.split("**").skip(1).step_by(2);
    std::iter::once(start).chain(bold).filter_map(id_at_start)
}

/// An id such as `D-31`, `C-61a`, `L2`, `FR-DP-12` at the beginning of `text`.
fn id_at_start(text: &str) -> Option<&str> {
    let end = text
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '-')
        .unwrap_or(text.len());
    let (id, rest) = text.split_at_checked(end)?;
    let known_end = rest.is_empty() || rest.starts_with([' ', '.', ':', '*']);
    (known_end && is_id(id)).then_some(id)
}

fn is_id(text: &str) -> bool {
    let number = text.trim_start_matches(|c: char| c.is_ascii_uppercase() || c == '-');
    let prefix = text.strip_suffix(number).unwrap_or("");
    let digits = number.trim_end_matches(|c: char| c.is_ascii_lowercase());
    prefix.starts_with(|c: char| c.is_ascii_uppercase())
        && !digits.is_empty()
        && number.len() - digits.len() <= 1
        && digits.chars().all(|c| c.is_ascii_digit())
}

/// What the comments of a source file claim to prove. A list may go on in the next line of the comment.
fn citations(source: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut goes_on = false;
    for line in source.lines() {
        let comment = line.trim().strip_prefix("//").map(str::trim);
        let list = comment.and_then(|comment| {
            if goes_on {
                Some(comment)
            } else {
                comment.strip_prefix("proves:")
            }
        });
        goes_on = list.is_some_and(|list| list.ends_with(','));
        found.extend(
            list.unwrap_or("")
                .split(',')
                .map(str::trim)
                .filter(|citation| !citation.is_empty()),
        );
    }
    found
}

/// The first cells of a table whose first cells are citations.
fn exemptions(page: &str) -> Vec<&str> {
    let section = page.split_once(EXEMPT).map_or("", |(_, section)| section);
    section
        .lines()
        .take_while(|line| !line.starts_with("## "))
        .filter_map(|line| line.strip_prefix("| ")?.split_once(" |"))
        .map(|(cell, _)| cell.trim().trim_matches('`'))
        .filter(|cell| cell.split_once('/').is_some_and(|(_, id)| is_id(id)))
        .collect()
}

fn resolve<'a>(
    specs: &BTreeMap<&'a str, BTreeSet<&'a str>>,
    path: &str,
    citation: &str,
    into: &mut BTreeSet<(&'a str, &'a str)>,
    report: &mut Report,
) {
    let rule = citation.split_once('/').and_then(|(spec, id)| {
        let (spec, rules) = specs.get_key_value(spec)?;
        Some((*spec, *rules.get(id)?))
    });
    match rule {
        Some(rule) => drop(into.insert(rule)),
        None => report.problem(path, format!("there is no rule {citation}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_introduce_a_rule_is_understood() {
        let ids = |line| definitions(line).collect::<Vec<_>>();
        assert_eq!(ids("- D-31 Text (D-30)."), ["D-31"]);
        assert_eq!(ids("| W-1 | text | see W-2 |"), ["W-1"]);
        assert_eq!(ids("- **SS-3** Text **bold** text."), ["SS-3"]);
        assert_eq!(ids("- **L9 Back-off.** Keep. **L10** More."), ["L9", "L10"]);
        assert_eq!(ids("JS-1. Text"), ["JS-1"]);
        assert_eq!(ids("CJ-10 Text"), ["CJ-10"]);
        assert_eq!(ids("FR-DP-12 *** text"), ["FR-DP-12"]);
        assert_eq!(ids("T7. Text"), ["T7"]);
        for none in [
            "  D-31 continued",
            "Text D-31",
            "JS-25/26 and so on",
            "## 1. D-31",
            "A-",
            "1.37 is",
            "DaemonSet 3",
        ] {
            assert_eq!(ids(none), [""; 0], "{none}");
        }
    }

    #[test]
    fn citations_may_fill_several_lines() {
        let mark = "// proves:";
        let source = format!("{mark} a/X-1, b/Y-2,\n    // c/Z-3\n    // and why\n    #[test]\n{mark} d/W-4\n");
        assert_eq!(citations(&source), ["a/X-1", "b/Y-2", "c/Z-3", "d/W-4"]);
    }

    fn report_of(source: &str, parity: &str) -> Report {
        let mut report = Report::default();
        let files = [
            (
                "docs/spec/deployment.md",
                "- D-1 One.\n- D-2 Two.\n- D-3 Three.\n- D-4 Four.\n",
            ),
            ("docs/spec/field-reports.md", "FR-DP-01 text\n"),
            ("docs/spec/optins.md", "# No rules\n"),
            ("docs/parity.md", parity),
            ("crates/a/tests/a.rs", source),
        ];
        check(&Repository::of(&files), &mut report);
        report
    }

    #[test]
    fn covered_exempt_and_open_rules_are_told_apart() {
        let mark = "// proves:";
        let report = report_of(
            &format!("{mark} deployment/D-1, deployment/D-2, field/FR-DP-01"),
            "| deployment/D-4 | differs |\n\n## Rules without a test\n\n| deployment/D-3 | reason |\n",
        );
        let expected = [
            "rules of deployment: 4 defined, 2 proved (50 %), 1 exempt; open: D-4",
            "rules of field: 1 defined, 1 proved (100 %), 0 exempt",
        ];
        assert_eq!(report.notes, expected);
        assert_eq!(report.problems, [""; 0]);
    }

    #[test]
    fn an_open_rule_of_a_controller_that_is_built_is_a_problem() {
        let files = [
            ("docs/spec/deployment.md", "- D-1 One.\n- D-2 Two.\n"),
            ("docs/spec/job.md", "- J-1 One.\n"),
            (
                "docs/spec/field-reports.md",
                "FR-DP-01 text\nFR-JB-01 text\nFR-XC-01 text\n",
            ),
            ("crates/deployment-controller/src/lib.rs", "// proves: deployment/D-2\n"),
        ];
        let mut report = Report::default();
        check(&Repository::of(&files), &mut report);
        let found: Vec<_> = report
            .problems
            .iter()
            .map(|problem| problem.split_whitespace().nth(1))
            .collect();
        let expected = ["deployment/D-1", "field/FR-DP-01", "field/FR-XC-01"];
        assert_eq!(found, expected.map(Some), "{:?}", report.problems);
    }

    #[test]
    fn a_rule_is_not_both_proved_and_exempt() {
        let mark = "// proves:";
        let report = report_of(
            &format!("{mark} deployment/D-1"),
            "## Rules without a test\n\n| deployment/D-1 | reason |\n",
        );
        assert_eq!(report.problems.len(), 1, "{:?}", report.problems);
    }

    #[test]
    fn unknown_rules_are_problems() {
        let mark = "// proves:";
        let report = report_of(
            &format!("{mark} deployment/D-9, nothing/D-1, D-1"),
            "## Rules without a test\n\n| deployment/D-8 | reason |\n",
        );
        assert_eq!(report.problems.len(), 4, "{:?}", report.problems);
    }
}
