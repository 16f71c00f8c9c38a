//! Rust source seen as text: enough to find names and paths in it, not a parser.

/// `source` up to its trailing `#[cfg(test)] mod tests`.
pub(super) fn without_tests(source: &str) -> &str {
    const MARK: &str = "#[cfg(test)]";
    source
        .match_indices(MARK)
        .map(|(at, _)| source.split_at(at))
        .find(|(_, rest)| rest.trim_start_matches(MARK).trim_start().starts_with("mod tests"))
        .map_or(source, |(before, _)| before)
}

/// `source` without comments and without what is inside string and character literals.
pub(super) fn bare(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(next) = rest.chars().next() {
        let skipped = match next {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '"' => string_length(rest),
            'r' if !out.ends_with(is_word) => raw_string_length(rest).unwrap_or(0),
            '\'' => character_length(rest).unwrap_or(0),
            _ => 0,
        };
        let taken = if skipped == 0 {
            out.push(next);
            next.len_utf8()
        } else {
            out.push(' ');
            skipped
        };
        rest = rest.get(taken..).unwrap_or("");
    }
    out
}

fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn raw_string_length(text: &str) -> Option<usize> {
    let after_r = text.strip_prefix('r')?;
    let body = after_r.trim_start_matches('#');
    let hashes = after_r.len() - body.len();
    let end = format!("\"{}", "#".repeat(hashes));
    let inside = body.strip_prefix('"')?;
    let found = inside.find(&end)?;
    Some(1 + hashes + 1 + found + end.len())
}

/// Length of a character literal; None for a lifetime.
fn character_length(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('\'')?;
    let body = if inside.starts_with('\\') {
        inside.get(1..)?.find('\'')? + 1
    } else {
        inside.chars().next()?.len_utf8()
    };
    inside.get(body..)?.starts_with('\'').then_some(body + 2)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Does `code` contain `word`, neither preceded nor followed by a letter, digit or `_`?
pub(super) fn has_word(code: &str, word: &str) -> bool {
    positions(code, word).any(|at| !code.get(at + word.len()..).unwrap_or("").starts_with(is_word))
}

/// Does `code` use something of crate or module `root`, as in `root::x` or `use root;`?
pub(super) fn uses(code: &str, root: &str) -> bool {
    positions(code, root).any(|at| {
        let (before, after) = (code.get(..at).unwrap_or(""), code.get(at + root.len()..).unwrap_or(""));
        let path_goes_on = after.starts_with("::");
        let imported_whole = before.trim_end().ends_with("use") && after.trim_start().starts_with([';', ' ']);
        !before.ends_with("::") && (path_goes_on || imported_whole)
    })
}

/// The first segments of every path that begins with `prefix` (such as `crate::`), braces opened.
pub(super) fn first_segments<'a>(code: &'a str, prefix: &str) -> Vec<&'a str> {
    let mut found = Vec::new();
    for at in positions(code, prefix) {
        let rest = code.get(at + prefix.len()..).unwrap_or("").trim_start();
        match rest.strip_prefix('{') {
            Some(group) => found.extend(members(group)),
            None => found.extend(word_at_start(rest)),
        }
    }
    found
}

/// The first words of the members of a group, whose opening brace is gone.
fn members(group: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let mut found = Vec::new();
    let mut start = 0;
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                found.extend(group.get(start..at).and_then(word_at_start));
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    found
}

fn word_at_start(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let end = text.find(|c| !is_word(c)).unwrap_or(text.len());
    (end > 0).then(|| text.get(..end)).flatten()
}

/// Where `word` begins, not preceded by a letter, digit or `_`.
fn positions<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.match_indices(word)
        .map(|(at, _)| at)
        .filter(|at| !code.get(..*at).unwrap_or("").ends_with(is_word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_hide_what_they_contain() {
        let source = "a // b \"\n/* c */ d(\"e \\\" f\", 'g', '\\'', r#\"h \" i\"#); fn x<'j>(k: &'j str) {}";
        let code = bare(source);
        for gone in ["b", "c", "e", "f", "g", "h", "i"] {
            assert!(!has_word(&code, gone), "{gone} in {code}");
        }
        for kept in ["a", "d", "x", "j", "k", "str"] {
            assert!(has_word(&code, kept), "{kept} in {code}");
        }
    }

    #[test]
    fn trailing_tests_are_cut_and_nothing_else() {
        assert_eq!(without_tests("a\n#[cfg(test)]\nmod tests {\n b\n}\n"), "a\n");
        let helper = "a\n#[cfg(test)]\nfn only_in_tests() {}\nb\n";
        assert_eq!(without_tests(helper), helper);
    }

    #[test]
    fn words_are_whole() {
        assert!(has_word("let m: HashMap<u8, u8>;", "HashMap"));
        assert!(!has_word("MyHashMap HashMaps", "HashMap"));
    }

    #[test]
    fn a_use_of_a_crate_is_a_path_or_an_import() {
        assert!(uses("kube::Client", "kube"));
        assert!(uses("use kube;", "kube"));
        assert!(!uses("kube::Client", "tokio"));
        assert!(!uses("my_kube::Client", "kube"));
        assert!(!uses("workload_core::kube::Client", "kube"));
        assert!(!uses("let kube = 1;", "kube"));
    }

    #[test]
    fn first_segments_of_groups_and_plain_paths_are_found() {
        let code = "use crate::{plan::{Stage, Write}, id,\n time::*};\nfn f() -> crate::owner::Claim {}";
        assert_eq!(first_segments(code, "crate::"), ["plan", "id", "time", "owner"]);
        assert_eq!(first_segments("use super::super::id;", "super::super::"), ["id"]);
    }
}
