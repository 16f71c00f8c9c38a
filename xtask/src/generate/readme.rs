//! Generated sections of a README: `<!-- gen:NAME -->` begins one, `<!-- /gen:NAME -->` ends it.

use anyhow::{Context as _, Result};

/// `readme` with `text` as the whole content of section `name`.
pub(super) fn replace(readme: &str, name: &str, text: &str) -> Result<String> {
    let (begin, end) = (format!("<!-- gen:{name} -->"), format!("<!-- /gen:{name} -->"));
    let missing = || format!("there is no section {begin} ... {end}");
    let (before, rest) = readme.split_once(&begin).with_context(missing)?;
    let (_, after) = rest.split_once(&end).with_context(missing)?;
    Ok(format!("{before}{begin}\n{}\n{end}{after}", text.trim_end()))
}

/// One row of a Markdown table.
pub(super) fn row(cells: &[&str]) -> String {
    let cells: Vec<_> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_section_changes() {
        let readme = "a\n<!-- gen:x -->\nold\n<!-- /gen:x -->\nb\n<!-- gen:y -->\n<!-- /gen:y -->\n";
        let expected = "a\n<!-- gen:x -->\nnew\n<!-- /gen:x -->\nb\n<!-- gen:y -->\n<!-- /gen:y -->\n";
        assert_eq!(replace(readme, "x", "new\n").unwrap(), expected);
        assert_eq!(
            replace(expected, "x", "new").unwrap(),
            expected,
            "a second run changes nothing"
        );
    }

    #[test]
    fn a_readme_without_the_section_is_an_error() {
        let error = replace("a\n<!-- gen:x -->\n", "x", "new").unwrap_err();
        assert!(error.to_string().contains("<!-- /gen:x -->"), "{error}");
    }

    #[test]
    fn a_bar_inside_a_cell_does_not_end_it() {
        assert_eq!(row(&["a|b", "c"]), "| a\\|b | c |\n");
    }
}
